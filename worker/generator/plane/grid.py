"""Grids of cells on a rectangle.

Either axis is stretched smoothly, so that cells are small where the density is, or is a circle.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from worker.generator.process import FloatArray, read_only

IndexArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Axis:
    """Cells along one coordinate.

    edges   (n + 1,) increasing; on a circle the last is the first, one turn on
    circle  whether the last cell is next to the first
    """

    edges: FloatArray
    circle: bool

    @property
    def count(self) -> int:
        """Number of cells."""
        return len(self.edges) - 1

    @cached_property
    def centres(self) -> FloatArray:
        """Centres of the cells (n,)."""
        return read_only((self.edges[1:] + self.edges[:-1]) / 2)

    @cached_property
    def widths(self) -> FloatArray:
        """Widths of the cells (n,)."""
        return read_only(np.diff(self.edges))

    @property
    def faces(self) -> FloatArray:
        """Edges that a flux can cross: (n − 1,), or (n,) on a circle; face f follows cell f."""
        return self.edges[1:] if self.circle else self.edges[1:-1]

    @property
    def gaps(self) -> FloatArray:
        """Distance between the centres on the two sides of each face."""
        between = np.diff(self.centres)
        return (
            np.append(between, (self.widths[-1] + self.widths[0]) / 2) if self.circle else between
        )

    def neighbour(self, step: int) -> tuple[IndexArray, NDArray[np.bool_]]:
        """Return the cell `step` cells after the one before each face, and whether there is one."""
        index = np.arange(len(self.faces)) + step
        if self.circle:
            return index % self.count, np.full(len(index), True)
        return np.clip(index, 0, self.count - 1), (index >= 0) & (index < self.count)

    @cached_property
    def parabola_shares(self) -> tuple[FloatArray, FloatArray]:
        """Weights of three cells in the density at each face, (faces, 3), twice.

        Two of the three cells lie before the face for the first, and after it for the second.
        """
        return read_only(self._shares(-1)), read_only(self._shares(0))

    def _shares(self, first: int) -> FloatArray:
        """Return the weights of the three cells from step `first` on."""
        width = np.stack([self.widths[self.neighbour(first + k)[0]] for k in range(3)], axis=1)
        # The primitive of the density is a cubic through the four edges; the density is its slope
        # at the face.
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
    """Extent of an axis, before it is cut into cells.

    low, high     ends
    middle, core  centre and half width of the part where cells are small
    circle        whether low and high are the same point
    """

    low: float
    high: float
    middle: float
    core: float
    circle: bool = False

    def cut(self, count: int) -> Axis:
        """Cut the axis into `count` cells: equal steps of s in u = middle + core · sinh(s)."""
        if self.circle:
            return Axis(read_only(np.linspace(self.low, self.high, count + 1)), True)
        ends = np.arcsinh((np.array([self.low, self.high]) - self.middle) / self.core)
        edges = self.middle + self.core * np.sinh(np.linspace(ends[0], ends[1], count + 1))
        edges[0], edges[-1] = self.low, self.high
        return Axis(read_only(edges), False)


@dataclass(frozen=True, eq=False)
class Grid:
    """Cells of a rectangle; cell (i, j) has number i · n₁ + j."""

    axes: tuple[Axis, Axis]

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of cells along both axes (n₀, n₁)."""
        return self.axes[0].count, self.axes[1].count

    @cached_property
    def volumes(self) -> FloatArray:
        """Areas of the cells (n₀, n₁)."""
        return read_only(np.outer(self.axes[0].widths, self.axes[1].widths))

    @cached_property
    def centres(self) -> FloatArray:
        """Centres of the cells (n₀ · n₁, 2)."""
        return read_only(points(self.axes[0].centres, self.axes[1].centres))

    def faces(self, axis: int) -> FloatArray:
        """Return the centres (n, 2) of the faces across `axis`, in order (faces, other cells)."""
        own, other = self.axes[axis].faces, self.axes[1 - axis].centres
        return points(own, other)[:, :: 1 if axis == 0 else -1]


def points(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return all pairs (first, second), the second running fastest: (n · m, 2)."""
    return np.column_stack([np.repeat(first, len(second)), np.tile(second, len(first))])
