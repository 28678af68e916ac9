"""Routes for the operator: liveness, readiness and metrics."""

from anyio import fail_after
from anyio.to_thread import run_sync
from fastapi import APIRouter, Response

from contract.base import Document
from contract.messages import QueueName
from service.dependencies import Administered, Context
from service.errors import RETRY_SECONDS, Refusal
from service.metrics import MEDIA_TYPE, workers_by_queue
from service.responses.representations import problems

router = APIRouter(tags=["health"])

LONGEST_LOOK = 3.0
"""Seconds within which the store must have answered."""


class Health(Document):
    """Status of the process."""

    status: str
    """Status, always `ok`."""


class Readiness(Document):
    """Status of the whole service."""

    status: str
    """Status, always `ready`."""
    workers: int
    """Number of workers that reported recently."""
    queues: dict[QueueName, int]
    """Number of workers that serve each queue. Jobs of a queue without workers are accepted and
    wait."""


@router.get("/healthz", summary="Check that the process runs")
async def get_health() -> Health:
    """Return 200 as long as the process runs, without checking anything else."""
    return Health(status="ok")


@router.get("/readyz", summary="Check that jobs can be accepted and run", responses=problems(503))
async def get_readiness(context: Context, response: Response) -> Readiness:
    """Return 200 if the store responds, a worker reported recently, and there is room for jobs.

    503 says which of them is missing.
    """
    response.headers["Cache-Control"] = "no-store"
    silence, jobs = context.settings.worker_silence_seconds, context.stores.jobs

    def look() -> tuple[int, dict[QueueName, int]]:
        context.admission.memory()
        context.admission.body(1)
        return jobs.workers_alive(silence), workers_by_queue(jobs, silence)

    try:
        with fail_after(LONGEST_LOOK):
            workers, queues = await run_sync(look, abandon_on_cancel=True)
    except TimeoutError:
        raise Refusal(
            "store-unavailable",
            f"The job store did not respond within {LONGEST_LOOK:g} seconds.",
            headers={"Retry-After": str(RETRY_SECONDS)},
        ) from None
    except Refusal as full:
        raise Refusal(
            "not-ready",
            f"{full.detail} New jobs and uploads are refused; accepted jobs go on.",
            "Free space, or set ITOSCOPE_MIN_FREE_BYTES.",
            headers={"Retry-After": "60"},
        ) from None
    if workers == 0:
        raise Refusal(
            "not-ready",
            f"No worker has reported in the last {silence:g} seconds. Jobs are accepted and wait.",
            "Start a worker: python -m worker.",
            headers={"Retry-After": str(RETRY_SECONDS)},
        )
    return Readiness(status="ready", workers=workers, queues=queues)


@router.get(
    "/metrics",
    summary="Metrics for the operator",
    response_model=None,
    dependencies=[Administered],
    responses={
        200: {
            "description": "Metrics in the Prometheus text format.",
            "content": {"text/plain": {"schema": {"type": "string"}}},
        },
        **problems(401),
    },
)
def get_metrics(context: Context) -> Response:
    """Return the numbers of jobs, workers and requests.

    They are the jobs waiting and running, the age of the oldest, the events of jobs and the time
    spent in each stage. If API keys exist, one with scope `admin` is needed.
    """
    return Response(context.metrics.text(), media_type=MEDIA_TYPE)
