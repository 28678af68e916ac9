"""Reading as the service calls it: one child process with limits for each upload or large job."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import structlog
from pydantic import ValidationError

from contract.datasets import DatasetReport, Layout
from service.readers.errors import UnreadableData, too_large
from service.readers.formats.sniffing import format_of
from service.readers.options import Limits

_ROOT = Path(__file__).resolve().parents[2]
_COMMAND = (sys.executable, "-m", "service.readers")
_HEAD = 4096
_FILES = (
    "states.npy",
    "times.npy",
    "segments.npy",
    "inputs.npy",
    "errors.npy",
    "trajectories.json",
)


def read_upload(
    path: Path,
    media_type: str | None,
    filename: str | None,
    layout: Layout,
    folder: Path,
    room: int | None = None,
    limits: Limits | None = None,
) -> DatasetReport:
    """Read an upload in a child process; write the files of a stored dataset to `folder`.

    room   bytes that the files may take; None: those of `limits`

    The call blocks until the child process has ended. It raises UnreadableData where the file
    cannot be read safely and where the child ran out of memory or time, or crashed, and OSError
    where the disk or the `room` is full. After an error `folder` holds none of the files.
    """
    limits = limits or Limits()
    if room is not None:
        limits = replace(limits, file_bytes=room)
    with path.open("rb") as file:
        head = file.read(_HEAD)
    request = {
        "path": str(path.resolve()),
        "format": format_of(head, media_type, filename),
        "layout": layout.model_dump(mode="json"),
        "folder": str(folder.resolve()),
        "limits": asdict(limits),
    }
    try:
        report = _ask(request, limits)
        try:
            return DatasetReport.model_validate(report)
        except ValidationError as error:
            raise _failed(str(error).encode()) from error
    except BaseException:
        for name in _FILES:
            (folder / name).unlink(missing_ok=True)
        raise


def take_job_apart(path: Path, kinds: Sequence[str], most_bytes: int, data_file: Path) -> Any:
    """Call `strict_json.take_apart` in a child process and return its answer.

    Raises UnreadableData, and OSError where the disk is full.
    """
    limits = Limits()
    request = {
        "path": str(path.resolve()),
        "kinds": list(kinds),
        "most_bytes": most_bytes,
        "data_file": str(data_file.resolve()),
        "limits": asdict(limits),
    }
    return _ask(request, limits)


def _ask(request: dict[str, Any], limits: Limits) -> Any:
    """Return what the child answers. Raises UnreadableData, and OSError where the disk is full."""
    try:
        done = subprocess.run(
            _COMMAND,
            input=json.dumps(request).encode(),
            capture_output=True,
            cwd=_ROOT,
            env=_environment(),
            timeout=limits.wall_seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise _too_slow(limits.wall_seconds) from None
    if done.returncode == -signal.SIGXCPU:
        raise _too_slow(limits.cpu_seconds)
    if done.returncode == -signal.SIGKILL or (done.returncode and b"MemoryError" in done.stderr):
        raise too_large(
            "Reading the data took more memory than one upload may take.",
            "Upload fewer samples, or NPY or Parquet.",
        )
    if done.returncode != 0:
        raise _failed(done.stderr)
    try:
        answer: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        raise _failed(done.stderr) from None
    if "no_room" in answer:
        raise OSError(answer["no_room"], os.strerror(answer["no_room"]))
    if "problem" in answer:
        raise UnreadableData.from_json(answer["problem"])
    return answer["answer"]


def _failed(said: bytes) -> UnreadableData:
    """Make the error for a reader that crashed on a file, and log the reason for the operator."""
    structlog.get_logger().error("reader_failed", said=said[-4000:].decode("utf-8", "replace"))
    return UnreadableData(
        "The file could not be read: the reader crashed.",
        "Upload it as CSV or NPY written by another program, and report this file to the "
        "service's operator.",
    )


def _too_slow(seconds: float) -> UnreadableData:
    return too_large(
        f"Reading the data took longer than {seconds:g} s.",
        "Upload fewer samples, or NPY or Parquet, which read faster.",
    )


def _environment() -> dict[str, str]:
    """Return an environment without the service's secrets and with one thread for each library."""
    kept = {
        name: os.environ[name]
        for name in ("PATH", "LANG", "LD_LIBRARY_PATH", "SYSTEMROOT")
        if name in os.environ
    }
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return {**kept, **threads, "PYTHONUTF8": "1", "PYTHONDONTWRITEBYTECODE": "1"}
