"""Strict JSON (RFC 8259, and I-JSON where it is silent), and large jobs taken apart.

Whatever two parsers could read differently is refused.
"""

import json
import math
import re
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn

from service.readers.errors import UnreadableData

MOST_DIGITS = 300
"""Digits of the longest integer that is accepted; longer ones exceed any double."""

_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")

_MOST_NAMES = 50
"""Names of the data's members that are handed on; it has three that are known."""


def parse(body: bytes) -> Any:
    """Parse `body`.

    Raises UnreadableData (invalid-json), which never repeats the body's own text.
    """
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _refusal(f"byte {error.start} is not UTF-8", "Save the document as UTF-8.") from None
    if text.startswith("\ufeff"):
        raise _refusal(
            "it starts with a byte order mark",
            "Save the document as UTF-8 without a byte order mark.",
        )
    try:
        value = json.loads(
            text,
            object_pairs_hook=_object,
            parse_constant=_constant,
            parse_int=_integer,
            parse_float=_float,
        )
        if _ESCAPED_SURROGATE.search(text):
            json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        raise _refusal(
            f"{error.msg} at line {error.lineno}, column {error.colno}",
            "Check that the document is complete, or write it with a JSON library.",
        ) from None
    except RecursionError:
        raise _too_deep() from None
    except UnicodeEncodeError:
        raise _refusal("it contains an unpaired surrogate") from None
    return value


def canonical(value: Any) -> bytes:
    """Write a value in its canonical form: equal values give equal bytes.

    Raises UnreadableData if the value is nested too deeply: writing needs more depth than reading.
    """
    try:
        return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
    except RecursionError:
        raise _too_deep() from None


def _refusal(reason: str, *hints: str) -> UnreadableData:
    return UnreadableData(
        f"The body is not valid JSON: {reason}.", *hints, code="invalid-json", status=400
    )


def _too_deep() -> UnreadableData:
    return _refusal(
        "it is nested too deeply",
        "Send arrays of numbers or of lists of numbers; no document needs more levels.",
    )


def _object(members: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(members)
    if len(value) != len(members):
        raise _refusal("an object has the same member twice")
    return value


def _constant(_name: str) -> NoReturn:
    raise _refusal("NaN and Infinity are not JSON numbers", "Write null for a missing value.")


def _integer(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise _refusal(f"an integer has more than {MOST_DIGITS} digits")
    return int(digits)


def _float(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise _refusal("a number is too large for a double")
    return value


def take_apart(path: Path, kinds: Sequence[str], most_bytes: int, data_file: Path) -> Any:
    """Write a job's inline data to a file; return the job with their members' names alone.

    Twenty megabytes of JSON are half a gigabyte of objects, and five seconds in which no other
    thread runs. The reading child, where this is called, holds up nobody.

    Parameters
    ----------
    path
        File with the JSON document that was sent.
    kinds
        Kinds of jobs that have data.
    most_bytes
        Length of the longest job without its data [byte].
    data_file
        File to write, where the job has data.

    Raises UnreadableData: invalid-json, body-too-large.
    """
    job = parse(path.read_bytes())
    names: Any = None
    if isinstance(job, dict) and job.get("kind") in kinds and job.get("data") is not None:
        data = job.pop("data")
        names = 0
        if isinstance(data, dict):
            data_file.write_bytes(canonical(data))
            names = dict.fromkeys([*islice(data, _MOST_NAMES), *({"trajectories"} & data.keys())])
    if len(canonical(job)) > most_bytes:
        raise body_too_large(most_bytes)
    return job if names is None else {**job, "data": names}


def body_too_large(most_bytes: int) -> UnreadableData:
    """Make the error for a job that is too long without its data (413)."""
    return UnreadableData(
        f"A job without inline data is limited to {most_bytes} bytes.",
        code="body-too-large",
        status=413,
    )
