"""Reading in the process of the test, as the child process does it."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from contract.datasets import DatasetReport
from contract.datasets import Layout as GivenLayout
from service.readers.errors import UnreadableData
from service.readers.formats.sniffing import format_of
from service.readers.options import Layout, Limits
from service.readers.reading import read


@dataclass(frozen=True)
class Read:
    """Results of one reading."""

    report: DatasetReport
    states: np.ndarray
    times: np.ndarray
    segments: np.ndarray
    inputs: np.ndarray | None = None
    errors: np.ndarray | None = None
    words: dict[str, list[str]] | None = None

    @property
    def codes(self) -> set[str]:
        """Codes of the warnings."""
        return {warning.code for warning in self.report.warnings}

    @property
    def said(self) -> str:
        """All assumptions in one string."""
        return " | ".join(self.report.assumptions)


BESIDE = ("inputs.npy", "errors.npy", "trajectories.json")

Reader = Callable[..., Read]


@pytest.fixture(scope="session")
def read_data(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    """Read text, bytes or a file under a layout; checks what must hold of every reading."""
    folder = tmp_path_factory.mktemp("reading")

    def reader(
        data: str | bytes | Path,
        *,
        filename: str | None = None,
        media_type: str | None = None,
        limits: Limits | None = None,
        **layout: Any,
    ) -> Read:
        path = data if isinstance(data, Path) else folder / "upload"
        if not isinstance(data, Path):
            path.write_bytes(data.encode() if isinstance(data, str) else data)
        given = GivenLayout(**layout).model_dump(mode="json")
        form = format_of(
            path.read_bytes()[:4096],
            media_type,
            filename or (path.name if isinstance(data, Path) else None),
        )
        for name in BESIDE:
            (folder / name).unlink(missing_ok=True)
        raw = read(path, form, Layout.from_json(given), limits or Limits(), folder)
        found = Read(
            DatasetReport.model_validate(json.loads(json.dumps(raw))),
            np.load(folder / "states.npy"),
            np.load(folder / "times.npy"),
            np.load(folder / "segments.npy"),
            *(
                np.load(folder / name) if (folder / name).exists() else None
                for name in ("inputs.npy", "errors.npy")
            ),
            json.loads((folder / BESIDE[2]).read_bytes())
            if (folder / BESIDE[2]).exists()
            else None,
        )
        check_canonical(found)
        return found

    return reader


def check_canonical(found: Read) -> None:
    """What every dataset promises its readers."""
    states, times, segments, report = found.states, found.times, found.segments, found.report
    assert states.dtype == times.dtype == np.float64
    assert segments.dtype == np.int64
    assert states.shape == (report.n_samples, len(report.variables))
    assert times.shape == (report.n_samples,)
    assert segments.shape == (report.n_segments, 3)
    assert np.isfinite(states).all()
    assert np.isfinite(times).all()
    assert times.min() == 0.0
    assert segments[0, 0] == 0
    assert segments[-1, 1] == report.n_samples
    assert np.array_equal(segments[1:, 0], segments[:-1, 1])
    assert np.all(segments[:, 1] > segments[:, 0])
    assert set(np.diff(segments[:, 2])) <= {0, 1}
    assert segments[0, 2] == 0
    assert segments[-1, 2] == report.n_trajectories - 1
    inside = np.ones(len(times) - 1, dtype=bool)
    inside[segments[1:, 0] - 1] = False
    assert np.all(np.diff(times)[inside] > 0)
    assert inside.sum() == report.n_increments


@pytest.fixture(scope="session")
def refused(read_data: Reader) -> Callable[..., UnreadableData]:
    """The refusal that reading must end in."""

    def reader(data: str | bytes | Path, **layout: Any) -> UnreadableData:
        with pytest.raises(UnreadableData) as caught:
            read_data(data, **layout)
        return caught.value

    return reader
