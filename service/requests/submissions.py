"""Job submissions: the request, its inline data, an estimate of its cost, and what is refused."""

from collections.abc import AsyncGenerator, Sequence
from math import comb
from pathlib import Path
from typing import Any

from anyio.to_thread import run_sync
from fastapi import Request
from pydantic import ValidationError

from contract.comparison import ComparisonJob
from contract.datasets import Dataset, Layout
from contract.generator import ModelOfJob, ModelTerms
from contract.identification import IdentificationParameters
from contract.jobs import DataJob, InlineData, Job, ModelJob, host_allowed
from contract.kinds import JOB_REQUEST, KINDS
from contract.population import PopulationJob
from contract.problems import ProblemError
from contract.symbols import faults_of_words, symbols_of_dataset
from service.dependencies import Context
from service.errors import Refusal
from service.readers import strict_json
from service.readers.errors import UnreadableData
from service.readers.process import take_job_apart
from service.readers.strict_json import body_too_large
from service.requests import layouts, request_body, uploads
from service.requests.layouts import LayoutQuery
from service.requests.uploads import Upload
from service.responses import deprecation
from service.settings import ServiceSettings
from service.validation_errors import document_faults, pointer
from storage.stores import Forgotten

SHORT_BYTES = 8192
"""Length of a body that is parsed and checked in less time than a change of threads takes."""
LARGE_BYTES = 256_000
"""Length of a body from which the reading child parses it: more would hold up every request."""
_MANY: dict[type[Job], str] = {ComparisonJob: "groups", PopulationJob: "datasets"}
"""Field that names several datasets, of the kinds of job that have one."""

_DATA_KINDS = [name for name, kind in KINDS.items() if kind.needs_data]


async def received(
    request: Request, context: Context, tenant: str, query: LayoutQuery, repeated: bool = False
) -> tuple[Job, tuple[Dataset, ...]]:
    """Read the job that a request submits, as JSON or as a form; see `_resolved` for the rest.

    query      layout in the query's parameters
    repeated   whether the job was accepted before

    Raises Refusal as the reading of the body does, and whatever `_resolved` raises.
    """
    media_type = uploads.media_type(request)
    if media_type == uploads.FORM:
        return await _received_form(request, context, tenant, query, repeated)
    if media_type != "application/json" and not (
        media_type.startswith("application/") and media_type.endswith("+json")
    ):
        raise Refusal(
            "unsupported-media-type",
            "A job must be sent as application/json, or as multipart/form-data with the parts "
            "`file` and `job`.",
            "With curl: -H 'Content-Type: application/json'",
        )
    # A body without a length may be of any.
    if request_body.announced(request) > LARGE_BYTES or "transfer-encoding" in request.headers:
        return await _received_large(request, context, tenant, query, repeated)
    body = await request_body.whole(
        request, context.settings.max_json_bytes, context.settings.body_idle_seconds
    )
    short = len(body) <= SHORT_BYTES
    given = strict_json.parse(body) if short else await run_sync(strict_json.parse, body)
    layout = layouts.layout(request, query, None)
    return await _resolved(
        request, context, tenant, given, layout=layout, short=short, repeated=repeated
    )


async def _received_large(
    request: Request, context: Context, tenant: str, query: LayoutQuery, repeated: bool
) -> tuple[Job, tuple[Dataset, ...]]:
    settings = context.settings
    chunks = request_body.chunks(request, settings.max_json_bytes, settings.body_idle_seconds)
    with uploads.scratch_folder(settings.scratch) as folder:
        sent = await uploads.spool(uploads.within_room(context, chunks), folder, None, None)
        data_file = folder / "data"
        if sent.size <= LARGE_BYTES:
            given = await run_sync(lambda: strict_json.parse(sent.path.read_bytes()))
        else:
            given = await context.reading.run(
                tenant, take_job_apart, sent.path, _DATA_KINDS, settings.max_job_bytes, data_file
            )
        return await _resolved(
            request,
            context,
            tenant,
            given,
            layout=layouts.layout(request, query, None),
            data_file=data_file if data_file.exists() else None,
            repeated=repeated,
        )


async def _received_form(
    request: Request, context: Context, tenant: str, query: LayoutQuery, repeated: bool
) -> tuple[Job, tuple[Dataset, ...]]:
    with uploads.scratch_folder(context.settings.scratch) as folder:
        upload, parts = await uploads.form(request, context, folder, "job", "layout")
        if "job" not in parts:
            hint = 'With curl: -F \'job={"kind": "identification"}\''
            raise Refusal("invalid-request", "The form has no `job` part.", hint)
        with request_body.within_field("job"):
            given = strict_json.parse(parts["job"])
        layout = layouts.layout(request, query, parts.get("layout"))
        return await _resolved(
            request, context, tenant, given, upload=upload, layout=layout, repeated=repeated
        )


async def _resolved(
    request: Request,
    context: Context,
    tenant: str,
    given: Any,
    *,
    upload: Upload | None = None,
    layout: Layout | None = None,
    data_file: Path | None = None,
    short: bool = False,
    repeated: bool = False,
) -> tuple[Job, tuple[Dataset, ...]]:
    """Return the job as it will be recorded, and the datasets that it starts from.

    The job names a dataset instead of holding data, and every default is filled in.

    request  request on which the use of deprecated fields is noted
    given    JSON value that was sent
    upload   file that was sent with it
    layout   layout of the file or the inline data
    data_file   file with the inline data, where `given` has only the names of their members
    short    whether the value is so small that checking it holds up nobody
    repeated   whether the job was accepted before: what it names may have been deleted since

    Raises Refusal (invalid-request, body-too-large), UnreadableData, StoreUnavailable.
    """
    given, data = _without_data(given)
    limit = context.settings.max_job_bytes
    job = _parsed(given, limit) if short else await run_sync(_parsed, given, limit)
    deprecation.note(request, deprecation.used(job, given))
    job = check_job(job, context.settings)
    if not isinstance(job, DataJob):
        if upload is not None:
            raise _fault("#/file", f"a {job.kind} job takes a `model`, not a file")
        if isinstance(job, ModelJob) and isinstance(job.model, ModelOfJob) and not repeated:
            await _check_model(context, tenant, job.model)
        return job, ()
    many = _MANY.get(type(job), "")
    several = (getattr(job, many) or None) if many else None
    given_data = ((many, several), ("dataset", job.dataset), ("data", data), ("file", upload))
    sources = [name for name, source in given_data if source is not None]
    if len(sources) != 1:
        found = f"found {' and '.join(sources)}" if sources else "found none"
        ways = f"`{many}`, `dataset`" if many else "`dataset`"
        raise _fault("#/dataset", f"give the data once: {ways}, `data` or a `file` part; {found}")
    if job.dataset_ids:
        if layout is not None:
            raise _fault(
                f"#/{sources[0]}",
                "a layout says how to read data sent along; a dataset has been read already",
            )
        if repeated:
            return job, ()
        if isinstance(job, ComparisonJob | PopulationJob) and several:
            return job, await _known_datasets(context, tenant, job)
        dataset = await _known_dataset(context, tenant, job.dataset_ids[0], "#/dataset")
        check_data(job, dataset)
        return job, (dataset,)
    if upload is not None:
        dataset, _ = await uploads.keep(context, tenant, upload, layout or Layout())
    elif data_file is not None:
        with data_file.open("rb") as file:
            dataset = await _kept(context, tenant, uploads.pieces_of(file), layout or Layout())
    else:
        body = await run_sync(strict_json.canonical, data)
        dataset = await _kept(context, tenant, _once(body), layout or Layout())
    check_data(job, dataset)
    return job.model_copy(update={"dataset": dataset.id}), (dataset,)


async def _kept(
    context: Context, tenant: str, pieces: AsyncGenerator[bytes], layout: Layout
) -> Dataset:
    """Store inline data as a dataset."""
    with uploads.scratch_folder(context.settings.scratch) as folder:
        inline = await uploads.spool(pieces, folder, "application/json", None)
        try:
            dataset, _ = await uploads.keep(context, tenant, inline, layout)
        except UnreadableData as error:
            faults = error.errors or (ProblemError(detail=error.detail),)
            error.errors = tuple(_inside_data(fault) for fault in faults)
            raise
    return dataset


def _without_data(given: Any) -> tuple[Any, dict[str, Any] | None]:
    """Separate the job and its inline data.

    The reader parses the data in its own process, as it does every upload.
    """
    if (
        not isinstance(given, dict)
        or given.get("kind") not in _DATA_KINDS
        or given.get("data") is None
    ):
        return given, None
    rest = {name: value for name, value in given.items() if name != "data"}
    data = given["data"]
    if not isinstance(data, dict):
        raise _fault("#/data", "must be an object")
    faults = [
        ProblemError(detail="is not a known field", pointer=pointer("data", name))
        for name in data
        if name not in InlineData.model_fields
    ]
    if "trajectories" not in data:
        faults.append(ProblemError(detail="is required", pointer="#/data/trajectories"))
    if faults:
        raise invalid("The inline data", tuple(faults[:20]))
    return rest, data


def _parsed(given: Any, limit: int) -> Job:
    if isinstance(given, dict) and len(strict_json.canonical(given)) > limit:
        raise body_too_large(limit)
    try:
        return JOB_REQUEST.validate_python(given)
    except ValidationError as error:
        raise invalid("The job", document_faults(error, given)) from None


def check_job(job: Job, settings: ServiceSettings) -> Job:
    """Return the job with the longest time limit that is allowed, where it asks for none.

    Raises Refusal (invalid-request) where the operator does not allow its webhook or time limit.
    """
    _check_webhook(job, settings)
    longest = settings.max_timeout_seconds
    if job.timeout_seconds > longest:
        if "timeout_seconds" in job.model_fields_set:
            hint = "The setting is ITOSCOPE_MAX_TIMEOUT_SECONDS."
            raise _fault("#/timeout_seconds", f"may be at most {longest:g} here", hint)
        job = job.model_copy(update={"timeout_seconds": longest})
    return job


def _check_webhook(job: Job, settings: ServiceSettings) -> None:
    """Check that the operator allows the webhook's host; its IP address is checked on delivery."""
    if job.webhook is None or host_allowed(job.webhook.url, settings.webhook_hosts):
        secure = (
            job.webhook is None or job.webhook.url.startswith("https:") or settings.webhook_networks
        )
        if not secure:
            raise _fault("#/webhook/url", "must begin with https://")
        return
    if not settings.webhook_hosts:
        raise _fault(
            "#/webhook",
            "webhooks are disabled here",
            "Wait with Prefer: wait=60, or follow the job's events.",
        )
    raise _fault(
        "#/webhook/url",
        "the operator has not allowed this host",
        "The setting is ITOSCOPE_WEBHOOK_HOSTS.",
    )


async def _known_datasets(
    context: Context, tenant: str, job: ComparisonJob | PopulationJob
) -> tuple[Dataset, ...]:
    """Return the datasets of a job that takes several, all of which are there and alike."""
    if isinstance(job, ComparisonJob):
        places = {
            id_: pointer("groups", group, str(number))
            for group, ids in job.groups.items()
            for number, id_ in enumerate(ids)
        }
    else:
        places = {id_: pointer("datasets", str(n)) for n, id_ in enumerate(job.datasets)}
    known = {
        id_: await _known_dataset(context, tenant, id_, place) for id_, place in places.items()
    }
    first = known[job.dataset_ids[0]]
    trajectories = sum(dataset.report.n_trajectories for dataset in known.values())
    report = first.report.model_copy(update={"n_trajectories": trajectories})
    check_data(job, first.model_copy(update={"report": report}), f"#/{_MANY[type(job)]}")
    unlike = job.unlike(known)
    if unlike is not None:
        place, detail, hint = unlike
        raise _fault(pointer(*place), detail, hint)
    return tuple(known.values())


async def _known_dataset(context: Context, tenant: str, dataset_id: str, place: str) -> Dataset:
    dataset = await run_sync(context.stores.datasets.get, tenant, dataset_id)
    if dataset is None:
        raise _fault(
            place,
            "there is no such dataset",
            "POST /v1/datasets uploads one; GET /v1/datasets lists yours.",
        )
    return dataset


def check_data(job: DataJob, dataset: Dataset, source: str = "#/dataset") -> None:
    """Check that the job can use the dataset: its size, and the variables that the job names.

    source   place of the dataset in the job
    """
    check_trajectories(job.trajectories or (), dataset, "The job")
    report = dataset.report
    if job.trajectories is not None:
        report = report.model_copy(update={"n_trajectories": len(job.trajectories)})
    unsuitable = job.unsuitable(report)
    if unsuitable is not None:
        detail, hint = unsuitable
        raise _fault(source, detail, hint)
    symbols = symbols_of_dataset(dataset)
    faults = tuple(
        ProblemError(detail=detail, pointer=pointer(*place.split("/"), *steps))
        for place, parameters in job.parameter_sets().items()
        for steps, detail in faults_of_words(parameters, symbols)
    )
    if faults:
        names = ", ".join(
            v.symbol if v.column in (None, v.symbol) else f"{v.symbol} (column {v.column})"
            for v in dataset.report.variables
        )
        said = [f"The variables are {names}."]
        velocities = set(symbols.symbols.values()) - set(symbols.recorded.symbols.values())
        if any(
            fault.detail.startswith(f"{v!r} is not a variable")
            for v in velocities
            for fault in faults
        ):
            said.append(
                "Velocities of recorded positions are variables with parameters.dynamics "
                "second-order."
            )
        raise invalid("The job", faults, tuple(said))


def check_trajectories(numbers: Sequence[int], dataset: Dataset, what: str) -> None:
    """Check that a dataset has the trajectories of these numbers. Raises Refusal."""
    count = dataset.report.n_trajectories
    for place, number in enumerate(numbers):
        if number >= count:
            detail = f"there is no trajectory {number}: the dataset has {count}, from 0"
            fault = ProblemError(detail=detail, pointer=f"#/trajectories/{place}")
            raise invalid(what, (fault,), (f"The last trajectory has the number {count - 1}.",))


async def _check_model(context: Context, tenant: str, model: ModelOfJob) -> None:
    try:
        record = await run_sync(context.stores.jobs.get, tenant, model.job)
    except Forgotten:
        raise _fault(
            "#/model/job", "this job is no longer stored", "Give the model by its terms."
        ) from None
    if record is None:
        raise _fault("#/model/job", "there is no such job", "GET /v1/jobs lists your jobs.")
    if record.state != "succeeded":
        raise _fault(
            "#/model/job",
            f"this job has no model: it is {record.state}",
            "Wait for it with Prefer: wait=60."
            if record.state in ("queued", "running")
            else "Give a job that succeeded, or the model by its terms.",
        )
    if not KINDS[record.kind].gives_one_model:
        raise _fault(
            "#/model/job",
            f"this job is of the kind {record.kind}, whose result is not one model",
            "Give one of its models by its terms.",
        )


def _fault(place: str, detail: str, *hints: str) -> Refusal:
    return invalid("The job", (ProblemError(detail=detail, pointer=place),), hints)


def invalid(what: str, faults: tuple[ProblemError, ...], hints: tuple[str, ...] = ()) -> Refusal:
    """Build the refusal of a document, which names each fault and its place."""
    hints = hints or ("The JSON Schema of jobs is at /v1/schemas/job-request.",)
    first = f"{faults[0].pointer or '#'} {faults[0].detail}"
    more = f", and {len(faults) - 1} more" if len(faults) > 1 else ""
    return Refusal(
        "invalid-request", f"{what} cannot be accepted: {first}{more}.", *hints, errors=faults
    )


def _inside_data(fault: ProblemError) -> ProblemError:
    """Prefix a fault's pointer: to the reader, the inline data are a file of their own."""
    place = fault.pointer or "#"
    if place.startswith("#/layout"):
        return fault
    return fault.model_copy(update={"pointer": "#/data" + place.removeprefix("#")})


async def _once(body: bytes) -> AsyncGenerator[bytes]:
    yield body


START_SECONDS = 0.3
ONE_VARIABLE = 8e-8
"""Seconds per increment in one variable."""
SEVERAL = 1.6e-7
"""Seconds per increment and term in several variables."""
ALGORITHM_1 = 3e-6
"""Seconds per increment with the paper's estimator."""
ANALYSIS = {1: 1.0, 2: 15.0}
"""Seconds for the generator, by the number of variables; three and more take little."""


def estimated_seconds(job: Job, datasets: Sequence[Dataset]) -> float:
    """Estimate the computing time on one core [s].

    datasets   the data of a job that starts from data

    The estimate rests on measurements on one core (`python -m benchmarks.speed`,
    `benchmarks.plane`) and is right to a factor of about three: enough to distinguish jobs of
    seconds from jobs of minutes. A model of an earlier job counts as a model of one variable.
    """
    variables, fits = 1, 0.0
    if isinstance(job, DataJob):
        recorded = len(datasets[0].report.variables)
        variables = max(
            recorded * (2 if given.with_velocities else 1)
            for given in job.parameter_sets().values()
        )
        increments = float(sum(dataset.report.n_increments for dataset in datasets))
        if job.trajectories is not None:
            increments *= len(job.trajectories) / datasets[0].report.n_trajectories
        fits = job.fits_of_each * sum(
            increments * _increment(given, recorded) for given in job.parameter_sets().values()
        )
    elif isinstance(job, ModelJob) and isinstance(job.model, ModelTerms):
        variables = len(job.model.drift)
    return START_SECONDS + fits + job.analyses * ANALYSIS.get(variables, 3.0)


def _increment(parameters: IdentificationParameters, variables: int) -> float:
    if parameters.estimator == "paper":
        return ALGORITHM_1
    if parameters.with_velocities:
        variables *= 2
    if variables == 1:
        return ONE_VARIABLE
    library = parameters.library
    monomials = comb(variables + library.polynomial_degree, variables)
    waves = 2 * library.fourier_harmonics * len(parameters.periodic)
    return SEVERAL * (monomials + waves + len(library.extra_terms)) * variables / 2
