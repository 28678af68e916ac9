"""The analysis of several coordinates.

It is in closed form where the process is linear, on cells for two coordinates, and for more
coordinates linear next to a fixed point and simulated.
"""

from dataclasses import replace

import numpy as np

from worker.generator.errors import (
    InvalidDomainError,
    NoFiniteRangeError,
    UnsupportedDimensionError,
)
from worker.generator.linear.correlations import correlations_of_linear
from worker.generator.linear.fixed_points import fixed_point_at, gaussian_covariance
from worker.generator.linear.process import LinearProcess, gaussian_density, linear_view
from worker.generator.multivariate.perturbed_linear import PerturbedLinearAnalysis
from worker.generator.plane.analysis import analysed_in_the_plane
from worker.generator.plane.box.initial_rectangle import first_rectangle, fixed_points_in
from worker.generator.plane.density_grid import MOST_POINTS
from worker.generator.plane.passages.passage_mesh import gaussian_passage_domain
from worker.generator.plane.passages.passages import committors_between, passages_between
from worker.generator.plane.perturbed_model import PerturbedPlaneAnalysis
from worker.generator.process import DiffusionProcess, FloatArray, WithDomain, read_only
from worker.generator.quantities.fixed_points import FixedPoint
from worker.generator.quantities.outcomes import (
    BROWNIAN,
    NO_DENSITY,
    NO_PRODUCTION,
    NOISE_NEGATIVE,
    UNDAMPED,
    Outcome,
    Reason,
)
from worker.generator.quantities.report import GeneratorReport, with_reflecting_ends
from worker.generator.quantities.spectrum import Spectrum
from worker.generator.quantities.stationary import MultivariateDistribution
from worker.generator.request import AnalysisRequest, without_stationary_distribution
from worker.generator.simulation.distribution import with_simulation

Analysed = tuple[GeneratorReport, PerturbedLinearAnalysis | PerturbedPlaneAnalysis | None]
"""Report, and the analysis of models like this one; None without a stationary distribution."""

LATTICE = {3: 7, 4: 5, 5: 4, 6: 3}
"""Starts of Newton's method along each coordinate."""
UNCHECKED = "the drift far away was not examined"
DEVIATIONS = 4.5
"""Half width of a Gaussian density's grid, in standard deviations."""


def analysed_in_space(process: DiffusionProcess, request: AnalysisRequest) -> Analysed:
    """Analyse a process of two coordinates or more, and prepare the analysis of models like it.

    Raises InvalidDomainError for an empty domain or observed range, and what the plane's analysis
    raises.
    """
    _check(process, request)
    rectangle = first_rectangle(process, request.observed_ranges)
    middle, half = rectangle.mean(axis=1), np.diff(rectangle, axis=1)[:, 0] / 2
    linear = linear_view(process, middle, half)
    if linear is not None:
        return analysed_as_linear(process, linear, request)
    if process.dimension == 2:
        return analysed_in_the_plane(process, request)
    fixed = fixed_points_in(process, rectangle, LATTICE.get(process.dimension, 2))
    report = with_simulation(process, analysed_at_fixed_points(process, fixed, request), rectangle)
    return report, PerturbedLinearAnalysis(report) if report.stationary is not None else None


def analysed_as_linear(
    process: DiffusionProcess, linear: LinearProcess, request: AnalysisRequest
) -> Analysed:
    """Analyse a linear process in closed form.

    Parameters
    ----------
    process : the process as it was given
    linear : the same process, by its Jacobian and its diffusion tensor
    request : what is asked for
    """
    problem = _linear_problem(linear)
    try:
        mean = linear.mean
        found = (fixed_point_at(process, mean),)
    except np.linalg.LinAlgError:
        return without_stationary_distribution(process, (), problem or BROWNIAN, request), None
    if problem is not None:
        return without_stationary_distribution(process, found, problem, request), None
    covariance = linear.covariance
    assert covariance is not None
    rates = linear.rates(request.eigenpairs)
    spectrum = Spectrum(read_only(rates), None, read_only(np.zeros(len(rates))))
    production = linear.entropy_production(covariance)
    law = replace(
        gaussian_distribution(
            mean, covariance, request, (NO_PRODUCTION,) if production is None else ()
        ),
        circulation=linear.circulation(covariance),
        entropy_production=production,
    )
    correlations = correlations_of_linear(linear, covariance, request.lags, request.frequencies)
    report = replace(
        without_stationary_distribution(process, found, None, request),
        ergodic=True,
        stationary=law,
        spectrum=spectrum,
        correlations=correlations,
    )
    if process.dimension != 2 or not (request.places or request.committors):
        return report, PerturbedLinearAnalysis(report)
    domain = gaussian_passage_domain(process, mean, covariance)
    passages = passages_between(domain, request.places, found)
    committors = committors_between(domain, request.committors, found)
    report = replace(
        report,
        between=tuple(passage for passage, _ in passages),
        committors=tuple(committor for committor, _ in committors),
    )
    solved = (tuple(read_from for _, read_from in found) for found in (passages, committors))
    return report, PerturbedLinearAnalysis(report, *solved)


def analysed_at_fixed_points(
    process: DiffusionProcess, fixed: tuple[FixedPoint, ...], request: AnalysisRequest
) -> GeneratorReport:
    """Analyse three coordinates or more as the linear process next to the stable fixed point.

    Parameters
    ----------
    process : diffusion process in d ≥ 3 coordinates
    fixed : its fixed points
    request : what is asked for
    """
    stable = [point for point in fixed if point.stable]
    if not stable:
        reason = Reason(
            Outcome.NO_WELL,
            f"no stable fixed point was found, and in {process.dimension} variables only its "
            "neighbourhood can be analysed",
        )
        return without_stationary_distribution(process, fixed, reason, request)
    report = replace(without_stationary_distribution(process, fixed, None, request), ergodic=True)
    if len(stable) > 1:
        return replace(
            report,
            approximation=(
                f"{len(stable)} stable fixed points: the process is linearised at each, see "
                f"their rates; {UNCHECKED}"
            ),
        )
    at = np.array(stable[0].at)
    jacobian, noise = process.drift_jacobian(at[None])[0], process.diffusion(at[None])[0]
    covariance = gaussian_covariance(jacobian, noise)
    linear = LinearProcess(jacobian, noise, at, np.zeros(len(at)))
    if covariance is None or not linear.has_density(covariance):
        return replace(report, ergodic=False, reason=_linear_problem(linear))
    rates = linear.rates(request.eigenpairs)
    where = ", ".join(f"{value:.6g}" for value in at)
    approximation = (
        f"linearised at the stable fixed point ({where}): valid for weak noise; {UNCHECKED}"
    )
    reasons = (Reason(Outcome.LINEARISED, approximation),)
    return replace(
        report,
        stationary=gaussian_distribution(at, covariance, request, reasons),
        spectrum=Spectrum(
            read_only(rates),
            None,
            read_only(np.full(len(rates), np.nan)),
            reasons,
        ),
        correlations=correlations_of_linear(linear, covariance, request.lags, request.frequencies),
        approximation=approximation,
    )


def closed_in_space(
    process: DiffusionProcess, request: AnalysisRequest, report: GeneratorReport
) -> Analysed:
    """Analyse a model without a stationary distribution between reflecting ends.

    Parameters
    ----------
    process : diffusion process in two coordinates or more
    request : its observed ranges say where the ends are, where the domain is not finite
    report : the report without reflecting ends, whose reason is kept

    Raises
    ------
    NoFiniteRangeError
        Nothing says where the ends are.
    UnsupportedDimensionError
        There are more than two coordinates.
    """
    if process.dimension > 2:
        raise UnsupportedDimensionError(
            "reflecting boundaries are for one or two variables, and the process has "
            f"{process.dimension}; omit reflecting_ends"
        )
    ranges = process.domain if request.observed_ranges is None else request.observed_ranges
    inside = [
        (max(low, first), min(high, last))
        for (low, high), (first, last) in zip(ranges, process.domain, strict=True)
    ]
    if not all(
        np.isfinite(pair).all() or turn is not None
        for pair, turn in zip(inside, process.periods, strict=True)
    ):
        raise NoFiniteRangeError(
            "reflecting boundaries need finite intervals; give a finite domain of every variable"
        )
    domain = tuple(
        ends if turn is not None else pair
        for ends, pair, turn in zip(process.domain, inside, process.periods, strict=True)
    )
    inner, perturbed = analysed_in_the_plane(WithDomain(process, domain), request)
    return with_reflecting_ends(report, inner), perturbed


def gaussian_distribution(
    mean: FloatArray,
    covariance: FloatArray,
    request: AnalysisRequest,
    reasons: tuple[Reason, ...],
) -> MultivariateDistribution:
    """Return the Gaussian distribution, with its density on a grid where there are two coordinates.

    Parameters
    ----------
    mean : (d,) [state]
    covariance : (d, d) [state²]
    request : number of points of the density's grid
    reasons : why numbers are missing or only approximate
    """
    d = len(mean)
    grid: tuple[FloatArray, ...] = ()
    density = np.zeros(0)
    if d == 2:
        count = min(request.density_points, MOST_POINTS)
        reach = DEVIATIONS * np.sqrt(np.diag(covariance))
        ranges = np.column_stack([mean - reach, mean + reach])
        if request.observed_ranges is not None:
            seen = np.array(request.observed_ranges)
            ranges = np.column_stack(
                [np.minimum(ranges[:, 0], seen[:, 0]), np.maximum(ranges[:, 1], seen[:, 1])]
            )
        grid = tuple(read_only(np.linspace(low, high, count)) for low, high in ranges)
        density = gaussian_density(mean, covariance, grid)
    return MultivariateDistribution(
        mean=tuple(float(m) for m in mean),
        covariance=tuple(tuple(float(c) for c in row) for row in covariance),
        skewness=(0.0,) * d,
        kurtosis=(3.0,) * d,
        grid=grid,
        density=read_only(density),
        reasons=reasons,
    )


def _linear_problem(linear: LinearProcess) -> Reason | None:
    """Return why a linear process has no stationary distribution with a density, or None."""
    rates = np.linalg.eigvals(linear.jacobian)
    growth, size = float(np.max(rates.real)), float(np.max(np.abs(rates), initial=0.0))
    if growth > 1e-10 * size:
        return Reason(
            Outcome.ESCAPES,
            f"no stationary distribution: the linear drift pushes outward, at rate {growth:.4g} "
            "along one direction",
        )
    scale = np.sqrt(np.maximum(np.diag(linear.noise), 0.0))
    scale = np.where(scale > 0, scale, 1.0)
    if np.linalg.eigvalsh(linear.noise / np.outer(scale, scale))[0] < -1e-9:
        return NOISE_NEGATIVE
    if growth >= -1e-10 * size:
        turns = np.max(np.abs(rates[rates.real >= -1e-10 * size].imag)) > 1e-10 * size
        return UNDAMPED if turns else BROWNIAN
    covariance = linear.covariance
    if covariance is None or not linear.has_density(covariance):
        return NO_DENSITY
    return None


def _check(process: DiffusionProcess, request: AnalysisRequest) -> None:
    for low, high in process.domain:
        if not low < high:
            raise InvalidDomainError(
                f"the domain [{low:g}, {high:g}] is empty; give a lower end below the upper end"
            )
    for period in process.periods:
        if period is not None and not 0 < period < np.inf:
            raise InvalidDomainError(
                f"the period {period:g} is not a positive number; give the length of one turn"
            )
    for (low, high), (first, last) in zip(
        request.observed_ranges or (), process.domain, strict=False
    ):
        if not max(low, first) < min(high, last):
            raise InvalidDomainError(
                f"the observed range [{low:g}, {high:g}] has no length inside the domain "
                f"[{first:g}, {last:g}]; check both"
            )
