"""Start reading here: from trajectories to a model, from a model to its time scales."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from contract.generator import AnalysisParameters, ModelTerms
from contract.identification import IdentificationParameters
from grammar.terms import variable_name
from worker.comparison.compare import Comparison, compare
from worker.generator.analysis import GeneratorReport, analyse
from worker.generator.errors import GeneratorError
from worker.generator.line.positive_diffusion import narrowed_to_positive
from worker.generator.process import DiffusionProcess
from worker.generator.quantities.report import Range
from worker.generator.uncertainty.confidence_intervals import GeneratorSpread, spread
from worker.identification import identified_model
from worker.identification.checks.circle_coverage import unvisited
from worker.identification.checks.diagnostics import Finding, at_walls
from worker.identification.checks.kernel_findings import not_chosen
from worker.identification.checks.markov_tests import check_consecutive_samples, some_pairs
from worker.identification.checks.well_transitions import count_crossings
from worker.identification.data.library import check_library_size, make_joint_library
from worker.identification.data.nonpolynomial_terms import check_values, collinear
from worker.identification.data.trajectories import Trajectories
from worker.identification.data.variables import check_independent, check_unwrapped
from worker.identification.data.windows import measure_space
from worker.identification.errors import DimensionNotSupported, InvalidLibrary
from worker.identification.estimation.kernel_choice import choose_instruments
from worker.identification.estimation.problem import JointProblem
from worker.identification.identified_model import Answer
from worker.identification.identified_system import JointAnswer, joint_answer
from worker.identification.sums.block_sums import Summing, sums_here
from worker.identification.sums.instruments import Instruments, make_instruments
from worker.identification.sums.kernels import DEFAULT_COUNT
from worker.identification.symbolic_process import SymbolicProcess, from_terms
from worker.identification.symbolic_system import SymbolicSystem, field_from_terms
from worker.jobs.parameters import (
    bounds_of,
    criterion_of,
    library_options,
    period_of,
    place_of,
)
from worker.jobs.univariate_setup import beside_walls, problem_of_one
from worker.progress import Report, creeping

N_DRAWS, N_DRAWS_SEVERAL = 500, 100
"""Models drawn around the estimate for the intervals of derived quantities, in one variable and in several."""

FEW_CROSSINGS = 10
MODEL_ONLY = "derived quantities were skipped (analysis.model_only)"


@dataclass(frozen=True, slots=True, eq=False)
class Analysed:
    """A process and what its generator says.

    findings   of the analysis, for the reader of its numbers
    """

    generator: GeneratorReport
    spread: GeneratorSpread | None
    findings: tuple[Finding, ...] = ()


def identify(
    data: Trajectories,
    parameters: IdentificationParameters,
    report: Report,
    summing: Summing = sums_here,
) -> Answer | JointAnswer:
    """Data → drift and diffusion. Raises IdentificationError.

    summing   takes the sums over all the data, here or with others' help; the model is the same to the last bit
    """
    report(0.05, "reading", f"{data.n_increments} increments of {data.n_trajectories} trajectories")
    check_independent(data)
    periods = [period_of(parameters.periodic, variable_name(i)) for i in range(data.dimension)]
    check_unwrapped(data, periods)
    of_dimension = _identify_one if data.dimension == 1 else _identify_several
    answer = of_dimension(data, parameters, report, summing)
    return replace(answer, findings=(*answer.findings, *unvisited(data, periods)))


def _identify_one(
    data: Trajectories, parameters: IdentificationParameters, report: Report, summing: Summing
) -> Answer:
    bounds = bounds_of(parameters.domain)
    if parameters.estimator == "paper":
        # Not at the top: scikit-learn takes longer to import than most jobs to run.
        from worker.identification.estimation.paper_model import by_paper

        if parameters.library.diffusion_degree is not None:
            raise InvalidLibrary(
                "Algorithm 1 (estimator 'paper') has one library for drift and diffusion, and library.diffusion_degree is given.",
                hints=("Leave library.diffusion_degree out, or set estimator to 'efficient'.",),
            )
        asked = problem_of_one(data, parameters, report, summing)
        return by_paper(
            data,
            asked.scales,
            asked.library,
            asked.kernels,
            threshold=parameters.selection.threshold,
            bounds=bounds,
        )
    problem = beside_walls(problem_of_one(data, parameters, report, summing), bounds)
    answer = identified_model.by_efficient_estimator(
        problem,
        rule=parameters.sampling_rule,
        noise=parameters.measurement_noise,
        bounds=bounds,
        n_draws=N_DRAWS,
        seed=parameters.seed,
    )
    y = (_some_states(data) - problem.scales.origin) / problem.scales.unit
    return replace(
        answer,
        findings=(
            *answer.findings,
            *at_walls(problem.walls, bounds),
            *collinear(problem.library, y),
        ),
    )


def _identify_several(
    data: Trajectories, parameters: IdentificationParameters, report: Report, summing: Summing
) -> JointAnswer:
    variables = [variable_name(i) for i in range(data.dimension)]
    for unusable, what in (
        (parameters.estimator == "paper", "The paper preset (Algorithm 1)"),
        (parameters.kernels.range != "auto", "A range of kernel centres (kernels.range)"),
    ):
        if unusable:
            raise DimensionNotSupported(
                f"{what} is for one variable, and the dataset has {data.dimension}: {', '.join(variables)}.",
                hints=(
                    "Use the default, or name one column in layout.state_columns and upload again.",
                ),
            )
    periods = tuple(period_of(parameters.periodic, v) for v in variables)
    space = measure_space(data, periods)
    for i, (scales, period) in enumerate(zip(space.scales, periods, strict=True)):
        column = Trajectories(data.states[:, i : i + 1], data.times, data.segments)
        check_consecutive_samples(some_pairs(column, scales, period), scales)
    report(0.15, "identifying", "summing over the increments")
    library = make_joint_library(space.scales, **library_options(parameters), periods=periods)
    check_library_size(library, data.n_increments)
    check_values(data, library)
    y = space.internal(_some_states(data))
    count, bandwidth = (
        parameters.kernels.count,
        None if parameters.kernels.bandwidth == "auto" else parameters.kernels.bandwidth,
    )
    diffusion_degree = parameters.library.diffusion_degree

    def instruments(count: int) -> Instruments:
        made = make_instruments(y, library, periods, count=count, bandwidth=bandwidth)
        # Where the noise is the same everywhere, a far sample deserves the weight that a polynomial gives it.
        return replace(made, tapered=diffusion_degree != 0)

    default, criterion = (
        instruments(DEFAULT_COUNT if count == "auto" else count),
        criterion_of(parameters),
    )
    structure = parameters.diffusion_structure
    problem = JointProblem(
        data,
        space,
        library,
        default,
        criterion,
        structure,
        diffusion_degree,
        summing=summing,
        tell=creeping(report),
    )
    problem, choice = (
        choose_instruments(problem, instruments) if count == "auto" else (problem, None)
    )
    answer = joint_answer(
        problem,
        rule=parameters.sampling_rule,
        noise=parameters.measurement_noise,
        bounds=tuple(bounds_of(parameters.domain, v) for v in variables),
        n_draws=N_DRAWS_SEVERAL,
        seed=parameters.seed,
    )
    found = (
        *answer.findings,
        *collinear(library, y),
        *not_chosen(choice, problem.instruments.n_kernels),
    )
    return replace(answer, findings=found, kernel_choice=choice)


def _some_states(data: Trajectories) -> NDArray[np.float64]:
    """About 2·10⁴ samples, evenly over the record; (n, d) [state]."""
    return np.array(data.states[:: max(1, len(data.states) // 20_000)], dtype=np.float64)


def analyse_answer(
    answer: Answer | JointAnswer, data: Trajectories, wanted: AnalysisParameters, report: Report
) -> Analysed:
    """An identified model → its time scales, with intervals from the coefficients' covariance."""
    report(0.7, "analysing", "spectrum, stationary distribution and first-passage times")
    if isinstance(answer, JointAnswer):
        return _analyse_several(answer, wanted, report)
    observed = (answer.scales.low, answer.scales.high)
    try:
        narrowed = narrowed_to_positive(answer.process, observed)
        generator = _analyse(narrowed.process, wanted, observed)
    except GeneratorError as error:
        # The model stands; what cannot be had is its analysis, and the reason is an answer too.
        return Analysed(
            GeneratorReport(False, error.args[0], answer.process.bounds, "natural"), None
        )
    report(0.8, "analysing", "confidence intervals of derived quantities")
    uncertainty = (
        spread(answer.draws, generator, wanted.confidence, observed) if answer.draws else None
    )
    findings = (
        *_cut(narrowed.sentences),
        *_extrapolated(generator),
        *_few_crossings(generator, data),
        *_rarely_ergodic(generator, uncertainty, wanted.confidence),
    )
    return Analysed(generator, uncertainty, findings)


def _analyse_several(answer: JointAnswer, wanted: AnalysisParameters, report: Report) -> Analysed:
    try:
        generator = _analyse(answer.process, wanted, answer.observed)
    except GeneratorError as error:
        everywhere = (-np.inf, np.inf)
        return Analysed(
            GeneratorReport(
                False, error.args[0], everywhere, "natural", domains=answer.process.domain
            ),
            None,
        )
    report(0.8, "analysing", "confidence intervals of derived quantities")
    uncertainty = spread(answer.draws, generator, wanted.confidence)
    findings = (
        *_cut(generator.cut),
        *_extrapolated(generator),
        *_rarely_ergodic(generator, uncertainty, wanted.confidence),
    )
    return Analysed(generator, uncertainty, findings)


def _cut(sentences: Sequence[str]) -> Iterator[Finding]:
    for sentence in sentences:
        yield Finding("diffusion-cut", f"{sentence[:1].upper()}{sentence[1:]}.")


def _extrapolated(generator: GeneratorReport) -> Iterator[Finding]:
    for sentence in generator.extrapolated:
        yield Finding("extrapolated", f"{sentence[:1].upper()}{sentence[1:]}.")


def judged(
    answer: Answer | JointAnswer, data: Trajectories, wanted: AnalysisParameters, report: Report
) -> tuple[Analysed | None, Comparison]:
    """What an identified model says, and whether its data say so too; None where the model alone is asked for."""
    if wanted.model_only:
        return None, Comparison(reason=MODEL_ONLY)
    analysed = analyse_answer(answer, data, wanted, report)
    return analysed, compare_with_data(answer, data, analysed, report)


def compare_with_data(
    answer: Answer | JointAnswer, data: Trajectories, analysed: Analysed, report: Report
) -> Comparison:
    """Whether the model, run for longer than one sampling interval, is what the data are."""
    report(0.9, "comparing", "the model with the data at longer times")
    return compare(data, answer, analysed.generator)


def _rarely_ergodic(
    generator: GeneratorReport, spread: GeneratorSpread | None, confidence: float
) -> Iterator[Finding]:
    """Where more of the sampled models have no law than the intervals leave out."""
    share = None if spread is None else spread.ergodic_share
    if share is not None and generator.ergodic and share < confidence:
        yield Finding(
            "ergodic-share",
            f"{100 * (1 - share):.2g} % of the models within the fit's uncertainty have no stationary distribution: poorly "
            "determined terms make the drift point outward. If that happens outside the range of the data, rates and times are "
            "those before the process gets there. Try a lower library.polynomial_degree, a selection of terms instead of all of "
            "them, a domain, or a longer time series.",
            {"ergodic_share": share},
        )


def analyse_terms(model: ModelTerms, wanted: AnalysisParameters, report: Report) -> Analysed:
    """A model given by its terms → its time scales. Raises GeneratorError, IdentificationError."""
    report(0.3, "analysing", "spectrum, stationary distribution and first-passage times")
    return Analysed(_analyse(process_of(model), wanted, None), None)


def process_of(model: ModelTerms) -> SymbolicProcess | SymbolicSystem:
    """The process that a model's terms say; pairs that are not given are zero. Raises UnknownTerm, InvalidLibrary."""
    if len(model.drift) == 1:
        period = period_of(model.periodic)
        b, a = model.drift["x"], model.diffusion.get("x,x", {})
        return SymbolicProcess(
            from_terms(b, period), from_terms(a, period), bounds_of(model.domain), period
        )
    variables = tuple(variable_name(i) for i in range(len(model.drift)))
    periods = tuple(period_of(model.periodic, v) for v in variables)
    rows = [
        [model.diffusion.get(f"{v},{w}", model.diffusion.get(f"{w},{v}", {})) for w in variables]
        for v in variables
    ]
    return SymbolicSystem(
        tuple(field_from_terms(model.drift[v], variables, periods) for v in variables),
        tuple(tuple(field_from_terms(terms, variables, periods) for terms in row) for row in rows),
        tuple(bounds_of(model.domain, v) for v in variables),
        periods,
    )


def _analyse(
    process: DiffusionProcess, wanted: AnalysisParameters, observed: Range | Sequence[Range] | None
) -> GeneratorReport:
    return analyse(
        process,
        passages=[
            (place_of(p.from_, process.dimension), place_of(p.to, process.dimension))
            for p in wanted.passages
        ],
        committors=[
            (place_of(c.from_, process.dimension), place_of(c.to, process.dimension))
            for c in wanted.committors
        ],
        exits=[(e.from_, e.low, e.high) for e in wanted.exits],
        density_points=wanted.density_points,
        eigenpairs=wanted.eigenpairs,
        lags=wanted.lags,
        frequencies=wanted.frequencies,
        observed_range=observed,
        reflecting_ends=wanted.reflecting_ends,
        eigenfunctions=wanted.eigenfunctions,
    )


def _few_crossings(generator: GeneratorReport, data: Trajectories) -> list[Finding]:
    """Between neighbouring wells: escape times that rest on few passages, or none."""
    wells = sorted(p.at[0] for p in generator.fixed_points if p.stable)
    found = []
    for low, high in pairwise(wells):
        seen = count_crossings(data, low, high)
        if seen < FEW_CROSSINGS:
            how_many = (
                "No transition"
                if seen == 0
                else "Only one transition"
                if seen == 1
                else f"Only {seen} transitions"
            )
            were = "were" if seen > 1 else "was"
            found.append(
                Finding(
                    "few-transitions",
                    f"{how_many} between the wells at {low:.4g} and {high:.4g} {were} seen: escape times over that barrier are "
                    "extrapolated from the drift inside the wells, and uncertain. Record longer, or start trajectories in both.",
                    {"wells": [low, high], "seen": seen},
                )
            )
    return found
