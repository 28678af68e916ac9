"""The body of a large job, taken apart into its inline data and the rest."""

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from service.readers import strict_json
from service.readers.errors import UnreadableData

_MOST_NAMES = 50
"""Names of the data's members that are handed on; it has three that are known."""


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
    job = strict_json.parse(path.read_bytes())
    names: Any = None
    if isinstance(job, dict) and job.get("kind") in kinds and job.get("data") is not None:
        data = job.pop("data")
        names = 0
        if isinstance(data, dict):
            data_file.write_bytes(strict_json.canonical(data))
            names = dict.fromkeys([*islice(data, _MOST_NAMES), *({"trajectories"} & data.keys())])
    if len(strict_json.canonical(job)) > most_bytes:
        raise body_too_large(most_bytes)
    return job if names is None else {**job, "data": names}


def body_too_large(most_bytes: int) -> UnreadableData:
    """Make the error for a job that is too long without its data (413)."""
    return UnreadableData(
        f"A job without inline data is limited to {most_bytes} bytes.",
        code="body-too-large",
        status=413,
    )
