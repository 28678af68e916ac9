"""The stationary density of a result, and states drawn from it."""

import base64
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def array_of(value: Any) -> Floats:
    """Read an array of a result: a list with null for a missing number, or numbers in base64."""
    if isinstance(value, dict):
        data = np.frombuffer(base64.b64decode(value["data"]), dtype=np.dtype(value["dtype"]))
        return data.reshape(value["shape"]).astype(np.float64)
    return np.asarray(value, dtype=np.float64)  # None becomes NaN


def density_of(document: Mapping[str, Any]) -> tuple[list[Floats], Floats] | None:
    """Read the grid of each variable and the density on it; None where there is none."""
    density = ((document["generator"].get("stationary")) or {}).get("density") or {}
    grid = [array_of(axis) for axis in density.get("grid", ())]
    values = array_of(density.get("values", ()))
    fits = grid and values.size and values.shape == tuple(len(axis) for axis in grid)
    return (grid, values) if fits else None


def draw(document: Mapping[str, Any], n: int, rng: np.random.Generator) -> Floats:
    """Draw states (n, d) of the stationary distribution, each uniformly in a cell of the grid.

    Cells are drawn by their probability. Raises ValueError where no density is known.
    """
    law = density_of(document)
    if law is None:
        raise ValueError("the result has no stationary density to draw from: give start=…")
    grid, values = law
    widths = [np.gradient(axis) for axis in grid]
    weights = np.nan_to_num(values).clip(min=0.0)
    for axis, width in enumerate(widths):
        weights = weights * width.reshape([-1 if k == axis else 1 for k in range(len(grid))])
    cells = rng.choice(weights.size, size=n, p=(weights / weights.sum()).reshape(-1))
    places = np.unravel_index(cells, weights.shape)
    offsets = rng.uniform(-0.5, 0.5, size=(n, len(grid)))
    return np.stack(
        [grid[k][at] + widths[k][at] * offsets[:, k] for k, at in enumerate(places)], axis=-1
    )
