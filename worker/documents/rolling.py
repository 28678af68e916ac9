"""Windows along a record → documents."""

import numpy as np
from scipy.special import ndtri

from contract.base import Interval
from contract.datasets import Dataset
from contract.results import Estimate
from contract.rolling import GapTrend, RollingJob, RollingResult, RollingWindow, WindowFixedPoint, WindowTerm
from worker.documents.model import data_summary
from worker.documents.numbers import number
from worker.documents.results import notice_of, provenance_of
from worker.rolling.rolling import Coefficient, Rolling, Window
from worker.rolling.spectral_gaps import Gap


def rolling_result(job_id: str, job: RollingJob, dataset: Dataset, found: Rolling, seconds: float) -> RollingResult:
    """The document of a rolling job."""
    width = float(ndtri((1 + job.confidence) / 2))
    return RollingResult(
        job=job_id,
        data=data_summary(dataset, found.dt),
        sampling_rule=found.rule,
        measurement_noise_variance=number(found.noise_variance),
        windows=tuple(_window(window, width) for window in found.windows),
        trend=_trend(found, width),
        warnings=(*dataset.report.warnings, *(notice_of(finding) for finding in found.findings)),
        provenance=provenance_of(
            dataset, job.parameters, {"windows": job.windows.model_dump(mode="json"), "confidence": job.confidence}, seconds
        ),
    )


def _window(window: Window, width: float) -> RollingWindow:
    return RollingWindow(
        begin=window.begin,
        end=window.end,
        n_increments=window.n_increments,
        drift=tuple(_term(coefficient) for coefficient in window.drift),
        diffusion=tuple(_term(coefficient) for coefficient in window.diffusion),
        fixed_points=tuple(
            WindowFixedPoint(at=place.at, std_error=number(place.std_error), stable=place.stable) for place in window.fixed_points
        ),
        gap=_exponential(window.gap, 1.0, width),
        relaxation_time=_exponential(window.gap, -1.0, width),
    )


def _term(coefficient: Coefficient) -> WindowTerm:
    return WindowTerm(term=coefficient.term, value=coefficient.value, std_error=coefficient.std_error)


def _exponential(gap: Gap, sign: float, width: float) -> Estimate:
    """exp(± log λ), with the interval that is central in the logarithm."""
    if gap.log_rate is None:
        return Estimate(value=None, reason=gap.reason)
    if gap.std_error is None:
        return Estimate(value=number(np.exp(sign * gap.log_rate)))
    return Estimate(value=number(np.exp(sign * gap.log_rate)), ci=_around(sign * gap.log_rate, width * gap.std_error))


def _around(logarithm: float, reach: float) -> Interval:
    with np.errstate(over="ignore"):
        return number(np.exp(logarithm - reach)), number(np.exp(logarithm + reach))


def _trend(found: Rolling, width: float) -> GapTrend:
    trend = found.trend
    if trend is None:
        return GapTrend(slope=None, factor=Estimate(value=None, reason=found.trend_reason), reason=found.trend_reason)
    reach = width * trend.std_error
    return GapTrend(
        slope=trend.slope,
        ci=(trend.slope - reach, trend.slope + reach),
        z=trend.z,
        factor=Estimate(value=number(np.exp(trend.change)), ci=_around(trend.change, reach * trend.span)),
        p_value=trend.p_value,
        n_windows=trend.n_windows,
    )
