"""Whether there is a stationary distribution, and if not, why not and where."""

from dataclasses import dataclass

import numpy as np

from worker.generator.line.domain.domain_scan import Window
from worker.generator.line.domain.positive_diffusion import zeros_of_diffusion
from worker.generator.process import ScalarProcess
from worker.generator.quantities.boundary import End
from worker.generator.quantities.fixed_points import FixedPoint


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether there is a stationary distribution, and why not.

    usable   the noise is positive all over the domain, so that first-passage times can be
             integrated
    """

    ergodic: bool
    usable: bool
    reason: str | None = None


def noise_verdict(
    model: ScalarProcess, window: Window, observed: tuple[float, float] | None
) -> Verdict:
    """Judge whether a is positive inside the domain.

    Parameters
    ----------
    model : process in one coordinate
    window : scan of the domain
    observed : where the data were [state]
    """
    low, high = model.bounds
    if not np.any(window.diffusion):
        reason = (
            "no stationary distribution with a density: the diffusion a is zero everywhere, the "
            "process is deterministic"
        )
        return Verdict(False, False, reason)
    zeros = [zero for zero in dict.fromkeys(zeros_of_diffusion(model, window)) if zero is not None]
    if not zeros:
        return Verdict(True, True)
    places = " and ".join(f"x = {zero:.6g}" for zero in zeros)
    reason = (
        f"no stationary distribution on the domain ({low:g}, {high:g}): the diffusion a is zero "
        f"or negative from {places} on, "
        "but has to be positive inside the domain; give a domain that ends there, or other terms"
    )
    return Verdict(False, False, reason + _beyond(zeros, observed))


def ends_verdict(
    ends: tuple[End, End], fixed: tuple[FixedPoint, ...], observed: tuple[float, float] | None
) -> Verdict:
    """Judge whether both ends of the domain allow a normalisable density.

    Parameters
    ----------
    ends : lower and upper end, classified
    fixed : fixed points of the drift
    observed : where the data were [state]
    """
    problems: dict[str, list[str]] = {}
    for end in ends:
        if end.problem is not None:
            problems.setdefault(end.problem, []).append(end.place)
    if not problems:
        return Verdict(True, True)
    causes = "; ".join(f"{problem} {' and '.join(places)}" for problem, places in problems.items())
    outermost = [
        fixed[index].at[0]
        for index, end in ((0, ends[0]), (-1, ends[1]))
        if end.problem is not None and fixed and not fixed[index].stable
    ]
    turning = "".join(
        f"; it turns outward at x = {point:.6g}" for point in dict.fromkeys(outermost)
    )
    # The range supports the verdict only where the drift turns outward inside it.
    unseen = outermost if len(outermost) == sum(end.problem is not None for end in ends) else []
    reason = (
        f"no stationary distribution: {causes}, so the density is not "
        f"normalisable{turning}{_beyond(unseen, observed)}"
    )
    return Verdict(False, True, reason)


def _beyond(places: list[float], observed: tuple[float, float] | None) -> str:
    if (
        observed is None
        or not places
        or any(observed[0] <= place <= observed[1] for place in places)
    ):
        return ""
    return (
        f". This lies beyond the observed range [{observed[0]:.6g}, {observed[1]:.6g}]: the data "
        "never reached it, so this "
        "is extrapolation; fewer terms, a domain, or reflecting boundaries give a result for the "
        "observed range"
    )
