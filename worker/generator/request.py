"""What is asked of the analysis, and what it answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from worker.generator.errors import InvalidDomainError
from worker.generator.process import DiffusionProcess, FloatArray
from worker.generator.quantities.correlations import Correlations
from worker.generator.quantities.fixed_points import FixedPoint
from worker.generator.quantities.outcomes import FOR_TWO, NO_LAW, NO_STATES, Reason
from worker.generator.quantities.passages import Committor, Passage, SpatialPassage, Timing, Triple
from worker.generator.quantities.regions import Pair, facing_numbers
from worker.generator.quantities.report import GeneratorReport, Range


@dataclass(frozen=True, slots=True)
class AnalysisRequest:
    """What is asked of the analysis.

    passages         (from, to) pairs of numbers, before those between neighbouring wells [state]
    places           (from, to) pairs of points and regions of several coordinates [state]
    committors       pairs of numbers on the line, or of regions of two coordinates, before those
                     between neighbouring wells
    exits            (from, low, high) of intervals on the line or on a circle to be left [state]
    density_points   number of points of the density's grid
    eigenpairs       number of non-zero eigenvalues
    eigenfunctions   whether to give the eigenfunctions, on the density's grid
    lags             number of lags of the autocorrelation function
    frequencies      number of frequencies of the power spectrum
    observed_range   where the data of the one coordinate were; what lies outside is extrapolation
                     [state]
    observed_ranges  where the data of each coordinate were [state]
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


def pairs_to_time(
    request: AnalysisRequest, fixed: tuple[FixedPoint, ...], scale: float
) -> list[Range]:
    """Return the passages asked for, then the others between neighbouring wells in both directions.

    Parameters
    ----------
    request : what is asked for
    fixed : fixed points of the drift
    scale : length of the model against which two passages count as one [state]
    """
    wells = [point.at[0] for point in fixed if point.stable]
    between = [pair for low, high in pairwise(wells) for pair in ((low, high), (high, low))]
    near = 1e-9 * scale
    asked = request.passages
    return [
        *asked,
        *(
            pair
            for pair in between
            if not any(max(abs(pair[0] - a), abs(pair[1] - b)) <= near for a, b in asked)
        ),
    ]


def autocorrelation(report: GeneratorReport, lags: FloatArray) -> FloatArray | None:
    """Return C(t) = ⟨δx(0) δx(t)⟩ / ⟨δx²⟩ of each coordinate at lags (n,) [time]: (d, n).

    None where there is none: `report.correlations` has the reason, or there is no stationary
    distribution. An angle x of period P has the real part of the autocorrelation of exp(2πix/P).
    The values on the line are right to 1e-5 for any lag.
    """
    return (
        report.correlations.functions.autocorrelation(lags)
        if isinstance(report.correlations, Correlations)
        else None
    )


def power_spectrum(report: GeneratorReport, frequencies: FloatArray) -> FloatArray | None:
    """Return the one-sided power spectral density of each coordinate: (d, m) [state²·time].

    The frequencies (m,) are positive [1/time]. The integral over all of them is the variance. An
    angle has the sum of the spectra of cos and sin [time]. None where there is no spectrum.
    """
    return (
        report.correlations.functions.power_spectrum(frequencies)
        if isinstance(report.correlations, Correlations)
        else None
    )


def unanswered(
    request: AnalysisRequest, why: Reason
) -> tuple[tuple[SpatialPassage, ...], tuple[Committor, ...]]:
    """Return the passages and committors between places that were asked for, with one reason."""
    return (
        tuple(SpatialPassage(start, to, Timing(None, why)) for start, to in request.places),
        tuple(Committor(start, to, why) for start, to in request.committors),
    )


def observed_ranges(
    given: Range | Sequence[Range] | None, dimension: int
) -> tuple[Range, ...] | None:
    """Return one range for each coordinate, from a single range or a sequence of ranges.

    Raises InvalidDomainError where their number is not that of the coordinates.
    """
    if given is None:
        return None
    pairs = np.array(given, dtype=float).reshape(-1, 2)
    if len(pairs) != dimension:
        raise InvalidDomainError(
            f"{len(pairs)} observed ranges were given for {dimension} coordinates; give one for "
            "each"
        )
    return tuple((float(low), float(high)) for low, high in pairs)


def without_stationary_distribution(
    process: DiffusionProcess,
    fixed: tuple[FixedPoint, ...],
    reason: Reason | None,
    request: AnalysisRequest,
) -> GeneratorReport:
    """Return the report of what needs no stationary distribution.

    Parameters
    ----------
    process : diffusion process in several coordinates
    fixed : its fixed points
    reason : why there is no stationary distribution; None where there is one
    request : what is asked for
    """
    untimed = Timing(None, NO_STATES)
    between, committors = unanswered(request, NO_LAW if process.dimension == 2 else FOR_TWO)
    return GeneratorReport(
        ergodic=False,
        reason=reason,
        domain=(-np.inf, np.inf),
        domains=tuple((float(low), float(high)) for low, high in process.domain),
        boundaries="natural",
        fixed_points=fixed,
        passages=tuple(Passage(*pair, untimed, untimed) for pair in request.passages),
        between=between,
        committors=committors,
    )
