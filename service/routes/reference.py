"""Route of the page that documents the interface."""

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse

from service.openapi.reference import page

router = APIRouter(include_in_schema=False)

_NOTHING_FROM_OUTSIDE = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; "
    "frame-ancestors 'none'"
}


@router.get("/docs")
async def docs(request: Request) -> Response:
    """Show every operation on one page."""
    return HTMLResponse(page(request.app.openapi()), headers=_NOTHING_FROM_OUTSIDE)
