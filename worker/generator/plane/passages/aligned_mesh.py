"""Axes whose cells' edges fall on given lines, on every level of refinement."""

from dataclasses import dataclass

import numpy as np
from scipy.interpolate import PchipInterpolator

from worker.generator.plane.grid import Axis, Span
from worker.generator.process import FloatArray, read_only

BASE = 16
"""Steps of an axis between which lines may stand; all levels are multiples of it."""
SAME = 1e-6
"""Distance, in lengths of the axis, below which a line counts as its end."""


@dataclass(frozen=True, slots=True)
class AlignedSpan:
    """Axis with lines to which the edges of its cells are fitted.

    span   extent
    knots  numbers of the edges, of BASE, that stand on lines or ends, increasing
    steps  their positions, in 0 … 1 along the span's own even steps
    lines  their positions in the span's coordinate
    """

    span: Span
    knots: FloatArray
    steps: FloatArray
    lines: FloatArray

    def cut(self, count: int) -> Axis:
        """Cut the axis into `count` cells, a multiple of BASE, evenly graded between the lines."""
        warp = PchipInterpolator(self.knots / BASE, self.steps)
        steps = warp(np.arange(count + 1) / count)
        edges = _placed(self.span, steps)
        edges[np.round(self.knots * count / BASE).astype(int)] = self.lines
        return Axis(read_only(edges), self.span.circle)


def aligned(span: Span, lines: list[float]) -> AlignedSpan | None:
    """Align the span with the lines inside it; None where there are more than half of BASE."""
    length = span.high - span.low
    inside = sorted(
        {line for line in lines if SAME * length < line - span.low < (1 - SAME) * length}
    )
    apart = [line for k, line in enumerate(inside) if not k or line - inside[k - 1] > SAME * length]
    if len(apart) > BASE // 2:
        return None
    steps = _steps(span, np.array(apart))
    knots = np.round(steps * BASE).astype(int)
    # No knot stands before its left neighbour, nor behind its right neighbour.
    for k in range(len(knots)):
        knots[k] = max(knots[k], (knots[k - 1] if k else 0) + 1)
    for k in reversed(range(len(knots))):
        knots[k] = min(knots[k], (knots[k + 1] if k + 1 < len(knots) else BASE) - 1)
    return AlignedSpan(
        span,
        read_only(np.array([0, *knots, BASE], dtype=float)),
        read_only(np.array([0.0, *steps, 1.0])),
        read_only(np.array([span.low, *apart, span.high])),
    )


def _steps(span: Span, lines: FloatArray) -> FloatArray:
    if span.circle:
        return np.asarray((lines - span.low) / (span.high - span.low))
    first, last = np.arcsinh((np.array([span.low, span.high]) - span.middle) / span.core)
    return np.asarray((np.arcsinh((lines - span.middle) / span.core) - first) / (last - first))


def _placed(span: Span, steps: FloatArray) -> FloatArray:
    if span.circle:
        return np.asarray(span.low + steps * (span.high - span.low))
    first, last = np.arcsinh((np.array([span.low, span.high]) - span.middle) / span.core)
    edges = span.middle + span.core * np.sinh(first + steps * (last - first))
    edges[0], edges[-1] = span.low, span.high
    return np.asarray(edges)
