"""What happens to a job, told as it happens: server-sent events."""

from collections.abc import AsyncGenerator, Sequence
from typing import Annotated

from anyio.to_thread import run_sync
from fastapi import APIRouter, Header, Request, Response
from fastapi.sse import KEEPALIVE_COMMENT, EventSourceResponse, format_sse_event

from contract.problems import ProblemError
from contract.records import TERMINAL, JobEvent
from service.dependencies import Context, Tenant, still_admitted
from service.errors import Refusal
from service.routes.responses import problems
from storage.stores import Forgotten, StoreUnavailable

router = APIRouter(prefix="/v1/jobs", tags=["jobs"])

KEEPALIVE_SECONDS = 1.0
"""After so long without news a comment is sent, so that nobody on the way closes the connection, and whoever listens knows that
it stands. Clients count on it."""
RETRY_MILLISECONDS = 1000

_EVENT = {
    "type": "object",
    "description": "An event of the stream.",
    "required": ["event", "id", "data"],
    "properties": {
        "event": {"const": "job"},
        "id": {"type": "string", "description": "Identifier of the event, for `Last-Event-ID`."},
        "data": {
            "type": "string",
            "description": "A `JobEvent` as JSON.",
            "contentMediaType": "application/json",
            "contentSchema": {"$ref": "#/components/schemas/JobEvent"},
        },
        "retry": {
            "type": "integer",
            "description": "Milliseconds to wait before reconnecting; sent with the first event.",
        },
    },
}
LastEvent = Annotated[
    str | None, Header(alias="Last-Event-ID", description="Identifier of the last event received.")
]


@router.get(
    "/{job_id}/events",
    summary="Follow a job's events",
    response_model=None,
    responses={
        200: {
            "description": "Server-sent events named `job`, each with a `JobEvent` as data. The stream ends when the job ends.",
            "content": {"text/event-stream": {"schema": _EVENT}},
        },
        204: {
            "description": "The job has ended and all events have been received: do not reconnect."
        },
        **problems(401, 404, 410, 422, 503),
    },
)
async def follow_events(
    request: Request, context: Context, tenant: Tenant, job_id: str, last_event_id: LastEvent = None
) -> Response:
    """Every change from the start, then each as it happens. After a broken connection, name the last event you have seen in
    `Last-Event-ID`, as browsers do by themselves: nothing is told twice, and nothing is missed.
    """
    try:
        seen = await run_sync(context.stores.jobs.events, tenant, job_id, last_event_id)
    except ValueError:
        fault = ProblemError(detail="header `Last-Event-ID`: is not an event of this job")
        raise Refusal(
            "invalid-request", "There is no event with this id.", errors=(fault,)
        ) from None
    if seen is None:
        raise Refusal("not-found", "There is no such job.", hints=("GET /v1/jobs lists yours.",))
    if not seen and await _over(context, tenant, job_id):
        # It may have ended between the two looks: then there is something to tell.
        seen = await run_sync(context.stores.jobs.events, tenant, job_id, last_event_id)
        if not seen:
            return Response(status_code=204)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return EventSourceResponse(
        _told(request, context, tenant, job_id, seen, last_event_id), headers=headers
    )


async def _told(
    request: Request,
    context: Context,
    tenant: str,
    job_id: str,
    events: Sequence[JobEvent] | None,
    last: str | None,
) -> AsyncGenerator[bytes]:
    """The events as they are spelled, until the job has ended, its record is gone, the key was revoked, the store is away or we
    are stopped.
    """
    newest = last
    while events is not None:
        for event in events:
            yield format_sse_event(
                event="job",
                id=event.id,
                data_str=event.model_dump_json(),
                retry=RETRY_MILLISECONDS if last is None else None,
            )
            newest = last = event.id
        if (
            any(event.state in TERMINAL for event in events)
            or context.stopping.is_set()
            or await request.is_disconnected()
        ):
            return
        try:
            known, newest = (
                newest,
                await context.watch.newest_event(job_id, newest, KEEPALIVE_SECONDS),
            )
            if not still_admitted(request, context, tenant):
                return
            events = (
                []
                if newest == known
                else await run_sync(context.stores.jobs.events, tenant, job_id, last)
            )
            if newest != known and not events and await _over(context, tenant, job_id):
                return  # `last` is later than all there will ever be.
        except (Forgotten, StoreUnavailable):
            return  # The caller connects again, and is told what is the matter.
        if not events:
            yield KEEPALIVE_COMMENT


async def _over(context: Context, tenant: str, job_id: str) -> bool:
    record = await run_sync(context.stores.jobs.get, tenant, job_id)
    return record is None or record.terminal
