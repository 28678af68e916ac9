"""The JSON Schema of each document, by version, and the reference page made from them."""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from pydantic import TypeAdapter

from contract.batches import Batch, BatchRequest
from contract.datasets import Dataset, Layout
from contract.generator import AnalysisParameters
from contract.identification import IdentificationParameters
from contract.kinds import JOB_REQUEST, KINDS
from contract.problems import Problem
from contract.results import SCHEMA_VERSION

_SHARED: dict[str, TypeAdapter[Any]] = {
    "analysis-parameters": TypeAdapter(AnalysisParameters),
    "batch": TypeAdapter(Batch),
    "batch-request": TypeAdapter(BatchRequest),
    "dataset": TypeAdapter(Dataset),
    "identification-parameters": TypeAdapter(IdentificationParameters),
    "job-request": JOB_REQUEST,
    "layout": TypeAdapter(Layout),
    "problem": TypeAdapter(Problem),
}
_RESULTS: dict[str, TypeAdapter[Any]] = {
    f"{name}-result": TypeAdapter(kind.result) for name, kind in KINDS.items()
}
_DOCUMENTS = dict(sorted((_SHARED | _RESULTS).items()))


def names() -> tuple[str, ...]:
    """List the name of every schema with its version, e.g. `layout-1.0`."""
    return tuple(f"{document}-{SCHEMA_VERSION}" for document in _DOCUMENTS)


def schemas() -> dict[str, dict[str, Any]]:
    """Build every schema, by name and version."""
    return {f"{document}-{SCHEMA_VERSION}": _made(document) for document in _DOCUMENTS}


def schema(name: str) -> dict[str, Any] | None:
    """Return the schema called `name`, with or without its version; None if there is none."""
    document = name.removesuffix(f"-{SCHEMA_VERSION}")
    return _made(document) if document in _DOCUMENTS else None


# Schemas are built one at a time: all of them take a quarter of a second, and the page needs only
# the smallest.
@cache
def _made(document: str) -> dict[str, Any]:
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:itoscope:schema:{document}-{SCHEMA_VERSION}",
        **_DOCUMENTS[document].json_schema(),
    }


HEAD = """# Reference: every field of every document

Generated from the JSON Schemas (`openapi/schemas/`, `/v1/schemas` of a running service) by
`python -m service.openapi`. Units in brackets refer to the data: [time] and [state] are the units
of time and of the variables. Requests are described in [openapi.json](../openapi/openapi.json) and
at `/docs` of a running service, errors in [problems.md](problems.md).
"""
Schema = Mapping[str, Any]


def reference_page(schemas: Mapping[str, Schema]) -> str:
    """Write all documents and the objects in them as Markdown, each once, in order."""
    found: dict[str, Schema] = {}
    for schema in schemas.values():
        found |= {name: part for name, part in _objects(schema).items() if name not in found}
    listed = ", ".join(f"[{name}](#{name.lower()})" for name in found)
    return "\n".join([HEAD, listed, "", *(_section(name, part) for name, part in found.items())])


def _objects(schema: Schema) -> dict[str, Schema]:
    parts: dict[str, Schema] = {schema["title"]: schema} if "properties" in schema else {}
    return parts | {
        name: part for name, part in schema.get("$defs", {}).items() if "properties" in part
    }


def _section(name: str, part: Schema) -> str:
    lines = [f"## {name}", "", _text(part), "", "| field | type | default | |", "|---|---|---|---|"]
    required = part.get("required", ())
    for field, of in part["properties"].items():
        default = f"`{_json(of['default'])}`" if "default" in of else ""
        default = "required" if field in required else default
        lines.append(f"| `{field}` | {_type(of)} | {default} | {_text(of)} |")
    return "\n".join([*lines, ""])


def _type(of: Schema) -> str:
    if "$ref" in of:
        name = of["$ref"].rsplit("/", 1)[-1]
        return f"[{name}](#{name.lower()})"
    if "const" in of:
        return f"`{_json(of['const'])}`"
    if "enum" in of:
        return " \\| ".join(f"`{_json(value)}`" for value in of["enum"])
    for several in ("anyOf", "oneOf"):
        if several in of:
            return " or ".join(_type(one) for one in of[several])
    match of.get("type"):
        case "array" if "prefixItems" in of:
            return f"[{', '.join(_type(one) for one in of['prefixItems'])}]"
        case "array":
            return f"list of {_type(of.get('items', {}))}"
        case "object" if isinstance(of.get("additionalProperties"), dict):
            return f"object of {_type(of['additionalProperties'])}"
        case str() as kind:
            return f"{kind}{_bounds(of)}"
    return "any"


def _bounds(of: Schema) -> str:
    signs = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
    said = [f"{sign} {of[name]:g}" for name, sign in signs.items() if name in of]
    return f" ({', '.join(said)})" if said else ""


def _text(of: Schema) -> str:
    return " ".join(str(of.get("description", "")).split()).replace("|", "\\|")


def _json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else "…"
