"""Uploads made datasets: the file of a request, read by a child under a layout, stored by hash."""

import base64
import hashlib
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.message import Message
from pathlib import Path
from typing import BinaryIO

from anyio.to_thread import run_sync
from fastapi import Request
from python_multipart.multipart import parse_options_header

from contract.datasets import Dataset, Layout
from service.dependencies import Context
from service.errors import Refusal
from service.readers import strict_json
from service.readers.formats.sniffing import media_type_of
from service.requests import request_body
from storage.disk import INCOMING, PRIVATE, own_folder, sweep_folders
from storage.local_blobs import KEPT, ORIGINAL

_PIECE = 1_000_000
_SCRATCH = "upload-"

FORM = "multipart/form-data"
UNSAID = {"", "application/octet-stream", "application/x-www-form-urlencoded"}
"""Content types without information; the last is curl's default."""


@dataclass(frozen=True, slots=True)
class Upload:
    """An uploaded file on disk, with its declared type and name."""

    path: Path
    content: "hashlib._Hash"
    """SHA-256 of the bytes, to which more may be added."""
    size: int
    media_type: str | None
    filename: str | None


@contextmanager
def scratch_folder(root: Path) -> Iterator[Path]:
    """Create a folder for one upload, and remove it afterwards."""
    root.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
    with own_folder(root, _SCRATCH) as folder:
        yield folder


def sweep(scratch: Path, data_dir: Path) -> None:
    """Remove what uploads and deletions left behind when their process was killed."""
    sweep_folders(scratch, _SCRATCH)
    for home in (*data_dir.glob("datasets/*"), *data_dir.glob("results/*")):
        sweep_folders(home, INCOMING)


async def spool(
    chunks: AsyncIterator[bytes], folder: Path, media_type: str | None, filename: str | None
) -> Upload:
    """Write a stream into `folder` and hash it, holding about one megabyte at a time."""
    path = folder / "upload"
    digest = hashlib.sha256()
    pending = bytearray()
    size = 0
    with path.open("wb") as file:

        def flush() -> None:
            digest.update(pending)
            file.write(pending)
            pending.clear()

        async for chunk in chunks:
            pending += chunk
            size += len(chunk)
            if len(pending) >= _PIECE:
                await run_sync(flush)
        await run_sync(flush)
    return Upload(path, digest, size, media_type, _label(filename))


async def within_room(context: Context, chunks: AsyncIterator[bytes]) -> AsyncGenerator[bytes]:
    """Yield the pieces of a body that goes to disk, looking at the free space every megabyte.

    Bodies may come without a length, and many at once. Raises Refusal (storage-full).
    """
    unseen = 0
    async for chunk in chunks:
        unseen += len(chunk)
        if unseen >= _PIECE:
            await run_sync(context.admission.body, unseen)
            unseen = 0
        yield chunk


async def pieces_of(file: BinaryIO) -> AsyncGenerator[bytes]:
    """Yield an open file in pieces."""
    while piece := await run_sync(file.read, _PIECE):
        yield piece


async def keep(
    context: Context, tenant: str, upload: Upload, layout: Layout
) -> tuple[Dataset, bool]:
    """Read an upload and store it; return the dataset, and whether it is new.

    The same bytes with the same layout are read only once. Raises UnreadableData, Refusal
    (quota-exceeded, storage-full).
    """
    dataset_id = identifier(upload, layout)
    datasets = context.stores.datasets
    known = await run_sync(datasets.get, tenant, dataset_id)
    if known is not None:
        return known, False

    def read_and_put() -> tuple[Dataset, bool]:
        folder = upload.path.parent / "dataset"
        folder.mkdir()
        with context.admission.reading(tenant) as room:
            report = context.reader(
                upload.path, upload.media_type, upload.filename, layout, folder, room
            )
            dataset = Dataset(
                id=dataset_id,
                created_at=datetime.now(UTC),
                sha256=upload.content.hexdigest(),
                bytes=upload.size,
                label=upload.filename,
                report=report,
            )
            upload.path.rename(folder / ORIGINAL)
            size = sum((folder / name).stat().st_size for name in KEPT)
            with context.admission.keeping(tenant, size):
                return dataset, datasets.put(tenant, dataset, folder) == "created"

    dataset, created = await context.reading.run(tenant, read_and_put)
    if not created:
        known = await run_sync(datasets.get, tenant, dataset_id)
    return known or dataset, created


async def kept_upload(context: Context, tenant: str, dataset: Dataset, folder: Path) -> Upload:
    """Bring the file from which a dataset was read to `folder`, as it was uploaded.

    Raises Refusal (gone, storage-full), StoreUnavailable.
    """
    path = folder / "upload"

    def brought() -> Upload | None:
        context.admission.body(dataset.bytes)
        if not context.stores.datasets.fetch_original(tenant, dataset.id, path):
            return None
        with path.open("rb") as file:
            content = hashlib.file_digest(file, hashlib.sha256)
        media_type = media_type_of(dataset.report.format)
        return Upload(path, content, path.stat().st_size, media_type, dataset.label)

    upload = await run_sync(brought)
    if upload is None:
        raise Refusal(
            "gone",
            "The uploaded file of this dataset is no longer stored; only what was read from it is.",
            "Upload the file again, with the layout: POST /v1/datasets.",
        )
    return upload


def identifier(upload: Upload, layout: Layout) -> str:
    """Return `ds_` and 80 bits of the hash of the bytes and the given layout."""
    digest = upload.content.copy()
    digest.update(strict_json.canonical(layout.model_dump(mode="json", exclude_defaults=True)))
    return "ds_" + base64.b32encode(digest.digest()).decode().lower()[:16]


def check_digest(upload: Upload, content_digest: str | None) -> None:
    """Compare the hash with the sender's `Content-Digest` (RFC 9530), if it gives a SHA-256.

    Raises Refusal (digest-mismatch).
    """
    ours = f"sha-256=:{base64.b64encode(upload.content.digest()).decode()}:"
    claims = [claim.strip() for claim in (content_digest or "").split(",")]
    theirs = [claim for claim in claims if claim.startswith("sha-256=")]
    if theirs and ours not in theirs:
        raise Refusal(
            "digest-mismatch", "The body was changed during transfer.", "Send the file again."
        )


def _label(filename: str | None) -> str | None:
    """Return the printable last part of a file's name: a label, never a path."""
    if filename is None:
        return None
    last = filename.replace("\\", "/").rsplit("/", 1)[-1]
    return "".join(character for character in last if character.isprintable())[:200] or None


def media_type(request: Request) -> str:
    """Return the content type in lower case, without its parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


async def raw_upload(request: Request, context: Context, folder: Path) -> Upload:
    """Read the whole body as a file.

    Raises Refusal (body-too-large, body-timeout, digest-mismatch, storage-full).
    """
    settings = context.settings
    _, options = parse_options_header(request.headers.get("content-disposition"))
    filename = options.get(b"filename", b"").decode("utf-8", "replace") or _extended_filename(
        request
    )
    chunks = request_body.chunks(request, settings.max_upload_bytes, settings.body_idle_seconds)
    body = within_room(context, chunks)
    upload = await spool(body, folder, _said(media_type(request)), filename)
    check_digest(upload, request.headers.get("content-digest"))
    return upload


async def form(
    request: Request, context: Context, folder: Path, *accepted: str
) -> tuple[Upload | None, request_body.Fields]:
    """Read a form's `file`, if any, and the JSON text of the `accepted` parts. Raises Refusal."""
    settings = context.settings
    chunks = request_body.chunks(request, settings.max_upload_bytes, settings.body_idle_seconds)
    body = within_room(context, chunks)
    async with request_body.reading_form(
        request, body, accepted=accepted, field_limit=settings.max_job_bytes
    ) as (file, fields):
        if file is None:
            return None, fields
        said = _said((file.content_type or "").partition(";")[0].strip().lower())
        pieces = within_room(context, pieces_of(file.file))
        return await spool(pieces, folder, said, file.filename), fields


def _extended_filename(request: Request) -> str | None:
    """Read a name given as `filename*=UTF-8''na%C3%AFve.csv` (RFC 6266).

    The parser of forms ignores this spelling.
    """
    header = Message()
    header["Content-Disposition"] = request.headers.get("content-disposition", "")
    return header.get_filename()


def _said(content_type: str) -> str | None:
    return None if content_type in UNSAID else content_type
