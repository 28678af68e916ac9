"""The report of several coordinates without a stationary distribution."""

import numpy as np

from worker.generator.line.extrapolation import extrapolated_outside
from worker.generator.process import DiffusionProcess
from worker.generator.quantities.fixed_point import FixedPoint
from worker.generator.quantities.report import GeneratorReport
from worker.generator.request import AnalysisRequest, unanswered, untimed

NO_LAW = "there is no stationary distribution to start from"
FOR_TWO = "passages and committors between regions are for two variables"


def without_stationary_distribution(
    process: DiffusionProcess,
    fixed: tuple[FixedPoint, ...],
    reason: str | None,
    request: AnalysisRequest,
) -> GeneratorReport:
    """Return the report of what needs no stationary distribution.

    Parameters
    ----------
    process : diffusion process in several coordinates
    fixed : its fixed points
    reason : why the passages and committors that were asked for are not there; None where none
    request : what is asked for
    """
    between, committors = unanswered(request, NO_LAW if process.dimension == 2 else FOR_TWO)
    return GeneratorReport(
        ergodic=False,
        reason=reason,
        domain=(-np.inf, np.inf),
        domains=tuple((float(low), float(high)) for low, high in process.domain),
        boundaries="natural",
        fixed_points=fixed,
        passages=untimed(request.passages, process.dimension),
        between=between,
        committors=committors,
        extrapolated=extrapolated_outside(fixed, request.observed_ranges),
    )
