"""The JSON Schema of each document, by version, with defaults and descriptions."""

from functools import cache
from typing import Any

from pydantic import TypeAdapter

from contract.datasets import Dataset, Layout
from contract.generator import AnalysisParameters
from contract.identification import IdentificationParameters
from contract.kinds import JOB_REQUEST, KINDS
from contract.problems import Problem
from contract.results import SCHEMA_VERSION

_SHARED: dict[str, TypeAdapter[Any]] = {
    "analysis-parameters": TypeAdapter(AnalysisParameters),
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
