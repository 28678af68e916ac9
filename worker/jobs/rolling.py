"""The kind `rolling`: one record → a model for every window along it → the document."""

import numpy as np
from scipy.special import ndtri

from contract.base import Interval
from contract.identification import IdentificationParameters
from contract.results import Estimate
from contract.rolling import (
    GapTrend,
    RollingJob,
    RollingResult,
    RollingWindow,
    RollingWindows,
    WindowFixedPoint,
    WindowTerm,
)
from worker.documents.model import data_summary
from worker.documents.numbers import number, written
from worker.documents.results import provenance_of, warning_of
from worker.identification.data.trajectories import Trajectories
from worker.identification.errors import DimensionNotSupported
from worker.identification.estimation.setup import problem_of, with_boundaries
from worker.identification.sums.block_sums import Summing
from worker.jobs.parameters import settings_of
from worker.jobs.sources import Record
from worker.progress import Report
from worker.rolling.rolling import Rolling, WindowModel, roll
from worker.rolling.spectral_gaps import Gap
from worker.rolling.windows import moving_windows


def compute(job: RollingJob, record: Record, report: Report, summing: Summing) -> Rolling:
    """Fit every window. Raises IdentificationError."""
    return roll_along(record.data, job.parameters, job.windows, report)


def roll_along(
    data: Trajectories, parameters: IdentificationParameters, asked: RollingWindows, report: Report
) -> Rolling:
    """Fit coefficients, fixed points and spectral gap of windows along one record.

    Raises IdentificationError.
    """
    report(0.05, "reading", f"{data.n_increments} increments")
    if data.dimension > 1:
        raise DimensionNotSupported(
            f"Rolling windows need a single variable, and the dataset has {data.dimension}.",
            hints=("Name one column in layout.state_columns and upload again.",),
        )
    settings = settings_of(parameters)
    problem = problem_of(data, settings, report)
    bounds = settings.bounds_in(1)
    windows = moving_windows(data, asked.count, asked.length, asked.share)
    return roll(
        with_boundaries(problem, bounds),
        windows,
        rule=settings.sampling_rule,
        noise=settings.measurement_noise,
        bounds=bounds[0],
    )


def describe(
    job_id: str, job: RollingJob, record: Record, found: Rolling, seconds: float
) -> RollingResult:
    """Write the document of a rolling job."""
    width = float(ndtri((1 + job.confidence) / 2))
    asked = {"windows": job.windows.model_dump(mode="json"), "confidence": job.confidence}
    return RollingResult(
        job=job_id,
        data=data_summary(record.dataset, found.dt),
        sampling_rule=found.rule,
        measurement_noise_variance=number(found.noise_variance),
        windows=tuple(_window(window, width) for window in found.windows),
        trend=_trend(found, width),
        warnings=(
            *record.dataset.report.warnings,
            *(warning_of(finding) for finding in found.findings),
        ),
        provenance=provenance_of(record.dataset, job.parameters, asked, seconds),
    )


def _window(window: WindowModel, width: float) -> RollingWindow:
    return written(
        RollingWindow,
        window,
        drift=tuple(written(WindowTerm, coefficient) for coefficient in window.drift),
        diffusion=tuple(written(WindowTerm, coefficient) for coefficient in window.diffusion),
        fixed_points=tuple(written(WindowFixedPoint, place) for place in window.fixed_points),
        gap=_exponential(window.gap, 1.0, width),
        relaxation_time=_exponential(window.gap, -1.0, width),
    )


def _exponential(gap: Gap, sign: float, width: float) -> Estimate:
    """Return exp(± log λ), with the confidence interval that is central in the logarithm."""
    if gap.log_rate is None:
        return Estimate(value=None, reason=gap.reason)
    logarithm = sign * gap.log_rate
    ci = None if gap.std_error is None else _around(logarithm, width * gap.std_error)
    return Estimate(value=number(np.exp(logarithm)), ci=ci)


def _around(logarithm: float, reach: float) -> Interval:
    with np.errstate(over="ignore"):
        return number(np.exp(logarithm - reach)), number(np.exp(logarithm + reach))


def _trend(found: Rolling, width: float) -> GapTrend:
    trend = found.trend
    if trend is None:
        factor = Estimate(value=None, reason=found.trend_reason)
        return GapTrend(slope=None, factor=factor, reason=found.trend_reason)
    reach = width * trend.std_error
    around = _around(trend.change, reach * trend.span)
    factor = Estimate(value=number(np.exp(trend.change)), ci=around)
    ends = (trend.slope - reach, trend.slope + reach)
    return written(GapTrend, trend, ci=ends, factor=factor, reason=None)
