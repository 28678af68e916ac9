"""Where the windows lie: equal stretches of time along one record, made of pieces whose sums are taken once."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from worker.identification.data.trajectories import Trajectories
from worker.identification.errors import DimensionNotSupported, InvalidWindows

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

PIECES = 12
"""Pieces of a window at least: its blocks, whose scatter its errors may need."""


@dataclass(frozen=True, slots=True, eq=False)
class MovingWindows:
    """`count` windows, each of `per_window` pieces, of which each begins `per_step` pieces after the one before.

    edges   (n_pieces + 1,) sample numbers at which pieces begin, and the end
    times   (n_pieces + 1,) likewise in time [time]
    """

    count: int
    per_window: int
    per_step: int
    edges: Integers
    times: Floats

    def pieces(self, window: int) -> slice:
        """The pieces of a window."""
        first = window * self.per_step
        return slice(first, first + self.per_window)

    def span(self, window: int) -> tuple[float, float]:
        """Begin and end of a window [time]."""
        pieces = self.pieces(window)
        return float(self.times[pieces.start]), float(self.times[pieces.stop])

    def apart(self) -> range:
        """Windows that have no sample in common, as many as there are."""
        return range(0, self.count, -(-self.per_window // self.per_step))


def along(data: Trajectories, count: int, length: float | None, share: float) -> MovingWindows:
    """Windows from the first sample to the last, of this length [time], or of this share of the record where none is given.

    Raises DimensionNotSupported for several trajectories, InvalidWindows for a length that the record does not have.
    """
    trajectories = np.unique(data.segments[:, 2])
    if len(trajectories) > 1:
        raise DimensionNotSupported(
            f"Rolling windows need a single time series, and the dataset has {len(trajectories)} trajectories.",
            hints=(
                "Upload one trajectory on its own, or omit id_column if all rows belong to one time series.",
            ),
        )
    begin, end = float(data.times[data.segments[0, 0]]), float(data.times[data.segments[-1, 1] - 1])
    whole = end - begin
    if length is not None and not length < whole:
        raise InvalidWindows(
            f"windows.length is {length:g}, but the time series is only {whole:g} long [time units of the data].",
            hints=("Give a shorter length, or give windows.share instead.",),
        )
    share = share if length is None else length / whole
    if count == 1:
        per_step, per_window, n_pieces = 1, PIECES, max(PIECES, round(PIECES / share))
    else:
        step = (1 - share) / (count - 1)
        per_step = max(1, int(np.ceil(PIECES * step / share)))
        per_window = max(PIECES, round(share * per_step / step))
        n_pieces = per_step * (count - 1) + per_window
    times = np.linspace(begin, end, n_pieces + 1)
    inner = (
        np.searchsorted(data.times[data.segments[0, 0] : data.segments[-1, 1]], times[1:-1])
        + data.segments[0, 0]
    )
    edges = np.concatenate([[data.segments[0, 0]], inner, [data.segments[-1, 1]]]).astype(np.int64)
    return MovingWindows(count, per_window, per_step, edges, times)
