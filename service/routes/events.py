"""Routes of a job's events, as server-sent events, and of the secret that signs webhooks."""

from collections.abc import AsyncGenerator, Sequence
from typing import Annotated

from anyio.to_thread import run_sync
from fastapi import APIRouter, Depends, Header, Request, Response
from fastapi.sse import KEEPALIVE_COMMENT, EventSourceResponse, format_sse_event

from contract.base import Document
from contract.problems import ProblemError
from contract.records import TERMINAL, JobEvent
from service.dependencies import Context, Tenant, still_admitted, writer_of
from service.errors import Refusal
from service.responses.representations import document, problems
from storage.stores import Forgotten, StoreUnavailable

router = APIRouter(prefix="/v1/jobs", tags=["jobs"])
webhooks = APIRouter(prefix="/v1/webhooks", tags=["webhooks"])

KEEPALIVE_SECONDS = 1.0
"""Seconds without an event after which a comment is sent.

It keeps proxies from closing the connection and tells the client, which relies on it, that the
connection is alive.
"""
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
            "description": "Server-sent events named `job`, each with a `JobEvent` as data. The "
            "stream ends when the job ends.",
            "content": {"text/event-stream": {"schema": _EVENT}},
        },
        204: {
            "description": "The job has ended and all events have been received: do not reconnect."
        },
        **problems(401, 404, 410, 422, 503),
    },
)
async def follow_job_events(
    request: Request, context: Context, tenant: Tenant, job_id: str, last_event_id: LastEvent = None
) -> Response:
    """Follow every change from the start, then each as it happens.

    After a broken connection, give the id of the last event received in `Last-Event-ID`, as
    browsers do by themselves: no event is repeated, and none is missed. From an hour after the
    job's end on, only its last event is kept.
    """
    try:
        seen = await run_sync(context.stores.jobs.events, tenant, job_id, last_event_id)
    except ValueError:
        fault = ProblemError(detail="header `Last-Event-ID`: is not an event of this job")
        raise Refusal(
            "invalid-request", "There is no event with this id.", errors=(fault,)
        ) from None
    if seen is None:
        raise Refusal("not-found", "There is no such job.", "GET /v1/jobs lists yours.")
    if not seen and await _over(context, tenant, job_id):
        # The job may have ended between the two queries: then there is an event to send.
        seen = await run_sync(context.stores.jobs.events, tenant, job_id, last_event_id)
        if not seen:
            return Response(status_code=204)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return EventSourceResponse(
        _stream(request, context, tenant, job_id, seen, last_event_id), headers=headers
    )


async def _stream(
    request: Request,
    context: Context,
    tenant: str,
    job_id: str,
    events: Sequence[JobEvent] | None,
    last: str | None,
) -> AsyncGenerator[bytes]:
    """Yield the encoded events.

    The stream ends when the job has ended, its record is gone, the key was revoked, the store is
    unavailable, or the service is stopped.
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
            known = newest
            newest = await context.watch.newest_event(job_id, known, KEEPALIVE_SECONDS)
            if not still_admitted(request, context, tenant):
                return
            events = []
            if newest != known:
                events = await run_sync(context.stores.jobs.events, tenant, job_id, last)
                if not events and await _over(context, tenant, job_id):
                    return  # No event after `last` will ever come.
        except (Forgotten, StoreUnavailable):
            return  # The caller reconnects and then receives the problem.
        if not events:
            yield KEEPALIVE_COMMENT


async def _over(context: Context, tenant: str, job_id: str) -> bool:
    record = await run_sync(context.stores.jobs.get, tenant, job_id)
    return record is None or record.terminal


class WebhookSecret(Document):
    """The secret that your webhooks are signed with."""

    key: str
    """Secret, beginning with `whsec_`. Give it to a Standard Webhooks library, which verifies
    signatures with it. Keep it confidential."""


@webhooks.get(
    "/secret",
    summary="Show the webhook secret",
    response_model=WebhookSecret,
    responses=problems(401, 503),
)
def get_webhook_secret(
    request: Request, context: Context, tenant: Annotated[str, Depends(writer_of)]
) -> Response:
    """Return the secret with which your webhooks are signed; it is created on the first request.

    Signatures follow Standard Webhooks (`v1`: HMAC-SHA256). A key with scope `write` is needed,
    because whoever has the secret can sign.
    """
    secret = WebhookSecret(key=context.stores.jobs.webhook_secret(tenant))
    return document(request, secret, cache="no-store")
