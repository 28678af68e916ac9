"""Phase space of a record of positions: scales of the velocities, and the library of forces.

Positions are x, velocities v; in several coordinates x, y, … and vx, vy, …. Internal positions ξ
are the states over their units, internal time is in sampling intervals, and internal velocities η
are scaled to order one beside dξ/dτ.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from grammar.terms import names_in_phase_space, velocity_name
from worker.identification.data.library import Library, make_library
from worker.identification.data.trajectories import Scales, Trajectories, measure_scales
from worker.identification.data.windows import Space

Floats = NDArray[np.float64]

STRETCHES, LONGEST_STRETCH = 200, 1000
"""Stretches of the record whose secants give the scales of the velocities, and samples of each."""


@dataclass(frozen=True, slots=True, eq=False)
class PhaseSpace:
    """Positions and velocities of d coordinates in internal units.

    positions    scales of the positions
    velocities   scales of the velocities, with origin zero [state/time]
    """

    positions: Space
    velocities: tuple[Scales, ...]

    @property
    def dimension(self) -> int:
        """Number of coordinates, d."""
        return self.positions.dimension

    @property
    def names(self) -> tuple[str, ...]:
        """Names of positions and velocities; (2d,)."""
        return names_in_phase_space(self.dimension)

    @property
    def velocity_units(self) -> Floats:
        """Unit of each velocity in internal positions per sampling interval; (d,)."""
        return (
            np.array([s.unit for s in self.velocities]) * self.positions.time / self.positions.units
        )

    @property
    def to_force(self) -> Floats:
        """Factor from internal forces d²ξ/dτ² to the data's units; (d,) [state/time²]."""
        return self.positions.units / self.positions.time**2

    @property
    def to_diffusion(self) -> Floats:
        """Factor from internal diffusions of the velocities; (d, d) [state²/time³]."""
        units = self.positions.units
        return np.outer(units, units) / self.positions.time**3

    @property
    def state(self) -> Space:
        """Scales of positions and velocities together; 2d variables."""
        return Space(
            (*self.positions.scales, *self.velocities),
            (*self.positions.periods, *(None,) * self.dimension),
        )


def measure_phase_space(data: Trajectories, positions: Space) -> PhaseSpace:
    """Measure the velocities by secants over two sampling intervals, in stretches of the record.

    Measurement noise makes the scales too large by its share of the secants, which harms nothing.
    """
    velocities = _secants(data, positions)
    scales = []
    for i in range(data.dimension):
        column = replace(velocities, states=velocities.states[:, i : i + 1])
        found = measure_scales(column, None, velocity_name(i, data.dimension))
        # Powers of a velocity are integrated apart from each other, so it is not shifted. A power
        # of two keeps exact changes of basis short.
        reach = max(map(abs, found.bulk))
        unit = 2.0 ** np.ceil(np.log2(reach))
        scales.append(replace(found, origin=0.0, unit=float(unit), time=positions.time))
    return PhaseSpace(positions, tuple(scales))


def force_library(
    space: PhaseSpace,
    polynomial_degree: int,
    fourier_harmonics: int = 0,
    extra_terms: tuple[str, ...] = (),
) -> Library:
    """Make the library of forces: terms in positions and velocities.

    Parameters
    ----------
    space : scales
    polynomial_degree : highest total degree of the monomials
    fourier_harmonics : highest harmonic of an angle
    extra_terms : texts of further terms

    Raises
    ------
    UnknownTerm, InvalidLibrary : a term cannot be parsed or used
    """
    return make_library(
        space.state.scales,
        polynomial_degree=polynomial_degree,
        fourier_harmonics=fourier_harmonics,
        extra_terms=extra_terms,
        periods=space.state.periods,
        variables=space.names,
    )


def _secants(data: Trajectories, space: Space) -> Trajectories:
    """Compute secants over two steps in stretches of the record [state/time]."""
    rates, times, segments, size = [], [], [], 0
    total = int((data.segments[:, 1] - data.segments[:, 0]).sum())
    every = max(1, total // (STRETCHES * LONGEST_STRETCH))
    for start, stop, trajectory in data.segments.tolist():
        for first in range(start, stop, LONGEST_STRETCH * every):
            last = min(first + LONGEST_STRETCH, stop)
            if last - first < 4:
                continue
            y = unwrapped(np.asarray(data.states[first:last], dtype=np.float64), space.periods)
            t = np.asarray(data.times[first:last], dtype=np.float64)
            rates.append((y[2:] - y[:-2]) / (t[2:] - t[:-2])[:, None])
            times.append(t[1:-1])
            segments.append((size, size + len(t) - 2, trajectory))
            size += len(t) - 2
    return Trajectories(
        np.concatenate(rates) if rates else np.zeros((0, data.dimension)),
        np.concatenate(times) if times else np.zeros(0),
        np.array(segments, dtype=np.int64).reshape(-1, 3),
    )


def unwrapped(states: Floats, periods: tuple[float | None, ...]) -> Floats:
    """Follow angles round the circle, the shorter way at every step; (n, d) [state]."""
    out = states
    for i, period in enumerate(periods):
        if period is not None:
            out = out.copy() if out is states else out
            out[:, i] = np.unwrap(out[:, i], period=period)
    return out
