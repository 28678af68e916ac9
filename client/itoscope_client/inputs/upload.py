"""Upload: bytes, their media type, and the options of the layout by which they are read."""

import base64
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypedDict, cast

from itoscope_client.errors import InputError

BY_COLUMN: tuple[Literal["state_unit", "state_names"], ...] = ("state_unit", "state_names")
"""Options that may be maps, by column."""
PIECE = 2**20
UNKNOWN = "application/octet-stream"


class LayoutOptions(TypedDict, total=False):
    """Options of the layout, all optional; the dataset's report states what was assumed instead.

    dt              sampling interval, where there is no time column
    time_column     name or 1-based number of the column (or dimension, or array) of sample times
    id_column       name or number of the column that tells which trajectory a sample belongs to
    state_columns   names or numbers of the columns of the state, in the order x, y, z, …
    ignored_columns  names or numbers of columns that are neither time, nor identity, nor state
    group_column    name or number of the column that names the group of each trajectory
    input_columns   names or numbers of columns of signals that drive the states
    error_columns   names or numbers of columns with the standard error of each sample
    orientation     `rows`: each row of a table is one trajectory
    axes            meaning of an array's axes: n trajectory, t time, d state; e.g. `ntd`
    time_unit       label of the time; calendar stamps are converted to it
    state_unit      label of the state, or of each state variable: {"Position": "nm", 3: "pN"}
    state_names     word for a state variable in equations and plots: {"Position": "height"};
                    column by name or number, of an array by the number of the variable
    gap_factor      a step longer than this many sampling intervals ends a segment
    """

    dt: float | None
    time_column: str | None
    id_column: str | None
    state_columns: Sequence[str] | str | None
    ignored_columns: Sequence[str] | str | None
    group_column: str | None
    input_columns: Sequence[str] | str | None
    error_columns: Sequence[str] | str | None
    orientation: Literal["columns", "rows"] | None
    axes: str | None
    time_unit: str | None
    state_unit: str | Mapping[str | int, str] | None
    state_names: Mapping[str | int, str] | None
    gap_factor: float | None


SEVERAL = ("state_columns", "ignored_columns", "input_columns", "error_columns")
"""Options that name several columns."""


def columns_of(layout: LayoutOptions) -> list[str] | None:
    """Return the state columns as a list; None where none were named."""
    return _names(layout.get("state_columns"))


def _names(given: Sequence[str] | str | None) -> list[str] | None:
    if given is None:
        return None
    return [given] if isinstance(given, str) else [str(name) for name in given]


def asked(layout: LayoutOptions) -> dict[str, Any]:
    """Return the options that were given, in JSON's types. Raise InputError for a wrong type."""
    whole = dict(layout) | {several: _names(cast(Any, layout.get(several))) for several in SEVERAL}
    whole |= {option: by_column(layout, option) for option in BY_COLUMN}
    return {name: value for name, value in whole.items() if value is not None}


def by_column(layout: LayoutOptions, option: str) -> dict[str, str] | str | None:
    """Return a map of the layout with its columns as text; one unit is a text. Raise InputError."""
    given = layout.get(option)
    if given is None or (isinstance(given, str) and option == "state_unit"):
        return given
    if not isinstance(given, Mapping):
        raise InputError(f"{option} is a dict, {{column: text}}, not {given!r}")
    return {str(column): str(text) for column, text in given.items()}


def renamed_columns(
    layout: LayoutOptions, names: Sequence[str], uploaded: Sequence[str]
) -> LayoutOptions:
    """Return the layout with the columns of its maps under the names that are uploaded.

    names      what the caller calls the variables, besides their numbers
    uploaded   what their columns are called in the upload

    What is neither a name nor a number stays, for the service to refuse.
    """
    known = {str(number): name for number, name in enumerate(uploaded, start=1)}
    known |= dict(zip(names, uploaded, strict=True))
    made = dict(layout)
    for option in BY_COLUMN:
        found = by_column(layout, option)
        if isinstance(found, dict):
            made[option] = {known.get(column, column): text for column, text in found.items()}
    return cast(LayoutOptions, made)


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
        """Return the layout as query parameters: of a map, one `column=text` for each column."""
        return {
            name: [f"{column}={text}" for column, text in value.items()]
            if isinstance(value, dict)
            else value
            for name, value in asked(self.layout).items()
        }
