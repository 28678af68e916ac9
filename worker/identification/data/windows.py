"""Walk over the windows of several variables, in chunks."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from grammar.terms import variable_name
from worker.identification.data.forcing import NO_FORCING, Forcing
from worker.identification.data.trajectories import (
    Integers,
    Scales,
    Trajectories,
    Windows,
    measure_scales,
    rounded_coordinate,
)

Floats = NDArray[np.float64]
Coordinates = tuple[tuple[float, float], ...]
"""Origin and unit of the internal coordinate of each variable [state]."""

CHUNK = 8_192
"""Samples per chunk, whose working arrays stay near the processor with a hundred columns."""


@dataclass(frozen=True, slots=True, eq=False)
class Space:
    """Internal coordinates of all variables, and of what drives them.

    scales    of each variable, with the same time
    periods   of each variable that is an angle, else None [state]
    inputs    scales of the inputs, which have no equation, and then of the forcing's functions
    forcing   functions of the time that drive the states
    """

    scales: tuple[Scales, ...]
    periods: tuple[float | None, ...]
    inputs: tuple[Scales, ...] = ()
    forcing: Forcing = NO_FORCING

    @property
    def dimension(self) -> int:
        """Number of variables that have an equation, d."""
        return len(self.scales)

    def rows(self, data: Trajectories, chosen: slice) -> Floats:
        """Read samples of the states, the inputs and the forcing; (n, d + m)."""
        states = np.asarray(data.states[chosen], dtype=np.float64)
        if not self.inputs:
            return states
        parts = [states]
        if len(self.inputs) > len(self.forcing.names):
            assert data.inputs is not None, "the scales of inputs come from them"
            parts.append(np.asarray(data.inputs[chosen], dtype=np.float64))
        parts.append(self.forcing.at(np.asarray(data.times[chosen], dtype=np.float64)))
        return np.concatenate(parts, axis=1)

    @property
    def units(self) -> Floats:
        """Units of the variables; (d,) [state]."""
        return np.array([s.unit for s in self.scales])

    @property
    def origins(self) -> Floats:
        """Origins of the variables; (d,) [state]."""
        return np.array([s.origin for s in self.scales])

    @property
    def time(self) -> float:
        """Median sampling interval [time]."""
        return self.scales[0].time

    def at_rest(self, variables: Sequence[int]) -> "Space":
        """Return the space with the origins of these variables at zero.

        With a power of two for a unit such a variable is an internal function to the last bit.
        """
        scales = list(self.scales)
        for i in variables:
            unit = 2.0 ** np.ceil(np.log2(max(map(abs, scales[i].bulk))))
            scales[i] = replace(scales[i], origin=0.0, unit=float(unit))
        return replace(self, scales=tuple(scales))

    def internal(self, states: Floats) -> Floats:
        """Convert states (n, d), or states and inputs (n, d + m), to internal coordinates.

        Those of angles are in [−1, 1].
        """
        scales = (*self.scales, *self.inputs)[: states.shape[1]]
        y = (states - np.array([s.origin for s in scales])) / np.array([s.unit for s in scales])
        for i, period in enumerate(self.periods):
            if period is not None:
                y[:, i] -= 2 * np.round(y[:, i] / 2)
        return np.asarray(y)

    def with_coordinates(self, coordinates: Coordinates) -> "Space":
        """Return the space with other internal coordinates, of the inputs and forcing, too."""
        scales = tuple(
            replace(s, origin=origin, unit=unit)
            for s, (origin, unit) in zip((*self.scales, *self.inputs), coordinates, strict=True)
        )
        d = self.dimension
        return replace(self, scales=scales[:d], inputs=scales[d:])


def common_coordinates(spaces: Sequence[Space]) -> Coordinates:
    """Return internal coordinates in which the bulks of all spaces lie.

    Angles, sines and cosines have coordinates of their own.
    """
    first, waves = spaces[0], len(spaces[0].forcing.waves)
    given = [period is not None for period in first.periods]
    given += [k >= len(first.inputs) - waves for k in range(len(first.inputs))]
    return tuple(
        (scales[0].origin, scales[0].unit)
        if own
        else rounded_coordinate(min(s.bulk[0] for s in scales), max(s.bulk[1] for s in scales))
        for scales, own in zip(
            zip(*((*space.scales, *space.inputs) for space in spaces), strict=True),
            given,
            strict=True,
        )
    )


def measure_space(data: Trajectories, periods: tuple[float | None, ...]) -> Space:
    """Measure the scales of every variable. Raise TooFewSamples, ConstantData."""
    columns = (
        Trajectories(data.states[:, i : i + 1], data.times, data.segments)
        for i in range(data.dimension)
    )
    names = [variable_name(i) if data.dimension > 1 else None for i in range(data.dimension)]
    return Space(
        tuple(map(measure_scales, columns, periods, names)),
        periods,
    )


@dataclass(frozen=True, slots=True, eq=False)
class Stretch:
    """Consecutive samples of one block and the windows that begin among them, in internal units.

    block     number of the block
    first     number of the first sample in the record
    y         (m, d + inputs)     the samples, with inputs and forcing
    points    (n_points, n)       each window's samples, as row numbers of y
    steps     (n_points − 1, n)   Δt between them
    follows   (n,)                whether the window starts one sample after the one before it in
                                  this stretch
    elapsed   (n,)                time since the start of the record of this trajectory
    """

    block: int
    first: int
    y: Floats
    points: Integers
    steps: Floats
    follows: NDArray[np.bool_]
    elapsed: Floats

    @property
    def size(self) -> int:
        """Number of windows."""
        return int(self.points.shape[1])

    def displacements(self, space: Space, lead: int = 0) -> Floats:
        """Compute the displacements from the point after `lead` to each later one; (m, n, d).

        Angles take the shorter way round at every step.
        """
        steps = []
        for a, b in pairwise(self.points[lead:]):
            step = self.y[b, : space.dimension] - self.y[a, : space.dimension]
            for i, period in enumerate(space.periods):
                if period is not None:
                    step[:, i] -= 2 * np.round(step[:, i] / 2)
            steps.append(step)
        return np.cumsum(steps, axis=0)


def stretches(
    data: Trajectories,
    space: Space,
    edges: Integers,
    windows: Windows,
    *,
    only: int = 1,
    run: int = 1,
    every_chunk: int = 1,
) -> Iterator[Stretch]:
    """Walk all windows inside segments, block by block.

    Parameters
    ----------
    data : record
    space : its internal units
    edges : (n_blocks + 1,) samples between which blocks lie, or (n_blocks, 2) first and one past
        last
    windows : windows to walk
    only, run : k and r, to walk only the windows at every k-th sample and the r − 1 after it
    every_chunk : k, to walk only every k-th chunk
    """
    first_of, last_of = data.segments[:, 0], data.segments[:, 1]
    span = (windows.n_points - 1) * windows.stride
    for block, (start, end) in enumerate(pairwise(edges) if edges.ndim == 1 else edges):
        for begin in range(int(start), int(end), every_chunk * CHUNK):
            reach = min(begin + CHUNK, int(end)) + span
            states = space.rows(data, slice(begin, reach))
            times = np.asarray(data.times[begin:reach])
            n = len(states) - span
            if n <= 0:
                continue
            index = np.arange(begin, begin + n)
            segment = np.searchsorted(last_of, index, side="right").clip(max=len(last_of) - 1)
            inside = (index >= first_of[segment]) & (index + span < last_of[segment])
            points = np.arange(n) + windows.stride * np.arange(windows.n_points)[:, None]
            steps = np.diff(times[points], axis=0)
            inside &= (steps <= windows.longest_step).all(axis=0)
            if windows.even:
                inside &= np.ptp(steps, axis=0) <= 0.02 * steps[0]
            follows = np.zeros(n, dtype=np.bool_)
            follows[1:] = inside[1:] & inside[:-1] & (segment[1:] == segment[:-1])
            kept = np.flatnonzero(inside & (index % only < run) if only > run else inside)
            if not kept.size:
                continue
            yield Stretch(
                block=block,
                first=begin,
                y=space.internal(states),
                points=points[:, kept],
                steps=steps[:, kept] / space.time,
                follows=follows[kept] & (np.diff(kept, prepend=-2) == 1),
                elapsed=(times[:n] - data.times[first_of[segment]])[kept] / space.time,
            )
