"""The layout of a request: of its query, of a part of its form, or of its body."""

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import Request
from pydantic import Field, ValidationError

from contract.datasets import MOST_STATES, Layout, PlainLayout
from contract.problems import ProblemError
from service.dependencies import Context
from service.errors import Refusal
from service.readers import strict_json
from service.requests import request_body
from service.requests.uploads import UNSAID, media_type
from service.responses import deprecation
from service.validation_errors import document_faults

_JSON = "application/json"
_LISTS = ("state_columns", "ignored_columns", "input_columns", "error_columns")
_MAPS = ("state_unit", "state_names")

_Entries = Annotated[
    tuple[Annotated[str, Field(min_length=1, max_length=250)], ...], Field(max_length=MOST_STATES)
]


class LayoutQuery(PlainLayout):
    """Layout of an uploaded file in the query of a request."""

    state_unit: Annotated[_Entries | None, Field(examples=[["nm"]])] = None
    """Unit of all state variables, `nm`, or, once for each, column and unit: `Position=nm`. The
    column is given by its name or 1-based number. `none` is no unit."""
    state_names: Annotated[_Entries | None, Field(examples=[["Position=height"]])] = None
    """Once for each, column and word for its variable in equations, sentences and plots:
    `Position=height`. The column is given by its name or 1-based number."""


def layout(request: Request, query: LayoutQuery, part: bytes | None) -> Layout | None:
    """Merge the layouts given by query parameters and by the JSON part `layout`.

    A layout of nothing but defaults is None: generated clients send the defaults along, with a
    dataset that was read already, too.
    Query parameters take precedence. Column names may be repeated parameters or one list with
    commas. Raises Refusal (invalid-json, invalid-request).
    """
    given = {name: getattr(query, name) for name in query.model_fields_set}
    for several in _LISTS:
        columns = given.get(several)
        if columns and len(columns) == 1:
            given[several] = tuple(columns[0].split(","))
    for by_column in _MAPS:
        if given.get(by_column):
            given[by_column] = _by_column(by_column, given[by_column])
    if part is not None:
        with request_body.within_field("layout"):
            document = strict_json.parse(part)
        if not isinstance(document, dict):
            raise Refusal("invalid-request", "The layout must be a JSON object.")
        given = {**document, **given}
    return _layout_of(request, given, "layout")


def _by_column(name: str, entries: Sequence[str]) -> str | dict[str, str]:
    """Return the map of entries `column=value`; one unit without a column is that of all.

    Raises Refusal (invalid-request). A column's name may hold `=`, names and units do not.
    """
    if name == "state_unit" and len(entries) == 1 and "=" not in entries[0]:
        return entries[0]
    pairs = [entry.rpartition("=") for entry in entries]
    found = {column: value for column, _, value in pairs}
    if "" in found:
        fault = "each must be a column and its value: Position=" + (
            "nm" if name == "state_unit" else "height"
        )
    elif len(found) < len(pairs):
        fault = "a column is given twice"
    else:
        return found
    detail = f"query parameter `{name}`: {fault}"
    raise Refusal(
        "invalid-request",
        f"The layout cannot be accepted: {detail}.",
        errors=(ProblemError(detail=detail),),
    )


async def layout_in_body(request: Request, context: Context) -> Layout:
    """Read a body that is a layout; an empty one leaves everything to be inferred.

    Raises Refusal (body-too-large, body-timeout, invalid-json, invalid-request,
    unsupported-media-type).
    """
    settings = context.settings
    body = await request_body.whole(request, settings.max_job_bytes, settings.body_idle_seconds)
    if not body:
        return Layout()
    if media_type(request) not in (_JSON, *UNSAID):
        raise Refusal(
            "unsupported-media-type",
            f"A layout must be sent as {_JSON}.",
            f"With curl: -H 'Content-Type: {_JSON}'",
        )
    given = strict_json.parse(body)
    if not isinstance(given, dict):
        raise Refusal("invalid-request", "The layout must be a JSON object.")
    return _layout_of(request, given) or Layout()


def _layout_of(request: Request, given: dict[str, Any], *place: str) -> Layout | None:
    """Check a layout that stands at a place of the body, and note its deprecated fields."""
    try:
        found = Layout.model_validate(given)
    except ValidationError as error:
        faults = document_faults(error, given, *place)
        raise Refusal(
            "invalid-request",
            f"The layout cannot be accepted: {faults[0].pointer} {faults[0].detail}.",
            errors=faults,
        ) from None
    deprecation.note(request, deprecation.used(found, given))
    return None if found == Layout() else found
