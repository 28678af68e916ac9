"""Domain of passages along the coordinates of the state, from the stationary distribution."""

import numpy as np

from worker.generator.plane.grid import Span
from worker.generator.plane.grid_refinement import Solution
from worker.generator.plane.passages.passage_mesh import PassageDomain
from worker.generator.process import DiffusionProcess, FloatArray

LOW = 1e-8
"""Density, over its peak, at which the domain ends."""
MARGIN = 0.05
"""Part of the length in use that is added on either side."""
CORE = 2.0
"""Half width of the finely cut part of an axis, in standard deviations."""
REACH = 6.0
"""Standard deviations of a Gaussian distribution that the domain reaches from the mean."""


def passage_domain(solution: Solution) -> PassageDomain:
    """Return the rectangle of states around the distribution on the finest cells."""
    level, chart = solution.finest, solution.box.chart
    process = chart.process
    states, density = chart.state(level.grid.centres), level.density.ravel()
    masses = np.maximum(density * level.grid.volumes.ravel(), 0.0)
    masses = masses / masses.sum()
    mean = masses @ states
    deviation = np.sqrt(masses @ (states - mean) ** 2)
    used = states[density >= LOW * density.max()]
    spans = []
    for axis, ((low, high), period) in enumerate(zip(process.domain, process.periods, strict=True)):
        if period is not None:
            first = float(
                chart.state(np.array([[span.low for span in solution.box.spans]]))[0, axis]
            )
            spans.append(Span(first, first + period, first, 1.0, circle=True))
            continue
        first, last = float(used[:, axis].min()), float(used[:, axis].max())
        margin = MARGIN * (last - first)
        # A wall nearer than the margin ends the domain: the outermost centres lie half a cell
        # before it.
        spans.append(
            Span(
                max(first - margin, low),
                min(last + margin, high),
                float(mean[axis]),
                CORE * float(deviation[axis]),
            )
        )
    return PassageDomain(process, (spans[0], spans[1]), states[int(np.argmax(density))], chart.cut)


def gaussian_passage_domain(
    process: DiffusionProcess, mean: FloatArray, covariance: FloatArray
) -> PassageDomain:
    """Return the rectangle of states around a Gaussian distribution.

    Parameters
    ----------
    process : process
    mean, covariance : moments of the distribution, (2,) [state] and (2, 2) [state²]
    """
    deviation = np.sqrt(np.diag(covariance))
    spans = [
        Span(float(m - REACH * s), float(m + REACH * s), float(m), CORE * float(s))
        for m, s in zip(mean, deviation, strict=True)
    ]
    return PassageDomain(process, (spans[0], spans[1]), mean)
