"""Answers to who uses what will go away say so: `Deprecation` (RFC 9745), `Sunset` (RFC 8594), a link to what to do instead."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, time
from email.utils import format_datetime
from typing import Any

from fastapi import Request
from pydantic import BaseModel
from starlette.types import Scope

from contract.deprecation import Deprecation

_NOTED = "deprecations"


def note(request: Request, used: Iterable[Deprecation]) -> None:
    """Have the answer to this request tell of them."""
    request.scope.setdefault(_NOTED, []).extend(used)


def headers(scope: Scope) -> Sequence[tuple[str, str]]:
    """What the answer to a request must carry: of its operation, and of what was noted on the way."""
    operation = Deprecation.of(getattr(scope.get("route"), "openapi_extra", None))
    found = [*([operation] if operation else []), *scope.get(_NOTED, [])]
    if not found:
        return []
    since = min(one.since for one in found)
    sunsets = [one.sunset for one in found if one.sunset is not None]
    told = [("Deprecation", f"@{int(_midnight(since).timestamp())}")]
    if sunsets:
        told.append(("Sunset", format_datetime(_midnight(min(sunsets)), usegmt=True)))
    told += [
        ("Link", f'<{link}>; rel="deprecation"; type="text/html"')
        for link in dict.fromkeys(one.link for one in found)
    ]
    return told


def used(document: BaseModel, given: Any) -> Iterator[Deprecation]:
    """Deprecated fields of a document that are in the JSON it was read from; defaults and presets are not the caller's."""
    if not isinstance(given, dict):
        return
    for name, field in type(document).model_fields.items():
        key = next((spelling for spelling in (field.alias, name) if spelling in given), None)
        if key is None:
            continue
        deprecation = Deprecation.of(field.json_schema_extra)
        if deprecation is not None:
            yield deprecation
        yield from _inside(getattr(document, name), given[key])


def _inside(value: Any, given: Any) -> Iterator[Deprecation]:
    if isinstance(value, BaseModel):
        yield from used(value, given)
    elif isinstance(value, (tuple, list)) and isinstance(given, list):
        for member, member_given in zip(value, given, strict=False):
            yield from _inside(member, member_given)
    elif isinstance(value, dict) and isinstance(given, dict):
        for key, member in value.items():
            yield from _inside(member, given.get(key))


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)
