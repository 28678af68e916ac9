"""The kind `generator`: a model → the analysis of its generator → the document."""

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import product
from typing import Any, Literal, NamedTuple

from contract.generator import ModelOfJob, ModelTerms
from contract.jobs import GeneratorJob, ModelJob
from contract.results import Component, GeneratorResult, Model, Notice, Provenance, Term
from contract.symbols import Symbols
from grammar.names import symbols_of
from grammar.terms import names_in_phase_space, parse, variable_name, variables_of
from storage.stores import Forgotten, Stores
from worker import pipeline
from worker.analysis import Analysed
from worker.documents.curves import curves_document, field_document
from worker.documents.generator import findings_of
from worker.documents.model import formula
from worker.documents.results import generator_of, version_of_this, warning_of
from worker.identification.sums.block_sums import Summing
from worker.jobs.parameters import analysis_settings_of, process_of
from worker.jobs.problems import JobProblem
from worker.jobs.sources import check_sizes, check_variables, invalid, understood
from worker.progress import Report
from worker.validation import plot_data
from worker.validation.plot_data import Picture


class Given(NamedTuple):
    """A model in standard names, and the symbols of its variables.

    order      2 where the variables are positions and then their velocities
    noise      standard deviation of the measurement noise in the data it was identified from, of
               one variable [state]; 0 if none was found
    time_unit  unit of time of these data
    """

    model: ModelTerms
    symbols: Symbols
    order: Literal[1, 2] = 1
    warnings: tuple[Notice, ...] = ()
    noise: float = 0.0
    time_unit: str | None = None

    def periods(self, job: ModelJob) -> Mapping[str, float]:
        """Return the period of each angle, by standard name."""
        return self.model.periodic


@contextmanager
def model_of(tenant: str, job: ModelJob, stores: Stores) -> Iterator[Given]:
    """Yield the terms of the job's model. Raises JobProblem if it or a variable is unknown."""
    if isinstance(job.model, ModelOfJob):
        yield _model_of_job(tenant, job.model, stores)
    else:
        yield in_standard_names(job.model)


def in_standard_names(model: ModelTerms) -> Given:
    """Rename the variables of a model x, y, z, … Raises JobProblem where it names others.

    Positions and velocities are renamed x, v; several x, y, … and vx, vy, …
    """
    names = [variable_name(i) for i in range(len(model.drift))]
    own = names if set(model.drift) == set(names) else list(model.drift)
    moving = () if own is names else velocities_of(model)
    if moving:
        names, own = list(names_in_phase_space(len(moving))), [*moving, *moving.values()]
    for place, word, legal in zip(range(len(own)), own, symbols_of(own), strict=True):
        if word != legal:
            detail = f"{word!r} cannot be the name of variable {place + 1}"
            raise JobProblem(invalid(f"model/drift/{word}", detail, f"Use {legal}."))
    symbols = Symbols(dict(zip(names, own, strict=True)))
    check_variables("model/domain", model.domain, own)
    check_variables("model/periodic", model.periodic, own)
    check_variables(
        "model/diffusion", model.diffusion, [f"{v},{w}" for v, w in product(own, repeat=2)]
    )
    check_sizes("model/domain", model.domain)
    check_sizes("model/periodic", model.periodic)
    periods = {symbols.standard(word): period for word, period in model.periodic.items()}
    with understood("model", symbols):
        return Given(
            ModelTerms(
                drift={
                    symbols.standard(word): _terms(model.drift[word], symbols, periods)
                    for word in own
                },
                diffusion={
                    symbols.standard_pair(pair): _terms(terms, symbols, periods)
                    for pair, terms in model.diffusion.items()
                },
                domain={symbols.standard(word): ends for word, ends in model.domain.items()},
                periodic=periods,
            ),
            symbols,
            2 if moving else 1,
        )


def velocities_of(model: ModelTerms) -> dict[str, str]:
    """Return the velocity of each position; empty for a model that is not of second order.

    It is of second order where the drift of a half of the variables is one of the others each,
    and only these have noise.
    """
    noisy = {
        name.strip()
        for pair, terms in model.diffusion.items()
        if any(terms.values())
        for name in pair.split(",")
    }
    velocities = {
        name: next(iter(terms))
        for name, terms in model.drift.items()
        if name not in noisy
        and list(terms.values()) == [1.0]
        and set(terms) <= set(model.drift) - {name}
    }
    apart = not set(velocities) & set(velocities.values())
    whole = {*velocities, *velocities.values()} == set(model.drift)
    paired = len(model.drift) == 2 * len(velocities)
    return velocities if apart and whole and paired else {}


def _terms(
    terms: Mapping[str, float], symbols: Symbols, periods: Mapping[str, float]
) -> dict[str, float]:
    made: dict[str, float] = {}
    for term, value in terms.items():
        standard = symbols.standard_term(term, periods)
        made[standard] = made.get(standard, 0.0) + value
    return made


def compute(
    job: GeneratorJob, given: Given, report: Report, summing: Summing
) -> tuple[Analysed, Picture]:
    """Analyse a given model. Raises GeneratorError, IdentificationError."""
    process = process_of(given.model)
    analysed = pipeline.analyse_terms(
        process, analysis_settings_of(job.analysis), report, tuple(given.model.drift)
    )
    return analysed, plot_data.of_terms(process, analysed.generator, given.order)


def describe(
    job_id: str,
    job: GeneratorJob,
    given: Given,
    found: tuple[Analysed, Picture],
    seconds: float,
) -> GeneratorResult:
    """Write the document of a generator analysis."""
    analysed, seen = found
    model = given.model
    return GeneratorResult(
        job=job_id,
        model=Model(
            drift=components_of(model.drift, model.periodic),
            diffusion=components_of(model.diffusion, model.periodic),
            periodic=model.periodic,
            domain=model.domain,
            order=given.order,
        ),
        generator=generator_of(analysed, tuple(model.drift)),
        curves=curves_document(seen.curves),
        drift_field=field_document(seen.field),
        warnings=tuple(
            warning_of(finding)
            for finding in (*analysed.findings, *findings_of(analysed.generator))
        ),
        provenance=Provenance(
            version=version_of_this(),
            parameters=model.model_dump(mode="json"),
            analysis=job.analysis.model_dump(mode="json", by_alias=True),
            seconds=round(seconds, 4),
        ),
    )


def _model_of_job(tenant: str, reference: ModelOfJob, stores: Stores) -> Given:
    """Read the active terms of an earlier job's model."""
    try:
        name = stores.jobs.result_name(tenant, reference.job)
    except Forgotten:
        name = None
    body = None if name is None else stores.results.get(tenant, name)
    if body is None:
        hint = "Wait until that job has succeeded, then submit again."
        raise JobProblem(invalid("model/job", f"job {reference.job} has no result", hint))
    model = json.loads(body)["model"]
    terms = [t for part in ("drift", "diffusion") for c in _active(model[part]).values() for t in c]
    if set().union(*(variables_of(parse(term)) for term in terms)) - set(model["drift"]):
        hint = "Give the terms of its drift and diffusion, with numbers in the place of inputs."
        detail = f"the model of job {reference.job} is driven by inputs"
        raise JobProblem(invalid("model/job", detail, hint))
    return _active_terms(body)


def _active_terms(body: bytes) -> Given:
    """Read the active terms of a result document's model, with its domain, periods and symbols."""
    document = json.loads(body)
    model = document["model"]
    terms = ModelTerms(
        drift=_active(model["drift"]),
        diffusion=_active(model["diffusion"]),
        domain=model["domain"],
        periodic=model["periodic"],
    )
    variance = (document.get("diagnostics") or {}).get("measurement_noise_variance") or 0.0
    return Given(
        terms,
        Symbols(model["symbols"]),
        model.get("order", 1),
        noise=math.sqrt(max(variance, 0.0)),
        time_unit=(document.get("data") or {}).get("time_unit"),
    )


def _active(components: dict[str, Any]) -> dict[str, dict[str, float]]:
    return {
        key: {t["term"]: t["value"] for t in c["terms"] if t["active"]}
        for key, c in components.items()
    }


def components_of(
    components: Mapping[str, Mapping[str, float]], periods: Mapping[str, float]
) -> dict[str, Component]:
    """Write the components of a model that is given by its terms."""
    return {
        key: Component(
            expression=formula(terms, periods),
            terms=tuple(
                Term(term=name, value=value, active=value != 0) for name, value in terms.items()
            ),
        )
        for key, terms in components.items()
    }
