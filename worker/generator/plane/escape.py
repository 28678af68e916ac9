"""Whether the drift alone carries the process away for ever from outside the rectangle."""

import numpy as np

from worker.generator.plane.chart import Chart
from worker.generator.plane.grid import Span
from worker.generator.process import FloatArray

STARTS = 8
"""Starting points on each side of the rectangle, at each distance."""
FAR = 1e8
"""Growth of the distance that counts as escape. An oscillator that starts far out swings much further before it turns."""
INSIDE = 0.8
"""Distance, in half lengths of the rectangle, at which a path has come back."""
STEP = 0.5
"""Longest step, in distances from the middle."""
CURVED = 0.3
"""Change of the drift's change over a step, in lengths, above which the step is taken again, shorter."""


def escape(
    chart: Chart,
    spans: tuple[Span, Span],
    walls: FloatArray,
    *,
    distances: tuple[float, ...] = (1.0, 4.0, 16.0, 256.0),
    starts: int = STARTS,
    far: float = FAR,
    steps: int = 250,
) -> FloatArray | None:
    """A state (2,) near the rectangle from which the drift runs off to infinity; None where every one tried comes back.

    walls      (2, 2) ends of the coordinates that are not passed, ±inf where open
    distances  of the starting points from the middle, in half lengths of the rectangle
    starts     number of them on each side, at each distance
    far        growth of the distance that counts as escape
    steps      length of a path; one that has neither come back nor escaped after that is taken to stay
    """
    middle, half = (np.array([f(span) for span in spans]) for f in (_middle, _half))
    open_axis = np.array([not span.circle for span in spans])
    side = np.linspace(-1, 1, starts)
    edge, other = np.ones_like(side), side
    square = np.concatenate([np.column_stack(pair) for pair in ((edge, other), (-edge, other), (other, edge), (other, -edge))])
    start = np.concatenate([middle + half * np.where(open_axis, distance, 1.0) * square for distance in distances])
    start = np.clip(start, walls[:, 0], walls[:, 1])
    u, first = start.copy(), _distance(start, middle, half, open_axis)
    live, trust = np.flatnonzero(first > INSIDE), np.ones((len(start), 1))
    with np.errstate(all="ignore"):
        for _ in range(steps):
            here, b = u[live], chart.drift(u[live])
            away = np.maximum(_distance(here, middle, half, open_axis), 1.0)
            pace = np.max(np.abs(b) / half, axis=1) / away
            step = trust[live] * STEP / np.where(pace > 0, pace, 1.0)[:, None]
            k2 = chart.drift(here + step / 2 * b)
            k3 = chart.drift(here + step / 2 * k2)
            k4 = chart.drift(here + step * k3)
            curved = np.max(np.abs(step * (b - k2 - k3 + k4)) / half, axis=1, keepdims=True) / away[:, None]
            good = curved < CURVED
            trust[live] = np.where(good, np.minimum(1.5 * trust[live], 1.0), trust[live] / 4)
            u[live] = np.where(good, np.clip(here + step / 6 * (b + 2 * k2 + 2 * k3 + k4), walls[:, 0], walls[:, 1]), here)
            now = _distance(u[live], middle, half, open_axis)
            gone = now > far * first[live]
            if gone.any():
                return np.asarray(chart.state(start[live[gone]][:1])[0])
            live = live[now > INSIDE]
            if not len(live):
                return None
    return None


def _middle(span: Span) -> float:
    return (span.low + span.high) / 2


def _half(span: Span) -> float:
    return (span.high - span.low) / 2


def _distance(u: FloatArray, middle: FloatArray, half: FloatArray, open_axis: FloatArray) -> FloatArray:
    return np.asarray(np.max(np.where(open_axis, np.abs(u - middle) / half, 0.0), axis=1))
