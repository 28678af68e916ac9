"""Simulated paths of a model, and states drawn from its stationary density.

Paths follow Milstein's scheme in one variable, Euler–Maruyama's in several. Positions with
velocities move half a step before and after a kick by Heun's scheme, which is of second order where
the noise is additive.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from itoscope_client.models.estimates import array_of
from itoscope_client.models.process import Process

Floats = NDArray[np.float64]


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


class SimulationError(ValueError):
    """The path left the states that the model describes."""


def simulated(
    process: Process,
    start: Floats,
    *,
    dt: float,
    n_steps: int,
    substeps: int,
    rng: np.random.Generator,
) -> Floats:
    """Simulate paths (n_paths, n_steps + 1, d) from `start` (n_paths, d).

    Each sampling interval `dt` is divided into `substeps` steps. In a declared domain a step beyond
    an end is reflected there. Raises SimulationError, which names state and time, where drift or
    diffusion is undefined or the diffusion negative.
    """
    paths = np.empty((len(start), n_steps + 1, start.shape[1]))
    paths[:, 0] = state = start
    step = _stepper(process, start, dt / substeps)
    for n in range(1, n_steps + 1):
        noise = rng.standard_normal((substeps, *start.shape)) * np.sqrt(dt / substeps)
        with np.errstate(all="ignore"):
            for kick in noise:
                state = step(state, kick)
        paths[:, n] = state
        if not np.isfinite(state).all():
            before = paths[~np.isfinite(state).all(axis=1)][0, n - 1]
            where = ", ".join(
                f"{name} = {value:.6g}"
                for name, value in zip(process.variables, before, strict=True)
            )
            raise SimulationError(
                f"a path cannot go on after t = {(n - 1) * dt:g}, {where}: drift or diffusion is "
                "undefined, negative or infinite there. Try more substeps; or the model holds only "
                "where data were seen."
            )
    return paths


def _stepper(process: Process, start: Floats, h: float) -> Callable[[Floats, Floats], Floats]:
    """Return a step of length h from states and Gaussian increments of variance h, (n_paths, d)."""
    if process.scalar:
        sigma = np.sqrt(process.diffusion_at(start[:1])) if process.additive else None

        def plain(x: Floats, kick: Floats) -> Floats:
            return _milstein(process, x, h, kick, sigma)

    elif process.n_positions:
        root = _root(process.diffusion_at(start[:1])) if process.additive else None

        def plain(x: Floats, kick: Floats) -> Floats:
            return _kicked(process, x, h, kick, root)

    else:
        root = _root(process.diffusion_at(start[:1])) if process.additive else None

        def plain(x: Floats, kick: Floats) -> Floats:
            return _euler(process, x, h, kick, root)

    return (lambda x, kick: _reflected(process, plain(x, kick))) if process.domain else plain


def _milstein(process: Process, x: Floats, h: float, kick: Floats, sigma: Floats | None) -> Floats:
    if sigma is not None:
        return x + process.drift_at(x) * h + sigma * kick
    # The last term is ½ σ σ′ (ΔW² − h), and σ σ′ = a′/2.
    noise = np.sqrt(process.diffusion_at(x)) * kick + 0.25 * process.diffusion_slope_at(x) * (
        kick * kick - h
    )
    return x + process.drift_at(x) * h + noise


def _euler(process: Process, x: Floats, h: float, kick: Floats, root: Floats | None) -> Floats:
    sigma = _root(process.diffusion_at(x)) if root is None else root
    return np.asarray(
        x + process.drift_at(x) * h + np.einsum("...ij,...j->...i", sigma, kick), dtype=np.float64
    )


def _kicked(process: Process, x: Floats, h: float, kick: Floats, root: Floats | None) -> Floats:
    """Return positions and velocities after half a step, a kick of the velocities, and half a step.

    Euler's scheme drives an oscillation of frequency ω by ω²h/2, against its friction.
    """
    d = process.n_positions

    def coasted(state: Floats) -> Floats:
        return np.hstack([state[:, :d] + h / 2 * state[:, d:], state[:, d:]])

    middle = coasted(x)
    sigma = _root(process.diffusion_at(middle)) if root is None else root
    noise = np.einsum("...ij,...j->...i", sigma, kick)[..., d:]
    force = process.drift_at(middle)[:, d:]
    ahead = np.hstack([middle[:, :d], middle[:, d:] + force * h + noise])
    mean = (force + process.drift_at(ahead)[:, d:]) / 2
    return coasted(np.hstack([middle[:, :d], middle[:, d:] + mean * h + noise]))


def _root(a: Floats) -> Floats:
    """Return symmetric square roots of tensors (…, d, d); NaN unless positive semidefinite."""
    finite = np.isfinite(a).all(axis=(-2, -1), keepdims=True)
    values, vectors = np.linalg.eigh(np.where(finite, a, 0.0))
    rounding = 1e-12 * np.abs(values).max(axis=-1, keepdims=True)
    values = np.where(values < -rounding, np.nan, np.maximum(values, 0.0))
    return np.where(
        finite, (vectors * np.sqrt(values)[..., None, :]) @ vectors.swapaxes(-2, -1), np.nan
    )


def _reflected(process: Process, state: Floats) -> Floats:
    for k, name in enumerate(process.variables):
        low, high = process.domain.get(name, (None, None))
        if low is not None:
            state[:, k] = np.where(state[:, k] < low, 2 * low - state[:, k], state[:, k])
        if high is not None:
            state[:, k] = np.where(state[:, k] > high, 2 * high - state[:, k], state[:, k])
    return state
