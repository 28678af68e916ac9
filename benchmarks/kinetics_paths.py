"""Finely integrated stationary paths of polynomial processes: millions of steps a second."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from worker.identification.data.compiled import compiled

Floats = NDArray[np.float64]

FINE = 0.002
"""Longest step of the integration."""


def paths_of(
    drift: Mapping[str, float],
    diffusion: Mapping[str, float],
    start: Floats,
    *,
    n_samples: int,
    dt: float,
    seed: int,
) -> Floats:
    """Return (len(start), n_samples) [state], by Platen's explicit steps of weak order two.

    The steps are at most `FINE` long; drift and diffusion are coefficients of `1`, `x`, `x^2`, …
    """
    substeps = max(1, round(dt / FINE))
    return np.asarray(
        _integrated(
            _powers(drift), _powers(diffusion), start, n_samples, dt / substeps, substeps, seed
        )
    )


def _powers(terms: Mapping[str, float]) -> Floats:
    """Return the coefficients, highest power first."""
    powers = {
        0 if name == "1" else 1 if name == "x" else int(name.removeprefix("x^")): value
        for name, value in terms.items()
    }
    return np.array([powers.get(n, 0.0) for n in range(max(powers), -1, -1)])


@compiled
def _value(powers: Floats, x: float) -> float:
    total = 0.0
    for coefficient in powers:
        total = total * x + coefficient
    return total


@compiled
def _integrated(
    b: Floats, a: Floats, start: Floats, n_samples: int, step: float, substeps: int, seed: int
) -> Floats:
    np.random.seed(seed)
    root, additive = np.sqrt(step), len(a) == 1
    out = np.empty((len(start), n_samples))
    for path in range(len(start)):
        x = start[path]
        for n in range(n_samples):
            out[path, n] = x
            for _ in range(substeps):
                dw = root * np.random.standard_normal()
                drift, sigma = _value(b, x), np.sqrt(_value(a, x))
                ahead = x + drift * step
                noise = sigma * dw
                if not additive:
                    up, down = (
                        np.sqrt(_value(a, ahead + sigma * root)),
                        np.sqrt(_value(a, ahead - sigma * root)),
                    )
                    noise = (up + down + 2 * sigma) * dw / 4 + (up - down) * (dw * dw - step) / (
                        4 * root
                    )
                x = x + (_value(b, ahead + sigma * dw) + drift) * step / 2 + noise
    return out
