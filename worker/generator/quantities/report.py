"""What is asked of the analysis, and what it answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Literal

import numpy as np

from worker.generator.errors import InvalidDomainError
from worker.generator.line.domain.boundaries import End
from worker.generator.line.effective_potential import EffectivePotential
from worker.generator.line.fixed_points import Barrier, FixedPoint
from worker.generator.line.local_relaxation import LocalRelaxation
from worker.generator.line.passages.exits import Exit, Triple
from worker.generator.line.passages.mean_times import Passage
from worker.generator.line.spectrum import Spectrum
from worker.generator.line.stationary import StationaryLaw
from worker.generator.plane.passages.passages import SpatialPassage
from worker.generator.process import FloatArray
from worker.generator.quantities.committor import Committor
from worker.generator.quantities.correlations import Memory, NoMemory
from worker.generator.quantities.kinds import NUMBER
from worker.generator.quantities.multivariate_distribution import SpatialLaw
from worker.generator.quantities.passage_time import Timing
from worker.generator.quantities.regions import Pair, facing_numbers
from worker.generator.simulation.distribution import SimulatedLaw

Range = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Questions:
    """What is asked.

    passages         (from, to) pairs of numbers to time, before those between neighbouring wells [state]
    places           likewise pairs that are not two numbers: points and regions of several coordinates
    committors       pairs of numbers on the line, or of regions of two coordinates, before those between neighbouring wells
    exits            (from, low, high) of intervals on the line or on a circle to be left [state]
    density_points   points of the density's grid
    eigenpairs       number of non-zero eigenvalues
    eigenfunctions   also give the eigenfunctions, on the density's grid
    lags, frequencies   number of lags of the autocorrelation function, and of frequencies of the power spectrum
    observed_range   where the data were; what lies outside is named as extrapolation [state]
    observed_ranges  likewise, of each of two coordinates or more [state]
    """

    passages: tuple[Range, ...] = ()
    places: tuple[Pair, ...] = ()
    committors: tuple[Pair, ...] = ()
    exits: tuple[Triple, ...] = ()
    density_points: int = 400
    eigenpairs: int = 5
    eigenfunctions: bool = False
    lags: int = 100
    frequencies: int = 100
    observed_range: Range | None = None
    observed_ranges: tuple[Range, ...] | None = None

    @property
    def on_the_line(self) -> tuple[tuple[float, ...], ...]:
        """All that is asked about states of one coordinate: tuples of numbers [state]."""
        committors = (facing_numbers(pair) for pair in self.committors)
        return (*self.passages, *self.exits, *(pair for pair in committors if pair is not None))


@dataclass(frozen=True, slots=True, eq=False)
class GeneratorReport:
    """What the generator L f = b·∇f + ½ a:∇²f says.

    ergodic           the process forgets where it started and settles into one stationary law
    reason            why it does not; None where it does
    domain            interval the analysis ran on, ±inf where open; the whole line in more coordinates than one [state]
    boundaries        `reflecting` where an end of the domain has positive noise, so that the process reaches it and is taken to
                      be reflected: by a declared end, or on request (then `ergodic` is still False)
    ends              lower and upper end, classified; empty where the noise is not positive, and in more coordinates than one
    stationary, spectrum, memory   None without a stationary law; `memory` is the autocorrelation function and power spectrum
    fixed_points, barriers, passages, effective_potential, local_relaxation   as far as they exist without one
    probability_current   net flow of probability through every point of a circle [1/time]; None on the line, where it is 0
    between           passages between places of several coordinates
    committors        between states on the line, and regions of two coordinates
    exits             from intervals on the line and on the circle
    extrapolated      sentences that name what rests on no data
    observed_ranges   where the data were, of each coordinate, where that was given and is no angle [state]
    unseen_mass       stationary probability beyond them; None without a law or a density
    domains           the domain of each of two coordinates or more; empty in one [state]
    approximation     why the numbers are those of another, simpler process; None where they are the process's own
    simulated         what simulated paths show, of three coordinates and more that are not linear
    cut               sentences that name where the analysis ends because the model's noise is not positive beyond
    """

    ergodic: bool
    reason: str | None
    domain: Range
    boundaries: Literal["natural", "reflecting"]
    ends: tuple[End, ...] = ()
    stationary: StationaryLaw | SpatialLaw | None = None
    spectrum: Spectrum | None = None
    memory: Memory | NoMemory | None = None
    fixed_points: tuple[FixedPoint, ...] = ()
    barriers: tuple[Barrier, ...] = ()
    passages: tuple[Passage, ...] = ()
    effective_potential: EffectivePotential | None = None
    local_relaxation: LocalRelaxation | None = None
    between: tuple[SpatialPassage, ...] = ()
    committors: tuple[Committor, ...] = ()
    exits: tuple[Exit, ...] = ()
    probability_current: Annotated[float | None, NUMBER] = None
    extrapolated: tuple[str, ...] = ()
    observed_ranges: tuple[Range, ...] | None = None
    unseen_mass: float | None = None
    domains: tuple[Range, ...] = ()
    approximation: str | None = None
    cut: tuple[str, ...] = ()
    simulated: SimulatedLaw | None = None


def pairs_to_time(questions: Questions, fixed: tuple[FixedPoint, ...], scale: float) -> list[Range]:
    """The passages asked for, then those between neighbouring wells in both directions that were not; `scale` is a length of the
    model, against which two passages count as the same [state]."""
    wells = [point.at[0] for point in fixed if point.stable]
    between = [pair for low, high in pairwise(wells) for pair in ((low, high), (high, low))]
    near = 1e-9 * scale
    asked = questions.passages
    return [
        *asked,
        *(
            pair
            for pair in between
            if not any(max(abs(pair[0] - a), abs(pair[1] - b)) <= near for a, b in asked)
        ),
    ]


def autocorrelation(report: GeneratorReport, lags: FloatArray) -> FloatArray | None:
    """C(t) = ⟨δx(0) δx(t)⟩ / ⟨δx²⟩ of each coordinate of the stationary process at lags (n,) [time]: (d, n), 1 at lag 0; None
    where there is none (`report.memory` has the reason, or there is no stationary law). Of an angle x of period P, the real part
    of that of exp(2πix/P). On the line right to 1e-5 for any lag."""
    return (
        report.memory.correlations.autocorrelation(lags)
        if isinstance(report.memory, Memory)
        else None
    )


def power_spectrum(report: GeneratorReport, frequencies: FloatArray) -> FloatArray | None:
    """One-sided power spectral density of each coordinate at positive frequencies (n,) [1/time]: (d, n) [state²·time]; None where
    there is none. Its integral over all frequencies is the variance. Of an angle, the sum of those of cos and sin [time]."""
    return (
        report.memory.correlations.power_spectrum(frequencies)
        if isinstance(report.memory, Memory)
        else None
    )


def untimed(passages: tuple[Range, ...], dimension: int) -> tuple[Passage, ...]:
    """Passages between two numbers that were asked of a process of several coordinates."""
    why = Timing(
        None,
        f"two numbers name no states of a process of {dimension} coordinates; give points or regions",
    )
    return tuple(Passage(start, to, why, why) for start, to in passages)


def unanswered(
    questions: Questions, why: str
) -> tuple[tuple[SpatialPassage, ...], tuple[Committor, ...]]:
    """The passages and committors between places that were asked for, with one reason for all of them."""
    return (
        tuple(SpatialPassage(start, to, Timing(None, why)) for start, to in questions.places),
        tuple(Committor(start, to, None, why) for start, to in questions.committors),
    )


def observed_ranges(
    given: Range | Sequence[Range] | None, dimension: int
) -> tuple[Range, ...] | None:
    """One range for each coordinate, from the range of the one coordinate or a sequence of ranges.

    Raises InvalidDomainError where their number is not that of the coordinates.
    """
    if given is None:
        return None
    pairs = np.array(given, dtype=float).reshape(-1, 2)
    if len(pairs) != dimension:
        raise InvalidDomainError(
            f"{len(pairs)} observed ranges were given for {dimension} coordinates; give one for each"
        )
    return tuple((float(low), float(high)) for low, high in pairs)
