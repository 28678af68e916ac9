"""A result as a NumPy archive, which holds every array by its place in the document.

NumPy is imported only where it is used, so that a service without such requests does not load it.
"""

import base64
import io
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

MEDIA_TYPE = "application/x-npz"

DOCUMENT = "document"
"""Member with the whole document as JSON text, in which an encoded array is its member's name."""

_ROWS = ("ci", "im_ci", "at")
"""Fields that hold a few numbers which belong together."""
_WITHOUT = ("provenance", "warnings")
"""Parts of a result that hold no arrays."""


def archive(document: bytes) -> bytes:
    """Build the archive of a result document, for `np.load(…, allow_pickle=False)`.

    A list of numbers, or a rectangular list of lists, is an array of doubles; null is NaN. In a
    list of objects, a number of each makes one array (`generator.spectrum.eigenvalues.re`), and
    arrays are numbered (`generator.committors.0.values`).
    """
    import numpy as np

    value = json.loads(document)
    arrays: dict[str, npt.NDArray[Any]] = {}
    for part, inside in value.items():
        if part not in _WITHOUT:
            arrays.update(_arrays(part, inside))
    arrays[DOCUMENT] = np.array(json.dumps(_by_name(value, ""), ensure_ascii=False))
    file = io.BytesIO()
    np.savez_compressed(file, allow_pickle=False, **arrays)
    return file.getvalue()


def _arrays(place: str, value: Any) -> "Iterator[tuple[str, npt.NDArray[Any]]]":
    """Yield every array in a part of a document, with its place."""
    if _is_encoded(value):
        yield place, _decoded(value)
    elif isinstance(value, dict):
        for name, inside in value.items():
            yield from _arrays(f"{place}.{name}", inside)
    elif isinstance(value, list) and value:
        array = _array(value)
        if array is not None:
            yield place, array
        elif all(isinstance(item, dict) and not _is_encoded(item) for item in value):
            yield from _columns(place, value)
        else:
            for number, inside in enumerate(value):
                yield from _arrays(f"{place}.{number}", inside)


def _columns(place: str, items: list[dict[str, Any]]) -> "Iterator[tuple[str, npt.NDArray[Any]]]":
    """Yield the arrays in a list of objects: one for each number they share, and each array."""
    for name in dict.fromkeys(name for item in items for name in item):
        values = [item.get(name) for item in items]
        estimates = [value for value in values if isinstance(value, dict) and "value" in value]
        if len(estimates) == len(values):
            yield from _columns(f"{place}.{name}", estimates)
            continue
        single = name in _ROWS or not any(isinstance(value, (list, dict)) for value in values)
        array = _array(values) if single else None
        if array is not None:
            yield f"{place}.{name}", array
            continue
        for number, item in enumerate(items):
            yield from _arrays(f"{place}.{number}.{name}", item.get(name))


def _array(values: list[Any]) -> "npt.NDArray[Any] | None":
    """Convert numbers, truth values or texts to an array.

    Return None if they are anything else, or not rectangular, or all null.
    """
    import numpy as np

    if all(isinstance(value, bool) for value in values):
        return np.array(values, dtype=bool)
    if all(isinstance(value, str) for value in values):
        return np.array(values)
    shape = _shape(values)
    if shape is None or all(value is None for value in values):
        return None
    return np.array(_filled(values, shape), dtype="<f8").reshape(len(values), *shape)


def _shape(values: list[Any]) -> tuple[int, ...] | None:
    """Return the common shape of the values that are not null; None if they differ."""
    shapes = {
        () if isinstance(value, (int, float)) and not isinstance(value, bool) else _rows(value)
        for value in values
        if value is not None
    }
    return shapes.pop() if len(shapes) == 1 else None


def _rows(value: Any) -> tuple[int, ...] | None:
    below = _shape(value) if isinstance(value, list) and value else None
    return None if below is None else (len(value), *below)


def _filled(values: list[Any], shape: tuple[int, ...]) -> list[Any]:
    """List the numbers in order, with NaN for null."""
    if not shape:
        return [float("nan") if value is None else value for value in values]
    nothing = [None] * shape[0]
    return [
        number
        for value in values
        for number in _filled(nothing if value is None else value, shape[1:])
    ]


def _is_encoded(value: Any) -> bool:
    return isinstance(value, dict) and value.get("encoding") == "base64" and "dtype" in value


def _decoded(value: dict[str, Any]) -> "npt.NDArray[np.float64]":
    import numpy as np

    return np.frombuffer(base64.b64decode(value["data"]), dtype="<f8").reshape(value["shape"])


def _by_name(value: Any, place: str) -> Any:
    """Replace each encoded array in a document by the name of its member."""
    if _is_encoded(value):
        return {"npz": place}
    if isinstance(value, dict):
        return {
            name: _by_name(inside, f"{place}.{name}".lstrip(".")) for name, inside in value.items()
        }
    if isinstance(value, list):
        return [_by_name(inside, f"{place}.{number}") for number, inside in enumerate(value)]
    return value
