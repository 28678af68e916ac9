"""A preview hides no peak, counts every sample, and takes no more memory than a chunk."""

import itertools
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from contract.datasets import DatasetReport, Layout, LengthReport, SamplingReport, Variable
from service.responses import preview as module
from service.responses.preview import MOST_STRETCHES, preview


def written(
    folder: Path, states: np.ndarray, segments: list[tuple[int, int, int]]
) -> DatasetReport:
    np.save(folder / "states.npy", states)
    np.save(folder / "times.npy", np.arange(len(states), dtype=float))
    np.save(folder / "segments.npy", np.array(segments))
    return DatasetReport(
        format="npy",
        layout=Layout(),
        variables=tuple(Variable(name=name) for name in "xyz"[: states.shape[1]]),
        n_trajectories=1,
        n_segments=len(segments),
        n_samples=len(states),
        n_increments=len(states) - len(segments),
        duration=1.0,
        lengths=LengthReport(min=1, median=1, max=1),
        dt=SamplingReport(median=1.0, min=1.0, max=1.0, jitter=0.0, source="given"),
        range=tuple(zip(states.min(axis=0).tolist(), states.max(axis=0).tolist(), strict=True)),
    )


def test_every_peak_is_inside_the_envelope_and_every_sample_in_the_histogram(
    tmp_path: Path,
) -> None:
    states = np.random.default_rng(0).standard_normal((30_000, 2))
    states[12_345] = 40.0, -40.0
    report = written(tmp_path, states, [(0, 10_000, 0), (10_000, 30_000, 1)])
    found = preview(tmp_path, report, 300)
    assert [stretch.trajectory for stretch in found.stretches] == [0, 1]
    assert [len(stretch.times) for stretch in found.stretches] == [100, 200]
    for stretch, (start, stop) in zip(
        found.stretches, ((0, 10_000), (10_000, 30_000)), strict=True
    ):
        for k, name in enumerate("xy"):
            assert min(stretch.low[name]) == states[start:stop, k].min()
            assert max(stretch.high[name]) == states[start:stop, k].max()
    assert sum(found.histograms["x"].counts) == sum(found.histograms["y"].counts) == 30_000


def test_of_some_trajectories_only_their_segments_are_shown(tmp_path: Path) -> None:
    states = np.arange(30.0)[:, None]
    report = written(tmp_path, states, [(0, 10, 0), (10, 15, 1), (15, 20, 1), (20, 30, 2)])
    found = preview(tmp_path, report, 1000, (1, 2))
    assert [stretch.trajectory for stretch in found.stretches] == [1, 1, 2]
    assert found.n_segments == 3
    assert found.stretches[0].low["x"] == tuple(range(10, 15))


def test_a_short_record_is_given_as_it_is(tmp_path: Path) -> None:
    states = np.array([[1.0], [3.0], [2.0]])
    found = preview(tmp_path, written(tmp_path, states, [(0, 3, 0)]), 1000)
    assert found.stretches[0].low == found.stretches[0].high == {"x": (1.0, 3.0, 2.0)}


def test_of_many_tracks_the_longest_are_shown_in_their_order(tmp_path: Path) -> None:
    ends = np.cumsum([0, *([10] * 20), 500, *([10] * 20)])
    segments = [(int(a), int(b), k) for k, (a, b) in enumerate(itertools.pairwise(ends))]
    found = preview(tmp_path, written(tmp_path, np.arange(float(ends[-1]))[:, None], segments), 100)
    assert len(found.stretches) == MOST_STRETCHES
    assert found.n_segments == 41
    assert [s.trajectory for s in found.stretches] == [*range(MOST_STRETCHES - 1), 20]


def test_constant_data_have_a_histogram(tmp_path: Path) -> None:
    found = preview(tmp_path, written(tmp_path, np.full((10, 1), 5.0), [(0, 10, 0)]), 100)
    assert sum(found.histograms["x"].counts) == 10


@pytest.mark.parametrize("points", [10, 10_000])
def test_memory_does_not_grow_with_the_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, points: int
) -> None:
    monkeypatch.setattr(module, "CHUNK", 1 << 12)
    states = np.zeros((1_000_000, 1))
    report = written(tmp_path, states, [(0, 1_000_000, 0)])
    del states
    tracemalloc.start()
    preview(tmp_path, report, points)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # The record is 8 MB; one of ten pieces 0.8 MB; ten thousand points as Python numbers about 1.5
    # MB.
    assert peak < 4_000_000


def test_a_stranger_s_dataset_has_no_preview(service: Any) -> None:
    assert service.client.get("/v1/datasets/ds_aaaaaaaaaaaaaaaa/preview").status_code == 404
    assert (
        service.client.get("/v1/datasets/ds_aaaaaaaaaaaaaaaa/preview?points=1").status_code == 422
    )
