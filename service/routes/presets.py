"""Route of the presets, which are named sets of parameters."""

from fastapi import APIRouter, Request, Response

from contract.base import Document
from contract.identification import PRESET_LIST, Preset
from service.responses.representations import document

router = APIRouter(prefix="/v1/presets", tags=["schemas"])


class PresetList(Document):
    """All presets of this version."""

    items: tuple[Preset, ...]
    """The presets."""


@router.get("", summary="List the presets", response_model=PresetList)
async def list_presets(request: Request) -> Response:
    """List the named sets of parameters that a job can request (`"preset": "paper"`)."""
    return document(request, PresetList(items=PRESET_LIST))
