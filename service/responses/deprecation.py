"""Response headers on deprecated operations and fields.

`Deprecation` (RFC 9745) and `Sunset` (RFC 8594) give dates, `Link` leads to what to use instead.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, time
from email.utils import format_datetime
from typing import Any

from fastapi import Request
from pydantic import BaseModel
from starlette.types import Scope

from contract.base import Deprecation

_NOTED = "deprecations"


def note(request: Request, used: Iterable[Deprecation]) -> None:
    """Record the deprecations that the response to this request must report."""
    request.scope.setdefault(_NOTED, []).extend(used)


def headers(scope: Scope) -> Sequence[tuple[str, str]]:
    """List the response's headers on its deprecated operation and the recorded deprecations."""
    operation = Deprecation.of(getattr(scope.get("route"), "openapi_extra", None))
    found = [*([operation] if operation else []), *scope.get(_NOTED, [])]
    if not found:
        return []
    since = min(one.since for one in found)
    sunsets = [one.sunset for one in found if one.sunset is not None]
    fields = [("Deprecation", f"@{int(_midnight(since).timestamp())}")]
    if sunsets:
        fields.append(("Sunset", format_datetime(_midnight(min(sunsets)), usegmt=True)))
    fields += [
        ("Link", f'<{link}>; rel="deprecation"; type="text/html"')
        for link in dict.fromkeys(one.link for one in found)
    ]
    return fields


def used(document: BaseModel, given: Any) -> Iterator[Deprecation]:
    """Yield a document's deprecated fields that are in the JSON it was read from.

    Fields from defaults and presets are not the caller's and do not count.
    """
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
