"""Restriction of the process to the part of the observed ranges where its noise is positive.

The analysis goes on there where the process hardly leaves it.
"""

from dataclasses import dataclass, replace

import numpy as np

from worker.generator.plane.box.box import CELLS, Box, first_box, lowest_diffusion, state_text
from worker.generator.plane.box.box_search import with_law
from worker.generator.plane.box.existence import negative_share
from worker.generator.plane.box.initial_rectangle import first_rectangle
from worker.generator.process import DiffusionProcess, WithDomain
from worker.generator.quantities.outcomes import Outcome, Reason
from worker.generator.request import AnalysisRequest

MOST = 0.05
"""Probability of the states cut off above which the rest says nothing about the process."""
HELD = 0.5
"""Density at a side, over the highest along that coordinate, above which nothing confines it."""


@dataclass(frozen=True, slots=True, eq=False)
class Narrowed:
    """Process reflected at the observed ranges and kept where its noise is positive.

    process   process with these ends
    box       rectangle, with its distribution on coarse cells
    sentence  description, for a reader, of what was cut off
    """

    process: DiffusionProcess
    box: Box
    sentence: str


def narrowed_to_positive_plane(
    process: DiffusionProcess, request: AnalysisRequest
) -> Narrowed | Reason | None:
    """Restrict the process to the connected part of the observed ranges with positive diffusion.

    It is reflected at the edge. The reason stands for it where nothing holds the process back
    there; None without observed ranges, and where the process would not stay.
    """
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
    pressed = _unconfined_coordinate(box, process)
    if pressed is not None:
        return Reason(
            Outcome.UNCONFINED,
            f"no stationary distribution: nothing holds the process back along {pressed} within "
            "the observed range",
        )
    if not share < MOST:
        return None
    centres = box.grid(CELLS).centres
    negative = lowest_diffusion(box.chart.raw_diffusion(centres)) < -1e-9
    at = ""
    if negative.any():
        first = centres[negative][np.argmin(np.sum(centres[negative] ** 2, axis=1))]
        at = f", for instance at {state_text(box.chart.state(first[None])[0])},"
    sentence = (
        f"the fitted diffusion tensor is not positive in part of the observed ranges or just "
        f"beyond{at} where the process would spend {share:.1%} of its time; the analysed process "
        "is reflected at the boundary of that part and of the observed ranges"
    )
    return Narrowed(inside, with_law(replace(box, chart=replace(box.chart, cut=True))), sentence)


def _unconfined_coordinate(box: Box, process: DiffusionProcess) -> str | None:
    """Return the coordinate along which the density is high at an end of the data only."""
    grid, masses = box.grid(CELLS), box.masses.reshape(CELLS, CELLS)
    for axis, ((low, high), period) in enumerate(zip(process.domain, process.periods, strict=True)):
        density = masses.sum(axis=1 - axis) / grid.axes[axis].widths
        open_sides = [
            side for side, end in ((0, low), (-1, high)) if period is None and not np.isfinite(end)
        ]
        if any(density[side] > HELD * density.max() for side in open_sides):
            return ("x", "y")[axis]
    return None
