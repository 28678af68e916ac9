"""Conditions for a stationary distribution in the plane, with reason and place of a failure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from worker.generator.plane.box.box import CELLS, Box, Chart, lowest_diffusion, state_text
from worker.generator.plane.grid import IndexArray, Span
from worker.generator.process import DiffusionProcess, FloatArray
from worker.generator.quantities.outcomes import NO_NOISE, Outcome, Reason
from worker.generator.request import AnalysisRequest

STARTS = 8
"""Starting points on each side of the rectangle, at each distance."""
FAR = 1e8
"""Growth of the distance that counts as escape.

An oscillator that starts far out swings much further before it turns.
"""
INSIDE = 0.8
"""Distance, in half lengths of the rectangle, at which a path has come back."""
STEP = 0.5
"""Longest step, in distances from the middle."""
CURVED = 0.3
"""Change of the drift's change over a step, in lengths, above which a shorter step is taken."""


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
    """Return a state (2,) near the rectangle from which the drift escapes to infinity.

    None where all paths come back.

    Parameters
    ----------
    chart, spans : coordinates and sides of the rectangle
    walls : (2, 2) ends of the coordinates that are not passed, ±inf where open
    distances : distances of the starting points from the middle, in half lengths of the rectangle
    starts : number of starting points on each side, at each distance
    far : growth of the distance that counts as escape
    steps : steps of a path; one that has neither come back nor escaped by then is taken to stay
    """
    own = (chart.process,)
    return escapes(
        chart, own, spans, walls, distances=distances, starts=starts, far=far, steps=steps
    )[0]


def escapes(
    chart: Chart,
    processes: Sequence[DiffusionProcess],
    spans: tuple[Span, Span],
    walls: FloatArray,
    *,
    distances: tuple[float, ...],
    starts: int = STARTS,
    far: float,
    steps: int,
) -> list[FloatArray | None]:
    """Return `escape` for each of several processes in the chart's coordinates.

    Their paths go on together, at little more than the cost of the drifts.

    Parameters
    ----------
    processes : processes
    chart, spans, walls, distances, starts, far, steps : see `escape`
    """
    middle, half = (np.array([f(span) for span in spans]) for f in (_middle, _half))
    open_axis = np.array([not span.circle for span in spans])
    side = np.linspace(-1, 1, starts)
    edge, other = np.ones_like(side), side
    sides = ((edge, other), (-edge, other), (other, edge), (other, -edge))
    square = np.concatenate([np.column_stack(pair) for pair in sides])
    start = np.concatenate(
        [middle + half * np.where(open_axis, distance, 1.0) * square for distance in distances]
    )
    start = np.clip(start, walls[:, 0], walls[:, 1])
    found: list[FloatArray | None] = [None] * len(processes)
    owner = np.repeat(np.arange(len(processes)), len(start))
    start = np.tile(start, (len(processes), 1))
    u, first = start.copy(), _distance(start, middle, half, open_axis)
    live, trust = np.flatnonzero(first > INSIDE), np.ones((len(start), 1))
    with np.errstate(all="ignore"):
        for _ in range(steps):
            if not len(live):
                break
            whose = _Runs.of(owner[live])
            here, b = u[live], whose.drift(chart, processes, u[live])
            away = np.maximum(_distance(here, middle, half, open_axis), 1.0)
            pace = np.max(np.abs(b) / half, axis=1) / away
            step = trust[live] * STEP / np.where(pace > 0, pace, 1.0)[:, None]
            k2 = whose.drift(chart, processes, here + step / 2 * b)
            k3 = whose.drift(chart, processes, here + step / 2 * k2)
            k4 = whose.drift(chart, processes, here + step * k3)
            curve = np.abs(step * (b - k2 - k3 + k4)) / half
            curved = np.max(curve, axis=1, keepdims=True) / away[:, None]
            good = curved < CURVED
            trust[live] = np.where(good, np.minimum(1.5 * trust[live], 1.0), trust[live] / 4)
            ahead = here + step / 6 * (b + 2 * k2 + 2 * k3 + k4)
            u[live] = np.where(good, np.clip(ahead, walls[:, 0], walls[:, 1]), here)
            now = _distance(u[live], middle, half, open_axis)
            for path in live[now > far * first[live]][::-1]:
                # The first of a process's escaping paths is named, whichever paths go with it.
                found[owner[path]] = np.asarray(chart.state(start[path][None])[0])
            gone = np.array([at is not None for at in found])
            live = live[(now > INSIDE) & ~gone[owner[live]]]
    return found


@dataclass(frozen=True, slots=True)
class _Runs:
    """Rows of each process: (process, first row, row after its last)."""

    runs: tuple[tuple[int, int, int], ...]

    @classmethod
    def of(cls, owner: IndexArray) -> "_Runs":
        """Group rows that are in the order of their owners."""
        names, firsts = np.unique(owner, return_index=True)
        ends = [*firsts[1:].tolist(), len(owner)]
        return cls(tuple(zip(names.tolist(), firsts.tolist(), ends, strict=True)))

    def drift(
        self, chart: Chart, processes: Sequence[DiffusionProcess], u: FloatArray
    ) -> FloatArray:
        """Return the drift of each row's process in the chart's coordinates: (n, 2) → (n, 2)."""
        x, b = chart.state(u), np.empty_like(u)
        for process, first, end in self.runs:
            b[first:end] = processes[process].drift(x[first:end])
        return np.asarray(b @ chart.matrix.T)


def _middle(span: Span) -> float:
    return (span.low + span.high) / 2


def _half(span: Span) -> float:
    return (span.high - span.low) / 2


def _distance(
    u: FloatArray, middle: FloatArray, half: FloatArray, open_axis: FloatArray
) -> FloatArray:
    return np.asarray(np.max(np.where(open_axis, np.abs(u - middle) / half, 0.0), axis=1))


NEGATIVE = 1e-3
"""Probability of states without positive diffusion above which there is no answer."""
SINGULAR = 1e-9
"""Size of noise, and of what the drift makes of it, that counts as none."""


def noise_problem(box: Box) -> Reason | None:
    """Name the direction that noise does not reach, directly or by the drift; None if all are.

    Both are tried on a lattice over the box.
    """
    u = box.grid(9).centres
    a, jacobian = box.chart.diffusion(u), box.chart.jacobian(u)
    size = np.max(np.abs(a))
    if not size > 0:
        return NO_NOISE
    turned = jacobian / np.max(np.abs(jacobian), initial=np.finfo(float).tiny)
    # The drift carries noise into the directions of J a Jᵀ.
    reached = a / size + turned @ (a / size) @ np.swapaxes(turned, 1, 2)
    if np.max(lowest_diffusion(reached)) > SINGULAR:
        return None
    still = np.linalg.eigh(reached.mean(axis=0))[1][:, 0] @ box.chart.matrix
    names = [
        f"{weight:+.3g}·{name}"
        for weight, name in zip(still / np.max(np.abs(still)), ("x", "y"), strict=True)
        if abs(weight) > 1e-9
    ]
    return Reason(
        Outcome.DEGENERATE,
        f"no stationary distribution with a density: the noise never reaches the direction "
        f"{' '.join(names)}, along which the motion is deterministic",
    )


@dataclass(frozen=True, slots=True)
class Escape:
    """Escape of the drift to infinity.

    reason  why there is no stationary distribution
    unseen  whether it escapes only from beyond the observed ranges
    """

    reason: Reason
    unseen: bool


def escape_of(box: Box, request: AnalysisRequest, starts: int = STARTS) -> Escape | None:
    """Say how the drift escapes from around the box; None where it does not.

    Parameters
    ----------
    box : rectangle
    request : request, with the observed ranges
    starts : number of starting points on each side, at each distance
    """
    start = escape(box.chart, box.spans, box.walls, starts=starts)
    if start is None:
        return None
    reason = Reason(
        Outcome.ESCAPES,
        f"no stationary distribution: the drift pushes outward, without return, for instance "
        f"from {state_text(start)}, so the density is not normalisable",
    )
    ranges = request.observed_ranges
    if ranges is None or all(
        low <= x <= high for x, (low, high) in zip(start, ranges, strict=True)
    ):
        return Escape(reason, False)
    beyond = (
        f"{reason}. This lies beyond the observed ranges: the data never reached it, so this is "
        "extrapolation"
    )
    return Escape(replace(reason, sentence=beyond), True)


def confinement_problem(box: Box) -> Reason | None:
    """Say towards where the density does not fall off; None where all sides of the box settle."""
    if box.open_towards is None:
        return None
    place = state_text(box.open_towards)
    return Reason(
        Outcome.UNCONFINED,
        f"no stationary distribution: nothing holds the process back towards {place}, so the "
        "density is not normalisable",
    )


def negative_share(box: Box) -> float:
    """Return the probability of states without positive diffusion, its negative part cut off."""
    a = box.chart.raw_diffusion(box.grid(CELLS).centres)
    return float(box.masses[lowest_diffusion(a) < -1e-9].sum())


def negative_problem(box: Box) -> Reason | None:
    """Say where the process would spend time without positive diffusion; None where it does not."""
    share = negative_share(box)
    if box.chart.cut or share < NEGATIVE:
        return None
    centres = box.grid(CELLS).centres
    negative = lowest_diffusion(box.chart.raw_diffusion(centres)) < -1e-9
    at = box.chart.state(centres[negative][[np.argmax(box.masses[negative])]])[0]
    return Reason(
        Outcome.NOT_POSITIVE,
        f"no stationary distribution: the diffusion tensor is not positive at {state_text(at)} and "
        f"elsewhere, where the process would spend {share:.1%} of its time; give a domain "
        "that ends before, or other terms",
    )
