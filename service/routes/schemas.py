"""Routes of the JSON Schemas and the presets, for programs that check what they send."""

import json

from fastapi import APIRouter, Request, Response

from contract.base import Document
from contract.identification import PRESET_LIST, Preset
from service.errors import Refusal
from service.openapi.schemas import names, schema
from service.responses.representations import document, problems

router = APIRouter(prefix="/v1", tags=["schemas"])


class SchemaLink(Document):
    """Name and address of a schema."""

    name: str
    """Name of the schema with its version, e.g. `layout-1.0`."""
    href: str
    """Address of the schema."""


class SchemaList(Document):
    """All schemas of this version."""

    items: tuple[SchemaLink, ...]
    """The schemas."""


class PresetList(Document):
    """All presets of this version."""

    items: tuple[Preset, ...]
    """The presets."""


@router.get("/schemas", summary="List the schemas", response_model=SchemaList)
async def list_schemas(request: Request) -> Response:
    """List the name and address of every JSON Schema."""
    items = tuple(SchemaLink(name=name, href=f"/v1/schemas/{name}") for name in names())
    return document(request, SchemaList(items=items))


@router.get(
    "/schemas/{name}",
    summary="Fetch a schema",
    response_model=None,
    responses={
        200: {
            "description": "A JSON Schema.",
            "content": {"application/schema+json": {"schema": {"type": "object"}}},
        },
        **problems(404),
    },
)
async def get_schema(request: Request, name: str) -> Response:
    """Return a JSON Schema (2020-12) with defaults and descriptions.

    `layout` and `layout-1.0` name the same schema.
    """
    found = schema(name)
    if found is None:
        raise Refusal("not-found", "There is no such schema.", "GET /v1/schemas lists them.")
    body = json.dumps(found, ensure_ascii=False).encode()
    return document(request, body, headers={"Content-Type": "application/schema+json"})


@router.get("/presets", summary="List the presets", response_model=PresetList)
async def list_presets(request: Request) -> Response:
    """List the named sets of parameters that a job can request (`"preset": "paper"`)."""
    return document(request, PresetList(items=PRESET_LIST))
