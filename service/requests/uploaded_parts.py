"""The file of a request, as its whole body or as a part of a form, and the layout given for it."""

from dataclasses import dataclass
from email.message import Message
from pathlib import Path

from fastapi import Request
from pydantic import ValidationError
from python_multipart.multipart import parse_options_header

from contract.datasets import Layout
from service.errors import Refusal
from service.requests import forms, request_body, strict_json, uploads
from service.requests.uploads import Upload
from service.responses import deprecation
from service.settings import ServiceSettings
from service.validation_errors import document_faults

FORM = "multipart/form-data"

_UNSAID = {"", "application/octet-stream", "application/x-www-form-urlencoded"}
"""Content types without information; the last is curl's default."""


@dataclass(frozen=True, slots=True)
class UploadedForm:
    """A form's file, if it had one, and the JSON text of its other parts."""

    upload: Upload | None
    fields: dict[str, bytes]


def media_type(request: Request) -> str:
    """Return the content type in lower case, without its parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


async def raw_upload(request: Request, settings: ServiceSettings, folder: Path) -> Upload:
    """Read the whole body as a file.

    Raises Refusal (body-too-large, body-timeout, digest-mismatch).
    """
    _, options = parse_options_header(request.headers.get("content-disposition"))
    filename = options.get(b"filename", b"").decode("utf-8", "replace") or _extended_filename(
        request
    )
    chunks = request_body.chunks(request, settings.max_upload_bytes, settings.body_idle_seconds)
    upload = await uploads.spool(chunks, folder, _said(media_type(request)), filename)
    uploads.check_digest(upload, request.headers.get("content-digest"))
    return upload


async def form(
    request: Request, settings: ServiceSettings, folder: Path, *accepted: str
) -> UploadedForm:
    """Read a multipart form with a `file` and the `accepted` JSON parts. Raises Refusal."""
    chunks = request_body.chunks(request, settings.max_upload_bytes, settings.body_idle_seconds)
    async with forms.reading(
        request, chunks, accepted=accepted, field_limit=settings.max_job_bytes
    ) as received:
        if received.file is None:
            return UploadedForm(None, received.fields)
        said = (received.file.content_type or "").partition(";")[0].strip().lower()
        upload = await uploads.spool(
            uploads.pieces_of(received.file.file), folder, _said(said), received.file.filename
        )
        return UploadedForm(upload, received.fields)


def layout(request: Request, query: Layout, part: bytes | None) -> Layout | None:
    """Merge the layouts given by query parameters and by the JSON part `layout`; None without any.

    Query parameters take precedence. Column names may be repeated parameters or one list with
    commas. Raises Refusal (invalid-json, invalid-request).
    """
    given = {name: getattr(query, name) for name in query.model_fields_set}
    columns = given.get("state_columns")
    if columns and len(columns) == 1:
        given["state_columns"] = tuple(columns[0].split(","))
    if part is not None:
        with forms.within_field("layout"):
            document = strict_json.parse(part)
        if not isinstance(document, dict):
            raise Refusal("invalid-request", "The layout must be a JSON object.")
        given = {**document, **given}
    if not given:
        return None
    try:
        found = Layout.model_validate(given)
    except ValidationError as error:
        faults = document_faults(error, given, "layout")
        raise Refusal(
            "invalid-request",
            f"The layout cannot be accepted: {faults[0].pointer} {faults[0].detail}.",
            errors=faults,
        ) from None
    deprecation.note(request, deprecation.used(found, given))
    return found


def _extended_filename(request: Request) -> str | None:
    """Read a name given as `filename*=UTF-8''na%C3%AFve.csv` (RFC 6266).

    The parser of forms ignores this spelling.
    """
    header = Message()
    header["Content-Disposition"] = request.headers.get("content-disposition", "")
    return header.get_filename()


def _said(content_type: str) -> str | None:
    return None if content_type in _UNSAID else content_type
