"""The variables of the state: their names, whether they depend on each other, whether one is an angle that nobody declared."""

from collections.abc import Sequence

import numpy as np

from worker.identification.errors import CollinearVariables, WrappedVariable
from worker.identification.trajectories import CHUNK, Trajectories

NAMES = ("x", "y", "z")


def variable_name(index: int) -> str:
    """x, y, z, x4, x5, …"""
    return NAMES[index] if index < len(NAMES) else f"x{index + 1}"


def check_independent(data: Trajectories) -> None:
    """Raises CollinearVariables where a column does not vary or is a linear combination of the others."""
    d = data.dimension
    if d == 1:
        return
    sample = np.asarray(data.states[:: max(1, len(data.states) // 100_000)])
    centred = sample - sample.mean(axis=0)
    spread = np.sqrt((centred**2).mean(axis=0))
    constant = [variable_name(i) for i in range(d) if not spread[i] > 1e-12 * np.abs(sample[:, i]).max()]
    moving = [i for i in range(d) if variable_name(i) not in constant]
    singular = np.linalg.svd(centred[:, moving] / spread[moving], compute_uv=False) if moving else np.ones(1)
    if constant or singular[-1] < 1e-6 * singular[0]:
        what = f"{', '.join(constant)} does not vary" if constant else "one column is a linear combination of the others"
        raise CollinearVariables(
            f"The {d} state columns are linearly dependent (collinear): {what}. The equations of such variables are singular.",
            hints=("Name the independent columns in layout.state_columns and upload again.",),
        )


def check_unwrapped(data: Trajectories, periods: Sequence[float | None]) -> None:
    """Raises WrappedVariable where a variable without a period jumps between the ends of its range, and never half as far.

    A diffusion that crosses its whole range in one step also crosses half of it in many.
    """
    low, high = np.full(data.dimension, np.inf), np.full(data.dimension, -np.inf)
    for start, stop, _ in data.segments:
        low = np.minimum(low, data.states[start:stop].min(axis=0))
        high = np.maximum(high, data.states[start:stop].max(axis=0))
    whole = high - low
    jumps, halfway = np.zeros(data.dimension), np.zeros(data.dimension)
    for start, stop, _ in data.segments:
        for left in range(int(start), int(stop) - 1, CHUNK):
            size = np.abs(np.diff(data.states[left : min(left + CHUNK + 1, int(stop))], axis=0)) / whole
            jumps += (size > 0.75).sum(axis=0)
            halfway += ((size > 0.4) & (size <= 0.75)).sum(axis=0)
    for i, period in enumerate(periods):
        if period is None and jumps[i] >= 3 and halfway[i] < 0.2 * jumps[i]:
            name, ends = variable_name(i), f"[{low[i]:.5g}, {high[i]:.5g}]"
            declared = f'parameters.periodic {{"{name}": {_likely_period(float(whole[i])):.6g}}}'
            raise WrappedVariable(
                f"Variable {name} jumps {int(jumps[i])} times from one end of its range {ends} to the other: an angle that "
                "wraps, or another periodic coordinate. As steps of a diffusion these jumps have no meaning.",
                hints=(f"Declare its period, e.g. {declared}, or unwrap it before uploading.",),
            )


def _likely_period(span: float) -> float:
    """A usual period that a range of this length fills, else the range."""
    return next((p for p in (360.0, 2 * np.pi, 180.0, np.pi, 24.0, 1.0) if 0.95 * p <= span <= p * 1.001), span)
