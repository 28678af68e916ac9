"""A window moved along one time series: the job, and the results of every window."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from contract.base import Document, Interval
from contract.datasets import DatasetReport
from contract.jobs import DataJob
from contract.results import SCHEMA_VERSION, DataSummary, Estimate, Notice, Provenance, Result


class RollingWindows(Document):
    """Windows of equal length, from the first sample to the last."""

    count: Annotated[int, Field(ge=1, le=2000)] = 50
    """Number of windows."""
    length: Annotated[Annotated[float, Field(gt=0)] | None, Field(examples=[2000.0])] = None
    """Length of each window [time]. If omitted, `share` determines it."""
    share: Annotated[float, Field(gt=0, lt=1)] = 0.2
    """Length of each window as a fraction of the time series. Short windows follow changes; long
    ones have smaller errors."""


class RollingJob(DataJob):
    """Fit a window moved along one time series of one variable.

    Coefficients, fixed points and spectral gap are estimated in every window, and the correlation
    time of the noise where `parameters.dynamics` is `coloured-noise`.
    """

    kind: Literal["rolling"]
    """Job kind: fit a window moved along the time series."""
    windows: RollingWindows = RollingWindows()
    """Number and length of the windows."""
    confidence: Annotated[float, Field(gt=0, lt=1)] = 0.95
    """Confidence level of every interval."""

    @property
    def analyses(self) -> float:
        """Cost in analyses of a model: a hundredth for each window."""
        return 0.01 * self.windows.count

    def unsuitable(self, data: DatasetReport) -> tuple[str, str] | None:
        """Return that windows need one variable and one trajectory, where the data have more."""
        names = [variable.column or variable.symbol for variable in data.variables]
        if len(names) > 1:
            return (
                f"rolling windows need one variable, and the dataset has {len(names)}: "
                f"{', '.join(names)}",
                f"Upload the data again with one column: state_columns={names[0]}.",
            )
        if data.inputs:
            return (
                "rolling windows know no inputs, and the dataset has "
                f"{', '.join(i.column or i.symbol for i in data.inputs)}",
                "Upload the data again without input_columns.",
            )
        if data.n_trajectories > 1:
            return (
                f"rolling windows need one trajectory, and the dataset has {data.n_trajectories}",
                "Upload one trajectory on its own, or set id_column=none if all rows belong to one "
                "time series.",
            )
        return None

    @model_validator(mode="after")
    def _by_the_efficient_estimator(self) -> Self:
        if self.parameters.estimator == "paper":
            raise ValueError(
                "windows are fitted by the efficient estimator: leave parameters.estimator out"
            )
        return self

    @model_validator(mode="after")
    def _without_joint_constraints(self) -> Self:
        if self.parameters.constraints.joint:
            raise ValueError(
                "windows are not fitted under constraints.bounds, equalities, gradient or "
                "detailed_balance: leave them out"
            )
        return self

    @model_validator(mode="after")
    def _without_forcing(self) -> Self:
        if self.parameters.forcing.any:
            raise ValueError("rolling windows know no forcing: leave parameters.forcing out")
        return self

    @model_validator(mode="after")
    def _not_of_second_order(self) -> Self:
        if self.parameters.dynamics == "second-order":
            raise ValueError(
                "windows of second-order dynamics are not fitted: set parameters.dynamics to "
                "coloured-noise or first-order, or leave it out"
            )
        return self


class WindowTerm(Document):
    """A coefficient in one window, in the units of the data."""

    term: str
    """The term, as in the model."""
    value: float | None
    """Coefficient; null if the window's data do not determine it."""
    std_error: float | None
    """Standard error: the model-based one, or the one from the scatter between parts of the
    window if that is larger."""


class WindowFixedPoint(Document):
    """A fixed point: a root of the window's drift."""

    at: float
    """Position [state]."""
    std_error: float | None
    """Standard error of the position [state]."""
    stable: bool
    """True if the fixed point is stable (a well), false if it is unstable (the top of a
    barrier)."""


class RollingWindow(Document):
    """Results for one window."""

    begin: float
    """Start of the window [time]."""
    end: float
    """End of the window [time]."""
    n_increments: int
    """Number of increments in the window."""
    drift: tuple[WindowTerm, ...]
    """Coefficients of the drift."""
    diffusion: tuple[WindowTerm, ...]
    """Coefficients of the diffusion. Of coloured noise: of the white noise that is as strong at low
    frequencies."""
    fixed_points: tuple[WindowFixedPoint, ...]
    """Stable and unstable fixed points within the range of the time series."""
    gap: Estimate
    """Spectral gap: the slowest relaxation rate λ₁ [1/time], between reflecting boundaries
    beyond the range of the time series, the same for all windows."""
    relaxation_time: Estimate
    """Relaxation time 1/λ₁ [time]."""
    correlation_time: Estimate | None = None
    """Correlation time τ of the noise, if `parameters.dynamics` is `coloured-noise` [time]."""


class LineOfWindows(Document):
    """Trend of a logarithm along the time series: a straight line through separate windows."""

    slope: float | None
    """Slope of the logarithm [1/time]."""
    ci: Interval | None = None
    """Confidence interval of the slope."""
    z: float | None = None
    """Slope divided by its standard error."""
    factor: Estimate
    """Ratio of the value in the last of these windows to that in the first, according to the
    line."""
    p_value: float | None = None
    """Probability of at least this much scatter about the line, if the logarithm changes linearly;
    small if it does not."""
    n_windows: int = 0
    """Number of non-overlapping windows used."""
    reason: str | None = None
    """Reason why there is no trend line."""


class GapTrend(LineOfWindows):
    """Trend of log λ₁ along the time series: a straight line through non-overlapping windows."""

    slope: float | None
    """Slope of log λ₁ [1/time]. It is negative if the gap closes, as it does before a
    transition."""
    factor: Estimate
    """Ratio of λ₁ in the last of these windows to λ₁ in the first, according to the line."""


class CorrelationTimeTrend(LineOfWindows):
    """Trend of log τ along the time series: a straight line through non-overlapping windows."""

    slope: float | None
    """Slope of log τ [1/time]. It is positive if the noise remembers longer and longer."""
    factor: Estimate
    """Ratio of τ in the last of these windows to τ in the first, according to the line."""


class RollingResult(Result):
    """Results of windows moved along one time series.

    Terms and sampling rule are those of the fit to the whole time series.
    """

    schema_version: Literal["1.0"] = SCHEMA_VERSION
    """Version of this document's schema."""
    kind: Literal["rolling"] = "rolling"
    """Kind of the job."""
    job: str
    """Id of the job."""
    data: DataSummary
    """The data the windows were taken from."""
    sampling_rule: str
    """Quadrature rule for the drift over one sampling interval."""
    measurement_noise_variance: float | None = None
    """Measurement noise variance of the whole time series, corrected for in every window
    [state²]."""
    windows: tuple[RollingWindow, ...]
    """The windows, in order of time."""
    trend: GapTrend
    """Trend of the spectral gap."""
    correlation_time_trend: CorrelationTimeTrend | None = None
    """Trend of the noise's correlation time, if `parameters.dynamics` is `coloured-noise`."""
    warnings: tuple[Notice, ...] = ()
    """Findings that the reader should know."""
    provenance: Provenance
    """Data, version and parameters that produced the result."""
