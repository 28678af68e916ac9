"""The analysis of two coordinates. Start reading here.

The chain: a first look → does the drift come back? → the box that holds the law → ever finer cells → the report.
"""

from dataclasses import replace

import numpy as np

from worker.generator.errors import UnresolvedLandscapeError
from worker.generator.extrapolation import extrapolated_outside
from worker.generator.plane.box import CELLS, Box, first_box, settled_box, with_law
from worker.generator.plane.chart import lowest_diffusion
from worker.generator.plane.escape import STARTS, escape
from worker.generator.plane.first_look import first_rectangle, fixed_points_in
from worker.generator.plane.grid import points
from worker.generator.plane.picture import picture
from worker.generator.plane.solution import Solution, solve
from worker.generator.process import DiffusionProcess, FloatArray, read_only
from worker.generator.report import GeneratorReport, Questions, untimed
from worker.generator.spatial_law import SpatialLaw
from worker.generator.spectrum import Spectrum
from worker.generator.wells import FixedPoint

LATTICE = 9
"""Newton's method starts from a lattice of this many points along each coordinate."""
GATES = 100
"""Starting points on each side of the rectangle where no law was found."""
NEGATIVE = 1e-3
"""Share of the law in places where the model's diffusion is not positive above which there is no answer."""
SINGULAR = 1e-9
"""Size of noise, and of what the drift makes of it, that counts as none."""
SMALLEST_RATE = 1e-10
"""Rate, in units of a typical one, that the factorisation of the matrix no longer tells from zero."""
LARGEST_ERROR = 0.02
"""Relative change by the last step above which a rate is not reported."""


def analysed_in_the_plane(process: DiffusionProcess, questions: Questions) -> GeneratorReport:
    """The report; without a stationary law it keeps the fixed points.

    Raises UnresolvedLandscapeError where drift dominates noise too much for cells, UndefinedCoefficientsError where a
    coefficient is not finite.
    """
    rectangle = first_rectangle(process, questions.observed_ranges)
    fixed = fixed_points_in(process, rectangle, LATTICE)
    first = first_box(process, rectangle)
    problem = _noise_problem(first) or _escape_problem(first, questions) or _negative_problem(with_law(first))
    if problem is not None:
        return _without_law(process, fixed, problem, questions)
    try:
        box = settled_box(first)
    except UnresolvedLandscapeError:
        # Some drifts escape through a narrow gate only.
        problem = _escape_problem(first, questions, starts=GATES)
        if problem is None:
            raise
        return _without_law(process, fixed, problem, questions)
    problem = _hold_problem(box) or _escape_problem(box, questions) or _negative_problem(box)
    if problem is not None:
        return _without_law(process, fixed, problem, questions)
    solution = solve(box, questions.eigenpairs)
    # The box may reach where the first look did not, and be finer than it.
    fixed = fixed_points_in(process, _surroundings(box), LATTICE) or fixed
    return replace(
        _without_law(process, fixed, None, questions),
        ergodic=True,
        boundaries="reflecting" if _touches_a_wall(box) else "natural",
        stationary=law_of(solution, questions),
        spectrum=spectrum_of_plane(solution),
        solution=solution,
    )


def law_of(solution: Solution, questions: Questions) -> SpatialLaw:
    """The law, its density on at most `density_points` points along each coordinate."""
    process = solution.box.chart.process
    angle = [period is not None for period in process.periods]
    moments = solution.numbers.moments
    mean, covariance, third, fourth = moments[:2], moments[2:6].reshape(2, 2), moments[6:8], moments[8:10]
    variance = np.diag(covariance)
    swept, production = moments[10:14].reshape(2, 2), moments[14]
    grid, density, current = picture(solution, questions)

    def known(value: float, *axes: int) -> float | None:
        return None if any(angle[axis] for axis in axes) else float(value)

    reasons = ["an angle's moments depend on where the circle is cut, so none are given"] if any(angle) else []
    if np.isnan(production):
        reasons.append("the noise does not act in every direction, so entropy production is not defined")
    return SpatialLaw(
        mean=(known(mean[0], 0), known(mean[1], 1)),
        covariance=tuple(tuple(known(covariance[i, j], i, j) for j in (0, 1)) for i in (0, 1)),
        skewness=tuple(known(third[i] / variance[i] ** 1.5, i) for i in (0, 1)),
        kurtosis=tuple(known(fourth[i] / variance[i] ** 2, i) for i in (0, 1)),
        grid=grid,
        density=density,
        reason="; ".join(reasons) or None,
        current=current,
        circulation=known((swept[0, 1] - swept[1, 0]) / 2, 0, 1),
        entropy_production=None if np.isnan(production) else float(production),
    )


def spectrum_of_plane(solution: Solution) -> Spectrum:
    """The slowest rates, as far as all of them settle."""
    rates, errors = solution.numbers.rates, solution.errors
    settled = np.logical_and.accumulate((errors < LARGEST_ERROR) & (rates.real > SMALLEST_RATE * solution.rate))
    reason = None
    if not settled.all():
        reason = f"only the {settled.sum()} slowest of {len(rates)} rates settle to {LARGEST_ERROR:.0%} on the finest cells"
        if not settled.any():
            reason = (
                f"the slowest rate does not settle to {LARGEST_ERROR:.0%} on the finest cells: the noise is too weak for them"
            )
    rates = rates[settled]
    return Spectrum(read_only(rates), read_only(1 / rates.real), None, read_only(errors[settled]), reason)


def _without_law(
    process: DiffusionProcess, fixed: tuple[FixedPoint, ...], reason: str | None, questions: Questions
) -> GeneratorReport:
    return GeneratorReport(
        ergodic=False,
        reason=reason,
        domain=(-np.inf, np.inf),
        domains=tuple((float(low), float(high)) for low, high in process.domain),
        boundaries="natural",
        fixed_points=fixed,
        passages=untimed(questions.passages, process.dimension),
        extrapolated=extrapolated_outside(fixed, questions.observed_ranges),
    )


def _noise_problem(box: Box) -> str | None:
    """Whether noise reaches every direction: directly, or carried by the drift, tried on a lattice over the box."""
    u = box.grid(9).centres
    a, jacobian = box.chart.diffusion(u), box.chart.jacobian(u)
    size = np.max(np.abs(a))
    if not size > 0:
        return "no stationary law with a density: the diffusion is zero everywhere, the process is deterministic"
    turned = jacobian / np.max(np.abs(jacobian), initial=np.finfo(float).tiny)
    # The drift carries noise into other directions: those of J a Jᵀ.
    reached = a / size + turned @ (a / size) @ np.swapaxes(turned, 1, 2)
    if np.max(lowest_diffusion(reached)) > SINGULAR:
        return None
    still = np.linalg.eigh(reached.mean(axis=0))[1][:, 0] @ box.chart.matrix
    names = [
        f"{weight:+.3g}·{name}"
        for weight, name in zip(still / np.max(np.abs(still)), ("x", "y"), strict=True)
        if abs(weight) > 1e-9
    ]
    return (
        f"no stationary law with a density: the noise never reaches the direction {' '.join(names)}, along which the motion is "
        "deterministic"
    )


def _escape_problem(box: Box, questions: Questions, starts: int = STARTS) -> str | None:
    start = escape(box.chart, box.spans, box.walls, starts=starts)
    if start is None:
        return None
    return (
        f"no stationary law: the drift pushes outward, without return, for instance from {_words(start)}, so the density is not "
        f"normalisable{_beyond(start, questions)}"
    )


def _hold_problem(box: Box) -> str | None:
    if box.open_towards is None:
        return None
    place = _words(box.open_towards)
    return f"no stationary law: nothing holds the process back towards {place}, so the density is not normalisable"


def _negative_problem(box: Box) -> str | None:
    centres = box.grid(CELLS).centres
    negative = lowest_diffusion(box.chart.raw_diffusion(centres)) < -1e-9
    share = float(box.masses[negative].sum())
    if share < NEGATIVE:
        return None
    at = box.chart.state(centres[negative][[np.argmax(box.masses[negative])]])[0]
    return (
        f"no stationary law: the diffusion tensor is not positive at {_words(at)} and elsewhere, where the process would spend "
        f"{share:.1%} of its time; give a domain that ends before, or other terms"
    )


def _beyond(start: FloatArray, questions: Questions) -> str:
    ranges = questions.observed_ranges
    if ranges is None or all(low <= x <= high for x, (low, high) in zip(start, ranges, strict=True)):
        return ""
    return (
        ". This lies beyond the observed ranges: the data never went there, it is extrapolation; fewer terms, a domain, or "
        "reflecting ends give an answer for the range that was seen"
    )


def _touches_a_wall(box: Box) -> bool:
    for axis, (span, walls) in enumerate(zip(box.spans, box.walls, strict=True)):
        for end, wall in zip((span.low, span.high), walls, strict=True):
            middle = np.array([[(s.low + s.high) / 2 for s in box.spans]])
            middle[0, axis] = end
            if end == wall and box.chart.diffusion(middle)[0, axis, axis] > 0:
                return True
    return False


def _surroundings(box: Box) -> FloatArray:
    """(2, 2) the rectangle of states around the box."""
    first, second = (np.array([span.low, span.high]) for span in box.spans)
    corners = box.chart.state(points(first, second))
    return np.column_stack([corners.min(axis=0), corners.max(axis=0)])


def _words(state: FloatArray) -> str:
    return "(" + ", ".join(f"{v:.4g}" for v in state) + ")"
