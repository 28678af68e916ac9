"""Route of a dataset's preview."""

from typing import Annotated

from anyio.to_thread import run_sync
from fastapi import APIRouter, Query, Request, Response

from contract.datasets import Dataset, DatasetPreview
from service.dependencies import Context, Tenant
from service.errors import Refusal
from service.responses.preview import preview
from service.responses.representations import FOREVER, document
from service.routes.responses import headers, problems

router = APIRouter(prefix="/v1/datasets", tags=["datasets"])

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
async def get_preview(
    request: Request, context: Context, tenant: Tenant, dataset_id: str, points: Points = 2000
) -> Response:
    """Return the longest segments, downsampled, and a histogram of each variable.

    Each segment is cut into time bins of equal length. The smallest and the largest sample of
    every bin are returned: enough for a plot that hides no peak. The histograms cover all samples.
    """
    dataset = await run_sync(context.stores.datasets.get, tenant, dataset_id)
    if dataset is None:
        raise unknown_dataset()
    return document(request, await previewed(context, tenant, dataset, points), cache=FOREVER)


async def previewed(context: Context, tenant: str, dataset: Dataset, points: int) -> DatasetPreview:
    """Compute the preview in a thread, under the limit on uploads read at the same time.

    Raises Refusal (not-found).
    """

    def made() -> DatasetPreview:
        with context.stores.datasets.files(tenant, dataset.id) as folder:
            return preview(folder, dataset.report, points)

    try:
        return await run_sync(made, limiter=context.reading)
    except KeyError:
        raise unknown_dataset() from None


def unknown_dataset() -> Refusal:
    """Build the refusal of a request for an unknown dataset."""
    return Refusal(
        "not-found", "There is no such dataset.", hints=("GET /v1/datasets lists your datasets.",)
    )
