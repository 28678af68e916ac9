"""Routes of datasets and of their previews."""

from collections.abc import Sequence
from typing import Annotated, Any

from anyio.to_thread import run_sync
from fastapi import APIRouter, Query, Request, Response

from contract.datasets import Dataset, DatasetList, DatasetPreview, Layout
from service.dependencies import Context, Tenant
from service.errors import Refusal
from service.requests import layouts, request_body, uploads
from service.requests.layouts import LayoutQuery
from service.requests.listing import Page
from service.responses.preview import preview
from service.responses.representations import (
    BINARY,
    FOREVER,
    document,
    form_content,
    headers,
    json_content,
    problems,
)

router = APIRouter(prefix="/v1/datasets", tags=["datasets"])

_MEDIA_TYPES = (
    "text/csv text/plain application/json application/x-npy application/x-npz "
    "application/vnd.apache.parquet application/vnd.apache.arrow.file application/x-matlab-data "
    "application/zip application/octet-stream"
)
_ACCEPTED: dict[str, Any] = {
    **{name: {"schema": BINARY} for name in _MEDIA_TYPES.split()},
    **form_content("file", layout="Layout"),
}

_CREATED = headers(
    Location="Address of the dataset.",
    ETag="Version of the dataset.",
    Content_Digest="SHA-256 of the response (RFC 9530).",
)


@router.post(
    "",
    status_code=201,
    summary="Upload trajectories",
    response_model=Dataset,
    responses={
        201: {
            "description": "A new dataset was created.",
            "headers": _CREATED,
        },
        200: {
            "model": Dataset,
            "description": "The same bytes with the same layout were uploaded before.",
        },
        **problems(400, 401, 408, 413, 415, 422, 503, 507),
    },
    openapi_extra={"requestBody": {"required": True, "content": _ACCEPTED}},
)
async def upload_dataset(
    request: Request, context: Context, tenant: Tenant, query: Annotated[LayoutQuery, Query()]
) -> Response:
    """Send a file as the body, or as part `file` of a multipart form.

    The format follows from the `Content-Type`, or from the content if there is none. The layout
    may be given by query parameters or in a JSON part `layout`; whatever is left out is inferred,
    and the report says how.
    """
    admission = context.admission
    await run_sync(admission.body, request_body.announced(request))
    with admission.receiving(tenant), uploads.scratch_folder(context.settings.scratch) as folder:
        if uploads.media_type(request) == uploads.FORM:
            upload, parts = await uploads.form(request, context, folder, "layout")
            layout = layouts.layout(request, query, parts.get("layout"))
            if upload is None:
                hint = "With curl: -F file=@data.csv"
                raise Refusal("invalid-request", "The form has no `file` part.", hint)
        else:
            layout = layouts.layout(request, query, None)
            upload = await uploads.raw_upload(request, context, folder)
        dataset, created = await uploads.keep(context, tenant, upload, layout or Layout())
    return _answer(request, dataset, created)


@router.get(
    "", summary="List datasets", response_model=DatasetList, responses=problems(401, 422, 503)
)
def list_datasets(
    request: Request, context: Context, tenant: Tenant, page: Annotated[Page, Query()]
) -> Response:
    """List your datasets, newest first."""
    items, cursor = context.stores.datasets.list(tenant, limit=page.limit, cursor=page.cursor)
    return document(request, DatasetList(items=tuple(items), next_cursor=cursor))


@router.get(
    "/{dataset_id}",
    summary="Describe a dataset",
    response_model=Dataset,
    responses={
        200: {"headers": headers(ETag="Version of the dataset.")},
        **problems(401, 404, 503),
    },
)
def get_dataset(request: Request, context: Context, tenant: Tenant, dataset_id: str) -> Response:
    """Return what was read from the upload, and the assumptions made. Honours `If-None-Match`."""
    return document(request, known_dataset(context, tenant, dataset_id))


@router.delete(
    "/{dataset_id}", status_code=204, summary="Delete a dataset", responses=problems(401, 404, 503)
)
def delete_dataset(context: Context, tenant: Tenant, dataset_id: str) -> Response:
    """Delete the data. Results computed from them stay; jobs that have not started will fail."""
    if not context.stores.datasets.delete(tenant, dataset_id):
        raise unknown_dataset()
    context.admission.freed(tenant)
    return Response(status_code=204)


@router.post(
    "/{dataset_id}/read",
    status_code=201,
    summary="Read a dataset again",
    response_model=Dataset,
    responses={
        201: {
            "description": "A new dataset was created.",
            "headers": _CREATED,
        },
        200: {
            "model": Dataset,
            "description": "The same bytes with the same layout were read before.",
        },
        **problems(400, 401, 404, 408, 410, 413, 415, 422, 503, 507),
    },
    openapi_extra={"requestBody": {"required": False, "content": json_content("Layout")}},
)
async def read_dataset(
    request: Request, context: Context, tenant: Tenant, dataset_id: str
) -> Response:
    """Read the uploaded file of a dataset again under another layout, as a new dataset.

    The body is the complete layout; whatever is left out is inferred, as for an upload. The first
    dataset stays as it is. 410 where the uploaded file is no longer stored.
    """
    known = await run_sync(known_dataset, context, tenant, dataset_id)
    layout = await layouts.layout_in_body(request, context)
    with uploads.scratch_folder(context.settings.scratch) as folder:
        upload = await uploads.kept_upload(context, tenant, known, folder)
        dataset, created = await uploads.keep(context, tenant, upload, layout)
    return _answer(request, dataset, created)


def _answer(request: Request, dataset: Dataset, created: bool) -> Response:
    location = f"/v1/datasets/{dataset.id}"
    return document(request, dataset, 201 if created else 200, headers={"Location": location})


Points = Annotated[
    int, Query(ge=10, le=10_000, description="Total number of time bins for all segments.")
]


@router.get(
    "/{dataset_id}/preview",
    summary="Preview a dataset",
    response_model=DatasetPreview,
    responses={
        200: {"headers": headers(ETag="Version of the preview.", Cache_Control="Immutable.")},
        304: {"description": "Not modified."},
        **problems(401, 404, 422, 503),
    },
)
async def get_dataset_preview(
    request: Request, context: Context, tenant: Tenant, dataset_id: str, points: Points = 2000
) -> Response:
    """Return the longest segments, downsampled, and a histogram of each variable.

    Each segment is cut into time bins of equal length. The smallest and the largest sample of
    every bin are returned: enough for a plot that hides no peak. The histograms cover all samples.
    """
    dataset = await run_sync(known_dataset, context, tenant, dataset_id)
    return document(request, await previewed(context, tenant, dataset, points), cache=FOREVER)


async def previewed(
    context: Context,
    tenant: str,
    dataset: Dataset,
    points: int,
    trajectories: Sequence[int] | None = None,
) -> DatasetPreview:
    """Compute the preview in a thread, under the limit on uploads read at the same time.

    Raises Refusal (not-found).
    """

    def made() -> DatasetPreview:
        with context.stores.datasets.files(tenant, dataset.id) as folder:
            return preview(folder, dataset.report, points, trajectories)

    try:
        return await context.reading.run(tenant, made)
    except KeyError:
        raise unknown_dataset() from None


def known_dataset(context: Context, tenant: str, dataset_id: str) -> Dataset:
    """Return the tenant's dataset. Raises Refusal (not-found) if there is none."""
    dataset = context.stores.datasets.get(tenant, dataset_id)
    if dataset is None:
        raise unknown_dataset()
    return dataset


def unknown_dataset() -> Refusal:
    """Build the refusal of a request for an unknown dataset."""
    return Refusal(
        "not-found", "There is no such dataset.", "GET /v1/datasets lists your datasets."
    )
