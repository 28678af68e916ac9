"""A model on a circle near one that was analysed: the same report on the same grids."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from worker.generator.circle.analysis import (
    circular_barriers,
    circular_distribution,
    circular_fixed_points,
    points_of,
)
from worker.generator.circle.correlations import (
    RESOLVED,
    CircleCorrelations,
    perturbed_correlations,
)
from worker.generator.circle.fourier import MODES, perturbed_fourier_rates
from worker.generator.circle.passages import circular_committor, circular_exit, perturbed_passage
from worker.generator.circle.unrolled_circle import unroll
from worker.generator.errors import GeneratorError
from worker.generator.line.fixed_points import (
    barriers_round,
    counterparts_round,
    fixed_points_at,
)
from worker.generator.line.spectrum import matched
from worker.generator.line.stationary import effective_potential
from worker.generator.process import DiffusionProcess, ScalarProcess, scalar_view, values
from worker.generator.quantities.correlations import Correlations
from worker.generator.quantities.passages import Timing
from worker.generator.quantities.report import GeneratorReport
from worker.generator.quantities.spectrum import Spectrum

LOOKS = 257
"""Points of a turn at which the sign of the noise is checked."""


@dataclass(frozen=True, slots=True, eq=False)
class PerturbedCircleAnalysis:
    """Analysis of models like one that was analysed, on its grids.

    report  report of the reference
    """

    report: GeneratorReport

    def slowest_rate(self, process: DiffusionProcess) -> float | None:
        """Return the slowest rate of a process alone [1/time]; None where it has none."""
        spectrum = self(process).spectrum
        rate = (
            float(spectrum.eigenvalues[0].real)
            if spectrum is not None and len(spectrum.eigenvalues)
            else np.nan
        )
        return rate if np.isfinite(rate) else None

    def __call__(self, process: DiffusionProcess) -> GeneratorReport:
        """Return the report of a process; what it does not have is nan, or not there."""
        try:
            return self._near(scalar_view(process))
        except GeneratorError:
            return GeneratorReport(False, None, process.domain[0], "natural")

    def has_distribution(self, processes: Sequence[DiffusionProcess]) -> NDArray[np.bool_]:
        """Return (n,) whether the noise of each process is positive all the way round."""
        at = np.linspace(*self.report.domain, LOOKS)
        return np.array(
            [bool(np.all(values(scalar_view(process).a, at) > 0)) for process in processes],
            dtype=bool,
        )

    def _near(self, model: ScalarProcess) -> GeneratorReport:
        report = self.report
        low, period = report.domain[0], report.domain[1] - report.domain[0]
        fixed = circular_fixed_points(model, low)
        pairs = [(p.start, p.to) for p in report.passages]
        between = [(c.start, c.to) for c in report.committors]
        circle = unroll(
            model,
            low,
            points_of(fixed, pairs, between, [(e.start, e.low, e.high) for e in report.exits]),
        )
        places, own = counterparts_round(report.fixed_points, fixed, period)
        correlations = report.correlations
        functions = (
            perturbed_correlations(model, circle, correlations)
            if isinstance(correlations, Correlations)
            else None
        )
        if isinstance(correlations, Correlations):
            correlations = None if functions is None else with_curves_of(correlations, functions)
        potential = report.effective_potential
        grid = None if potential is None else potential.grid
        law, current = circular_distribution(circle, 2 if grid is None else len(grid))
        return GeneratorReport(
            ergodic=True,
            reason=None,
            domain=report.domain,
            boundaries="natural",
            stationary=law,
            spectrum=None
            if report.spectrum is None
            else _spectrum(model, low, report.spectrum, functions),
            correlations=correlations,
            fixed_points=fixed_points_at(report, places),
            barriers=barriers_round(report, own, circular_barriers(circle, fixed) if own else ()),
            passages=tuple(perturbed_passage(circle, passage) for passage in report.passages),
            committors=tuple(circular_committor(circle, pair) for pair in between),
            exits=tuple(circular_exit(circle, (e.start, e.low, e.high)) for e in report.exits),
            grid=grid,
            effective_potential=None
            if grid is None
            else effective_potential(circle.landscape, grid),
            probability_current=current,
        )


def with_curves_of(like: Correlations, own: CircleCorrelations) -> Correlations:
    """Return the curves of a model at the lags and frequencies of another."""
    return replace(
        like,
        autocorrelation=own.autocorrelation(like.lags),
        power_spectrum=own.power_spectrum(like.frequencies),
        integrated_times=(Timing.from_log(float(np.log(own.integrated_time))),),
        functions=own,
    )


def _spectrum(
    model: ScalarProcess, low: float, like: Spectrum, own: CircleCorrelations | None
) -> Spectrum:
    """Return the rates of a model that stand for another's, as far as it has them."""
    assert model.period is not None
    wanted = like.eigenvalues
    if own is not None or not len(wanted):
        return like if own is None else replace(like, eigenvalues=matched(own.rates, wanted))
    for modes in MODES[1:]:
        rates, last = perturbed_fourier_rates(model, low, model.period, modes, wanted)
        if last < RESOLVED:
            return replace(like, eigenvalues=matched(rates, wanted))
    return replace(like, eigenvalues=np.full(len(wanted), np.nan, complex))
