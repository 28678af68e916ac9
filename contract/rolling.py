"""A window moved along one record: how many windows, and what each of them says."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from contract.base import Document, Interval
from contract.jobs import DataJob
from contract.results import SCHEMA_VERSION, DataSummary, Estimate, Notice, Provenance, Result


class RollingWindows(Document):
    """Equal windows from the first sample to the last."""

    count: Annotated[int, Field(ge=1, le=2000)] = 50
    """How many."""
    length: Annotated[Annotated[float, Field(gt=0)] | None, Field(examples=[2000.0])] = None
    """Of each [time]; without it `share` says."""
    share: Annotated[float, Field(gt=0, lt=1)] = 0.2
    """Length of each as a share of the record. Short ones follow changes, long ones have smaller errors."""


class RollingJob(DataJob):
    """One record of one variable, a window moved along it → coefficients, wells and spectral gap of every window."""

    kind: Literal["rolling"]
    """A window moved along the data."""
    windows: RollingWindows = RollingWindows()
    """How many, and how long."""
    confidence: Annotated[float, Field(gt=0, lt=1)] = 0.95
    """Coverage of every interval."""

    @property
    def analyses(self) -> float:
        """A hundredth of an analysis for each window, which is what a window costs."""
        return 0.01 * self.windows.count

    @model_validator(mode="after")
    def _by_the_efficient_estimator(self) -> Self:
        if self.parameters.estimator == "paper":
            raise ValueError("windows are fitted by the efficient estimator: leave parameters.estimator out")
        return self


class WindowTerm(Document):
    """A coefficient in one window, in the data's units."""

    term: str
    """As in the model."""
    value: float | None
    """`null` where the window does not tell it."""
    std_error: float | None
    """Standard error: the model's, or from the scatter between parts of the window where that is larger."""


class WindowFixedPoint(Document):
    """A root of the window's drift."""

    at: float
    """[state]"""
    std_error: float | None
    """Standard error [state]."""
    stable: bool
    """A well, or the top between two."""


class RollingWindow(Document):
    """What one window says."""

    begin: float
    """[time]"""
    end: float
    """[time]"""
    n_increments: int
    """That it rests on."""
    drift: tuple[WindowTerm, ...]
    """Coefficients of the drift."""
    diffusion: tuple[WindowTerm, ...]
    """Coefficients of the diffusion."""
    fixed_points: tuple[WindowFixedPoint, ...]
    """Wells and what parts them, where data of the record were."""
    gap: Estimate
    """The slowest rate λ₁ [1/time], between reflecting ends beyond the record's range, the same for all windows."""
    relaxation_time: Estimate
    """1/λ₁ [time]."""


class GapTrend(Document):
    """log λ₁ along the record, as a straight line through windows that share no sample."""

    slope: float | None
    """Of log λ₁ [1/time]; negative where the gap closes, as it does before a transition."""
    ci: Interval | None = None
    """Confidence interval of the slope."""
    z: float | None = None
    """slope / its standard error."""
    factor: Estimate
    """λ₁ of the last of these windows over that of the first, by the line."""
    p_value: float | None = None
    """Probability of such scatter about the line: small where the gap does not change steadily."""
    n_windows: int = 0
    """That share no sample."""
    reason: str | None = None
    """Why there is no line."""


class RollingResult(Result):
    """One record, window by window. Terms and sampling rule are those of the whole record."""

    schema_version: Literal["1.0"] = SCHEMA_VERSION
    """Of this document."""
    kind: Literal["rolling"] = "rolling"
    """Of the job."""
    job: str
    """Its id."""
    data: DataSummary
    """What was looked at."""
    sampling_rule: str
    """Quadrature of the drift over one sampling interval."""
    measurement_noise_variance: float | None = None
    """Of the whole record, corrected for in every window [state²]."""
    windows: tuple[RollingWindow, ...]
    """In order of time."""
    trend: GapTrend
    """Whether the gap closes."""
    warnings: tuple[Notice, ...] = ()
    """What the reader should know."""
    provenance: Provenance
    """How it was made."""
