"""The identified model in the data's own units, with its errors and checks."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from worker.identification.checks.endogenous_inputs import shared_noise
from worker.identification.checks.markov_tests import STAGES, ScoreSums, score_sums, stage_of
from worker.identification.checks.residual_sums import ResidualSums, measure_residuals
from worker.identification.checks.residuals import ResidualMoments
from worker.identification.checks.restriction import Restriction
from worker.identification.data.forcing import Forcing
from worker.identification.data.inputs import input_names
from worker.identification.data.library import Library
from worker.identification.data.trajectories import (
    Scales,
    Trajectories,
    block_edges,
    chunks,
    longest_duration,
)
from worker.identification.data.windows import Space
from worker.identification.errors import InvalidLibrary, UnsuitableInput
from worker.identification.estimation.cell_equations import walk
from worker.identification.estimation.direct_equations import walk as walk_stretches
from worker.identification.estimation.discrepancy import Discrepancy, discrepancy_of
from worker.identification.estimation.estimator import identify
from worker.identification.estimation.fit import Fit
from worker.identification.estimation.goodness_of_fit import Misfit, misfit_of
from worker.identification.estimation.joint.potential_terms import Form
from worker.identification.estimation.joint.restrictions import restricted
from worker.identification.estimation.one_rule import mean_diffusion_and_rate
from worker.identification.estimation.problem import Problem, from_first
from worker.identification.estimation.setup import (
    Range,
    Settings,
    problem_of,
    states_of,
    with_boundaries,
)
from worker.identification.findings.constraints import contradicted, restrictions_contradicted
from worker.identification.findings.domain import reflecting_boundaries, unvisited_arcs
from worker.identification.findings.finding import Finding
from worker.identification.findings.fit import findings
from worker.identification.findings.residuals import check_paths
from worker.identification.findings.terms import collinear_terms, paper_preset, wrong_drift
from worker.identification.model_sampling import DrawnModels, draw_models
from worker.identification.selection.best_subset import Estimate
from worker.identification.selection.kernel_scores import KernelChoice
from worker.identification.selection.support_selection import Selected
from worker.identification.sums.block_sums import Summing, sums_here
from worker.identification.sums.kernels import Kernels, make_cells
from worker.identification.sums.rules import EULER, TRAPEZOID
from worker.identification.sums.window_products import Pair, pairs_of
from worker.identification.symbolic_process import (
    Excess,
    SymbolicProcess,
    expansion_of,
    from_internal,
)
from worker.identification.symbolic_system import Field, SymbolicSystem, field_from_internal
from worker.progress import Report

if TYPE_CHECKING:
    pass
from worker.identification.component_fit import (
    ComponentFit,
    component_of,
    known_velocity,
    sparse_component,
)

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

Bounds = tuple[Range, ...]

N_DRAWS = 10_000
"""Models drawn around the estimate for the intervals of derived quantities; few are analysed."""

WINDOWS_FOR_SCORES = 400_000
"""Windows that show what the drift leaves out, as far as it is material."""


@dataclass(frozen=True, slots=True, eq=False)
class Coverage:
    """Amount of data under each kernel.

    weights     (n_kernels,) Σ K_j(x_n), in increments
    bandwidth   width of the kernels [state]; for several variables in standard deviations of the
                decorrelated data
    range       first and last centre [state]; None for several variables
    """

    weights: Floats
    bandwidth: float
    range: Range | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Histogram:
    """Counts of the samples in equal bins over their bulk; edges has one more entry [state]."""

    counts: Floats
    edges: Floats


@dataclass(frozen=True, slots=True, eq=False)
class ColouredNoiseFit:
    """Drift and noise of dx = f(x) dt + u dt, where u is an Ornstein–Uhlenbeck process.

    drift              f [state/time]
    correlation_time   τ of u and its standard error [time]
    diffusion          a of the limit dx = f dt + √a dW of τ → 0, and its standard error
                       [state²/time]
    p_value            of the test of a free force of second order against this one
    """

    drift: ComponentFit
    correlation_time: tuple[float, float]
    diffusion: tuple[float, float]
    p_value: float


@dataclass(frozen=True, slots=True, eq=False)
class Coefficients:
    """Coefficients along the internal functions of the library, for what is made of several models.

    library    terms
    estimates  estimate of each component, by its name
    units      factor from internal units to the data's, by component
    """

    library: Library
    estimates: Mapping[str, Estimate]
    units: Mapping[str, float]


@dataclass(frozen=True, slots=True, eq=False)
class Driving:
    """Inputs and forcing of a model, and its coefficients along them.

    library         terms in states, inputs and forcing
    names           names of the inputs and of the forcing's functions
    frozen          their values at which the model's process is taken
    forcing         functions of the time
    drift           (d, J) internal coefficients
    tensor          (d, d, J) internal coefficients
    draws           (n, d, J) those of the drift of models drawn around the estimate
    tensor_draws    (n, d(d+1)/2, J) those of their diffusion, in the order of `pairs_of`
    to_drift        (d,) factors to the data's units
    to_diffusion    (d, d) factors to the data's units
    drift_terms     positions of all terms of the drift
    diffusion_terms positions of all terms of the diffusion
    """

    library: Library
    names: tuple[str, ...]
    frozen: tuple[float, ...]
    forcing: Forcing
    drift: Floats
    tensor: Floats
    draws: Floats
    tensor_draws: Floats
    to_drift: Floats
    to_diffusion: Floats
    drift_terms: tuple[int, ...]
    diffusion_terms: tuple[int, ...]

    @property
    def dimension(self) -> int:
        """Number of variables that have an equation."""
        return len(self.drift)

    @property
    def inputs(self) -> dict[str, float]:
        """Value of each input, and of the time, at which the model's process is taken."""
        values = zip(self.names, self.frozen, strict=True)
        return {name: value for name, value in values if name not in self.forcing.waves}


@dataclass(frozen=True, slots=True, eq=False)
class IdentifiedModel:
    """Drift and diffusion as functions, with their errors.

    drift             components by variable `x`
    diffusion         components by pair `x,y`
    process           drift and diffusion as functions
    draws             models drawn from the coefficients' covariance; None if it is not estimated
    findings          warnings
    residuals         residuals by variable
    noise_variances   variance of the measurement noise by variable, 0 where not significant
                      [state²]; None where it was not tested
    condition         largest condition number of the drift designs
    rule              name of the sampling rule that was used
    kernel_choice     choice by cross-validation, where requested; of one variable [state]
    histogram         histogram of the samples of one variable
    misfit            what the data's drift has beyond the model's, of one variable; None where it
                      was not tested
    order             2 where the velocities of the recorded positions are variables, too
    coloured_noise    drift and noise, where the force was restricted to those of coloured noise
    columns           column of the record that each variable is, in their order; () where they are
                      the record's own, or positions and velocities that were not recorded
    coverage          data under each kernel; None where there are no kernels
    coefficients      coefficients along the internal functions; None of the paper's estimator
    restrictions      tests of what was given of several coefficients
    potential         form and potential of the drift, where it was restricted to have one
    driving           inputs and forcing; None without
    """

    drift: Mapping[str, ComponentFit]
    diffusion: Mapping[str, ComponentFit]
    process: SymbolicProcess | SymbolicSystem
    draws: DrawnModels[SymbolicProcess | SymbolicSystem] | None
    findings: tuple[Finding, ...]
    residuals: Mapping[str, ResidualMoments]
    noise_variances: Mapping[str, float] | None
    condition: float | None
    coverage: Coverage | None
    space: Space
    rule: str
    kernel_choice: KernelChoice | None = None
    histogram: Histogram | None = None
    misfit: Misfit | None = None
    order: Literal[1, 2] = 1
    coloured_noise: ColouredNoiseFit | None = None
    columns: tuple[int, ...] = ()
    coefficients: Coefficients | None = None
    restrictions: tuple[Restriction, ...] = ()
    potential: tuple[Form, ComponentFit] | None = None
    driving: Driving | None = None

    @property
    def n_recorded(self) -> int:
        """Number of variables that were recorded; the first ones."""
        return len(self.drift) // (1 if self.columns else self.order)

    @property
    def scales(self) -> Scales:
        """Scales of the only or first variable."""
        return self.space.scales[0]

    @property
    def observed(self) -> Bounds:
        """Smallest and largest sample of each variable [state]."""
        return tuple((s.low, s.high) for s in self.space.scales)


def identified_model(
    data: Trajectories,
    settings: Settings,
    report: Report,
    summing: Summing = sums_here,
    velocities: Mapping[int, tuple[int, float]] | None = None,
) -> IdentifiedModel:
    """Identify drift and diffusion of a record. Raises IdentificationError.

    Parameters
    ----------
    data : trajectories
    settings : settings of the identification
    report : receives the progress
    summing : takes the sums over all the data, here or in several processes, with the same result
        to the last bit
    velocities : variables whose drift is known, each with the variable that is its velocity and
        the factor of it
    """
    if settings.estimator != "paper":
        fitted = fitted_problem(data, settings, report, summing, velocities)
        return model_of(*fitted, settings)
    problem = problem_of(data, settings, report, summing, velocities)
    model = _by_paper(problem, settings.threshold, settings.bounds_in(data.dimension))
    return replace(model, findings=(*model.findings, *unvisited_arcs(data, problem.space.periods)))


def fitted_problem(
    data: Trajectories,
    settings: Settings,
    report: Report,
    summing: Summing = sums_here,
    velocities: Mapping[int, tuple[int, float]] | None = None,
) -> tuple[Problem, Fit]:
    """Fit by the efficient estimator; the parameters are those of `identified_model`.

    Raises SecondOrderDynamics, NoDataUnderKernels, and what `problem_of` raises. On smooth paths of
    several variables a sampling rule that was requested by name is used anyway.
    """
    problem = problem_of(data, settings, report, summing, velocities)
    problem = with_boundaries(problem, settings.bounds_in(data.dimension))
    fit = identify(problem, settings.sampling_rule, settings.measurement_noise)
    if problem.library.dimension == 1 or settings.sampling_rule == "auto":
        check_paths(fit)
    fit = restricted(fit, problem)
    _check_positive(problem, fit)
    _check_exogenous(problem, fit)
    return problem, with_scores(problem, fit)


def _check_positive(problem: Problem, fit: Fit) -> None:
    """Raise InvalidLibrary where what was given of one variable leaves it no noise of its own."""
    given = problem.given_noise is not None or any("," in key for key in problem.constraints)
    if fit.statistics is None or not given:
        return
    a, _ = mean_diffusion_and_rate(problem, fit.statistics, fit)
    if a > 0:
        return
    unit = problem.scales.unit
    raise InvalidLibrary(
        "With what is given, the diffusion is not positive: its mean over the data is "
        f"{a * unit**2 / problem.scales.time:.3g}.",
        hints=(
            f"Increments allow a standard error of at most "
            f"{unit * np.sqrt(fit.raw[0].mean_square / 2):.3g}: check "
            "parameters.measurement_noise.std_error, or the column of errors."
            if problem.given_noise is not None
            else "Check the terms and bounds of the diffusion in parameters.constraints.",
        ),
    )


def model_of(problem: Problem, fit: Fit, settings: Settings) -> IdentifiedModel:
    """Put a fit into the data's units, with all that is found about it."""
    model = _in_units(problem, fit, settings, N_DRAWS)
    further = (
        *reflecting_boundaries(problem.walls, settings.bounds_in(problem.space.dimension)[0]),
        *collinear_terms(problem.library, states_of(problem.data, problem.space)),
        *unvisited_arcs(problem.data, problem.space.periods),
    )
    return replace(model, findings=(*model.findings, *further))


def _by_paper(problem: Problem, threshold: float, bounds: Bounds) -> IdentifiedModel:
    """Identify by Algorithm 1, and measure its model's residuals."""
    # Not imported at the top: scikit-learn takes longer to import than most jobs to run.
    from worker.identification.estimation.paper import identify_by_paper

    data, scales, library, kernels = problem.data, problem.scales, problem.library, problem.kernels
    model = identify_by_paper(data, scales, library, kernels, threshold=threshold)
    to_internal = library.term_rows.T
    b = to_internal @ model.drift.coefficients * scales.time / scales.unit
    a = to_internal @ model.diffusion.coefficients * scales.time / scales.unit**2
    cells = make_cells(kernels, scales)
    residuals = measure_residuals(
        chunks(data, scales, block_edges(data, 1)), EULER, library, cells, b, a
    )
    return IdentifiedModel(
        drift={"x": sparse_component(model.drift, library)},
        diffusion={"x,x": sparse_component(model.diffusion, library)},
        process=process_of(library, b, a, scales, bounds[0]),
        draws=None,
        findings=(paper_preset(),),
        residuals={"x": residuals},
        noise_variances=None,
        condition=None,
        coverage=_coverage_of_one(kernels, kernels.at(cells.nodes()) @ residuals.count, scales),
        space=problem.space,
        rule="euler",
        histogram=_histogram(residuals, scales),
    )


def _in_units(problem: Problem, fit: Fit, settings: Settings, n_draws: int) -> IdentifiedModel:
    """Put a fit into the data's units."""
    library, space, noise = problem.library, problem.space, settings.measurement_noise
    names, bounds = problem.names, settings.bounds_in(space.dimension)
    misfit = misfit_of(fit, problem)
    to_drift = space.units / space.time
    to_diffusion = np.outer(space.units, space.units) / space.time

    def component(selected: Selected, coarse: Floats | None, factor: float) -> ComponentFit:
        return component_of(
            selected, coarse, library, problem.selection.method, fit.rule.order, factor
        )

    components = [
        *((v, fit.drift[p], float(to_drift[p])) for p, v in enumerate(names)),
        *(
            (f"{names[p]},{names[q]}", a, float(to_diffusion[p, q]))
            for (p, q), a in fit.diffusion.items()
        ),
    ]
    choice, potential = fit.choice, fit.potential
    draws = _draws(problem, fit, bounds, n_draws, settings.seed)
    return IdentifiedModel(
        drift={
            v: known_velocity(names[problem.velocities[p][0]], problem.velocities[p][1])
            if p in problem.velocities
            else component(fit.drift[p], fit.coarse[0][p], to_drift[p])
            for p, v in enumerate(names)
        },
        diffusion={
            f"{names[p]},{names[q]}": component(
                selected, fit.coarse[1].get((p, q)), to_diffusion[p, q]
            )
            for (p, q), selected in fit.diffusion.items()
        },
        process=_process(problem, fit.coefficients, fit.tensor, bounds),
        draws=draws,
        findings=(
            *findings(fit, problem, noise),
            *contradicted(
                [
                    (f"{'diffusion' if ',' in key else 'drift'} {key}", selected, factor)
                    for key, selected, factor in components
                ],
                library,
            ),
            *restrictions_contradicted(fit.restrictions),
            *wrong_drift(misfit, names[0]),
        ),
        residuals=dict(zip(names, fit.residuals, strict=True)),
        noise_variances=None
        if noise == "none"
        else dict(zip(names, (fit.noise_variances * space.units**2).tolist(), strict=True)),
        condition=fit.condition,
        coverage=_coverage(fit, problem.scales),
        space=space,
        rule=fit.rule.name,
        kernel_choice=choice.in_units(problem.scales.unit)
        if choice is not None and library.dimension == 1
        else choice,
        histogram=_histogram(fit.residuals[0], problem.scales),
        misfit=misfit,
        coefficients=Coefficients(
            library,
            {key: selected.estimate for key, selected, _ in components},
            {key: factor for key, _, factor in components},
        ),
        restrictions=fit.restrictions,
        potential=None
        if potential is None
        else (
            potential.form,
            component_of(
                potential.selected,
                None,
                potential.library,
                problem.selection.method,
                fit.rule.order,
                potential.factor,
            ),
        ),
        driving=_driving(problem, fit, draws),
    )


def _check_exogenous(problem: Problem, fit: Fit) -> None:
    """Raise UnsuitableInput for an input that shares the noise of the states."""
    data = problem.data
    if data.inputs is None:
        return
    names, every = input_names(data), max(1, data.n_increments // WINDOWS_FOR_SCORES)
    found = shared_noise(
        walk_stretches(problem, TRAPEZOID, 1, every_chunk=every),
        problem.space,
        problem.library,
        fit.coefficients,
        len(names),
    )
    if found.shared:
        name, variable = names[found.number], problem.names[found.variable]
        raise UnsuitableInput(
            f"The input {name} is endogenous: its increments are correlated "
            f"{found.correlation:+.2f} ({abs(found.z):.0f} standard errors) with the noise of "
            f"{variable} in the same sampling interval. It answers to {variable}, or shares its "
            "noise, and what it does cannot be told from what is done to it.",
            hints=(
                f"If {name} is part of the system, name it in layout.state_columns: it then has an "
                "equation of its own.",
                f"If {name} is set and held between samples, shift it by half a sampling interval: "
                "between samples inputs are read as straight lines.",
            ),
        )


def _driving(problem: Problem, fit: Fit, draws: DrawnModels[Any]) -> Driving | None:
    """Return what drives a model; None where nothing does."""
    space, library, d = problem.space, problem.library, problem.space.dimension
    if not space.inputs:
        return None
    own = draws.coefficients[draws.support == 0]
    own = own.reshape(len(own), -1, library.internal_size)
    terms = {k for s in fit.drift for k in s.estimate.support}
    of_diffusion = {k for s in fit.diffusion.values() for k in s.estimate.support}
    return Driving(
        library,
        library.variables[d:],
        problem.frozen,
        space.forcing,
        fit.coefficients,
        fit.tensor,
        own[:, :d],
        own[:, d:],
        space.units / space.time,
        np.outer(space.units, space.units) / space.time,
        tuple(sorted(terms)),
        tuple(sorted(of_diffusion)),
    )


def with_scores(problem: Problem, fit: Fit) -> Fit:
    """Add tests of what the drift leaves out; for several variables they are made already."""
    if problem.library.dimension > 1:
        return fit
    longest = longest_duration(problem.data) / problem.space.time
    sums = score_sums_of(problem, fit, partial(stage_of, longest=longest))
    return replace(fit, scores=(sums.tests(fit.tensor[0, 0], fit.tensor[0, 0]),))


def score_sums_of(
    problem: Problem, fit: Fit, stage: Callable[[Floats], Integers], n_stages: int = STAGES
) -> ScoreSums:
    """Sum what the drift of one variable leaves out, by stretch; see `markov_tests.score_sums`."""
    rule = fit.rule.of_residuals
    windows = walk(problem, rule, 1, at_most=WINDOWS_FOR_SCORES)
    return score_sums(
        windows, rule, problem.library, fit.coefficients[0], fit.tensor[0, 0], stage, n_stages
    )


def _process(
    problem: Problem, drift: Floats, tensor: Floats, bounds: Bounds
) -> SymbolicProcess | SymbolicSystem:
    space, library, d = problem.space, problem.library, problem.space.dimension
    if library.dimension == 1:
        return process_of(library, drift[0], tensor[0, 0], problem.scales, bounds[0])

    def field(coefficients: Floats, factor: float) -> Field:
        found = field_from_internal(library, coefficients, factor)
        return found.at_inputs(problem.frozen) if space.inputs else found

    fields: dict[Pair, Field] = {}
    for p, q in pairs_of(d):
        fields[p, q] = field(tensor[p, q], float(space.units[p] * space.units[q] / space.time))
    b = tuple(field(c, float(u / space.time)) for c, u in zip(drift, space.units, strict=True))
    if d == 1:
        drift_of, diffusion = expansion_of(b[0]), expansion_of(fields[0, 0])
        return SymbolicProcess(drift_of, diffusion, bounds[0], library.period)
    return SymbolicSystem(
        b,
        tuple(tuple(fields[min(p, q), max(p, q)] for q in range(d)) for p in range(d)),
        bounds,
        space.periods,
    )


def process_of(
    library: Library, b: Floats, a: Floats, scales: Scales, bounds: Range
) -> SymbolicProcess:
    """Make a process of one variable.

    Parameters
    ----------
    library : terms
    b : (n_functions,) internal coefficients of the drift
    a : (n_functions,) internal coefficients of the diffusion
    scales : scales of the variable
    bounds : ends of the domain [state]
    """
    return SymbolicProcess(
        from_internal(library, b, scales.unit / scales.time),
        from_internal(library, a, scales.unit**2 / scales.time),
        bounds,
        library.period,
    )


def _draws(
    problem: Problem, fit: Fit, bounds: Bounds, n_draws: int, seed: int
) -> DrawnModels[SymbolicProcess | SymbolicSystem]:
    """Draw models around the estimate; see `model_sampling.draw_models`.

    Components are drawn from their own covariances, of one variable and of several.
    """
    library, d, pairs = problem.library, problem.space.dimension, list(fit.diffusion)
    centre = np.array([*fit.coefficients, *(fit.tensor[pair] for pair in pairs)])
    # An isotropic tensor is one component: its diagonal is drawn as one.
    own = [pair for pair in pairs if problem.structure != "isotropic" or pair == (0, 0)]
    drawn, supports = draw_models(
        [*fit.drift, *(fit.diffusion[pair] for pair in own)], n_draws, seed
    )
    if len(own) < len(pairs):
        rows = np.zeros((n_draws, *centre.shape))
        rows[:, : d + 1] = drawn
        for row, (p, q) in enumerate(pairs, start=d):
            if p == q:
                rows[:, row] = drawn[:, d] * from_first(problem, p)
        drawn = rows

    # A drift whose terms are given, all of them, has nothing beyond these.
    chosen = set(problem.of_drift(0).terms(library)) - set(problem.of_drift(0).required)
    discrepancy = discrepancy_of(fit, problem) if chosen else None
    beyond = np.zeros((n_draws, 0))
    if discrepancy is not None:
        beyond = discrepancy.draw(n_draws, seed)
        supports = 2 * supports + beyond.any(axis=1)
    excess = None if discrepancy is None else _excess(discrepancy, fit, problem)

    def process_at(coefficients: Floats) -> SymbolicProcess | SymbolicSystem:
        rows = coefficients[: centre.size].reshape(centre.shape)
        tensor = fit.tensor.copy()
        for pair, row in zip(pairs, rows[d:], strict=True):
            tensor[pair] = tensor[pair[::-1]] = row
        process = _process(problem, rows[:d], tensor, bounds)
        along = coefficients[centre.size :]
        if discrepancy is None or excess is None or not along.any():
            return process
        assert isinstance(process, SymbolicProcess)
        return replace(process, excess=replace(excess, weights=along @ discrepancy.weights))

    return DrawnModels(
        np.column_stack([drawn.reshape(n_draws, -1), beyond]),
        np.append(centre, np.zeros(beyond.shape[1])),
        supports,
        process_at,
    )


def _excess(discrepancy: Discrepancy, fit: Fit, problem: Problem) -> Excess:
    """Return what has a discrepancy's kernels in the data's units, with weights of zero."""
    scales, weights = problem.scales, np.zeros(discrepancy.weights.shape[1])
    a = from_internal(problem.library, fit.tensor[0, 0], scales.unit**2 / scales.time)
    return Excess(a, discrepancy.kernels, weights, scales.origin, scales.unit)


def _coverage(fit: Fit, scales: Scales) -> Coverage:
    if isinstance(fit.instruments, Kernels):
        return _coverage_of_one(fit.instruments, fit.kernel_weights, scales)
    return Coverage(fit.kernel_weights, fit.instruments.bandwidth)


def _coverage_of_one(kernels: Kernels, weights: Floats, scales: Scales) -> Coverage:
    """Put the coverage of one variable into the data's units."""
    first, last = (
        float(scales.origin + scales.unit * c) for c in (kernels.centres[0], kernels.centres[-1])
    )
    return Coverage(weights, kernels.bandwidth * scales.unit, (first, last))


def _histogram(residuals: ResidualMoments, scales: Scales) -> Histogram | None:
    """Put the samples' histogram into the data's units; None for several variables."""
    if not isinstance(residuals, ResidualSums):
        return None
    return Histogram(
        residuals.histogram,
        scales.origin + scales.unit * np.linspace(-1, 1, residuals.histogram.size + 1),
    )
