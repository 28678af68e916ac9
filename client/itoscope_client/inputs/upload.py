"""Upload: bytes, their media type, and the options of the layout by which they are read."""

import base64
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypedDict, cast

PIECE = 2**20
UNKNOWN = "application/octet-stream"


class LayoutOptions(TypedDict, total=False):
    """Options of the layout, all optional; the dataset's report states what was assumed instead.

    dt              sampling interval, where there is no time column
    time_column     name or 1-based number of the column (or dimension, or array) of sample times
    id_column       name or number of the column that tells which trajectory a sample belongs to
    state_columns   names or numbers of the columns of the state, in the order x, y, z, …
    ignored_columns  names or numbers of columns that are neither time, nor identity, nor state
    orientation     `rows`: each row of a table is one trajectory
    axes            meaning of an array's axes: n trajectory, t time, d state; e.g. `ntd`
    time_unit       label of the time; calendar stamps are converted to it
    state_unit      label of the state
    gap_factor      a step longer than this many sampling intervals ends a segment
    """

    dt: float | None
    time_column: str | None
    id_column: str | None
    state_columns: Sequence[str] | str | None
    ignored_columns: Sequence[str] | str | None
    orientation: Literal["columns", "rows"] | None
    axes: str | None
    time_unit: str | None
    state_unit: str | None
    gap_factor: float | None


def columns_of(layout: LayoutOptions) -> list[str] | None:
    """Return the state columns as a list; None where none were named."""
    return _names(layout.get("state_columns"))


def _names(given: Sequence[str] | str | None) -> list[str] | None:
    if given is None:
        return None
    return [given] if isinstance(given, str) else [str(name) for name in given]


def asked(layout: LayoutOptions) -> dict[str, Any]:
    """Return the options that were given, names of columns as lists."""
    ignored = _names(layout.get("ignored_columns"))
    whole = {**layout, "state_columns": columns_of(layout), "ignored_columns": ignored}
    return {name: value for name, value in whole.items() if value is not None}


def without(layout: LayoutOptions, *options: str) -> LayoutOptions:
    """Return the layout without the options of these names."""
    kept = {name: value for name, value in layout.items() if name not in options}
    return cast(LayoutOptions, kept)


@dataclass(frozen=True, slots=True)
class Upload:
    """File, or bytes made here, with media type, name and layout."""

    content: bytes | Path = field(repr=False)
    content_type: str = UNKNOWN
    filename: str | None = None
    layout: LayoutOptions = field(default_factory=LayoutOptions)

    @property
    def size(self) -> int:
        """Size in bytes."""
        return len(self.content) if isinstance(self.content, bytes) else self.content.stat().st_size

    def pieces(self) -> Iterator[bytes]:
        """Yield the bytes from the start, anew for every attempt at the upload."""
        if isinstance(self.content, bytes):
            for start in range(0, len(self.content), PIECE):
                yield self.content[start : start + PIECE]
            return
        with self.content.open("rb") as file:
            while piece := file.read(PIECE):
                yield piece

    def digest(self) -> str:
        """Return the value of `Content-Digest`, which reveals a damaged upload."""
        sha256 = hashlib.sha256()
        for piece in self.pieces():
            sha256.update(piece)
        return f"sha-256=:{base64.b64encode(sha256.digest()).decode()}:"

    def query(self) -> dict[str, Any]:
        """Return the layout as query parameters."""
        return asked(self.layout)
