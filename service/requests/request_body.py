"""The body of a request: limits on its size and idle time, and multipart forms streamed to disk."""

import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import anyio
from fastapi import Request
from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser

from contract.problems import ProblemError
from service.errors import Refusal
from service.readers.errors import UnreadableData
from service.validation_errors import pointer

MOST_FILES = 4
MOST_FIELDS = 16
LEAST_BYTES_PER_SECOND = 10_000
"""Slowest rate of a body that takes longer than PATIENCE times the longest silence.

Four hundred uploads of a byte every 3.5 s went on for ever.
"""
PATIENCE = 12


async def chunks(request: Request, limit: int, idle_seconds: float) -> AsyncGenerator[bytes]:
    """Yield the body in pieces.

    Raises Refusal: body-too-large (by the announced length or by counting), body-timeout,
    unsupported-media-type.
    """
    if announced(request) > limit:
        raise too_large(limit)
    if request.headers.get("content-encoding", "identity").strip().lower() not in ("identity", ""):
        raise Refusal(
            "unsupported-media-type",
            "Compressed bodies are not accepted.",
            "Send the content without Content-Encoding.",
        )
    size, began = 0, time.monotonic()
    stream = request.stream()
    while True:
        try:
            with anyio.fail_after(idle_seconds):
                chunk = await anext(stream, b"")
        except TimeoutError:
            detail = f"No data arrived for {idle_seconds:g} seconds after the first {size} bytes."
            raise _timeout(detail) from None
        if not chunk:
            return
        size += len(chunk)
        seconds = time.monotonic() - began
        if seconds > PATIENCE * idle_seconds + size / LEAST_BYTES_PER_SECOND:
            raise _timeout(
                f"Only {size} bytes arrived in {seconds:.0f} seconds; "
                f"{LEAST_BYTES_PER_SECOND / 1000:g} kB are expected in each."
            )
        if size > limit:
            raise too_large(limit)
        yield chunk


def _timeout(detail: str) -> Refusal:
    hint, headers = "Send the request again.", {"Connection": "close"}
    return Refusal("body-timeout", detail, hint, headers=headers)


def announced(request: Request) -> int:
    """Return the body's announced number of bytes; 0 if none is announced."""
    said = request.headers.get("content-length", "")
    return int(said[:20]) if said.isdecimal() else 0


async def whole(request: Request, limit: int, idle_seconds: float) -> bytes:
    """Return the body of a small document in one piece. Raises Refusal as `chunks` does."""
    return b"".join([chunk async for chunk in chunks(request, limit, idle_seconds)])


def too_large(limit: int) -> Refusal:
    """Build the refusal of a body that is larger than `limit` bytes."""
    detail = f"The body may not exceed {limit / 1e6:g} MB."
    return Refusal(
        "body-too-large",
        detail,
        "Split the trajectories over several datasets, or upload a denser format such as NPY or "
        "Parquet.",
        headers={"Connection": "close"},
    )


Fields = dict[str, bytes]
"""Text of a form's parts, by name."""


@asynccontextmanager
async def reading_form(
    request: Request, stream: AsyncGenerator[bytes], *, accepted: tuple[str, ...], field_limit: int
) -> AsyncIterator[tuple[UploadFile | None, Fields]]:
    """Yield a form's `file`, if any, and its other parts; close its files at the end.

    accepted      names of the fields that it may hold besides `file`
    field_limit   bytes of the largest field

    Raises Refusal: invalid-multipart, invalid-request, and whatever reading the body raises.
    """
    try:
        parser = MultiPartParser(
            request.headers,
            stream,
            max_files=MOST_FILES,
            max_fields=MOST_FIELDS,
            max_part_size=field_limit,
        )
        data = await parser.parse()
    except MultiPartException as error:
        raise Refusal("invalid-multipart", error.message) from None
    except (UnicodeError, ValueError, LookupError):
        raise Refusal("invalid-multipart", "The headers of a part cannot be read.") from None
    try:
        yield await _form_of(data, accepted, field_limit)
    finally:
        await data.close()


async def _form_of(
    data: FormData, accepted: tuple[str, ...], field_limit: int
) -> tuple[UploadFile | None, Fields]:
    file: UploadFile | None = None
    fields: Fields = {}
    for name, part in data.multi_items():
        if name != "file" and name not in accepted:
            raise _at(
                name,
                "is not a known part",
                f"Send the data as `file`; the other parts may be {', '.join(accepted)}.",
            )
        if name in fields or (name == "file" and file is not None):
            raise _at(
                name,
                "was sent twice",
                "Send one file per request. A file with an id column can hold many trajectories.",
            )
        if name == "file":
            if isinstance(part, str):
                raise _at("file", "must be a file", "With curl: -F file=@data.csv")
            file = part
        elif isinstance(part, str):
            fields[name] = part.encode("utf-8", "surrogatepass")
        else:
            fields[name] = await _text_of(part, name, field_limit)
    return file, fields


@contextmanager
def within_field(name: str) -> Iterator[None]:
    """Name the part in every refusal raised while it is read."""
    try:
        yield
    except (Refusal, UnreadableData) as refusal:
        refusal.detail = f"In part `{name}`: {refusal.detail}"
        raise


async def _text_of(part: UploadFile, name: str, limit: int) -> bytes:
    text = await part.read(limit + 1)
    if len(text) > limit:
        raise _at(name, f"is longer than {limit} bytes")
    return text


def _at(name: str, fault: str, *hints: str) -> Refusal:
    name = name[:200].encode("utf-8", "replace").decode()
    return Refusal(
        "invalid-request",
        f"Part `{name}` {fault}.",
        *hints,
        errors=(ProblemError(detail=fault, pointer=pointer(name)),),
    )
