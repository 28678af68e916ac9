"""NPY and NPZ files as arrays of float64.

Every size is checked before memory is allocated, and nothing is ever unpickled.
"""

import math
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from service.readers.errors import UnreadableData, too_large
from service.readers.options import Limits
from service.readers.table import LARGEST_EXACT, Floats

SAVE_AGAIN = "Save it again with numpy.save and upload the whole file."

_HEADERS: dict[tuple[int, int], Callable[..., Any]] = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
_CONVERSIONS = {
    "M": "Save the time since the first stamp: (t - t[0]) / numpy.timedelta64(1, 's').",
    "m": "Save the durations as numbers: t / numpy.timedelta64(1, 's').",
    "c": "Save real and imaginary part, z.real and z.imag, as two arrays.",
    "V": "Save its fields as arrays: numpy.savez(file, **{n: a[n] for n in a.dtype.names}).",
}
_PIECE = 2**20


def read_npy(path: Path, limits: Limits) -> Floats:
    """Read the array in an npy file. Raises UnreadableData."""
    with path.open("rb") as file:
        return _array(file, path.stat().st_size, "the array", limits.numbers)


def read_npz(path: Path, limits: Limits) -> dict[str, Floats]:
    """Read the arrays of an npz file by name. Raises UnreadableData."""
    arrays: dict[str, Floats] = {}
    left = limits.numbers
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            if len(members) > limits.members:
                counts = f"{len(members):,} arrays; at most {limits.members:,} are read"
                raise too_large(f"The npz file holds {counts}.")
            if not all(member.filename.endswith(".npy") for member in members):
                raise UnreadableData(
                    "The upload is a zip archive, but not one of NumPy arrays (an Excel workbook "
                    "is one, too).",
                    "Save arrays with numpy.savez, or export the sheet as CSV.",
                )
            for member in members:
                name = member.filename.removesuffix(".npy")
                with archive.open(member) as file:
                    arrays[name] = _array(file, member.file_size, f"array '{name[:60]}'", left)
                left -= arrays[name].size
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, OSError) as error:
        raise UnreadableData(
            f"The npz file is damaged or of an unsupported kind: {str(error)[:100]}."
        ) from None
    if not arrays:
        raise UnreadableData("The npz file holds no array.", code="empty-file")
    return arrays


def as_floats(array: npt.NDArray[Any], what: str) -> Floats:
    """Convert a numeric array to native float64.

    Raises UnreadableData for other kinds of data and for whole numbers that would change.
    """
    kinds = {
        "c": "complex numbers", "M": "calendar stamps", "m": "durations",
        "U": "text", "S": "text", "O": "Python objects", "V": "structured records",
    }  # fmt: skip
    if array.dtype.kind in kinds:
        raise UnreadableData(
            f"{what.capitalize()} holds {kinds[array.dtype.kind]} (dtype {str(array.dtype)[:40]}); "
            "real numbers are needed.",
            _CONVERSIONS.get(array.dtype.kind, "Convert it by array.astype(float)."),
        )
    whole = array.dtype.kind in "iu" and array.size
    if whole and max(int(array.max()), -int(array.min())) > LARGEST_EXACT:
        detail = f"{what.capitalize()} holds whole numbers beyond 2^53, which would lose digits."
        raise UnreadableData(detail)
    return np.ascontiguousarray(array, dtype=np.float64)


def _array(file: IO[bytes], size: int, what: str, most: int) -> Floats:
    shape, fortran, dtype, header_size = _header(file, what)
    count = math.prod(shape)
    if count > most:
        raise too_large(
            f"{what.capitalize()} declares {count:,} numbers; at most {most:,} are read.",
            "Upload fewer samples.",
        )
    if dtype.hasobject or dtype.kind in "cMmUSOV":
        as_floats(np.empty(0, dtype), what)
    expected = count * dtype.itemsize
    if size - header_size != expected:
        raise UnreadableData(
            f"{what.capitalize()} declares {count:,} numbers of {dtype.itemsize} bytes, but "
            f"{size - header_size:,} bytes follow: the file is cut or damaged.",
            SAVE_AGAIN,
        )
    buffer = bytearray(expected)
    view, filled = memoryview(buffer), 0
    while filled < expected and (piece := file.read(min(_PIECE, expected - filled))):
        view[filled : filled + len(piece)] = piece
        filled += len(piece)
    if filled != expected:
        raise UnreadableData(
            f"{what.capitalize()} ends too soon: the file is cut or damaged.", SAVE_AGAIN
        )
    array = np.frombuffer(buffer, dtype).reshape(shape, order="F" if fortran else "C")
    return as_floats(array, what)


def _header(file: IO[bytes], what: str) -> tuple[tuple[int, ...], bool, np.dtype[Any], int]:
    try:
        version = np.lib.format.read_magic(file)
        shape, fortran, dtype = _HEADERS[version](file, max_header_size=10_000)
    except Exception:  # a header is Python text, and parsing it can fail in any way
        raise UnreadableData(
            f"The npy header of {what} is damaged, or of an unsupported version.", SAVE_AGAIN
        ) from None
    if any(length < 0 for length in shape):
        raise UnreadableData(
            f"The npy header of {what} is damaged: it declares the shape {shape}.", SAVE_AGAIN
        )
    return shape, fortran, dtype, file.tell()
