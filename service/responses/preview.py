"""The preview of a dataset in a few thousand numbers, from one pass over chunks of its samples."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from contract.curves import Bins
from contract.datasets import DatasetPreview, DatasetReport, Stretch

Floats = NDArray[np.float64]

MOST_STRETCHES = 12
"""Largest number of segments shown; a plot of more is unreadable."""
BINS = 60
CHUNK = 1 << 18
"""Number of samples processed together."""


def preview(
    folder: Path, report: DatasetReport, points: int, trajectories: Sequence[int] | None = None
) -> DatasetPreview:
    """Build the preview of a dataset's files.

    folder         folder with states.npy, times.npy and segments.npy, see storage/stores.py
    points         total number of time bins of the shown segments
    trajectories   numbers of the trajectories whose segments may be shown; None: all

    The histograms cover all samples.
    """
    states, times, segments = (
        np.load(folder / f"{name}.npy", mmap_mode="r") for name in ("states", "times", "segments")
    )
    if trajectories is not None:
        segments = segments[np.isin(segments[:, 2], trajectories)]
    names = [variable.name for variable in report.variables]
    lengths = np.asarray(segments[:, 1] - segments[:, 0])
    # The longest segments show most; among equals, the first are taken.
    shown = np.sort(np.argsort(-lengths, kind="stable")[:MOST_STRETCHES])
    total = max(1, int(lengths[shown].sum()))
    stretches = []
    for start, stop, trajectory in np.asarray(segments[shown]).tolist():
        pieces = max(1, min(stop - start, round(points * (stop - start) / total)))
        edges = np.linspace(start, stop, pieces + 1).astype(np.int64)
        first, low, high = (
            {name: tuple(column.tolist()) for name, column in zip(names, found.T, strict=True)}
            for found in (np.asarray(states[edges[:-1]]), *_extremes(states, edges))
        )
        begins = tuple(np.asarray(times[edges[:-1]]).tolist())
        stretches.append(
            Stretch(trajectory=trajectory, times=begins, first=first, low=low, high=high)
        )
    return DatasetPreview(
        stretches=tuple(stretches),
        n_segments=len(segments),
        histograms=dict(zip(names, _histograms(states, report), strict=True)),
    )


def _extremes(states: Floats, edges: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Return the smallest and largest samples (n_bins, d) between neighbouring edges."""
    low, high = (np.empty((len(edges) - 1, states.shape[1])) for _ in range(2))
    first = 0
    while first < len(edges) - 1:
        last = max(first + 1, int(np.searchsorted(edges, edges[first] + CHUNK, side="right")) - 1)
        chunk = np.asarray(states[edges[first] : edges[last]])
        starts = edges[first:last] - edges[first]
        low[first:last] = np.minimum.reduceat(chunk, starts, axis=0)
        high[first:last] = np.maximum.reduceat(chunk, starts, axis=0)
        first = last
    return low, high


def _histograms(states: Floats, report: DatasetReport) -> Iterator[Bins]:
    for column, (low, high) in enumerate(report.range):
        # A constant variable has a single value but still gets a histogram.
        ends = (low, high) if low < high else (low - 0.5, low + 0.5)
        edges = np.histogram_bin_edges(np.zeros(0), bins=BINS, range=ends)
        counts = np.zeros(BINS, dtype=np.int64)
        for start in range(0, len(states), CHUNK):
            counts += np.histogram(states[start : start + CHUNK, column], bins=edges)[0]
        yield Bins(edges=tuple(edges.tolist()), counts=tuple(counts.tolist()))
