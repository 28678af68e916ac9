"""The report on a circle on which the noise vanishes somewhere."""

from dataclasses import replace

import numpy as np

from worker.generator.line.domain.domain_scan import choose_window
from worker.generator.line.domain.positive_diffusion import TOUCHING, zeros_of_diffusion
from worker.generator.line.extrapolation import extrapolated_beyond
from worker.generator.line.local_relaxation import local_relaxation
from worker.generator.process import ScalarProcess, values
from worker.generator.quantities.committor import Committor
from worker.generator.quantities.exit import Exit
from worker.generator.quantities.fixed_point import FixedPoint
from worker.generator.quantities.report import GeneratorReport
from worker.generator.request import AnalysisRequest

NO_NOISE = (
    "the diffusion is not positive everywhere on the circle, so these quantities are undefined; "
    "give other terms"
)
DETERMINISTIC = (
    "no stationary distribution with a density: the diffusion a is zero everywhere, the process "
    "is deterministic"
)


def circle_without_noise(
    model: ScalarProcess, low: float, fixed: tuple[FixedPoint, ...], request: AnalysisRequest
) -> GeneratorReport | None:
    """Return the report where the noise is zero or negative somewhere; None where it is positive.

    Parameters
    ----------
    model : process on a circle
    low : where the turn starts [state]
    fixed : fixed points of the drift
    request : what is asked for
    """
    assert model.period is not None
    line = replace(model, bounds=(low, low + model.period), period=None)
    window = choose_window(line, None)
    zeros = [zero for zero in dict.fromkeys(zeros_of_diffusion(line, window)) if zero is not None]
    # The place where the turn is cut is no end: the noise has to be positive there too.
    at_cut, largest = (
        float(values(model.a, np.array([low]))[0]),
        float(np.max(np.abs(window.diffusion))),
    )
    if not zeros and not at_cut > TOUCHING * largest:
        zeros = [low]
    if not zeros:
        return None
    positive = bool(np.any(window.diffusion > 0))
    return GeneratorReport(
        ergodic=False,
        reason=_reason(zeros) if largest > 0 else DETERMINISTIC,
        domain=line.bounds,
        boundaries="natural",
        fixed_points=fixed,
        committors=tuple(Committor(*pair, None, NO_NOISE) for pair in request.committors),
        exits=tuple(Exit.without(asked, NO_NOISE) for asked in request.exits),
        local_relaxation=local_relaxation(
            model, np.linspace(low, line.bounds[1], request.density_points)
        )
        if positive
        else None,
        extrapolated=extrapolated_beyond(fixed, (), (), request.observed_range),
    )


def _reason(zeros: list[float]) -> str:
    places = " and ".join(f"x = {zero:.6g}" for zero in zeros)
    return (
        "no stationary distribution on the circle: the diffusion a is zero or negative at "
        f"{places}, but must be positive "
        "everywhere; give other terms"
    )
