"""Upload: bytes, their media type, and the way in which they are to be read."""

import base64
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from itoscope_client.inputs.options import LayoutOptions, columns_of

PIECE = 2**20
UNKNOWN = "application/octet-stream"


@dataclass(frozen=True, slots=True)
class Upload:
    """File, or bytes made here, with media type, name and layout."""

    content: bytes | Path
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
        query = {
            name: value
            for name, value in self.layout.items()
            if value is not None and name != "state_columns"
        }
        columns = columns_of(self.layout)
        return query if columns is None else query | {"state_columns": columns}
