"""Parameters that have a name."""

from fastapi import APIRouter, Request, Response

from contract.base import Document
from contract.identification import PRESET_LIST, Preset
from service.responses.representations import document

router = APIRouter(prefix="/v1/presets", tags=["schemas"])


class PresetList(Document):
    """Every preset of this version."""

    items: tuple[Preset, ...]
    """The presets."""


@router.get("", summary="List the presets", response_model=PresetList)
async def list_presets(request: Request) -> Response:
    """Sets of parameters that a job may ask for by name (`"preset": "paper"`), and what each stands for."""
    return document(request, PresetList(items=PRESET_LIST))
