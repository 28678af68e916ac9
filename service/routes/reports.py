"""Route of a job's report, the result as one HTML file."""

from fastapi import APIRouter, Request, Response

from contract.kinds import RESULT
from service.dependencies import Context, Tenant
from service.responses.representations import digest_of, etag_of, unchanged
from service.responses.stored_results import stored_result
from service.routes.responses import headers, problems
from service.web import report
from service.web.views import Finished

router = APIRouter(prefix="/v1/jobs", tags=["jobs"])


@router.get(
    "/{job_id}/report",
    summary="Fetch a report",
    response_model=None,
    responses={
        200: {
            "description": "A self-contained HTML file: equations, numbers with errors, plots and "
            "warnings.",
            "content": {"text/html": {"schema": {"type": "string"}}},
            "headers": headers(ETag="Version of the report.", Cache_Control="Private."),
        },
        304: {"description": "Not modified."},
        **problems(401, 404, 409, 410, 503),
    },
)
def get_report(request: Request, context: Context, tenant: Tenant, job_id: str) -> Response:
    """Return the result as a page to keep, print or send; 409 if there is none.

    It opens offline, in any browser.
    """
    finished = finished_job(context, tenant, job_id)
    page, policy = report.report(finished)
    body = page.encode()
    fields = {
        "ETag": etag_of(body),
        "Cache-Control": "private, no-cache",
        "Content-Security-Policy": policy,
    }
    if unchanged(request, fields["ETag"]):
        return Response(status_code=304, headers=fields)
    named = {"Content-Disposition": f'inline; filename="{job_id}.html"'}
    return Response(
        body, headers={**fields, **named, **digest_of(body)}, media_type="text/html; charset=utf-8"
    )


def finished_job(context: Context, tenant: str, job_id: str) -> Finished:
    """Return record and result of a job that succeeded. Raises Refusal as `stored_result` does."""
    record, body = stored_result(context, tenant, job_id)
    return Finished(record, RESULT.validate_json(body))
