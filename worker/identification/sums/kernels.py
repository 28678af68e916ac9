"""Gaussian test functions K_j on a grid of centres, which weight increments by the state before."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from worker.identification.data.trajectories import Scales

Floats = NDArray[np.float64]

BANDWIDTH_IN_SPACINGS = 2.2
"""Bandwidth of the paper: 0.22 on 50 centres over [−2.5, 2.5]."""


@dataclass(frozen=True, slots=True, eq=False)
class Kernels:
    """Test functions K_j(y) = exp(−(y − c_j)² / 2h²), equation (M2), in the internal coordinate.

    centres    (n_kernels,) centres c_j
    bandwidth  h
    circle     circumference, where the coordinate is periodic (2 in internal units), else None
    """

    centres: Floats
    bandwidth: float
    circle: float | None = None

    def at(self, y: Floats) -> Floats:
        """Evaluate the kernels, (n,) → (n_kernels, n).

        On a circle the distance is the shorter way round, with its neighbours' images added.
        """
        distance = y[None, :] - self.centres[:, None]
        if self.circle is None:
            return np.exp(-0.5 * (distance / self.bandwidth) ** 2)
        distance = distance - self.circle * np.round(distance / self.circle)
        images = [distance + shift * self.circle for shift in (-1, 0, 1)]
        return np.asarray(sum(np.exp(-0.5 * (d / self.bandwidth) ** 2) for d in images))


DEFAULT_COUNT = 50


def make_kernels(
    scales: Scales,
    *,
    count: int = DEFAULT_COUNT,
    bandwidth: float | None = None,
    centre_range: tuple[float, float] | None = None,
    period: float | None = None,
) -> Kernels:
    """Make equally spaced kernels over a range, by default the bulk of the samples.

    Parameters
    ----------
    scales : internal units
    count : number of kernels
    bandwidth : h [state]; by default 2.2 spacings
    centre_range : first and last centre [state]
    period : period of the state, or None [state]
    """
    if period is not None:
        centres = -1 + 2 * np.arange(count) / count
        spacing = 2 / count
    else:
        low, high = scales.bulk if centre_range is None else centre_range
        centres = (np.linspace(low, high, count) - scales.origin) / scales.unit
        spacing = float(centres[1] - centres[0])
    width = BANDWIDTH_IN_SPACINGS * spacing if bandwidth is None else bandwidth / scales.unit
    return Kernels(centres, float(width), None if period is None else 2.0)
