"""Whether there is a stationary law in the plane, and if not, why not and where."""

from dataclasses import dataclass

import numpy as np

from worker.generator.plane.box.box import CELLS, Box, words
from worker.generator.plane.box.coordinates import lowest_diffusion
from worker.generator.plane.box.escape import STARTS, escape
from worker.generator.request import AnalysisRequest

NEGATIVE = 1e-3
"""Share of the law in places where the model's diffusion is not positive above which there is no answer."""
SINGULAR = 1e-9
"""Size of noise, and of what the drift makes of it, that counts as none."""


def noise_problem(box: Box) -> str | None:
    """Whether noise reaches every direction: directly, or carried by the drift, tried on a lattice over the box."""
    u = box.grid(9).centres
    a, jacobian = box.chart.diffusion(u), box.chart.jacobian(u)
    size = np.max(np.abs(a))
    if not size > 0:
        return "no stationary distribution with a density: the diffusion is zero everywhere, the process is deterministic"
    turned = jacobian / np.max(np.abs(jacobian), initial=np.finfo(float).tiny)
    # The drift carries noise into other directions: those of J a Jᵀ.
    reached = a / size + turned @ (a / size) @ np.swapaxes(turned, 1, 2)
    if np.max(lowest_diffusion(reached)) > SINGULAR:
        return None
    still = np.linalg.eigh(reached.mean(axis=0))[1][:, 0] @ box.chart.matrix
    names = [
        f"{weight:+.3g}·{name}"
        for weight, name in zip(still / np.max(np.abs(still)), ("x", "y"), strict=True)
        if abs(weight) > 1e-9
    ]
    return (
        f"no stationary distribution with a density: the noise never reaches the direction {' '.join(names)}, along which the "
        "motion is deterministic"
    )


@dataclass(frozen=True, slots=True)
class Escape:
    """A drift that runs off to infinity.

    reason  why there is no stationary law
    unseen  it does so only from beyond the observed ranges
    """

    reason: str
    unseen: bool


def escape_of(box: Box, request: AnalysisRequest, starts: int = STARTS) -> Escape | None:
    """Whether the drift escapes from around the box, tried from `starts` points on each side at each distance."""
    start = escape(box.chart, box.spans, box.walls, starts=starts)
    if start is None:
        return None
    reason = (
        f"no stationary distribution: the drift pushes outward, without return, for instance from {words(start)}, so the "
        "density is not normalisable"
    )
    ranges = request.observed_ranges
    if ranges is None or all(
        low <= x <= high for x, (low, high) in zip(start, ranges, strict=True)
    ):
        return Escape(reason, False)
    return Escape(
        f"{reason}. This lies beyond the observed ranges: the data never reached it, so this is extrapolation",
        True,
    )


def hold_problem(box: Box) -> str | None:
    """Whether a side of the box moves out for ever."""
    if box.open_towards is None:
        return None
    place = words(box.open_towards)
    return f"no stationary distribution: nothing holds the process back towards {place}, so the density is not normalisable"


def negative_share(box: Box) -> float:
    """Share of its time that the process would spend where the model's diffusion is not positive, its negative part cut off."""
    return float(
        box.masses[lowest_diffusion(box.chart.raw_diffusion(box.grid(CELLS).centres)) < -1e-9].sum()
    )


def negative_problem(box: Box) -> str | None:
    """Whether the process would spend time where the model's diffusion is not positive."""
    share = negative_share(box)
    if box.chart.cut or share < NEGATIVE:
        return None
    centres = box.grid(CELLS).centres
    negative = lowest_diffusion(box.chart.raw_diffusion(centres)) < -1e-9
    at = box.chart.state(centres[negative][[np.argmax(box.masses[negative])]])[0]
    return (
        f"no stationary distribution: the diffusion tensor is not positive at {words(at)} and elsewhere, where the process "
        f"would spend {share:.1%} of its time; give a domain that ends before, or other terms"
    )
