"""Analysis of processes of two coordinates: the entry point of this folder.

The chain: a first rectangle → does the drift come back? → the box that holds the stationary
distribution → ever finer cells → the report.
"""

from dataclasses import replace

import numpy as np

from worker.generator.errors import UnresolvedLandscapeError
from worker.generator.plane.box.box import Box, first_box
from worker.generator.plane.box.box_convergence import SETTLED, SMALLEST_RATE, Widened, wide_enough
from worker.generator.plane.box.box_search import settled_box, with_law
from worker.generator.plane.box.existence import (
    confinement_problem,
    escape_of,
    negative_problem,
    noise_problem,
)
from worker.generator.plane.box.initial_rectangle import first_rectangle, fixed_points_in
from worker.generator.plane.box.positive_diffusion import Narrowed, narrowed_to_positive_plane
from worker.generator.plane.correlations import correlations_in_the_plane
from worker.generator.plane.density_grid import density_on_grid
from worker.generator.plane.grid import points
from worker.generator.plane.grid_refinement import Solution, law_numbers, solve
from worker.generator.plane.passages.passage_mesh import passage_domain
from worker.generator.plane.passages.passages import committors_between, passages_between
from worker.generator.plane.perturbed_model import PerturbedPlaneAnalysis
from worker.generator.process import DiffusionProcess, FloatArray, read_only
from worker.generator.quantities.fixed_points import FixedPoint
from worker.generator.quantities.outcomes import ANGLE, NO_PRODUCTION, ONE_WAY, Outcome, Reason
from worker.generator.quantities.report import GeneratorReport
from worker.generator.quantities.second_order import is_in_one_coordinate
from worker.generator.quantities.spectrum import Spectrum
from worker.generator.quantities.stationary import MultivariateDistribution
from worker.generator.request import AnalysisRequest, without_stationary_distribution

Analysed = tuple[GeneratorReport, PerturbedPlaneAnalysis | None]
"""Report, and analysis of models near this one; None without a stationary distribution."""

LATTICE = 9
"""Points of the lattice of starts for Newton's method, along each coordinate."""
BEFORE_ESCAPE = (
    "the drift pushes outward only outside the range of the data: distribution and rates are those "
    "of the process inside, where the drift pushes it back"
)
GATES = 100
"""Starting points on each side of the rectangle where no distribution was found."""
HEAVY = 5e-3
"""Relative change of a variance as the box grows above which the tails are reported as heavy."""
LARGEST_ERROR = 0.02
"""Relative change of a rate by the last step above which it is not reported."""


def analysed_in_the_plane(process: DiffusionProcess, request: AnalysisRequest) -> Analysed:
    """Analyse a process of two coordinates; without a distribution, find its fixed points.

    Where the drift escapes only where no data were seen, the report has the distribution inside,
    labelled as an approximation, and `ergodic` is False.

    Raises
    ------
    UnresolvedLandscapeError : drift dominates noise too much for cells
    UndefinedCoefficientsError : a coefficient is not finite
    """
    rectangle = first_rectangle(process, request.observed_ranges)
    fixed = fixed_points_in(process, rectangle, LATTICE)
    first = first_box(process, rectangle)
    problem = noise_problem(first)
    if problem is not None:
        return without_stationary_distribution(process, fixed, problem, request), None
    problem = negative_problem(with_law(first))
    if problem is not None:
        return _narrowed(process, fixed, problem, request)
    escaping = escape_of(first, request)
    if escaping is not None and not escaping.unseen:
        return without_stationary_distribution(process, fixed, escaping.reason, request), None
    try:
        box = settled_box(first)
    except UnresolvedLandscapeError:
        # Some drifts escape through a narrow gate only.
        escaping = escaping or escape_of(first, request, starts=GATES)
        if escaping is None:
            raise
        return without_stationary_distribution(process, fixed, escaping.reason, request), None
    escaping = escaping or escape_of(box, request)
    problem = confinement_problem(box)
    if problem is not None or (escaping is not None and not escaping.unseen):
        return without_stationary_distribution(
            process, fixed, escaping.reason if escaping is not None else problem, request
        ), None
    problem = negative_problem(box)
    if problem is not None:
        return _narrowed(process, fixed, problem if escaping is None else escaping.reason, request)
    if escaping is not None:
        # The process is carried away only from further out.
        report, near = _with_law(Widened(box), request, fixed)
        return replace(
            report, ergodic=False, reason=escaping.reason, approximation=BEFORE_ESCAPE
        ), near
    wide = wide_enough(box, request.observed_ranges is not None)
    try:
        return _with_law(wide, request, fixed)
    except UnresolvedLandscapeError:
        if wide.box is box:
            raise
        return _with_law(replace(wide, box=box), request, fixed)


def _with_law(
    widened: Widened, request: AnalysisRequest, fixed: tuple[FixedPoint, ...]
) -> Analysed:
    box = widened.box
    # The box may be larger than the first rectangle, and its lattice finer.
    fixed = fixed_points_in(box.chart.process, _surroundings(box), LATTICE) or fixed
    solution = solve(box, request.eigenpairs)
    domain = passage_domain(solution)
    passages = passages_between(domain, request.places, fixed)
    committors = committors_between(domain, request.committors, fixed)
    report = replace(
        without_stationary_distribution(box.chart.process, fixed, None, request),
        ergodic=True,
        boundaries="reflecting" if _touches_a_wall(box) else "natural",
        stationary=law_of(solution, request, widened.spread),
        spectrum=spectrum_of_plane(solution, widened.change),
        correlations=correlations_in_the_plane(solution, request.lags, request.frequencies),
        between=tuple(passage for passage, _ in passages),
        committors=tuple(committor for committor, _ in committors),
    )
    solved = (tuple(read_from for _, read_from in found) for found in (passages, committors))
    return report, PerturbedPlaneAnalysis(report, solution, *solved)


def _narrowed(
    process: DiffusionProcess,
    fixed: tuple[FixedPoint, ...],
    problem: Reason,
    request: AnalysisRequest,
) -> Analysed:
    """Analyse the process where its noise is positive; give the problem where that fails."""
    found = narrowed_to_positive_plane(process, request)
    if not isinstance(found, Narrowed):
        return without_stationary_distribution(process, fixed, found or problem, request), None
    try:
        report, near = _with_law(Widened(settled_box(found.box)), request, fixed)
    except UnresolvedLandscapeError:
        return without_stationary_distribution(process, fixed, problem, request), None
    return replace(
        report, boundaries="reflecting", approximation=found.sentence, cut=(found.sentence,)
    ), near


def law_of(
    solution: Solution, request: AnalysisRequest, spread: float = 0.0
) -> MultivariateDistribution:
    """Return the stationary distribution, with its density on a grid.

    Parameters
    ----------
    solution : distribution and rates on cells
    request : request; `density_points` limits the points along each coordinate
    spread : relative change of a variance as the box grows
    """
    process = solution.box.chart.process
    angle = [period is not None for period in process.periods]
    inertial = is_in_one_coordinate(process)
    numbers = law_numbers(solution.numbers.moments)
    assert numbers.skewness is not None
    assert numbers.kurtosis is not None
    grid, density, current = density_on_grid(solution, request)

    def known(value: float | None, *axes: int) -> float | None:
        return None if value is None or any(angle[axis] for axis in axes) else float(value)

    reasons = [ANGLE] if any(angle) else []
    if solution.unsettled:
        unsettled = (
            f"the covariance still changes by {solution.unsettled:.1%} on the finest cells, "
            "and more beyond: the density is infinite at a boundary or too narrow for them, and "
            "moments are only approximate"
        )
        reasons.append(Reason(Outcome.UNRESOLVED, unsettled))
    if spread > HEAVY:
        heavy = (
            f"a variance still changes by {spread:.1%} as the box grows: the tails are heavy, and "
            "moments are only approximate"
        )
        reasons.append(Reason(Outcome.UNRESOLVED, heavy))
    if numbers.entropy_production is None:
        reasons.append(ONE_WAY if inertial else NO_PRODUCTION)
    return MultivariateDistribution(
        mean=(known(numbers.mean[0], 0), known(numbers.mean[1], 1)),
        covariance=tuple(
            tuple(known(numbers.covariance[i, j], i, j) for j in (0, 1)) for i in (0, 1)
        ),
        skewness=tuple(known(numbers.skewness[i], i) for i in (0, 1)),
        kurtosis=tuple(known(numbers.kurtosis[i], i) for i in (0, 1)),
        grid=grid,
        density=density,
        reasons=tuple(reasons),
        current=current,
        # The area that a process of second order sweeps is ⟨v²⟩, in equilibrium, too.
        circulation=None if inertial else known(numbers.circulation, 0, 1),
        entropy_production=numbers.entropy_production,
    )


def spectrum_of_plane(solution: Solution, change: float = 0.0) -> Spectrum:
    """Return the slowest rates, as far as all of them settle.

    `change` is the relative change of the slowest rate as the box grows.
    """
    rates, errors = solution.numbers.rates, solution.errors
    settled = np.logical_and.accumulate(
        (errors < LARGEST_ERROR) & (rates.real > SMALLEST_RATE * solution.rate)
    )
    why = None
    if not settled.all():
        why = (
            f"only the {settled.sum()} slowest of {len(rates)} rates converge to "
            f"{LARGEST_ERROR:.0%} on the finest cells"
        )
        if not settled.any():
            why = (
                f"the slowest rate does not converge to {LARGEST_ERROR:.0%} on the finest cells: "
                "the noise is too weak for them"
            )
    if change > LARGEST_ERROR:
        settled[:] = False
    if change > SETTLED:
        why = (
            f"the slowest rate still changes by {change:.1%} as the box grows: the distribution "
            "has heavy tails, and rates may be part of a continuous spectrum"
        )
    rates = rates[settled]
    reasons = () if why is None else (Reason(Outcome.UNRESOLVED, why),)
    return Spectrum(read_only(rates), None, read_only(errors[settled]), reasons)


def _touches_a_wall(box: Box) -> bool:
    for axis, (span, walls) in enumerate(zip(box.spans, box.walls, strict=True)):
        for end, wall in zip((span.low, span.high), walls, strict=True):
            middle = np.array([[(s.low + s.high) / 2 for s in box.spans]])
            middle[0, axis] = end
            if end == wall and box.chart.diffusion(middle)[0, axis, axis] > 0:
                return True
    return False


def _surroundings(box: Box) -> FloatArray:
    """Return the rectangle of states around the box (2, 2)."""
    first, second = (np.array([span.low, span.high]) for span in box.spans)
    corners = box.chart.state(points(first, second))
    return np.column_stack([corners.min(axis=0), corners.max(axis=0)])
