"""The report: what the generator L f = b·∇f + ½ a:∇²f says, and what of it rests on no data."""

from dataclasses import dataclass, replace
from typing import Annotated, Literal

from worker.generator.process import FloatArray
from worker.generator.quantities.boundary import End
from worker.generator.quantities.correlations import Correlations
from worker.generator.quantities.fixed_points import Barrier, FixedPoint
from worker.generator.quantities.kinds import NUMBER, POSITIVE
from worker.generator.quantities.outcomes import Reason
from worker.generator.quantities.passages import Committor, Exit, Passage, SpatialPassage
from worker.generator.quantities.spectrum import Spectrum
from worker.generator.quantities.stationary import (
    EffectivePotential,
    LocalRelaxation,
    MultivariateDistribution,
    SimulatedLaw,
    StationaryDistribution,
)

Range = tuple[float, float]


@dataclass(frozen=True, slots=True, eq=False)
class GeneratorReport:
    """What the generator L f = b·∇f + ½ a:∇²f says.

    ergodic           whether the process forgets where it started and settles into one stationary
                      distribution; None where that is not known
    reason            why it does not, or why it is not known; None where it does
    domain            interval the analysis ran on, ±inf where open; the whole line in more
                      coordinates than one [state]
    boundaries        `reflecting` where an end of the domain has positive noise, so that the
                      process reaches it and is taken to be reflected: by a declared end, or on
                      request (then `ergodic` is still False)
    ends              lower and upper end, classified; empty where the noise is not positive, and in
                      more coordinates than one
    stationary        stationary distribution; None where there is none
    spectrum          relaxation rates; None without a stationary distribution
    correlations      autocorrelation and power spectrum; None without a stationary distribution
    fixed_points, barriers, passages, effective_potential
                      as far as they exist without a stationary distribution
    grid              (n,) states of one coordinate at which its curves are given [state]; None
                      where there are none
    local_relaxation  on the grid
    probability_current
                      net flow of probability through every point of a circle [1/time]; None on the
                      line, where it is 0
    mean_velocity     ⟨dx/dt⟩ of an angle, the current times the period [state/time]; None on the
                      line
    between           passages between places of several coordinates
    committors        committors between states on the line, and regions of two coordinates
    exits             exits from intervals on the line and on the circle
    kinetic_temperature
                      ⟨v²⟩ of a process of second order in one coordinate [state²/time²]; None for
                      others
    extrapolated      sentences that name what rests on no data
    observed_ranges   where the data of each coordinate were, if given and no angle [state]
    unseen_mass       stationary probability beyond them; None without a density
    domains           domain of each of two coordinates or more; empty in one [state]
    approximation     why the numbers are those of another, simpler process; None where they are the
                      process's own
    simulated         what simulated paths show, of three coordinates and more that are not linear
    cut               sentences that name where the analysis ends because the model's noise is not
                      positive beyond
    """

    ergodic: bool | None
    reason: Reason | None
    domain: Range
    boundaries: Literal["natural", "reflecting"]
    ends: tuple[End, ...] = ()
    stationary: StationaryDistribution | MultivariateDistribution | None = None
    spectrum: Spectrum | None = None
    correlations: Correlations | Reason | None = None
    fixed_points: tuple[FixedPoint, ...] = ()
    barriers: tuple[Barrier, ...] = ()
    passages: tuple[Passage, ...] = ()
    grid: FloatArray | None = None
    effective_potential: EffectivePotential | None = None
    local_relaxation: LocalRelaxation | None = None
    between: tuple[SpatialPassage, ...] = ()
    committors: tuple[Committor, ...] = ()
    exits: tuple[Exit, ...] = ()
    probability_current: Annotated[float | None, NUMBER] = None
    mean_velocity: Annotated[float | None, NUMBER] = None
    kinetic_temperature: Annotated[float | None, POSITIVE] = None
    extrapolated: tuple[str, ...] = ()
    observed_ranges: tuple[Range, ...] | None = None
    unseen_mass: float | None = None
    domains: tuple[Range, ...] = ()
    approximation: str | None = None
    cut: tuple[str, ...] = ()
    simulated: SimulatedLaw | None = None


def with_reflecting_ends(report: GeneratorReport, inner: GeneratorReport) -> GeneratorReport:
    """Return the report `inner` between reflecting ends, labelled so.

    It keeps why there is no stationary distribution without these ends, which `report` says.
    """
    reason = report.reason
    if reason is not None and not inner.ergodic:
        reason = replace(reason, sentence=f"{reason}. With reflecting boundaries: {inner.reason}")
    return replace(inner, ergodic=False, reason=reason, boundaries="reflecting")


JUST_BEYOND = 0.1
"""Distance from the data, over the width of their range, up to which terms are not said to be
extrapolated: at the ends of the data they are no better determined."""


def widened(observed: Range) -> Range:
    """Return the range of the data with what lies just beyond."""
    low, high = observed
    return low - JUST_BEYOND * (high - low), high + JUST_BEYOND * (high - low)


def extrapolated(report: GeneratorReport, ranges: tuple[Range, ...]) -> tuple[str, ...]:
    """Return one sentence for every well, barrier and passage well outside the observed ranges.

    Of several coordinates there are sentences about wells alone.
    """
    if len(ranges) > 1:
        return _wells_outside(report.fixed_points, ranges)
    ((low, high),) = ranges
    first, last = widened(ranges[0])

    def seen(*points: float) -> bool:
        return all(first <= point <= last for point in points)

    unseen = f"outside the observed range [{low:.6g}, {high:.6g}]: extrapolation"
    wells = [
        f"the well at x = {point.at[0]:.6g} lies {unseen}"
        for point in report.fixed_points
        if point.stable and not seen(*point.at)
    ]
    tops = dict.fromkeys(barrier.over for barrier in report.barriers if not seen(barrier.over))
    return (
        *wells,
        *(f"the barrier at x = {top:.6g} lies {unseen}" for top in tops),
        *(
            f"the passage from x = {passage.start:.6g} to {passage.to:.6g} runs {unseen}"
            for passage in report.passages
            if not seen(passage.start, passage.to)
        ),
    )


def _wells_outside(fixed: tuple[FixedPoint, ...], observed: tuple[Range, ...]) -> tuple[str, ...]:
    return tuple(
        f"the well at ({', '.join(f'{value:.6g}' for value in point.at)}) lies outside the "
        "observed ranges: extrapolation"
        for point in fixed
        if point.stable
        and not all(
            low <= x <= high
            for x, (low, high) in zip(point.at, map(widened, observed), strict=True)
        )
    )
