"""Examples of every request and response, for the OpenAPI document.

Tests send each request and check each response against its schema.
"""

from datetime import UTC, datetime
from typing import Any

from contract.base import Document
from contract.batches import Batch, BatchCounts, BatchList, BatchRow
from contract.curves import Bins
from contract.datasets import (
    Column,
    Dataset,
    DatasetList,
    DatasetPreview,
    DatasetReport,
    Layout,
    LengthReport,
    SamplingReport,
    Stretch,
    Variable,
)
from contract.generator import ModelTerms
from contract.identification import PRESET_LIST
from contract.jobs import DOUBLE_WELL, SHORT_RECORD, IdentificationJob
from contract.kinds import KINDS
from contract.records import JobEvent, JobList, JobRecord, Progress
from contract.results import (
    Component,
    Density,
    Eigenvalue,
    Estimate,
    FixedPoint,
    GeneratorAnalysis,
    GeneratorResult,
    LikelySupport,
    Model,
    Passage,
    Provenance,
    Spectrum,
    Stationary,
    Term,
)
from service.responses.draws import DrawnTerms, Draws

DATASET = "ds_9tq4m2k7h3xa5c6e"
JOB = "job_0cp5v0sc0qk3mt7d2a8n4e6r1g"
BATCH = "batch_0cp5v0sc0qk3mt7d2a8n4e6r1g"
PATH = {"dataset_id": DATASET, "job_id": JOB, "batch_id": BATCH, "name": "layout-1.0"}
"""Values of the path parameters in the examples."""

CSV = "t,voltage\n0.00,0.13\n0.01,0.17\n0.02,0.22\n0.03,0.18\n"
_OWN = {"groups", "data"}
"""Fields of a job that are its data instead of one dataset."""
JOBS: dict[str, dict[str, Any]] = {
    kind.example[0]: {
        "kind": name,
        **({"dataset": DATASET} if kind.needs_data and not _OWN & {*kind.example[1]} else {}),
        **kind.example[1],
    }
    for name, kind in KINDS.items()
}
IDENTIFICATION = JOBS["on a dataset"]
JOBS["data in the job, Algorithm 1"] = {
    "kind": "identification",
    "data": SHORT_RECORD,
    "preset": "paper",
}
WITH_FILE = {"job": {"kind": "identification"}, "file": CSV, "layout": {"time_unit": "s"}}

_NOON = datetime(2026, 3, 17, 12, 0, 0, tzinfo=UTC)
_DATASET = Dataset(
    id=DATASET,
    created_at=_NOON,
    sha256="9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    bytes=len(CSV),
    label="trap-17.csv",
    report=DatasetReport(
        format="csv",
        layout=Layout(time_column="t", state_columns=("voltage",)),
        assumptions=("column 1 ('t') is time",),
        variables=(Variable(name="x", symbol="voltage", label="voltage", column="voltage"),),
        columns=(
            Column(
                number=1,
                key="t",
                column="t",
                type="number",
                role="time",
                reason="is time by its name",
                values=("0", "0.01", "0.02", "0.03"),
            ),
            Column(
                number=2,
                key="voltage",
                column="voltage",
                type="number",
                role="state",
                reason="holds numbers",
                values=("0.13", "0.17", "0.22", "0.18"),
            ),
        ),
        n_trajectories=1,
        n_segments=1,
        n_samples=4,
        n_increments=3,
        duration=0.03,
        lengths=LengthReport(min=4, median=4, max=4),
        dt=SamplingReport(median=0.01, min=0.01, max=0.01, jitter=0.0, source="time_column"),
        range=((0.13, 0.22),),
    ),
)
_PREVIEW = DatasetPreview(
    stretches=(
        Stretch(
            trajectory=0,
            times=(0.0, 0.01, 0.02, 0.03),
            first={"x": (0.13, 0.17, 0.22, 0.18)},
            low={"x": (0.13, 0.17, 0.22, 0.18)},
            high={"x": (0.13, 0.17, 0.22, 0.18)},
        ),
    ),
    n_segments=1,
    histograms={"x": Bins(edges=(0.13, 0.16, 0.19, 0.22), counts=(1, 2, 1))},
)
_QUEUED = JobRecord(
    id=JOB,
    kind="identification",
    state="queued",
    created_at=_NOON,
    dataset=DATASET,
    labels={"experiment": "trap-17"},
    request=IdentificationJob.model_validate(IDENTIFICATION),
).linked
_SUCCEEDED = _QUEUED.model_copy(
    update={
        "state": "succeeded",
        "started_at": _NOON.replace(second=1),
        "finished_at": _NOON.replace(second=2),
        "progress": Progress(fraction=1.0, stage="succeeded"),
        "attempt": 1,
    }
).linked
_CANCELLED = _QUEUED.model_copy(
    update={"state": "cancelled", "finished_at": _NOON.replace(second=1)}
).linked
RESULT = GeneratorResult(
    job=JOB,
    model=Model(
        drift={"x": Component(expression="x - x^3", terms=(
            Term(term="x", value=1.0, active=True), Term(term="x^3", value=-1.0, active=True),
        ), supports=(LikelySupport(
            support=("x", "x^3"), probability=1.0, values=(1.0, -1.0),
            factor=((0.09, 0.0), (-0.07, 0.03)),
        ),))},
        diffusion={"x,x": Component(expression="0.25", terms=(
            Term(term="1", value=0.25, active=True),
        ), supports=(LikelySupport(
            support=("1",), probability=1.0, values=(0.25,), factor=((0.005,),),
        ),))},
    ),
    generator=GeneratorAnalysis(
        ergodic=True,
        spectrum=Spectrum(eigenvalues=(Eigenvalue(re=0.05683),), relaxation_times=(17.6,)),
        stationary=Stationary(
            mean=(0.0,),
            covariance=((0.836,),),
            density=Density(grid=((-1.0, 0.0, 1.0),), values=(0.47, 0.064, 0.47)),
        ),
        fixed_points=tuple(FixedPoint(at=(x,), stable=x != 0.0) for x in (-1.0, 0.0, 1.0)),
        passages=(Passage(
            from_=-1.0, to=1.0, mean_time=Estimate(value=41.03), kramers=Estimate(value=32.83)
        ),),
    ),
    provenance=Provenance(
        version="0.1.0",
        parameters=ModelTerms.model_validate(DOUBLE_WELL).model_dump(mode="json"),
        seconds=0.4,
    ),
)  # fmt: skip
_DRAWS = Draws(
    count=2,
    seed=0,
    drift={"x": DrawnTerms(terms=("x", "x^3"), coefficients=((1.08, -1.05), (0.97, -0.99)))},
    diffusion={"x,x": DrawnTerms(terms=("1",), coefficients=((0.247,), (0.252,)))},
)
_BATCH = Batch(
    id=BATCH,
    label="traps of March",
    created_at=_NOON,
    kind="identification",
    dataset=DATASET,
    n_records=2,
    counts=BatchCounts(succeeded=2),
    rows=(
        BatchRow(
            number=0,
            record="trap-17",
            dataset=DATASET,
            trajectory=0,
            job=JOB,
            state="succeeded",
            attempt=1,
            values={"drift.x": "0.99*x", "drift.x:x": 0.99, "drift.x:x:std_error": 0.04},
        ),
    ),
    next_cursor="1",
).linked
_EVENT = JobEvent(id="1773748800000-0", at=_NOON, state="queued", attempt=0, progress=Progress())
EVENT = {"event": "job", "id": _EVENT.id, "data": _EVENT.model_dump_json()}
METRICS = (
    "# HELP itoscope_jobs Jobs that wait or run.\n# TYPE itoscope_jobs gauge\n"
    'itoscope_jobs{state="queued"} 2.0\n'
)


def _json(document: Document) -> Any:
    return document.model_dump(mode="json", by_alias=True)


def _whole(job: dict[str, Any]) -> Any:
    return _json(KINDS[job["kind"]].job.model_validate(job))


def _answer(value: Any, status: str = "200") -> dict[str, dict[str, Any]]:
    return {status: {"application/json": value}}


Examples = dict[tuple[str, str], dict[str, dict[str, Any]]]
_SUBMITTED = {"application/json": JOBS, "multipart/form-data": {"all in one": WITH_FILE}}

REQUESTS: Examples = {
    ("post", "/v1/datasets"): {
        "text/csv": {"a record": CSV},
        "multipart/form-data": {"a form": {"file": CSV, "layout": {"time_unit": "s"}}},
    },
    ("post", "/v1/datasets/{dataset_id}/read"): {
        "application/json": {"other columns": {"state_columns": ["voltage"], "dt": 0.01}}
    },
    ("post", "/v1/jobs"): _SUBMITTED,
    ("post", "/v1/jobs/validate"): _SUBMITTED,
    ("post", "/v1/batches"): {
        "application/json": {
            "every trajectory of a dataset": {
                "dataset": DATASET,
                "job": {"kind": "identification"},
                "label": "traps of March",
            },
            "several datasets": {
                "datasets": [DATASET],
                "job": {"kind": "identification", "analysis": {"model_only": True}},
            },
        }
    },
}
"""Request bodies by operation, media type and name of the example."""

_CHECKED = {"request": _whole(IDENTIFICATION), "estimated_seconds": 1.3}
_LISTED = _json(JobList(items=(_QUEUED,), next_cursor="41"))
_SCHEMAS = {"items": [{"name": "layout-1.0", "href": "/v1/schemas/layout-1.0"}]}
_READY = {"status": "ready", "workers": 2, "queues": {"small": 2, "large": 1}}
RESPONSES: Examples = {
    ("post", "/v1/datasets"): _answer(_json(_DATASET), "201") | _answer(_json(_DATASET)),
    ("post", "/v1/datasets/{dataset_id}/read"): (
        _answer(_json(_DATASET), "201") | _answer(_json(_DATASET))
    ),
    ("get", "/v1/datasets"): _answer(_json(DatasetList(items=(_DATASET,)))),
    ("get", "/v1/datasets/{dataset_id}"): _answer(_json(_DATASET)),
    ("get", "/v1/datasets/{dataset_id}/preview"): _answer(_json(_PREVIEW)),
    ("post", "/v1/jobs"): _answer(_json(_QUEUED), "202") | _answer(_json(_SUCCEEDED)),
    ("post", "/v1/jobs/validate"): _answer(_CHECKED),
    ("get", "/v1/jobs"): _answer(_LISTED),
    ("get", "/v1/jobs/{job_id}"): _answer(_json(_SUCCEEDED)),
    ("get", "/v1/jobs/{job_id}/events"): {"200": {"text/event-stream": EVENT}},
    ("get", "/v1/jobs/{job_id}/result"): _answer(_json(RESULT)),
    ("get", "/v1/jobs/{job_id}/draws"): _answer(_json(_DRAWS)),
    ("post", "/v1/jobs/{job_id}/cancel"): _answer(_json(_CANCELLED), "202"),
    ("post", "/v1/batches"): _answer(_json(_BATCH), "202"),
    ("get", "/v1/batches"): _answer(
        _json(BatchList(items=(_BATCH.model_copy(update={"rows": (), "next_cursor": None}),)))
    ),
    ("get", "/v1/batches/{batch_id}"): {
        "200": {
            "application/json": _json(_BATCH),
            "text/csv": "number,record,state,drift.x:x\r\n0,trap-17,succeeded,0.99\r\n",
        }
    },
    ("post", "/v1/batches/{batch_id}/retry"): _answer(_json(_BATCH), "202"),
    ("post", "/v1/batches/{batch_id}/cancel"): _answer(_json(_BATCH), "202"),
    ("get", "/v1/schemas"): _answer(_SCHEMAS),
    ("get", "/v1/schemas/{name}"): {
        "200": {"application/schema+json": {"type": "object", "title": "Layout"}}
    },
    ("get", "/v1/presets"): _answer({"items": [_json(preset) for preset in PRESET_LIST]}),
    ("get", "/v1/webhooks/secret"): _answer(
        {"key": "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDazfHAnzLnmE="}
    ),
    ("get", "/healthz"): _answer({"status": "ok"}),
    ("get", "/readyz"): _answer(_READY),
    ("get", "/metrics"): {"200": {"text/plain": METRICS}},
}
"""Response bodies by operation, status and media type. Archives and pages have none."""
