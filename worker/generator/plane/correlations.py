"""Autocorrelation and power spectrum in the plane, from small models of the cells' matrix.

A small model shares the slow part of the matrix.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.sparse import csc_array, eye_array
from scipy.sparse.linalg import SuperLU

from worker.generator.numerics.correlation_functions import correlations_of
from worker.generator.plane.box.box import Chart
from worker.generator.plane.eigenmodes import ComplexArray, factorised
from worker.generator.plane.finite_volumes import Schemes, coarser
from worker.generator.plane.grid import Grid
from worker.generator.plane.grid_refinement import Level, Solution, weights_of
from worker.generator.process import FloatArray
from worker.generator.quantities.correlations import Correlations, times_of
from worker.generator.quantities.outcomes import (
    RATES_TOO_FAR_APART,
    TOO_WEAK_FOR_CELLS,
    Reason,
)

STEPS = 8
"""Steps of the Krylov space by which a small model grows."""
MOST_STEPS = 64
LEAST = {"exponential": 1e-14, "upwind": 1e-6, "high-order": 1e-6}
"""Smallest mass of a cell, over the largest: only those of exponential fitting are accurate further
down."""
CLOSED = 1e-10
"""Relative size of a new Krylov vector below which the space is closed."""
SETTLED = 1e-5
"""Change of the autocorrelation, and relative change of its integral, at which a model settles."""
LARGEST_CELLS = 108
"""Cells along each axis above which a level is not used: the extrapolation makes up for it."""
ACCURATE = 0.005
"""Change of the autocorrelation by the extrapolation at which coarse levels of high order do."""
LARGEST_ERROR = 0.02
"""Change of the autocorrelation by the extrapolation above which there is no answer."""
REACH = 5.0
"""Longest time for which a small model is built, in slowest relaxation times."""
WELL_CONDITIONED = 1e8


@dataclass(frozen=True, slots=True, eq=False)
class SmallModel:
    """Generator on the Krylov space of (s − L)⁻¹, equation (G52).

    The space starts from a function's deviation from its mean.

    rates    (m,) eigenvalues of −L there [1/time]
    weights  (m,) share of each mode in the covariance [unit of the function, squared]
    """

    rates: ComplexArray
    weights: ComplexArray

    def covariance(self, lags: FloatArray) -> FloatArray:
        """Return the covariance at lags (n,) [time]: (n,)."""
        return np.asarray(np.real(np.exp(-np.abs(lags)[:, None] * self.rates) @ self.weights))

    def spectrum(self, frequencies: FloatArray) -> FloatArray:
        """Return the one-sided density at frequencies (n,) [1/time]: (n,)."""
        return np.asarray(
            4 * np.real((1 / (self.rates + 2j * np.pi * frequencies[:, None])) @ self.weights)
        )

    @property
    def integral(self) -> float:
        """Integral of the covariance over all lags from 0."""
        return float(np.sum(self.weights / self.rates).real)


@dataclass(frozen=True, slots=True, eq=False)
class LevelModel:
    """Small models on one level, one for each coordinate; an angle has two, for cosine and sine."""

    coordinates: tuple[tuple[SmallModel, ...], tuple[SmallModel, ...]]

    def covariances(self, lags: FloatArray) -> FloatArray:
        """Return the covariances (2, n) at lags (n,) [time]."""
        return np.array(
            [sum(model.covariance(lags) for model in models) for models in self.coordinates]
        )

    def spectra(self, frequencies: FloatArray) -> FloatArray:
        """Return the spectra (2, n) at frequencies (n,) [1/time]."""
        return np.array(
            [sum(model.spectrum(frequencies) for model in models) for models in self.coordinates]
        )

    @property
    def integrals(self) -> FloatArray:
        """Integrals (2,) of the covariances over all lags from 0."""
        return np.array([sum(model.integral for model in models) for models in self.coordinates])


@dataclass(frozen=True, slots=True, eq=False)
class PlaneCorrelations:
    """Correlation functions extrapolated from small models on two or three levels."""

    models: tuple[LevelModel, ...]
    shares: FloatArray

    def autocorrelation(self, lags: FloatArray) -> FloatArray:
        """Return the autocorrelation of each coordinate at lags (n,) [time]: (2, n)."""
        lags = np.asarray(lags, dtype=np.float64)
        zero = np.zeros(1)
        return self._extrapolated(
            [model.covariances(lags) / model.covariances(zero) for model in self.models]
        )

    def power_spectrum(self, frequencies: FloatArray) -> FloatArray:
        """Return the one-sided density of each coordinate at frequencies (n,) [1/time]: (2, n)."""
        return self._extrapolated(
            [model.spectra(np.asarray(frequencies, dtype=np.float64)) for model in self.models]
        )

    @property
    def integrated_times(self) -> FloatArray:
        """Integrated autocorrelation times ∫_0^∞ C dt, (2,) [time]."""
        return self._extrapolated(
            [model.integrals / model.covariances(np.zeros(1))[:, 0] for model in self.models]
        )

    def _extrapolated(self, values: list[FloatArray]) -> FloatArray:
        return np.asarray(np.tensordot(self.shares, np.stack(values), 1))


def correlations_in_the_plane(
    solution: Solution, n_lags: int, n_frequencies: int
) -> Correlations | Reason:
    """Return autocorrelation, power spectrum and integrated times, or why there are none.

    Parameters
    ----------
    solution : stationary distribution and rates on cells
    n_lags, n_frequencies : numbers of points
    """
    rates = solution.numbers.rates
    if not len(rates) or not solution.errors[0] < LARGEST_ERROR:
        return TOO_WEAK_FOR_CELLS
    levels = [level for level in solution.ladder if level.grid.shape[0] <= LARGEST_CELLS]
    sizes = n_lags, n_frequencies
    if coarser(solution.schemes) != "high-order":
        return _on_levels(solution, levels[-3:], sizes, LARGEST_ERROR)
    for two in pairwise(levels[:-1]):
        found = _on_levels(solution, list(two), sizes, ACCURATE)
        if isinstance(found, Correlations):
            return found
    return _on_levels(solution, levels[-2:], sizes, LARGEST_ERROR)


def _on_levels(
    solution: Solution, levels: list[Level], sizes: tuple[int, int], largest_error: float
) -> Correlations | Reason:
    rates = solution.numbers.rates
    chart, schemes, slowest = solution.box.chart, solution.schemes, float(rates[0].real)
    models = [level_model(chart, level, schemes, solution.rate, slowest) for level in levels]
    found = PlaneCorrelations(
        tuple(model for model in models if model is not None), weights_of(levels, solution.schemes)
    )
    if len(found.models) < len(levels):
        return RATES_TOO_FAR_APART
    fastest = float(np.max(np.abs(rates)))
    times = times_of(found.integrated_times)
    correlations = correlations_of(
        found, times, slowest=slowest, fastest=fastest, n_lags=sizes[0], n_frequencies=sizes[1]
    )
    finest = found.models[-1]
    on_cells = finest.covariances(correlations.lags) / finest.covariances(np.zeros(1))
    if not np.max(np.abs(correlations.autocorrelation - on_cells)) < largest_error:
        return TOO_WEAK_FOR_CELLS
    return correlations


def functions_of(chart: Chart, grid: Grid) -> list[list[FloatArray]]:
    """Return each coordinate at the cells' centres (n,); an angle by its cosine and sine."""
    x = chart.state(grid.centres)
    return [
        [x[:, axis]]
        if period is None
        else [wave(2 * np.pi * x[:, axis] / period) for wave in (np.cos, np.sin)]
        for axis, period in enumerate(chart.process.periods)
    ]


def level_model(
    chart: Chart,
    level: Level,
    schemes: Schemes,
    rate: float,
    slowest: float,
    like: LevelModel | None = None,
) -> LevelModel | None:
    """Build the small models of a level; None where one of them does not settle.

    Parameters
    ----------
    chart, level : process and its cells
    schemes : schemes of the fluxes along both axes
    rate, slowest : typical rate and slowest rate of the process [1/time]
    like : models of a similar process, whose sizes are large enough here, too
    """
    masses = (level.density * level.grid.volumes).ravel()
    solver = factorised(csc_array(rate * eye_array(masses.size) - level.matrix))
    times = 1 / rate, REACH / slowest
    least = LEAST[coarser(schemes)]
    settled = [[0, 0], [0, 0]]
    if like is not None:
        settled = [[len(small.rates) for small in models] for models in like.coordinates]
    coordinates = [
        [
            _small_model(level.matrix, solver, masses, function, times, least, size)
            for function, size in zip(functions, sizes, strict=False)
        ]
        for functions, sizes in zip(functions_of(chart, level.grid), settled, strict=True)
    ]
    first, second = (
        tuple(model for model in models if model is not None) for models in coordinates
    )
    complete = len(first) == len(coordinates[0]) and len(second) == len(coordinates[1])
    return LevelModel((first, second)) if complete else None


def _small_model(
    matrix: csc_array,
    solver: SuperLU,
    masses: FloatArray,
    function: FloatArray,
    times: tuple[float, float],
    least: float,
    settled: int,
) -> SmallModel | None:
    """Grow the small model of a function of the cells until it settles between two times.

    None where it does not settle. A model of the size `settled` counts as settled; 0 stands for an
    unknown size.
    """
    shortest, longest = times
    # In units of √π a process in equilibrium has a symmetric matrix, and none is far from normal.
    unit = np.sqrt(np.maximum(masses, least * masses.max()))
    function = function - masses @ function
    start = masses * function / unit
    total, lags = unit / np.linalg.norm(unit), np.linspace(0.0, longest, 40)
    basis = np.zeros((len(start), MOST_STEPS + 1), order="F")
    basis[:, 0] = start / np.linalg.norm(start)
    before: FloatArray | None = None
    for step in range(1, MOST_STEPS + 1):
        new = solver.solve(basis[:, step - 1] * unit) / unit
        size = np.linalg.norm(new)
        for _ in range(2):
            new -= basis[:, :step] @ (basis[:, :step].T @ new)
            # The stationary distribution has no part in it; only rounding errors lead there.
            new -= total * (total @ new)
        # Where nothing new is found, the space is closed and the model exact.
        closed = np.linalg.norm(new) < CLOSED * size
        if closed or (step % STEPS == 0 and step >= settled):
            small = basis[:, :step].T @ (
                (matrix @ (basis[:, :step] * unit[:, None])) / unit[:, None]
            )
            model = _in_modes(small, (function * unit) @ basis[:, :step], start @ basis[:, :step])
            if closed or (settled and model is not None):
                return model
            basis[:, step] = new / np.linalg.norm(new)
            if model is None:
                continue  # A space this small may still hold a growing mode.
            now = np.append(model.covariance(lags), model.integral) / model.covariance(lags[:1])
            # The integral vanishes for a velocity; its error is relative to a typical time.
            sizes = np.append(np.ones(len(lags)), max(abs(now[-1]), shortest))
            if before is not None and np.max(np.abs(now - before) / sizes) < SETTLED:
                return model
            before = now
        basis[:, step] = new / np.linalg.norm(new)
    return None


def _in_modes(small: FloatArray, left: FloatArray, right: FloatArray) -> SmallModel | None:
    """Write left · exp(small · t) · right as decaying exponentials; None where there are none."""
    rates, vectors = np.linalg.eig(-small)
    if np.linalg.cond(vectors) > WELL_CONDITIONED or rates.real.min() <= 0:
        return None
    weights = (left @ vectors) * np.linalg.solve(vectors, right)
    return SmallModel(rates.astype(np.complex128), weights.astype(np.complex128))
