"""Rectangles of cells: two axes, each stretched smoothly so that cells are small where the density is, or closed to a circle."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from worker.generator.process import FloatArray, read_only

IndexArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Axis:
    """Cells along one coordinate.

    edges   (n + 1,) increasing; of a circle the last is the first, one turn on
    circle  the last cell is next to the first
    """

    edges: FloatArray
    circle: bool

    @property
    def count(self) -> int:
        """Number of cells."""
        return len(self.edges) - 1

    @cached_property
    def centres(self) -> FloatArray:
        """(n,)"""
        return read_only((self.edges[1:] + self.edges[:-1]) / 2)

    @cached_property
    def widths(self) -> FloatArray:
        """(n,)"""
        return read_only(np.diff(self.edges))

    @property
    def faces(self) -> FloatArray:
        """The edges through which something can flow: (n − 1,), or (n,) on a circle, face f following cell f."""
        return self.edges[1:] if self.circle else self.edges[1:-1]

    @property
    def gaps(self) -> FloatArray:
        """Distance between the centres on the two sides of each face."""
        between = np.diff(self.centres)
        return (
            np.append(between, (self.widths[-1] + self.widths[0]) / 2) if self.circle else between
        )

    def neighbour(self, step: int) -> tuple[IndexArray, NDArray[np.bool_]]:
        """For each face, the cell `step` cells after the cell before it, and whether there is one."""
        index = np.arange(len(self.faces)) + step
        if self.circle:
            return index % self.count, np.full(len(index), True)
        return np.clip(index, 0, self.count - 1), (index >= 0) & (index < self.count)

    @cached_property
    def parabola_shares(self) -> tuple[FloatArray, FloatArray]:
        """(faces, 3) twice: the density at each face as a combination of the means of three cells, two of them before it, and of
        three cells, two of them after it."""
        return read_only(self._shares(-1)), read_only(self._shares(0))

    def _shares(self, first: int) -> FloatArray:
        """Of the three cells from step `first` on."""
        width = np.stack([self.widths[self.neighbour(first + k)[0]] for k in range(3)], axis=1)
        # The primitive of the density is a cubic through the four edges; its slope at the face.
        nodes = np.concatenate([np.zeros((len(width), 1)), np.cumsum(width, axis=1)], axis=1)
        at = nodes[:, -first + 1]
        slopes = np.zeros((len(width), 4))
        for m in range(4):
            others = [k for k in range(4) if k != m]
            scale = np.prod([nodes[:, m] - nodes[:, k] for k in others], axis=0)
            slopes[:, m] = (
                sum(
                    np.prod([at - nodes[:, k] for k in others if k != skipped], axis=0)
                    for skipped in others
                )
                / scale
            )
        return np.asarray(
            width * np.stack([slopes[:, k + 1 :].sum(axis=1) for k in range(3)], axis=1)
        )


@dataclass(frozen=True, slots=True)
class Span:
    """Where an axis runs, before it is cut into cells.

    low, high     its ends
    middle, core  centre and half width of the part where cells are small
    circle        low and high are the same point
    """

    low: float
    high: float
    middle: float
    core: float
    circle: bool = False

    def cut(self, count: int) -> Axis:
        """The axis in `count` cells: equal steps of s in u = middle + core · sinh(s)."""
        if self.circle:
            return Axis(read_only(np.linspace(self.low, self.high, count + 1)), True)
        ends = np.arcsinh((np.array([self.low, self.high]) - self.middle) / self.core)
        edges = self.middle + self.core * np.sinh(np.linspace(ends[0], ends[1], count + 1))
        edges[0], edges[-1] = self.low, self.high
        return Axis(read_only(edges), False)


@dataclass(frozen=True, eq=False)
class Grid:
    """The cells of a rectangle; cell (i, j) has number i · n₁ + j."""

    axes: tuple[Axis, Axis]

    @property
    def shape(self) -> tuple[int, int]:
        """(n₀, n₁)"""
        return self.axes[0].count, self.axes[1].count

    @cached_property
    def volumes(self) -> FloatArray:
        """(n₀, n₁) area of each cell."""
        return read_only(np.outer(self.axes[0].widths, self.axes[1].widths))

    @cached_property
    def centres(self) -> FloatArray:
        """(n₀ · n₁, 2)"""
        return read_only(points(self.axes[0].centres, self.axes[1].centres))

    def faces(self, axis: int) -> FloatArray:
        """Centres of the faces across `axis`, in the order of an array (faces of the axis, cells of the other), (n, 2)."""
        own, other = self.axes[axis].faces, self.axes[1 - axis].centres
        return points(own, other)[:, :: 1 if axis == 0 else -1]


def points(first: FloatArray, second: FloatArray) -> FloatArray:
    """All pairs (first, second), the second running fastest: (n · m, 2)."""
    return np.column_stack([np.repeat(first, len(second)), np.tile(second, len(first))])
