"""MAT files of version 5 (MATLAB 5 to 7.2, Octave, SciPy) as arrays of float64.

The module follows MathWorks' description of the format (MAT-File Level 5). It reads arrays of real
numbers, alone, in structures and in cell arrays; a note names everything else in the file. Every
size is checked before memory is allocated.

`scipy.io` was tried in its place. `loadmat` crashed on 43 of 3,000 damaged copies of a small file
(segmentation fault, SciPy 1.17) and on 20,000 nested cells in a file of 43 kB. `whosmat` does not
see inside a cell array: eight compressed arrays of 440 MB in one took 2.5 GB and 11 s of CPU time,
where this module refuses the file at once.
"""

import math
import struct
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import numpy as np

from service.readers.errors import UnreadableData, too_large
from service.readers.formats.numpy import as_floats
from service.readers.options import Limits, Notes
from service.readers.table import Floats

HEADER_BYTES = 128
_SAVE_AGAIN = "Save it again with save(file, 'x', '-v7') and upload the whole file."
_MATRIX, _COMPRESSED = 14, 15
_NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8"}
_NUMBERS |= {12: "i8", 13: "u8"}
"""Types in which the numbers of an element are stored; whole doubles are stored shorter."""
_CELL, _STRUCTURE = 1, 2
_OTHER_CLASSES = {
    3: "an object",
    4: "text",
    5: "a sparse matrix",
    16: "a function",
    17: "an object",
}
_COMPLEX = 0x0800
_MOST_AXES = 32
_LONGEST_NAME = 4096
_DEEPEST = 4


@dataclass(slots=True)
class _Source:
    """Stream of bytes from the file or from one compressed element, which is unpacked piecewise."""

    file: IO[bytes]
    order: str
    packed: int | None = None
    """Number of bytes of the compressed element that are still in the file."""
    taken: int = 0
    """Number of bytes read so far."""
    _inflate: "zlib._Decompress | None" = None

    def read(self, size: int) -> bytearray:
        """Read exactly `size` bytes. Raises UnreadableData where there are fewer."""
        found = bytearray()
        while len(found) < size:
            piece = self._piece(min(size - len(found), 2**20))
            if not piece:
                raise _damaged("it ends too soon")
            found += piece
        self.taken += size
        return found

    def skip(self, size: int) -> None:
        """Read `size` bytes and drop them."""
        while size > 0:
            size -= len(self.read(min(size, 2**20)))

    def _piece(self, size: int) -> bytes:
        if self.packed is None:
            return self.file.read(size)
        self._inflate = self._inflate or zlib.decompressobj()
        while not self._inflate.eof:
            waiting = self._inflate.unconsumed_tail
            if not waiting:
                waiting = self.file.read(min(self.packed, 2**16))
                self.packed -= len(waiting)
            found = self._inflate.decompress(waiting, size)
            if found or not (waiting or self.packed):
                return found
        return b""

    def tag(self) -> tuple[int, int, bytearray | None]:
        """Read type and size of the next element, and its content where it is inside the tag."""
        first = self.read(4)
        (kind,) = struct.unpack(f"{self.order}I", first)
        if kind >> 16:
            return kind & 0xFFFF, kind >> 16, self.read(4)
        (size,) = struct.unpack(f"{self.order}I", self.read(4))
        return kind, size, None

    def element(self, most: int) -> tuple[int, bytearray]:
        """Read type and content of the next element.

        Raises UnreadableData for an element of more than `most` bytes.
        """
        kind, size, inside = self.tag()
        if inside is not None:
            return kind, inside[: min(size, 4)]
        if size > most:
            raise _damaged(f"it declares a part of {size:,} bytes where {most:,} are the most")
        content = self.read(size)
        self.skip(-size % 8)
        return kind, content


@dataclass(slots=True)
class _Reading:
    """Arrays that have been read, and the limits that are left for the rest of the file."""

    numbers: int
    members: int
    bytes: int
    arrays: dict[str, Floats] = field(default_factory=dict)
    others: list[str] = field(default_factory=list)
    """Names of what is not an array of real numbers."""

    def one_more(self) -> None:
        """Count an array, a cell or a field. Raises UnreadableData where there are too many."""
        self.members -= 1
        if self.members < 0:
            detail = "The MAT file holds more arrays than are read."
            raise too_large(detail, "Save one matrix, or upload NPZ.")


def read_mat(path: Path, limits: Limits, notes: Notes) -> dict[str, Floats]:
    """Read the arrays of a MAT file by their names, fields and numbers, such as `s.x` and `c.1`.

    Raises UnreadableData.
    """
    found = _Reading(limits.numbers, limits.members, 16 * limits.numbers)
    with path.open("rb") as file:
        order = _order(file.read(HEADER_BYTES))
        end = path.stat().st_size
        while file.tell() < end:
            source = _Source(file, order)
            kind, size, inside = source.tag()
            after = file.tell() + size
            if inside is not None or after > end:
                raise _damaged("it is cut")
            if kind == _COMPRESSED:
                source = _Source(file, order, packed=size)
                try:
                    kind, size, _ = source.tag()
                    _part(source, kind, size, (), found)
                except zlib.error:
                    raise _damaged("a compressed part cannot be unpacked") from None
            else:
                _part(source, kind, size, (), found)
            file.seek(after)
    if found.others:
        notes.assume(f"ignored (not arrays of real numbers): {', '.join(found.others[:10])}")
    if not found.arrays:
        detail = "The MAT file holds no array of real numbers."
        raise UnreadableData(detail, _SAVE_AGAIN, code="empty-file")
    return _by_their_own_names(found.arrays)


def _by_their_own_names(arrays: dict[str, Floats]) -> dict[str, Floats]:
    """Drop the name of a structure or cell array beside which there are only single numbers."""
    outer = {name.partition(".")[0] for name, array in arrays.items() if array.size > 1}
    split = ((name.partition("."), name, array) for name, array in arrays.items())
    inner = {end if start in outer else name: array for (start, _, end), name, array in split}
    return inner if len(outer) == 1 and len(inner) == len(arrays) and "" not in inner else arrays


def _part(source: _Source, kind: int, size: int, inside: tuple[str, ...], found: _Reading) -> None:
    """Read an element to its end: a matrix or anything else, which is dropped."""
    end = source.taken + size
    found.bytes -= size if not inside else 0
    if found.bytes < 0:
        raise too_large(f"The MAT file declares {size:,} bytes and more.", "Upload fewer samples.")
    if kind == _MATRIX and size:
        _matrix(source, inside, found)
    if source.taken > end:
        raise _damaged("a part is longer than it declares")
    source.skip(end - source.taken)


def _matrix(source: _Source, inside: tuple[str, ...], found: _Reading) -> None:
    found.one_more()
    flags_kind, flags = source.element(8)
    if flags_kind != 6 or len(flags) != 8:
        raise _damaged("an array has no flags")
    word = struct.unpack(f"{source.order}I", flags[:4])[0]
    kind = word & 0xFF
    shape = _integers(source.element(4 * _MOST_AXES), source.order)
    name = bytes(source.element(_LONGEST_NAME)[1]).decode("latin-1")
    place = inside or (name.replace(".", "_"),)
    label = ".".join(place)
    if any(length < 0 for length in shape) or len(shape) < 2:
        raise _damaged(f"it declares the shape {tuple(shape)}")
    count = math.prod(shape)
    if kind in (_CELL, _STRUCTURE):
        if len(place) > _DEEPEST:
            detail = "The MAT file holds structures within structures."
            raise too_large(detail, "Save the matrices themselves.")
        fields = _fields(source) if kind == _STRUCTURE else [""]
        for number, own in ((number, own) for number in range(1, count + 1) for own in fields):
            found.one_more()
            part, length, within = source.tag()
            numbered = [str(number)] if kind == _CELL or count > 1 else []
            here = (*place, *numbered, *([own] if own else []))
            _part(source, part, 0 if within else length, here, found)
    elif kind in _OTHER_CLASSES or word & _COMPLEX:
        found.others.append(f"{label[:60]} ({_OTHER_CLASSES.get(kind, 'complex numbers')})")
    elif count > found.numbers:
        raise too_large(
            f"'{label[:60]}' declares {count:,} numbers; at most {found.numbers:,} are read.",
            "Upload fewer samples.",
        )
    elif count:
        found.numbers -= count
        spelled, content = source.element(8 * count)
        dtype = np.dtype(source.order + _NUMBERS[spelled]) if spelled in _NUMBERS else None
        if dtype is None or len(content) != count * dtype.itemsize:
            raise _damaged(f"'{label[:60]}' does not hold the {count:,} numbers that it declares")
        stored = np.frombuffer(content, dtype).reshape(shape, order="F")
        array = as_floats(stored, f"'{label[:60]}'")
        # In MATLAB a vector is a matrix of one row or column, and a number one of both.
        found.arrays[label] = array.reshape(-1) if array.ndim == 2 and 1 in array.shape else array


def _fields(source: _Source) -> list[str]:
    """Read the names of a structure's fields."""
    (length,) = _integers(source.element(8), source.order)[:1] or [0]
    _, text = source.element(_LONGEST_NAME * 16)
    if not 0 < length <= _LONGEST_NAME:
        raise _damaged("a structure's fields have no names")
    parts = (bytes(text[at : at + length]) for at in range(0, len(text), length))
    return [part.split(b"\0")[0].decode("latin-1") for part in parts]


def _integers(element: tuple[int, bytearray], order: str) -> list[int]:
    kind, content = element
    if kind not in (5, 6) or len(content) % 4:
        raise _damaged("an array has no shape")
    return [int(value) for value in np.frombuffer(content, f"{order}i4")]


def _order(header: bytes) -> str:
    """Return the byte order of the file."""
    order = {b"IM": "<", b"MI": ">"}.get(header[126:128])
    if len(header) < HEADER_BYTES or order is None:
        raise _damaged("its header is cut")
    return order


def _damaged(how: str) -> UnreadableData:
    return UnreadableData(f"The MAT file is damaged: {how}.", _SAVE_AGAIN)
