"""The part of the data's rectangle where the noise is positive: the analysis goes on there where the process hardly leaves it."""

from dataclasses import dataclass, replace

import numpy as np

from worker.generator.plane.box.box import (
    CELLS,
    Box,
    first_box,
    words,
)
from worker.generator.plane.box.coarse_distribution import with_law
from worker.generator.plane.box.coordinates import lowest_diffusion
from worker.generator.plane.box.existence import negative_share
from worker.generator.plane.box.initial_rectangle import first_rectangle
from worker.generator.process import DiffusionProcess, WithDomain
from worker.generator.request import AnalysisRequest

MOST = 0.05
"""Share of its time that the process would spend where it is cut off, above which what is left says nothing about it."""
HELD = 0.5
"""Density at a side of the rectangle, over the highest along that coordinate, above which nothing holds the process back."""


@dataclass(frozen=True, slots=True, eq=False)
class Narrowed:
    """The process between reflecting ends at the observed ranges, kept where its noise is positive.

    process   with these ends
    box       where it lives, with its law on coarse cells
    sentence  what was cut off, for a reader
    """

    process: DiffusionProcess
    box: Box
    sentence: str


def narrowed_to_positive_plane(
    process: DiffusionProcess, request: AnalysisRequest
) -> Narrowed | str | None:
    """The process on the connected part of the observed rectangle where its diffusion is positive definite, reflected at the
    edge; the reason where nothing holds the process back there, None without observed ranges and where it would not stay."""
    if request.observed_ranges is None:
        return None
    domain = tuple(
        ends if period is not None else (max(low, ends[0]), min(high, ends[1]))
        for (low, high), ends, period in zip(
            request.observed_ranges, process.domain, process.periods, strict=True
        )
    )
    inside = WithDomain(process, domain)
    box = with_law(first_box(inside, first_rectangle(inside, request.observed_ranges)))
    share = negative_share(box)
    pressed = _pressed(box, process)
    if pressed is not None:
        return f"no stationary distribution: nothing holds the process back along {pressed} within the observed range"
    if not share < MOST:
        return None
    centres = box.grid(CELLS).centres
    negative = lowest_diffusion(box.chart.raw_diffusion(centres)) < -1e-9
    at = ""
    if negative.any():
        first = centres[negative][np.argmin(np.sum(centres[negative] ** 2, axis=1))]
        at = f", for instance at {words(box.chart.state(first[None])[0])},"
    sentence = (
        f"the fitted diffusion tensor is not positive in part of the observed ranges or just beyond{at} where the process would "
        f"spend {share:.1%} of its time; the analysed process is reflected at the boundary of that part and of the observed "
        "ranges"
    )
    return Narrowed(inside, with_law(replace(box, chart=replace(box.chart, cut=True))), sentence)


def _pressed(box: Box, process: DiffusionProcess) -> str | None:
    """The coordinate along which the law lies against an end of the data that is none of the domain."""
    grid, masses = box.grid(CELLS), box.masses.reshape(CELLS, CELLS)
    for axis, ((low, high), period) in enumerate(zip(process.domain, process.periods, strict=True)):
        density = masses.sum(axis=1 - axis) / grid.axes[axis].widths
        open_sides = [
            side for side, end in ((0, low), (-1, high)) if period is None and not np.isfinite(end)
        ]
        if any(density[side] > HELD * density.max() for side in open_sides):
            return ("x", "y")[axis]
    return None
