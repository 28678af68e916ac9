"""The kind `rolling`: one record → a model for every window along it → the document."""

from typing import TypeVar

import numpy as np
from scipy.special import ndtri

from contract.base import Interval
from contract.identification import IdentificationParameters
from contract.results import Estimate
from contract.rolling import (
    CorrelationTimeTrend,
    GapTrend,
    LineOfWindows,
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
from worker.identification.second_order_model import second_order_problem
from worker.identification.sums.block_sums import Summing, sums_here
from worker.jobs.parameters import settings_of
from worker.jobs.sources import Record
from worker.progress import Report
from worker.rolling.coloured_rolling import roll_coloured
from worker.rolling.rolling import Rolling, Trend, WindowModel, roll
from worker.rolling.windows import moving_windows

Line = TypeVar("Line", bound=LineOfWindows)


def compute(job: RollingJob, record: Record, report: Report, summing: Summing) -> Rolling:
    """Fit every window. Raises IdentificationError."""
    return roll_along(record.data, job.parameters, job.windows, report, summing)


def roll_along(
    data: Trajectories,
    parameters: IdentificationParameters,
    asked: RollingWindows,
    report: Report,
    summing: Summing = sums_here,
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
    windows = moving_windows(data, asked.count, asked.length, asked.share)
    if settings.dynamics == "coloured-noise":
        return roll_coloured(
            second_order_problem(data, settings, report, summing), windows, settings.bounds_in(1)[0]
        )
    problem = problem_of(data, settings, report)
    bounds = settings.bounds_in(1)
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
        trend=_trend(GapTrend, found.trend, found.trend_reason, width),
        correlation_time_trend=_trend(
            CorrelationTimeTrend, found.time_trend, found.time_reason, width
        )
        if job.parameters.dynamics == "coloured-noise"
        else None,
        warnings=(
            *record.dataset.report.warnings,
            *(warning_of(finding) for finding in found.findings),
        ),
        provenance=provenance_of(record.dataset, job.parameters, asked, seconds),
    )


def _window(window: WindowModel, width: float) -> RollingWindow:
    gap, time = window.gap, window.correlation_time
    return written(
        RollingWindow,
        window,
        drift=tuple(written(WindowTerm, coefficient) for coefficient in window.drift),
        diffusion=tuple(written(WindowTerm, coefficient) for coefficient in window.diffusion),
        fixed_points=tuple(written(WindowFixedPoint, place) for place in window.fixed_points),
        gap=_exponential(gap.log_rate, gap.std_error, gap.reason, width),
        relaxation_time=_exponential(
            None if gap.log_rate is None else -gap.log_rate, gap.std_error, gap.reason, width
        ),
        correlation_time=None
        if time is None
        else _exponential(time.log_time, time.std_error, time.reason, width),
    )


def _exponential(
    logarithm: float | None, std_error: float | None, reason: str | None, width: float
) -> Estimate:
    """Return the exponential, with the confidence interval that is central in the logarithm."""
    if logarithm is None:
        return Estimate(value=None, reason=reason)
    ci = None if std_error is None else _around(logarithm, width * std_error)
    return Estimate(value=number(np.exp(logarithm)), ci=ci)


def _around(logarithm: float, reach: float) -> Interval:
    with np.errstate(over="ignore"):
        return number(np.exp(logarithm - reach)), number(np.exp(logarithm + reach))


def _trend(kind: type[Line], trend: Trend | None, reason: str | None, width: float) -> Line:
    if trend is None:
        factor = Estimate(value=None, reason=reason)
        return kind(slope=None, factor=factor, reason=reason)
    reach = width * trend.std_error
    around = _around(trend.change, reach * trend.span)
    factor = Estimate(value=number(np.exp(trend.change)), ci=around)
    ends = (trend.slope - reach, trend.slope + reach)
    return written(kind, trend, ci=ends, factor=factor, reason=None)
