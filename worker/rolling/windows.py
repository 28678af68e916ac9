"""Windows of equal length along one time series, made of pieces whose sums are taken once."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from worker.identification.data.trajectories import Trajectories
from worker.identification.errors import DimensionNotSupported, InvalidWindows

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

PIECES = 12
"""Least number of pieces in a window: the blocks whose scatter gives its errors."""


@dataclass(frozen=True, slots=True, eq=False)
class MovingWindows:
    """`count` windows of `per_window` pieces; each begins `per_step` pieces after the one before.

    edges   (n_pieces + 1,) sample numbers at which pieces begin, and the end
    times   (n_pieces + 1,) times at which pieces begin, and the end [time]
    """

    count: int
    per_window: int
    per_step: int
    edges: Integers
    times: Floats

    def pieces(self, window: int) -> slice:
        """Return the pieces of a window."""
        first = window * self.per_step
        return slice(first, first + self.per_window)

    def span(self, window: int) -> tuple[float, float]:
        """Return begin and end of a window [time]."""
        pieces = self.pieces(window)
        return float(self.times[pieces.start]), float(self.times[pieces.stop])

    def disjoint(self) -> range:
        """Return the windows that have no sample in common."""
        return range(0, self.count, -(-self.per_window // self.per_step))


def moving_windows(
    data: Trajectories, count: int, length: float | None, share: float
) -> MovingWindows:
    """Place windows from the first sample to the last.

    Parameters
    ----------
    data : one trajectory
    count : number of windows
    length : their length [time]; None: given by `share`
    share : their length as a share of the time series

    Raises
    ------
    DimensionNotSupported : there are several trajectories
    InvalidWindows : the time series is not longer than `length`, or a window holds less than
        PIECES increments
    """
    trajectories = np.unique(data.segments[:, 2])
    if len(trajectories) > 1:
        raise DimensionNotSupported(
            "Rolling windows need a single time series, and the dataset has "
            f"{len(trajectories)} trajectories.",
            hints=(
                "Upload one trajectory on its own, or set id_column=none if all rows belong to one "
                "time series.",
            ),
        )
    begin, end = float(data.times[data.segments[0, 0]]), float(data.times[data.segments[-1, 1] - 1])
    whole = end - begin
    if length is not None and not length < whole:
        raise InvalidWindows(
            f"windows.length is {length:g}, but the time series is only {whole:g} long [time "
            "units of the data].",
            hints=("Give a shorter length, or give windows.share instead.",),
        )
    share = share if length is None else length / whole
    if share * data.n_increments < PIECES:
        raise InvalidWindows(
            f"A window of {share * whole:g} holds {share * data.n_increments:.2g} increments of "
            f"the time series; at least {PIECES} are required.",
            hints=("Give a larger windows.length or windows.share.",),
        )
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
