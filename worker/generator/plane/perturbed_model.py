"""Analysis of models near an analysed one in the plane, on the coarsest cells of the other.

The discretisation error is the same for both models; it cancels in their difference or ratio.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from worker.generator.line.spectrum import matched
from worker.generator.linear.perturbed_model import without_law_near
from worker.generator.plane.box.box import Box, Chart, lowest_diffusion
from worker.generator.plane.box.existence import escapes
from worker.generator.plane.correlations import LevelModel, SmallModel, level_model
from worker.generator.plane.density_grid import CoarseDensity
from worker.generator.plane.eigenmodes import ComplexArray
from worker.generator.plane.grid_refinement import Level, Solution, law_numbers, solve_near
from worker.generator.plane.passages.passages import Solved, committors_near, passages_near
from worker.generator.process import DiffusionProcess, FloatArray
from worker.generator.quantities.correlations import Correlations, times_of
from worker.generator.quantities.outcomes import Reason
from worker.generator.quantities.report import GeneratorReport
from worker.generator.quantities.spectrum import Spectrum
from worker.generator.quantities.stationary import MultivariateDistribution

AT_THE_EDGE = 1e-3
"""Probability in the outermost cells of an open side above which the model does not fit the box."""
NEGATIVE = 1e-3
"""Probability of states without positive diffusion above which the model defines no process."""
EXTRA = 4
"""Number of eigenvalues sought beyond those of the solution; see `slow_modes`."""
TOLERANCE = 1e-5
"""Relative residual of the eigenvalues; the rates are accurate to 1e-8."""
SAME = 1e-2
"""Relative distance up to which an eigenvalue of a small model is one of the cells' slowest."""
DISTANCES, FAR, STEPS = (1.0, 8.0, 64.0), 1e5, 150
"""Paths of `escape`, fewer and shorter than for the solution, as the model is near it."""


@dataclass(frozen=True, eq=False)
class PerturbedPlaneAnalysis:
    """Analysis of models near an analysed one, on its cells.

    report      report of the analysed model
    solution    its stationary distribution and rates on cells
    passages    domain and schemes of each of its passages, None where it has no time
    committors  domain and schemes of each of its committors, None where there is none
    """

    report: GeneratorReport
    solution: Solution
    passages: tuple[Solved | None, ...] = ()
    committors: tuple[Solved | None, ...] = ()

    def __call__(self, process: DiffusionProcess) -> GeneratorReport:
        """Return the report of a process; what it has not is nan or missing."""
        report = self.report
        try:
            level = self._level(process)
            return (
                without_law_near(process, report) if level is None else self._near(process, level)
            )
        except (RuntimeError, ValueError):
            # The matrix of a draw from the far tail of the coefficients' distribution may be
            # singular.
            return without_law_near(process, report)

    def has_distribution(self, processes: Sequence[DiffusionProcess]) -> NDArray[np.bool_]:
        """Return whether each process comes back from outside the solution's box: (n,)."""
        box = self.solution.box
        found = escapes(
            box.chart, processes, box.spans, box.walls, distances=DISTANCES, far=FAR, steps=STEPS
        )
        return np.array([at is None for at in found])

    def _chart(self, process: DiffusionProcess) -> Chart:
        return replace(self.solution.box.chart, process=process)

    def _level(self, process: DiffusionProcess) -> Level | None:
        """Solve the process on the coarsest cells; None where it is no process there."""
        solution, chart = self.solution, self._chart(process)
        coarse = solution.first
        count, search = len(solution.numbers.rates), (coarse.modes, EXTRA, TOLERANCE)
        level = solve_near(chart, coarse.grid, solution.schemes, count, solution.rate, *search)
        masses = (level.density * level.grid.volumes).ravel()
        negative = lowest_diffusion(chart.raw_diffusion(level.grid.centres)) < -1e-9
        return None if masses[negative].sum() > NEGATIVE else level

    def _near(self, process: DiffusionProcess, level: Level) -> GeneratorReport:
        report, solution = self.report, self.solution
        law, spectrum = report.stationary, report.spectrum
        assert isinstance(law, MultivariateDistribution)
        assert spectrum is not None
        found = without_law_near(process, report, ergodic=True)
        if _at_open_sides(solution.box, level.density * level.grid.volumes) > AT_THE_EDGE:
            return found
        found = replace(
            found,
            between=tuple(passages_near(process, report.between, self.passages)),
            committors=tuple(committors_near(process, report.committors, self.committors)),
        )
        rates = matched(level.numbers.rates, solution.numbers.rates)
        shown = rates[: len(spectrum.eigenvalues)]
        numbers = law_numbers(level.numbers.moments)
        assert numbers.skewness is not None
        assert numbers.kurtosis is not None
        chart = self._chart(process)
        own = replace(
            law,
            mean=tuple(numbers.mean.tolist()),
            covariance=tuple(map(tuple, numbers.covariance.tolist())),
            skewness=tuple(numbers.skewness.tolist()),
            kurtosis=tuple(numbers.kurtosis.tolist()),
            density=law.density
            if self._density is None
            else self._density.density_of(chart, level),
            circulation=numbers.circulation,
            entropy_production=numbers.entropy_production,
        )
        return replace(
            found,
            stationary=own,
            spectrum=Spectrum(shown, None, np.zeros(len(rates))),
            correlations=self._correlations_of(chart, level, rates),
        )

    @cached_property
    def _density(self) -> CoarseDensity | None:
        law = self.report.stationary
        if not isinstance(law, MultivariateDistribution) or not law.density.size:
            return None
        return CoarseDensity.of(self.solution, law)

    @cached_property
    def _own_rates(self) -> ComplexArray:
        """Rates of the solution on the coarsest cells (k,) [1/time]."""
        return matched(self.solution.first.numbers.rates, self.solution.numbers.rates)

    @cached_property
    def _model(self) -> LevelModel | None:
        """Small models of the solution on its coarsest cells."""
        solution = self.solution
        slowest = float(solution.numbers.rates[0].real)
        return level_model(
            solution.box.chart, solution.first, solution.schemes, solution.rate, slowest
        )

    def _correlations_of(
        self, chart: Chart, level: Level, rates: ComplexArray
    ) -> Correlations | Reason | None:
        correlations, solution = self.report.correlations, self.solution
        if not isinstance(correlations, Correlations):
            return correlations
        exact, coarse = solution.numbers.rates, self._own_rates
        # Real parts are corrected by their ratio, so that they stay positive, and imaginary parts
        # by their difference, as they may vanish.
        better = exact.real * rates.real / coarse.real + 1j * (
            exact.imag + rates.imag - coarse.imag
        )
        if self._model is None or not (np.isfinite(rates).all() and better[0].real > 0):
            return None
        model = level_model(
            chart, level, solution.schemes, solution.rate, float(better[0].real), self._model
        )
        if model is None:
            return None
        zero = np.zeros(1)
        right = _corrected(model, rates, better)
        return replace(
            correlations,
            autocorrelation=right.covariances(correlations.lags) / right.covariances(zero),
            power_spectrum=right.spectra(correlations.frequencies),
            integrated_times=times_of(model.integrals / model.covariances(zero)[:, 0]),
        )


def _corrected(model: LevelModel, own: ComplexArray, better: ComplexArray) -> LevelModel:
    """Replace the level's `own` slowest rates (k,) of the small models by `better` ones.

    A wave that decays and turns a little too fast is soon out of phase with the reference.
    """

    def corrected(small: SmallModel) -> SmallModel:
        rates = small.rates.copy()
        for rate, right in zip(own, better, strict=True):
            nearest = int(np.argmin(np.abs(small.rates - rate)))
            if abs(small.rates[nearest] - rate) < SAME * abs(rate):
                rates[nearest] = right
        return replace(small, rates=rates)

    first, second = (tuple(corrected(small) for small in models) for models in model.coordinates)
    return LevelModel((first, second))


def _at_open_sides(box: Box, masses: FloatArray) -> float:
    largest = 0.0
    for axis, span in enumerate(box.spans):
        along = np.abs(masses.sum(axis=1 - axis))
        for end, side in ((span.low, 0), (span.high, -1)):
            if not span.circle and end != box.walls[axis, side]:
                largest = max(largest, float(along[side]))
    return largest
