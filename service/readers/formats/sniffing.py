"""Format of an upload, recognised by its first bytes, then its media type, then its name."""

from pathlib import PurePath
from typing import Literal, get_args

from service.readers.errors import UnreadableData, unsupported

Format = Literal["csv", "json", "npy", "npz", "parquet", "arrow", "mat", "zip"]

ACCEPTED = (
    "CSV and other text tables, JSON, NPY, NPZ, Parquet, Arrow IPC, MAT files of version 5, and "
    "ZIP archives of these are read."
)

_MAGIC: tuple[tuple[bytes, Format], ...] = (
    (b"\x93NUMPY", "npy"),
    (b"PK\x03\x04", "npz"),
    (b"PK\x05\x06", "npz"),
    (b"PAR1", "parquet"),
    (b"ARROW1", "arrow"),
    (b"\xff\xff\xff\xff", "arrow"),
    (b"MATLAB 5.0 MAT-file", "mat"),
)

_HTML = (b"<!doctype html", b"<html", b"<table")
_EXPORT_SHEET = "Open it in a spreadsheet program and export the sheet as CSV."
_EXPORT = "Export the arrays as NPZ, Parquet or CSV."
_INSIDE = "Decompress it first, or upload Parquet, which is compressed inside."
_FOREIGN: tuple[tuple[bytes, str, str], ...] = (
    (b"\x1f\x8b", "gzip-compressed data", _INSIDE),
    (b"BZh", "bzip2-compressed data", "Decompress it first."),
    (b"\xfd7zXZ", "xz-compressed data", "Decompress it first."),
    (b"\x28\xb5\x2f\xfd", "zstd-compressed data", "Decompress it first."),
    (b"\x89HDF", "an HDF5 file (also netCDF 4, MAT 7.3)", _EXPORT),
    (b"CDF", "a netCDF file", _EXPORT),
    (
        b"MATLAB",
        "a MATLAB file of another version than 5",
        "Save it again with save(file, 'x', '-v7').",
    ),
    (b"\xd0\xcf\x11\xe0", "an old Excel file", "Export the sheet as CSV."),
    (b"ORC", "an ORC file", "Export it as Parquet."),
    (b"Obj\x01", "an Avro file", "Export it as Parquet."),
    (b"%PDF", "a PDF document", "Upload the table behind it as CSV."),
)

_SPELLINGS: tuple[tuple[Format | None, str], ...] = (
    ("csv", "text/csv application/csv text/plain text/tab-separated-values"),
    (
        "json",
        "application/json text/json application/x-ndjson application/jsonl",
    ),
    ("npy", "application/x-npy"),
    ("npz", "application/x-npz"),
    ("parquet", "application/vnd.apache.parquet application/x-parquet"),
    ("arrow", "application/vnd.apache.arrow.file application/vnd.apache.arrow.stream"),
    ("mat", "application/x-matlab-data"),
    ("zip", "application/zip application/x-zip-compressed"),
    (None, "application/octet-stream application/x-www-form-urlencoded"),
    (None, "application/vnd.ms-excel binary/octet-stream"),
)
_MEDIA_TYPES = {name: form for form, names in _SPELLINGS for name in names.split()}
_EXTENSIONS: dict[str, Format] = {f".{form}": form for form in get_args(Format) if form != "csv"}
_EXTENSIONS |= {".feather": "arrow", ".ndjson": "json", ".jsonl": "json"}


def media_type_of(form: str) -> str:
    """Return the media type by which a file is read in this format again."""
    return next(names.split()[0] for known, names in _SPELLINGS if known == form)


def format_of(head: bytes, media_type: str | None, filename: str | None) -> Format:
    """Recognise the format of an upload that starts with `head` (a few kilobytes).

    Raises UnreadableData: 415 for a format that is not read, 422 for an empty file and for bytes
    that are not in the declared format.
    """
    if not head.strip(b"\xef\xbb\xbf \t\r\n"):
        raise UnreadableData("The file is empty.", ACCEPTED, code="empty-file")
    declared = _declared(media_type, filename)
    for magic, form in _MAGIC:
        if head.startswith(magic):
            return "zip" if _is_archive_of_files(head) else form
    for magic, what, hint in _FOREIGN:
        if head.startswith(magic):
            raise unsupported(f"The upload is {what}, which is not supported.", hint, ACCEPTED)
    if _looks_pickled(head):
        raise UnreadableData(
            "The upload is a Python pickle. Opening a pickle runs code, so pickles are refused.",
            "Save the array with numpy.save(..., allow_pickle=False), numpy.savez or as CSV.",
            ACCEPTED,
        )
    if declared in ("npy", "npz", "parquet", "arrow", "mat", "zip"):
        raise UnreadableData(
            f"The upload is declared as {declared}, but its first bytes are not in that format; "
            "the file may be cut or mislabelled.",
            ACCEPTED,
        )
    if head.lstrip(b"\xef\xbb\xbf \t\r\n")[:15].lower().startswith(_HTML):
        raise unsupported(
            "The upload is an HTML page, not a table in text.", _EXPORT_SHEET, ACCEPTED
        )
    if _looks_xyz(head):
        raise unsupported(
            "The upload is an XYZ file of atoms, which has no table.",
            "Write positions as CSV with columns frame, atom, x, y and z.",
            ACCEPTED,
        )
    if not head.startswith((b"\xff\xfe", b"\xfe\xff")) and b"\x00" in head:
        raise unsupported("The upload is binary, in an unknown format.", ACCEPTED)
    if declared is not None:
        return declared
    return "json" if head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"[") else "csv"


def _declared(media_type: str | None, filename: str | None) -> Format | None:
    name = (media_type or "application/octet-stream").partition(";")[0].strip().lower()
    if name not in _MEDIA_TYPES and not name.startswith("text/"):
        raise unsupported(f"Content of type '{name[:100]}' is not supported.", ACCEPTED)
    extension = _EXTENSIONS.get(PurePath(filename or "").suffix.lower())
    declared = _MEDIA_TYPES.get(name, "csv")
    # Browsers and curl send text/plain or application/octet-stream for every format that they do
    # not know; the extension of the name is more reliable then.
    return extension or declared if name in ("text/plain", "application/octet-stream") else declared


def _is_archive_of_files(head: bytes) -> bool:
    """Return whether the first file of a ZIP archive is neither an array nor of an office file."""
    if not head.startswith(b"PK\x03\x04") or len(head) < 30:
        return False
    name = head[30 : 30 + int.from_bytes(head[26:28], "little")]
    office = (b"[Content_Types].xml", b"_rels/", b"mimetype", b"docProps/", b"xl/", b"META-INF/")
    return not name.endswith(b".npy") and not name.startswith(office)


def _looks_xyz(head: bytes) -> bool:
    """Return whether text begins with a number of atoms, a title, and an element with positions."""
    lines = head.splitlines()[:3]
    if len(lines) < 3 or not lines[0].strip().isdigit():
        return False
    cells = lines[2].split()
    return len(cells) >= 4 and cells[0].isalpha() and cells[0][:1].isupper() and len(cells[0]) <= 2


def _looks_pickled(head: bytes) -> bool:
    binary = head[:1] == b"\x80" and len(head) > 1 and head[1] in (2, 3, 4, 5)
    text = head.startswith((b"(lp", b"(dp", b"ccopy_reg", b"cnumpy")) and b"\n" in head[:200]
    return binary or text
