"""Routes for people: the web page, its files and fragments, reports, and the API's reference."""

import gzip
import json
from dataclasses import replace
from functools import cache
from typing import Annotated

from anyio.to_thread import run_sync
from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import HTMLResponse

from contract.batches import MOST_RECORDS
from contract.datasets import Dataset, DatasetPreview
from contract.jobs import DataJob
from contract.kinds import KINDS, RESULT
from contract.results import ModelResult
from grammar.spelling import in_symbols
from service.dependencies import Context, Tenant
from service.errors import Refusal
from service.openapi import interface
from service.responses.job_results import stored_result
from service.responses.representations import digest_of, etag_of, headers, problems, unchanged
from service.routes.datasets import known_dataset, previewed
from service.web.forms import analysis_fields, layout_fields
from service.web.glossary import glossary
from service.web.site import PAGE_POLICY, assets, rendered
from service.web.views import (
    Finished,
    dataset_view,
    report,
    result_view,
    side_by_side_view,
    together_view,
)
from service.web.words import words

router = APIRouter(include_in_schema=False)
reports = APIRouter(prefix="/v1/jobs", tags=["jobs"])

PREVIEW_POINTS = 1200
"""Number of time bins in a preview on the page: about one per pixel of a wide screen."""
RESULT_POINTS = 600
"""Number of time bins of the record beside a result, where it is half as wide."""
_FOREVER = "public, max-age=31536000, immutable"
_REFERENCE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"


def prepare() -> None:
    """Prepare everything that a first visit loads.

    A template takes longer to compile than to fill in, so the first visitor would wait.
    """
    _page()
    for name in assets():
        _packed(name)


@router.get("/")
async def page() -> Response:
    """Serve the page, which holds no data and requests what it shows, with the key if needed."""
    return HTMLResponse(
        _page(), headers={"Content-Security-Policy": PAGE_POLICY, "Cache-Control": "no-cache"}
    )


@cache
def _page() -> str:
    return rendered(
        "page.html",
        layout=layout_fields("gap_factor", "state_names"),
        kinds=tuple(KINDS),
        analysis=analysis_fields(),
        words=words(),
    )


@router.get("/help")
async def explanations() -> Response:
    """Explain the words of the page."""
    return HTMLResponse(
        rendered("help.html", entries=glossary()),
        headers={"Content-Security-Policy": PAGE_POLICY, "Cache-Control": "no-cache"},
    )


@router.get("/docs")
async def docs(request: Request) -> Response:
    """Show every operation on one page."""
    html = interface.page(request.app.openapi())
    return HTMLResponse(html, headers={"Content-Security-Policy": _REFERENCE_POLICY})


@router.get("/static/{version}/{name:path}")
async def static(request: Request, version: str, name: str) -> Response:
    """Serve a static file, whose address changes with its content."""
    asset = assets().get(name)
    if asset is None:
        raise Refusal("not-found", "There is no such file.")
    headers = {"Cache-Control": _FOREVER, "Vary": "Accept-Encoding"}
    if _understands_gzip(request):
        return Response(
            _packed(name),
            headers={**headers, "Content-Encoding": "gzip"},
            media_type=asset.media_type,
        )
    return Response(asset.body, headers=headers, media_type=asset.media_type)


def _understands_gzip(request: Request) -> bool:
    return "gzip" in request.headers.get("accept-encoding", "")


@cache
def _packed(name: str) -> bytes:
    return gzip.compress(assets()[name].body, mtime=0)


@router.get("/pages/datasets/{dataset_id}")
async def dataset(request: Request, context: Context, tenant: Tenant, dataset_id: str) -> Response:
    """Show the content of a dataset and the form of the next job."""
    found = await run_sync(known_dataset, context, tenant, dataset_id)
    preview = await previewed(context, tenant, found, PREVIEW_POINTS)
    html = await run_sync(dataset_view, *dataset_in_symbols(found, preview))
    return await run_sync(_piece, request, html)


def dataset_in_symbols(dataset: Dataset, preview: DatasetPreview) -> tuple[Dataset, DatasetPreview]:
    """Return a dataset and its preview in the file's symbols."""
    symbols = {v.name: v.symbol for v in dataset.report.variables}
    made = Dataset.model_validate(in_symbols(dataset.model_dump(mode="json")))
    # A layout speaks of columns, which may be called x, and not of variables.
    report = made.report.model_copy(update={"layout": dataset.report.layout})
    return (
        made.model_copy(update={"report": report}),
        DatasetPreview.model_validate(in_symbols(preview.model_dump(mode="json"), symbols)),
    )


@router.get("/pages/datasets")
def datasets(
    request: Request,
    context: Context,
    tenant: Tenant,
    ids: Annotated[list[str], Query(alias="id", min_length=2, max_length=MOST_RECORDS)],
) -> Response:
    """Show several datasets and the form of a job on all of them."""
    found = [known_dataset(context, tenant, dataset_id) for dataset_id in ids]
    return _piece(request, together_view(found))


@router.get("/pages/jobs/{job_id}")
async def result(request: Request, context: Context, tenant: Tenant, job_id: str) -> Response:
    """Show a result."""
    html = await run_sync(result_view, await _with_data(context, tenant, job_id))
    return await run_sync(_piece, request, html)


@router.get("/pages/comparison")
def comparison(
    request: Request,
    context: Context,
    tenant: Tenant,
    first: Annotated[str, Query()],
    second: Annotated[str, Query()],
) -> Response:
    """Show two results side by side."""
    sides = [finished_job(context, tenant, job_id) for job_id in (first, second)]
    kinds = " or ".join(name for name, kind in KINDS.items() if kind.gives_one_model)
    for side in sides:
        if not isinstance(side.result, ModelResult):
            raise Refusal(
                "invalid-request",
                f"Job {side.record.id} is of kind {side.record.kind}, which has many models and is "
                "compared with none.",
                f"Choose two jobs of kind {kinds}.",
            )
    return _piece(request, side_by_side_view(*sides))


def _piece(request: Request, html: str) -> Response:
    headers = {"Cache-Control": "private, no-cache", "Vary": "Accept-Encoding"}
    if not _understands_gzip(request):
        return HTMLResponse(html, headers=headers)
    # A preview of two variables is 90 kB of digits and a form, packed 25.
    packed = gzip.compress(html.encode(), compresslevel=5, mtime=0)
    return HTMLResponse(packed, headers={**headers, "Content-Encoding": "gzip"})


@reports.get(
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
async def get_job_report(
    request: Request, context: Context, tenant: Tenant, job_id: str
) -> Response:
    """Return the result as a page to keep, print or send; 409 if there is none.

    It opens offline, in any browser.
    """
    page, policy = await run_sync(report, await _with_data(context, tenant, job_id))
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


async def _with_data(context: Context, tenant: str, job_id: str) -> Finished:
    """Return a job that succeeded with its dataset; without one where that was deleted."""
    finished = await run_sync(finished_job, context, tenant, job_id)
    dataset_id = finished.record.dataset
    try:
        if dataset_id is None:
            return finished
        found = await run_sync(known_dataset, context, tenant, dataset_id)
        asked = finished.record.request
        chosen = asked.trajectories if isinstance(asked, DataJob) else None
        preview = await previewed(context, tenant, found, RESULT_POINTS, chosen)
        if chosen is not None:
            found = _of_stretches(found, preview)
    except Refusal:
        return finished
    return replace(finished, data=dataset_in_symbols(found, preview))


def _of_stretches(dataset: Dataset, preview: DatasetPreview) -> Dataset:
    """Return a dataset whose range is that of the segments shown, to plot some trajectories."""
    names = [variable.name for variable in dataset.report.variables]
    ends = [
        (
            min(min(stretch.low[name]) for stretch in preview.stretches),
            max(max(stretch.high[name]) for stretch in preview.stretches),
        )
        for name in names
    ]
    report = dataset.report.model_copy(update={"range": tuple(ends)})
    return dataset.model_copy(update={"report": report})


def finished_job(context: Context, tenant: str, job_id: str) -> Finished:
    """Return record and result of a job that succeeded, in the file's symbols.

    Raises Refusal as `stored_result` does.
    """
    record, body = stored_result(context, tenant, job_id)
    return Finished(record, RESULT.validate_python(in_symbols(json.loads(body))))
