"""The kind `plan`: a model and a wanted precision → what to record → the document."""

import math
from collections.abc import Iterator

import numpy as np

from contract.plan import (
    PlanCheck,
    PlanCurves,
    PlanJob,
    PlannedCoefficient,
    PlannedQuantity,
    PlanOption,
    PlanResult,
    PlanTarget,
)
from contract.results import Model, Notice, Provenance
from contract.symbols import Symbols, UnknownWord
from worker.documents.numbers import number, written
from worker.documents.results import version_of_this
from worker.identification.sums.block_sums import Summing
from worker.identification.symbolic_process import SymbolicProcess, from_terms
from worker.jobs.generator import Given, components_of
from worker.jobs.parameters import process_of
from worker.jobs.problems import JobProblem
from worker.jobs.sources import invalid
from worker.planning.errors import NoPlan
from worker.planning.information import Terms
from worker.planning.plan import SHORT, Design, Plan, PlannedModel, plan
from worker.planning.target import Quantity, needed_z
from worker.progress import Report

FARTHEST = 10.0
"""Largest difference that a test is planned for, over the coefficient."""

FEW_SAMPLES = 1000
"""Samples below which the identification's own errors are not those of a long record."""


def compute(job: PlanJob, given: Given, report: Report, summing: Summing) -> Plan:
    """Plan a measurement. Raises JobProblem, GeneratorError."""
    report(0.2, "analysing", "information per unit of time, and simulated records")
    model = planned_model(given)
    quantity, precision = wanted(job.target, given, model)
    design = Design(noise_of(job, given), job.dt, job.trajectory_duration, job.start)
    return plan(model, quantity, precision, design, seed=job.seed)


def noise_of(job: PlanJob, given: Given) -> float:
    """Return the measurement noise's standard deviation, that of the model's data by default."""
    return given.noise if job.noise is None else job.noise


def planned_model(given: Given) -> PlannedModel:
    """Return the model that a plan is made for. Raises NoPlan, UnknownTerm."""
    model = given.model
    if len(model.drift) > 1 or given.order == 2:
        raise NoPlan(
            "Plans are made for models of one variable and of first order, and this one has "
            f"{', '.join(given.symbols.symbols.values())}. Plan for each variable by a model of "
            "its own, or simulate records of the model and identify these."
        )
    if model.periodic:
        raise NoPlan(
            "No plan is made for an angle. Simulate records of the model and identify these."
        )
    drift = {term: value for term, value in model.drift["x"].items() if value}
    diffusion = {term: value for term, value in model.diffusion.get("x,x", {}).items() if value}
    if not drift or not diffusion:
        raise NoPlan("A plan needs a model with a drift and a diffusion. Give terms to both.")
    process = process_of(model)
    assert isinstance(process, SymbolicProcess), "the model has one variable"

    def process_at(coefficients: np.ndarray) -> SymbolicProcess:
        values = coefficients.tolist()
        first, second = values[: len(drift)], values[len(drift) :]
        return SymbolicProcess(
            from_terms(dict(zip(drift, first, strict=True))),
            from_terms(dict(zip(diffusion, second, strict=True))),
            process.bounds,
        )

    coefficients = np.array([*drift.values(), *diffusion.values()])
    terms = Terms(
        tuple(from_terms({term: 1.0}) for term in drift),
        tuple(from_terms({term: 1.0}) for term in diffusion),
        coefficients,
    )
    names = tuple(drift), tuple(diffusion)
    return PlannedModel(process_at(coefficients), terms, names, process_at)


def wanted(target: PlanTarget, given: Given, model: PlannedModel) -> tuple[Quantity, float]:
    """Return the quantity and the relative standard error that it needs. Raises JobProblem."""
    if target.term is None or target.component is None:
        pair = None
        if target.from_ is not None and target.to is not None:
            pair = target.from_, target.to
        name = target.quantity
        assert name not in ("coefficient", "difference"), "the contract asks for their term"
        return Quantity(name, pair), target.precision  # type: ignore[arg-type]
    number = _number(target, given, model)
    if target.quantity == "coefficient" or target.other is None:
        return Quantity("coefficient", number=number), target.precision
    value = float(model.terms.coefficients[number])
    away = abs(target.other - value)
    if away <= 1e-9 * abs(value):
        raise JobProblem(
            invalid(
                "target/other",
                f"{target.other:g} is the coefficient itself: no record tells them apart",
                "Give another value.",
            )
        )
    if away > FARTHEST * abs(value):
        raise JobProblem(
            invalid(
                "target/other",
                f"{target.other:g} is more than {FARTHEST:g} times {value:g} away from it: any "
                "record tells them apart",
                "Give a nearer value.",
            )
        )
    precision = away / abs(value) / needed_z(target.power, target.level)
    return Quantity("coefficient", number=number), precision


def _number(target: PlanTarget, given: Given, model: PlannedModel) -> int:
    """Return the place of a coefficient among all of the model."""
    assert target.component is not None
    assert target.term is not None
    symbols: Symbols = given.symbols
    diffusion = "," in target.component
    try:
        key = symbols.component("diffusion" if diffusion else "drift", target.component)
    except UnknownWord as error:
        name = next(iter(symbols.symbols.values()), "x")
        hint = f"Give {name} for the drift, or {name},{name} for the diffusion."
        raise JobProblem(invalid("target/component", str(error), hint)) from error
    try:
        term = symbols.standard_term(target.term, given.model.periodic)
    except ValueError as error:
        raise JobProblem(invalid("target/term", str(error), "Name a term of the model.")) from error
    k = len(model.terms.drift)
    own = model.names[key == "x,x"]
    if term not in own:
        there = ", ".join(own)
        raise JobProblem(
            invalid(
                "target/term",
                f"the {'diffusion' if diffusion else 'drift'} has no term {target.term}",
                f"Its terms are {there}.",
            )
        )
    return own.index(term) + (k if key == "x,x" else 0)


def describe(job_id: str, job: PlanJob, given: Given, found: Plan, seconds: float) -> PlanResult:
    """Write the document of a plan."""
    model, noise = given.model, noise_of(job, given)
    drift, diffusion = model.drift["x"], model.diffusion["x,x"]
    names = [("x", t) for t in drift if drift[t]] + [("x,x", t) for t in diffusion if diffusion[t]]
    values = [(drift if key == "x" else diffusion)[term] for key, term in names]
    reachable = None
    if job.max_duration is not None:
        reachable = found.error_after(job.max_duration)
    curves = found.against_duration, found.against_noise
    first, last = found.target.passage or (None, None)
    return PlanResult(
        job=job_id,
        assumed_model=Model(
            drift=components_of(model.drift, model.periodic),
            diffusion=components_of(model.diffusion, model.periodic),
            domain=model.domain,
        ),
        message=" ".join(_message(job, given, found, reachable)),
        quantity=PlannedQuantity(
            detail=_name(job.target, found),
            value=found.target.value,
            precision=found.precision,
            from_=first,
            to=last,
        ),
        noise=noise,
        time_unit=given.time_unit,
        best=written(PlanOption, found.best),
        options=tuple(written(PlanOption, option) for option in found.options),
        coefficients=tuple(
            PlannedCoefficient(component=key, term=term, value=value, std_error=float(error))
            for (key, term), value, error in zip(names, values, found.std_errors, strict=True)
        ),
        reachable=reachable,
        fast_time=1 / found.fast_rate,
        relaxation_time=number(found.relaxation_time),
        curves=PlanCurves(
            duration=tuple(curves[0].x.tolist()),
            relative_error=tuple(curves[0].y.tolist()),
            noise=tuple(curves[1].x.tolist()),
            duration_with_noise=tuple(curves[1].y.tolist()),
        ),
        check=written(PlanCheck, found.check),
        warnings=tuple(_warnings(found)),
        provenance=Provenance(
            version=version_of_this(),
            parameters=model.model_dump(mode="json"),
            analysis=job.model_dump(
                mode="json", by_alias=True, include=set(PlanJob.model_fields) - _NOT_OF_THE_PLAN
            ),
            seconds=round(seconds, 4),
        ),
    )


_NOT_OF_THE_PLAN = {"kind", "labels", "timeout_seconds", "webhook", "model"}


def _name(target: PlanTarget, found: Plan) -> str:
    """Write what the plan is for."""
    if found.target.passage is not None:
        first, last = found.target.passage
        return f"mean first-passage time from {first:.4g} to {last:.4g}"
    if target.term is not None:
        of = "diffusion" if "," in str(target.component) else "drift"
        return f"coefficient of {target.term} in the {of}"
    return "stationary variance" if target.quantity == "variance" else "relaxation time"


def _message(job: PlanJob, given: Given, found: Plan, reachable: float | None) -> Iterator[str]:
    """Write the plan in sentences."""
    unit = f" {given.time_unit}" if given.time_unit else ""
    best, target, name = found.best, job.target, _name(job.target, found)

    def time(value: float) -> str:
        return f"{_rounded(value)}{unit}"

    if target.other is not None:
        aim = (
            f"tell the {name}, {found.target.value:.4g}, from {target.other:.4g} with power "
            f"{target.power:g} at the level {target.level:g}"
        )
    else:
        aim = f"know the {name}, {found.target.value:.4g}, to {100 * found.precision:.3g} %"
    tracks = "" if best.trajectories == 1 else f", as {best.trajectories} trajectories"
    yield (
        f"To {aim}, record {time(best.duration)} in all{tracks}, with a sample every "
        f"{time(best.dt)} or less: {_rounded(best.samples)} samples."
    )
    shortest = min(option.duration for option in found.options)
    finest, coarsest = found.options[0], found.options[-1]
    if finest.dt < best.dt:
        saved = max(0.0, 1 - shortest / best.duration)
        if saved < 0.005:
            yield "Sampling faster does not help."
        else:
            yield f"Sampling faster saves {100 * saved:.1g} % of this time at most."
    if coarsest.dt > best.dt:
        yield (
            f"With a sample every {time(coarsest.dt)} it takes "
            f"{coarsest.duration / best.duration:.2g} times as long."
        )
    if noise_of(job, given) > 0:
        yield (
            f"Without measurement noise it would take {time(best.clean_duration)} at this interval."
        )
    if reachable is not None and job.max_duration is not None:
        if best.duration > job.max_duration:
            yield (
                f"That is more than the {time(job.max_duration)} you have, after which the "
                f"standard error is {100 * reachable:.2g} %."
            )
        else:
            yield f"In the {time(job.max_duration)} you have, it becomes {100 * reachable:.2g} %."
    yield "Terms are taken as known; that they have to be selected is not accounted for."


def _rounded(value: float) -> str:
    """Round a setting up to two digits: 1 900, 0.052."""
    power = 10.0 ** (math.floor(math.log10(value)) - 1)
    # A duration of 1900.0000001 is 1900.
    up = math.ceil(value / power - 1e-6) * power
    text = f"{up:.12g}"
    return f"{float(text):,.0f}".replace(",", " ") if 1000 <= up < 1e7 else f"{float(text):.4g}"


def _warnings(found: Plan) -> Iterator[Notice]:
    """Warn where the prediction is known to fail."""
    slow = found.relaxation_time
    if math.isfinite(slow) and found.best.duration < SHORT * slow:
        yield Notice(
            code="short-plan",
            message=(
                f"The planned duration is {found.best.duration / slow:.2g} relaxation times; below "
                f"{SHORT:g} of them errors of single records scatter, and may be a third larger "
                "than planned. Record longer if you can."
            ),
            details={"relaxation_times": found.best.duration / slow},
        )
    if found.best.samples < FEW_SAMPLES:
        yield Notice(
            code="few-samples-planned",
            message=(
                f"The plan has {found.best.samples} samples. With fewer than {FEW_SAMPLES} the "
                "identification is less precise than planned: ask for a smaller standard error, or "
                "sample more often."
            ),
            details={"samples": found.best.samples},
        )
