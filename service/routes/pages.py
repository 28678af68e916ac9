"""Routes for people: the web page with its static files and fragments, and the API's reference."""

import gzip
from functools import cache
from typing import Annotated

from anyio.to_thread import run_sync
from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import HTMLResponse

from contract.kinds import KINDS
from contract.results import ModelResult
from service.dependencies import Context, Tenant
from service.errors import Refusal
from service.openapi import reference
from service.routes.previews import previewed, unknown_dataset
from service.routes.reports import finished_job
from service.web.forms import layout_fields
from service.web.site import PAGE_POLICY, assets, rendered
from service.web.views import comparison_view, dataset_view, result_view

router = APIRouter(include_in_schema=False)

PREVIEW_POINTS = 1200
"""Number of time bins in a preview on the page: about one per pixel of a wide screen."""
_LAYOUT = (
    "dt",
    "time_column",
    "id_column",
    "state_columns",
    "orientation",
    "axes",
    "time_unit",
    "state_unit",
)
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
    layout = [field for name in _LAYOUT for field in layout_fields() if field.path == name]
    return rendered("page.html", layout=layout, kinds=tuple(KINDS))


@router.get("/docs")
async def docs(request: Request) -> Response:
    """Show every operation on one page."""
    html = reference.page(request.app.openapi())
    return HTMLResponse(html, headers={"Content-Security-Policy": _REFERENCE_POLICY})


@router.get("/static/{version}/{name:path}")
async def static(request: Request, version: str, name: str) -> Response:
    """Serve a static file, whose address changes with its content."""
    asset = assets().get(name)
    if asset is None:
        raise Refusal("not-found", "There is no such file.")
    headers = {"Cache-Control": _FOREVER, "Vary": "Accept-Encoding"}
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(
            _packed(name),
            headers={**headers, "Content-Encoding": "gzip"},
            media_type=asset.media_type,
        )
    return Response(asset.body, headers=headers, media_type=asset.media_type)


@cache
def _packed(name: str) -> bytes:
    return gzip.compress(assets()[name].body, mtime=0)


@router.get("/pages/datasets/{dataset_id}")
async def dataset(context: Context, tenant: Tenant, dataset_id: str) -> Response:
    """Show the content of a dataset and the form of the next job."""
    found = await run_sync(context.stores.datasets.get, tenant, dataset_id)
    if found is None:
        raise unknown_dataset()
    preview = await previewed(context, tenant, found, PREVIEW_POINTS)
    return _piece(await run_sync(dataset_view, found, preview))


@router.get("/pages/jobs/{job_id}")
def result(context: Context, tenant: Tenant, job_id: str) -> Response:
    """Show a result."""
    return _piece(result_view(finished_job(context, tenant, job_id)))


@router.get("/pages/comparison")
def comparison(
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
                hints=(f"Choose two jobs of kind {kinds}.",),
            )
    return _piece(comparison_view(*sides))


def _piece(html: str) -> Response:
    return HTMLResponse(html, headers={"Cache-Control": "private, no-cache"})
