"""Cramér–Rao bounds for samples of the paper's systems, by the stationary distribution."""

import numpy as np

from benchmarks.measured import Coefficient, Floats, truth_of
from benchmarks.recovery import POWERS, SYSTEMS
from benchmarks.simulation import SYSTEMS as COEFFICIENTS

GRID = np.linspace(-5, 5, 2001)
FREQUENCIES = (np.arange(2000) + 0.5) * np.pi / 2000


def floors_of(name: str, duration: float, dt: float, deviation: float) -> dict[Coefficient, float]:
    """Return relative standard errors at the Cramér–Rao bound for a stationary record.

    The drift's bound is that of a continuous record without noise. The diffusion's bound is that of
    increments whose spectrum is a dt + 2 s² (1 − cos ω) (Whittle), with the variance s² unknown
    where there is noise; their drift, and that a changes from step to step, are not counted.
    """
    drift, diffusion = (function(GRID) for function in COEFFICIENTS[name])
    log_density = np.concatenate(
        [[0.0], np.cumsum((2 * drift / diffusion)[1:] * np.diff(GRID))]
    ) - np.log(diffusion)
    density = np.exp(log_density - log_density.max())
    density /= density.sum()
    truth, floors = truth_of(name), {}
    of_drift = _functions(tuple(SYSTEMS[name].drift))
    covariance = np.linalg.inv((of_drift * density / diffusion) @ of_drift.T * duration)
    for k, term in enumerate(SYSTEMS[name].drift):
        floors["drift", term] = float(np.sqrt(covariance[k, k]) / abs(truth["drift", term]))
    of_diffusion = _functions(tuple(SYSTEMS[name].diffusion))
    shape = 2 * (1 - np.cos(FREQUENCIES))
    spectrum = diffusion[:, None] * dt + deviation**2 * shape
    own, mixed, of_noise = (
        (w / spectrum**2).mean(axis=1) / 2 for w in (dt**2, shape * dt, shape**2)
    )
    information = (of_diffusion * density * own) @ of_diffusion.T
    if deviation:
        shared = of_diffusion @ (density * mixed)
        information -= np.outer(shared, shared) / (density @ of_noise)
    covariance = np.linalg.inv(information * duration / dt)
    for k, term in enumerate(SYSTEMS[name].diffusion):
        floors["diffusion", term] = float(np.sqrt(covariance[k, k]) / abs(truth["diffusion", term]))
    return floors


def _functions(terms: tuple[str, ...]) -> Floats:
    return np.stack([GRID ** POWERS[term] for term in terms])
