"""First-passage times of a process whose drift and diffusion have a period, by starting phase.

The backward equation is solved on cells whose resistances and masses are those of the frozen
process at each time, so that without forcing the times are (G14), and by Radau's implicit method of
order three, which damps what is faster than its steps.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_banded

from worker.generator.line.finite_volumes import Cells, cut_into_cells
from worker.generator.line.landscape import Landscape
from worker.generator.line.panels import psi_of
from worker.generator.numerics.quadrature import NODES
from worker.generator.process import FloatArray
from worker.generator.quantities.outcomes import (
    NOISE_NOT_POSITIVE,
    Outcome,
    Reason,
)

DEPTH = 40.0
"""Fall of the log-density behind the start at which the cells end."""

PANELS_A_RISE, FEWEST_PANELS = 0.5, 6.0
"""Panels for each unit by which ψ changes, or each width of a well, and on either side of the
start: times are right to 1e-4. With half as many they are to 1e-3, in a fifth of the time."""

MOST_PANELS = 400
"""Panels on either side of the start."""

MOST_PHASES = 96
"""Largest number of times of a period at which extent and steepness of the process are read."""

LONGEST = 1e9
"""Periods beyond which a time is lost in rounding; one of so many has six digits."""

RARE = Reason(
    Outcome.UNRESOLVED, f"the passage takes more than {LONGEST:.0e} periods of the forcing"
)
UNRESOLVED = Reason(
    Outcome.UNRESOLVED, "the drift on the way is too steep for times by phase to be resolved"
)

RADAU = np.array([[5 / 12, -1 / 12], [3 / 4, 1 / 4]])
"""Weights of the two stages, at a third and at the end of a step."""


@dataclass(frozen=True, slots=True)
class ForcedLine:
    """Process dX = b(X, t) dt + √a(X, t) dW in one variable, of a period in time.

    b, a       drift and diffusion, states (n,) and times (m,) → (m, n)
    bounds     ends of the domain, where the process is reflected if it comes there [state]
    period     T [time]
    """

    b: Callable[[FloatArray, FloatArray], FloatArray]
    a: Callable[[FloatArray, FloatArray], FloatArray]
    bounds: tuple[float, float]
    period: float


def passage_times_by_phase(
    line: ForcedLine, start: float, to: float, n_steps: int, coarser: float = 1.0
) -> FloatArray | Reason:
    """Compute the mean time of the first passage for starts at each step of a period.

    It is the periodic solution of −∂τ/∂t = b ∂τ/∂x + ½ a ∂²τ/∂x² + 1 with τ = 0 at the target.

    Parameters
    ----------
    line : process
    start, to : states, which differ [state]
    n_steps : steps of a period
    coarser : factor of the panels' length

    Returns
    -------
    Mean times (n_steps,) from t = 0 on [time], or why there are none.
    """
    side = 1.0 if to > start else -1.0
    inside = (line.bounds[0] <= place <= line.bounds[1] for place in (start, to))
    if not (all(inside) and np.isfinite([start, to]).all()):
        return Reason(Outcome.OUTSIDE, "a place lies outside the domain")
    count = min(n_steps, MOST_PHASES)
    scan = np.asarray(line.period / count * np.arange(count))
    breaks = _breaks(line, scan, start, to, coarser)
    if isinstance(breaks, Reason):
        return breaks
    step = line.period / n_steps
    # Backwards in time, from the end of a period.
    times = line.period - step * (np.arange(n_steps)[:, None] + np.array([1 / 3, 1.0]))
    cells = cut_into_cells(_landscape(line, np.sort(breaks), times.ravel()), 2)
    found = []
    for level in (cells, cells.halved()):
        tau = _periodic_times(level, side, step, level.edge_at(start))
        if isinstance(tau, Reason):
            return tau
        found.append(tau)
    # The error of the cells goes with the second power of their length.
    fine, coarse = found
    return np.asarray((4 * fine - coarse) / 3)


def _breaks(
    line: ForcedLine, scan: FloatArray, start: float, to: float, coarser: float
) -> FloatArray | Reason:
    """Return the edges of the panels, from the target to where the process hardly ever goes."""
    side, length = (1.0 if to > start else -1.0), abs(to - start)
    behind = line.bounds[0] if side > 0 else line.bounds[1]
    # Even steps, which grow beyond sixteen lengths of the way.
    growth = np.concatenate([np.ones(1024), 1.03 ** np.arange(1.0, 600)])
    distances = length / 64 * np.cumsum(growth)
    room = abs(start - behind) * (1 - 1e-9)
    if np.isfinite(room):
        distances = np.append(distances[distances < room], room)
    distances = np.append(0.0, distances)
    x = start - side * distances
    with np.errstate(all="ignore"):
        b, a = line.b(x, scan), line.a(x, scan)
        # Drift that is outward most at every state: no process of these drifts goes further.
        outward = 2 * np.max(-side * b / a, axis=0)
        psi = np.append(0.0, np.cumsum(np.diff(distances) * _middles(outward)))
        height = psi - np.log(a).max(axis=0) / 2
        fallen = np.asarray(np.maximum.accumulate(height) - height > DEPTH)
    known = np.all(np.isfinite(b) & np.isfinite(a) & (a > 0), axis=0)
    count = int(np.argmax(fallen)) + 1 if fallen.any() else len(x)
    if not np.all(known[:count]):
        return NOISE_NOT_POSITIVE if np.isfinite(b[:, :count]).all() else UNRESOLVED
    if not fallen.any() and not np.isfinite(room):
        way = "x → −∞" if side > 0 else "x → ∞"
        return Reason(
            Outcome.ESCAPES, f"at some phases of the forcing the drift runs away towards {way}"
        )
    parts = []
    for points in (x[:count][::-1], np.linspace(start, to, 1025)):
        edges = _graded(line, np.asarray(points), scan, coarser) if len(points) > 1 else points
        if isinstance(edges, Reason):
            return edges
        parts.append(edges)
    return np.concatenate([parts[0], parts[1][1:]])


def _graded(
    line: ForcedLine, points: FloatArray, scan: FloatArray, coarser: float
) -> FloatArray | Reason:
    """Return edges between the first and the last point, dense where the drift is steep."""
    with np.errstate(all="ignore"):
        a = line.a(points, scan)
        slope, log_a = 2 * line.b(points, scan) / a, np.log(a)
        width = np.diff(points)
        needed = np.abs(_middles(slope)) + np.abs(np.diff(log_a) / width)
        needed = needed + np.sqrt(np.abs(np.diff(slope) / width))
    if not np.isfinite(needed).all():
        return NOISE_NOT_POSITIVE
    whole = np.abs(points[-1] - points[0])
    density = (PANELS_A_RISE * needed.max(axis=0) + FEWEST_PANELS / whole) / coarser
    count = np.append(0.0, np.cumsum(density * np.abs(width)))
    n = int(min(np.ceil(count[-1]), MOST_PANELS))
    edges = np.interp(np.linspace(0, count[-1], n + 1), count, points)
    edges[[0, -1]] = points[[0, -1]]
    return np.asarray(edges)


def _middles(values: FloatArray) -> FloatArray:
    return np.asarray((values[..., 1:] + values[..., :-1]) / 2)


def _landscape(line: ForcedLine, edges: FloatArray, times: FloatArray) -> Landscape:
    """Return the landscapes of the frozen processes at times (m,) on the same panels."""
    low, high = edges[:-1], edges[1:]
    half, none = (high - low) / 2, np.zeros(len(low))
    nodes = low[:, None] + half[:, None] * (NODES + 1)
    b, a = (f(nodes.ravel(), times).reshape(-1, *nodes.shape) for f in (line.b, line.a))
    psi = np.stack([psi_of(half, slope) for slope in 2 * b / a])
    return Landscape(none, low, high, none, none, psi, np.log(a))


def _periodic_times(cells: Cells, side: float, step: float, start: int) -> FloatArray | Reason:
    """Return the mean times (n_steps,) from an edge at the beginning of each step of a period.

    Parameters
    ----------
    cells : (2 n_steps, n) at the stages of each step, from the last step to the first
    side : +1 where the target is the last edge, −1 where it is the first
    step : length of a step [time]
    start : number of the edge at which the passage starts
    """
    mass, resistance = cells.log_node_mass, cells.log_resistance
    if side < 0:
        mass, resistance, start = mass[:, ::-1], resistance[:, ::-1], mass.shape[1] - 1 - start
    ahead = np.exp(-mass[:, :-1] - resistance)
    back = np.exp(-mass[:, 1:-1] - resistance[:, :-1])
    n = ahead.shape[1]
    if not np.isfinite(ahead).all() or not np.isfinite(back).all():
        return UNRESOLVED
    bands = _bands(ahead, back, step)
    # Columns of the propagator of a period, and what the time spent in it adds.
    state = np.eye(n, n + 1)
    for matrix in bands:
        state = _stepped(matrix, state, step)
    try:
        tau = np.linalg.solve(np.eye(n) - state[:, :n], state[:, n])
    except np.linalg.LinAlgError:
        return RARE
    if not (tau.min() > 0 and tau.max() < LONGEST * step * len(bands)):
        return RARE
    out = np.empty(len(bands))
    state = np.stack([np.zeros(n), tau], axis=1)[:, 1:]
    for number, matrix in enumerate(bands):
        state = _stepped(matrix, state, step)
        out[-1 - number] = state[start, 0]
    return out


def _bands(ahead: FloatArray, back: FloatArray, step: float) -> FloatArray:
    """Return the matrices 1 − h W ⊗ L of all steps, with their stages interleaved, as bands.

    Parameters
    ----------
    ahead, back : (2 n_steps, n) and (2 n_steps, n − 1) rates towards and away from the target
    step : h [time]
    """
    n_steps, n = len(ahead) // 2, ahead.shape[1]
    stay = -ahead
    stay[:, 1:] -= back
    out = np.zeros((n_steps, 7, 2 * n))
    for row in range(2):
        for column in range(2):
            weight = -step * RADAU[row, column]
            place = 3 + row - column
            rates = slice(column, None, 2)
            out[:, place, column::2] = weight * stay[rates] + (row == column)
            # The unknowns of the next edge are two columns further.
            out[:, place - 2, 2 + column :: 2] = weight * ahead[rates, :-1]
            out[:, place + 2, column : 2 * n - 2 : 2] = weight * back[rates]
    return out


def _stepped(matrix: FloatArray, state: FloatArray, step: float) -> FloatArray:
    """Return the state (n, k) a step earlier; its last column gains the time of the step."""
    right = np.repeat(state, 2, axis=0)
    right[0::2, -1] += step / 3
    right[1::2, -1] += step
    return np.asarray(solve_banded((3, 3), matrix, right, check_finite=False)[1::2])
