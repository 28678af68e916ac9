"""The pipeline, to be read first: trajectories to model, to time scales, and back to the data."""

from collections.abc import Sequence
from dataclasses import replace

from worker.analysis import Analysed, AnalysisSettings, analyse_model, analyse_process
from worker.generator.process import DiffusionProcess
from worker.identification.data.inputs import check_first_order
from worker.identification.data.trajectories import Trajectories
from worker.identification.errors import NotSecondOrder
from worker.identification.estimation.setup import Settings
from worker.identification.findings.derived import DRIVEN, MODEL_ONLY
from worker.identification.findings.second_order import (
    about_order,
    check_order,
    errors_not_used,
    undecided,
)
from worker.identification.identified_model import IdentifiedModel, identified_model
from worker.identification.recorded_velocity_model import recorded_velocity_model
from worker.identification.second_order.order import decide_order
from worker.identification.second_order_model import holds_noise, in_phase_space, second_order_model
from worker.identification.sums.block_sums import Summing, sums_here
from worker.progress import Report
from worker.validation.validation import Validation
from worker.validation.validation import validate as validate_with_data


def identify(
    data: Trajectories, settings: Settings, report: Report, summing: Summing = sums_here
) -> IdentifiedModel:
    """Identify drift and diffusion of a record. Raises IdentificationError.

    summing   takes the sums over all the data, here or in several processes, with the same result
              to the last bit
    """
    report(0.05, "reading", f"{data.n_increments} increments of {data.n_trajectories} trajectories")
    # A sampling rule, a structure of the tensor and what is known of a component are of first
    # order: they were asked for by name.
    named = (
        settings.sampling_rule != "auto"
        or settings.diffusion_structure != "full"
        or settings.restricted
        or settings.noise_errors is not None
        or settings.exposure is not None
    )
    auto = settings.dynamics == "auto"
    if data.inputs is not None or settings.forcing.any:
        check_first_order(settings.dynamics)
        return identified_model(data, settings, report, summing)
    if settings.estimator != "paper" and settings.dynamics in ("auto", "second-order"):
        recorded = recorded_velocity_model(data, settings, report, summing)
        if recorded is not None:
            return recorded
    if settings.dynamics == "first-order" or (auto and named) or settings.estimator == "paper":
        return identified_model(data, settings, report, summing)
    order = decide_order(data, settings.periods_in(data.dimension))
    if auto and order.order != 2:
        return identified_model(data, settings, report, summing)
    # Whether coarse samples have a velocity is for the likelihood to tell.
    doubted = (
        settings.dynamics == "second-order"
        and order.order == 1
        and order.evidence != "velocity-recorded"
    )
    if not auto and not doubted:
        check_order(order)
    try:
        model = second_order_model(data, settings, report, summing, doubted=doubted)
    except NotSecondOrder as error:
        if not auto:
            check_order(order)
            raise
        first = identified_model(data, settings, report, summing)
        return replace(first, findings=(*undecided(str(error)), *first.findings))
    said = (
        *about_order(order, settings.dynamics),
        *(errors_not_used() if data.errors is not None and not holds_noise(data, settings) else ()),
    )
    return replace(model, findings=(*said, *model.findings))


def states_of(model: IdentifiedModel, data: Trajectories) -> Trajectories:
    """Return a record in its model's variables: of second order, positions and velocities.

    Velocities that were not recorded are secants, for what is drawn and compared.
    """
    if model.order == 1:
        return data
    return in_phase_space(data, model.process.periods, model.columns)


def analyse(
    model: IdentifiedModel, data: Trajectories, asked: AnalysisSettings, report: Report
) -> Analysed:
    """Derive time scales from an identified model, with their intervals."""
    report(0.7, "analysing", "spectrum, stationary distribution and first-passage times")
    return analyse_model(model, data, asked, report)


def validate(
    model: IdentifiedModel, data: Trajectories, analysed: Analysed, report: Report
) -> Validation:
    """Compare the model, run for longer than one sampling interval, with the data.

    A model that is driven is no Markov process by itself, and is not.
    """
    if model.driving is not None:
        return Validation(reason=DRIVEN)
    report(0.9, "comparing", "the model with the data at longer times")
    return validate_with_data(data, model, analysed.generator, analysed.solution)


def analyse_and_validate(
    model: IdentifiedModel, states: Trajectories, asked: AnalysisSettings, report: Report
) -> tuple[Analysed | None, Validation]:
    """Analyse a model and validate it with its data; no analysis if only the model is asked for.

    states   record in the model's variables; see `states_of`
    """
    if asked.model_only:
        return None, Validation(reason=MODEL_ONLY)
    analysed = analyse(model, states, asked, report)
    return analysed, validate(model, states, analysed, report)


def analyse_terms(
    process: DiffusionProcess,
    asked: AnalysisSettings,
    report: Report,
    variables: Sequence[str] = (),
) -> Analysed:
    """Derive time scales from a model that is given by its terms. Raises GeneratorError.

    variables   names of the variables; default: x, y, z, …
    """
    report(0.3, "analysing", "spectrum, stationary distribution and first-passage times")
    return Analysed(analyse_process(process, asked, None, variables).report, None)
