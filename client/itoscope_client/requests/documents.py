"""The documents of a job's request, as the service declares them.

Generated from the JSON Schema `job-request` by `python -m service.openapi`; do not edit.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Required, TypedDict

PassageRequest = TypedDict(
    "PassageRequest",
    {
        "from": Required[float | Sequence[float] | Mapping[str, Sequence[float | None]]],
        "to": Required[float | Sequence[float] | Mapping[str, Sequence[float | None]]],
    },
    total=False,
)
"""A first-passage time to compute [state].

In one variable, between two numbers. In two variables, the target is a region and the start is a
point or a region; from a region, the time is the mean over the stationary distribution restricted
to it. Of a position and its velocity, two numbers are positions: the path starts at rest, and
arrives where it first crosses the other number.
"""


CommittorRequest = TypedDict(
    "CommittorRequest",
    {
        "from": Required[float | Sequence[float] | Mapping[str, Sequence[float | None]]],
        "to": Required[float | Sequence[float] | Mapping[str, Sequence[float | None]]],
    },
    total=False,
)
"""A committor to compute: the probability of reaching `to` before `from`.

Both are numbers in one variable, or positions of a model of second order; regions in two variables
[state].
"""


ExitRequest = TypedDict(
    "ExitRequest",
    {
        "from": Required[float],
        "low": Required[float],
        "high": Required[float],
    },
    total=False,
)
"""An interval of one variable and a starting point in it [state].

For an angle, the interval is the arc from `low` up to `high`.
"""


class AnalysisParameters(TypedDict, total=False):
    """Quantities to derive from the generator L f = b f' + ½ a f'' of a model."""

    model_only: bool
    """Fit only: estimate drift and diffusion, skip derived quantities. `generator` is then empty,
    and the model is not compared with the data at longer times. This takes a tenth of the computing
    time. For identifications only. Default: false."""
    passages: Sequence[PassageRequest]
    """Additional mean first-passage times to compute. Those between neighbouring wells are always
    computed."""
    committors: Sequence[CommittorRequest]
    """Additional committors to compute. Those between neighbouring wells are always computed."""
    exits: Sequence[ExitRequest]
    """Intervals for which to compute exit probabilities and mean exit times; one variable only."""
    inputs: Mapping[str, float]
    """Value of each input at which the model is analysed, and of the time `t` where it has a trend;
    by default their means. Periodic forcing is zero in this analysis, its mean over a period. For
    identifications only."""
    density_points: int
    """Number of grid points for the stationary density and the local relaxation rate. Default: 400.
    """
    eigenpairs: int
    """Number of non-zero eigenvalues to compute. Default: 5."""
    eigenfunctions: bool
    """If true, the eigenfunctions are returned on the grid of the stationary density. Default:
    false."""
    lags: int
    """Number of lags of the model's autocorrelation function, from 0 to five relaxation times.
    Default: 100."""
    frequencies: int
    """Number of frequencies of the model's power spectral density, around its relaxation rates.
    Default: 100."""
    confidence: float
    """Confidence level of every interval in the result. Default: 0.95."""
    reflecting_ends: bool
    """If the model has no stationary distribution: analyse it on the range of the data (or on the
    domain) with reflecting boundaries, and label the result so. Default: false."""


class CoefficientBounds(TypedDict, total=False):
    """Signs and bounds of coefficients, in the units of the data."""

    drift: Mapping[str, Mapping[str, Sequence[float | None]]]
    """Bounds of the drift's coefficients, by variable [state/time]."""
    diffusion: Mapping[str, Mapping[str, Sequence[float | None]]]
    """Bounds of the diffusion's coefficients, by pair of variables [state²/time]."""


class Webhook(TypedDict, total=False):
    """An address that receives the job's record when the job has ended.

    The record is sent in a signed POST (Standard Webhooks).
    """

    url: Required[str]
    """Address, beginning with `https://`. The operator decides which hosts are allowed."""


class InlineData(TypedDict, total=False):
    """A small dataset sent within the job."""

    dt: float | None
    """Sampling interval [time]. It may be omitted if `times` is given."""
    times: Sequence[Sequence[float]] | None
    """Sample times of each trajectory [time]."""
    trajectories: Required[Sequence[Sequence[float | Sequence[float | None] | None]]]
    """Samples of each trajectory: a number per sample, or a list of d numbers per sample; `null` is
    a missing value [state]."""


class LibraryParameters(TypedDict, total=False):
    """The library: candidate terms of drift and diffusion."""

    polynomial_degree: int
    """Highest total degree of the monomials 1, x, x^2, … Default: 4."""
    fourier_harmonics: int
    """Highest n of sin(n*x) and cos(n*x), for variables declared periodic. Default: 0."""
    diffusion_degree: int | None
    """Highest total degree of the diffusion's monomials; the diffusion then has no other terms. 0:
    additive noise. `null`: the diffusion uses the whole library."""
    input_degree: int
    """Highest total degree of terms with an input u, a column of `layout.input_columns`. 1: u
    alone. 2: also x*u and u^2, and products of inputs. Default: 1."""
    extra_terms: Sequence[str]
    """Additional terms as text, e.g. `x^6`, `sin(2*x)`."""


class KernelParameters(TypedDict, total=False):
    """The Gaussian test functions K_j (instruments) that weight the increments by state."""

    count: Literal["auto"] | int
    """Number of equally spaced kernel centres; in several variables the maximum number. `auto`:
    chosen by cross-validation, together with the bandwidth if none is given; `"kernels": "auto"` is
    short for this. Default: 50."""
    bandwidth: Literal["auto"] | float
    """Standard deviation h of each kernel [state]. `auto`: 2.2 times the spacing of the centres,
    unless `count` is `auto` as well. In several variables the unit is one standard deviation of the
    decorrelated data, and `auto` is 1.5 times the spacing. Default: "auto"."""
    range: Literal["auto"] | Sequence[float]
    """First and last kernel centre [state]; one variable only. `auto`: the range of the central
    99.9 % of the samples. Default: "auto"."""


class KnownNoise(TypedDict, total=False):
    """Measurement noise (localisation error) that is known."""

    std_error: Required[float | Mapping[str, float]]
    """Standard error of the samples: one for all variables, or by variable; variables that are not
    named have none [state]."""


class SelectionParameters(TypedDict, total=False):
    """Selection of terms from the library."""

    method: Literal["bic", "pastis", "lasso_cv", "stlsq", "none"]
    """Selection method. `bic`: Bayesian information criterion over all sets of terms. `pastis`:
    over all sets of terms, with a penalty of log(K/0.001) per term for a library of K terms.
    `lasso_cv`: sets of terms along the lasso path, by cross-validation over trajectories, or over
    blocks of a single time series. `stlsq`: sequentially thresholded least squares, dropping terms
    below `z_threshold` one at a time. `none`: keep every term. Default: "bic"."""
    z_threshold: float
    """Smallest |z| = |coefficient| / standard error of a term that `stlsq` keeps; other methods
    ignore it. Default: 4.0."""
    threshold: float
    """Relative threshold of STLSQ in the `paper` preset; otherwise ignored. Default: 0.25."""


class ForcingParameters(TypedDict, total=False):
    """Forcing by the clock: functions of the sample times that drive the variables.

    They are terms like inputs; t in a term is the time of the samples.
    """

    periods: Sequence[float]
    """Periods P of the forcing, such as a year or a day [time]."""
    harmonics: int
    """Number of harmonics: sin(2*pi*k*t/P) and cos(2*pi*k*t/P) for k from 1. Default: 1."""
    trend: int
    """Highest power of t; 1 is a linear trend, 0 none. Default: 0."""


class KnownCoefficients(TypedDict, total=False):
    """Coefficients that are known, in the units of the data."""

    drift: Mapping[str, Mapping[str, float]]
    """Coefficients of the drift, by variable [state/time]."""
    diffusion: Mapping[str, Mapping[str, float]]
    """Coefficients of the diffusion, by pair of variables [state²/time]."""


class NamedTerms(TypedDict, total=False):
    """Terms of drift and diffusion."""

    drift: Mapping[str, Sequence[str]]
    """Terms of the drift, by variable."""
    diffusion: Mapping[str, Sequence[str]]
    """Terms of the diffusion, by pair of variables."""


class Equality(TypedDict, total=False):
    """A linear equation: coefficients times the given factors sum to `equals`.

    {"drift": {"x": {"y": 1}, "y": {"x": 1}}} says that y in the drift of x and x in that of y have
    opposite coefficients.
    """

    drift: Mapping[str, Mapping[str, float]]
    """Coefficients of the drift, by variable [state/time]."""
    diffusion: Mapping[str, Mapping[str, float]]
    """Coefficients of the diffusion, by pair of variables [state²/time]."""
    equals: float
    """The sum, in the units of the data. Default: 0.0."""


class Constraints(TypedDict, total=False):
    """What is known about the model before the fit.

    The result says for each component whether the data contradict it. Terms that the library does
    not have are added to it.
    """

    known: KnownCoefficients
    """Coefficients held at a value; they have no error, and the others are fitted."""
    required: NamedTerms
    """Terms that are part of the model, whatever the selection says."""
    excluded: NamedTerms
    """Terms that are no part of the model."""
    bounds: CoefficientBounds
    """Signs and bounds of coefficients of the drift and diffusion, where their terms are selected.
    A term that cannot be zero within its bounds is required."""
    equalities: Sequence[Equality]
    """Linear equations among coefficients. Their terms are required."""
    odd: bool
    """True if x → −x, of all variables together, leaves the dynamics as they are: the drift has odd
    terms only, the diffusion even ones. Default: false."""
    gradient: bool
    """True if the drift is the slope of a potential, b = −∂U, in any number of variables. U is
    `model.potential` of the result. Default: false."""
    detailed_balance: bool
    """True if the process is in detailed balance at a constant diffusion: b = −½ a ∂Φ, where Φ is
    the potential over the temperature. The diffusion is then constant, and Φ is `model.potential`
    of the result. Default: false."""


class IdentificationParameters(TypedDict, total=False):
    """All parameters that, together with the data, determine the result.

    Every field has a default.
    """

    library: LibraryParameters
    kernels: Literal["auto"] | KernelParameters
    """The test functions that weight the increments by state. `auto`: bandwidth and number chosen
    by cross-validation."""
    dynamics: Literal["auto", "first-order", "second-order", "coloured-noise"]
    """Order of the dynamics. `first-order`: dX = b(X) dt + σ(X) dW of the recorded variables.
    `second-order`: the recorded variables are positions of inertial dynamics, dx = v dt, dv = F(x,
    v) dt + σ(x, v) dW; the library then has terms in x and v. `coloured-noise`: dx = f(x) dt + u dt
    with an Ornstein–Uhlenbeck process u for noise; one variable only. `auto`: the record decides.
    Default: "auto"."""
    estimator: Literal["efficient", "paper"]
    """Estimator. `efficient`: generalised least squares with sums pooled over trajectories.
    `paper`: Algorithm 1 of the source paper, unchanged. Default: "efficient"."""
    sampling_rule: Literal["auto", "euler", "trapezoid", "simpson"]
    """Quadrature rule for the drift over one sampling interval. `auto`: trapezoid; its
    discretisation error is removed where it is material, in several variables by a fourth-order
    rule. The `paper` estimator always uses `euler`. Default: "auto"."""
    measurement_noise: Literal["auto", "none", "corrected"] | KnownNoise
    """Correction for white measurement noise. `auto`: by the errors of the samples if the data have
    such columns; else applied, with a warning, if the residuals show noise. `none`: never applied.
    `corrected`: always applied. An object gives the standard error of the samples, which is then
    not estimated; of second-order dynamics in one coordinate only. Default: "auto"."""
    exposure: float | None
    """Time over which each sample is an average (motion blur), at most the sampling interval; if
    omitted, it is estimated where the residuals show it [time]. First-order dynamics only."""
    selection: SelectionParameters
    diffusion_structure: Literal["full", "diagonal", "isotropic"]
    """Structure of the diffusion tensor. It makes no difference in one variable. Default: "full".
    """
    periodic: Mapping[str, float]
    """Period of each periodic variable (an angle), e.g. `{"x": 360.0}` [state]."""
    domain: Mapping[str, Sequence[float | None]]
    """Known bounds of a variable, e.g. `{"x": [0.0, null]}`; `null` means unbounded [state]."""
    forcing: ForcingParameters
    """Seasons and trends, which drive the variables and have no equation."""
    constraints: Constraints
    """What is known about the model before the fit."""
    seed: int
    """Seed of all random numbers (the models drawn for confidence intervals of derived quantities).
    Default: 0."""


class ComparisonJob(TypedDict, total=False):
    """Compare groups of trajectories: which coefficients and which time scales differ.

    The groups are several datasets, or the groups of one dataset whose report has `groups`. They
    may differ in sampling interval, length and measurement noise.
    """

    labels: Mapping[str, str]
    """Your own labels for this job. The list of jobs can be filtered by them."""
    timeout_seconds: float
    """Time limit on the worker, after which the job fails with `timed-out` [s]. Default: 600.0."""
    webhook: Webhook | None
    """Address that receives a signed POST when the job has ended."""
    dataset: str | None
    """Id of an uploaded dataset."""
    data: InlineData | None
    """The data themselves, instead of a dataset id."""
    trajectories: Sequence[int] | None
    """Numbers of the trajectories to use, counted from 0 in the order of the dataset; all of them
    if omitted."""
    parameters: IdentificationParameters
    """Parameters of the identification."""
    kind: Required[Literal["comparison"]]
    """Job kind: compare groups of trajectories."""
    groups: Mapping[str, Sequence[str]]
    """Ids of the datasets in each group, two groups or more, instead of one dataset that has
    groups. All have the same variables, in the same units."""
    reference: str | None
    """Group that the others are compared with; the first one if omitted."""
    analysis: AnalysisParameters
    """Quantities to derive from the model of each group. With `model_only`, coefficients alone are
    compared."""


class ModelTerms(TypedDict, total=False):
    """A model dX = b dt + σ dW, given by the terms of b and of a = σσᵀ."""

    drift: Required[Mapping[str, Mapping[str, float]]]
    """Drift b: the coefficients of its terms, by variable [state/time]. The variables may have any
    names; they are x, y, z, … in this order in the result's keys. A model such as `{"x": {"v": 1},
    "v": {"x": -4, "v": -1}}`, in which half of the variables are velocities of the others and only
    these have noise, is of second order: its keys are x and v, or x, y, … and vx, vy, …"""
    diffusion: Required[Mapping[str, Mapping[str, float]]]
    """Diffusion a: the coefficients of its terms, by pair of variables, e.g. `{"x,x": {"1": 0.25}}`
    [state²/time]."""
    domain: Mapping[str, Sequence[float | None]]
    """Known bounds of a variable; `null` means unbounded [state]."""
    periodic: Mapping[str, float]
    """Period of each periodic variable (an angle), e.g. `{"x": 360}` [state]."""


class ModelOfJob(TypedDict, total=False):
    """The model identified by an earlier job."""

    job: Required[str]
    """Id of that job, which must have succeeded."""


class GeneratorJob(TypedDict, total=False):
    """Analyse the generator of a given model."""

    labels: Mapping[str, str]
    """Your own labels for this job. The list of jobs can be filtered by them."""
    timeout_seconds: float
    """Time limit on the worker, after which the job fails with `timed-out` [s]. Default: 600.0."""
    webhook: Webhook | None
    """Address that receives a signed POST when the job has ended."""
    model: Required[ModelTerms | ModelOfJob]
    """The model, given by its terms or by the job that identified it."""
    kind: Required[Literal["generator"]]
    """Job kind: analyse a given model."""
    analysis: AnalysisParameters
    """Quantities to derive from the model."""


class IdentificationJob(TypedDict, total=False):
    """Identify a model from data and analyse its generator."""

    labels: Mapping[str, str]
    """Your own labels for this job. The list of jobs can be filtered by them."""
    timeout_seconds: float
    """Time limit on the worker, after which the job fails with `timed-out` [s]. Default: 600.0."""
    webhook: Webhook | None
    """Address that receives a signed POST when the job has ended."""
    dataset: str | None
    """Id of an uploaded dataset."""
    data: InlineData | None
    """The data themselves, instead of a dataset id."""
    trajectories: Sequence[int] | None
    """Numbers of the trajectories to use, counted from 0 in the order of the dataset; all of them
    if omitted."""
    parameters: IdentificationParameters
    """Parameters of the identification."""
    kind: Required[Literal["identification"]]
    """Job kind: identify a model from data."""
    preset: Literal["paper"] | None
    """Named set of parameters. `paper`: Algorithm 1 with the settings of the source paper.
    Parameters given in the job take precedence."""
    analysis: AnalysisParameters
    """Quantities to derive from the model."""


PlanTarget = TypedDict(
    "PlanTarget",
    {
        "quantity": Required[
            Literal["relaxation_time", "passage", "variance", "coefficient", "difference"]
        ],
        "precision": float,
        "from": float | None,
        "to": float | None,
        "component": str | None,
        "term": str | None,
        "other": float | None,
        "power": float,
        "level": float,
    },
    total=False,
)
"""The quantity that is wanted, and its precision."""


class PlanJob(TypedDict, total=False):
    """Plan a measurement: how long and how often to record.

    The model has one variable and is of first order. It is taken as known, and so are its terms:
    that they have to be selected costs more.
    """

    labels: Mapping[str, str]
    """Your own labels for this job. The list of jobs can be filtered by them."""
    timeout_seconds: float
    """Time limit on the worker, after which the job fails with `timed-out` [s]. Default: 600.0."""
    webhook: Webhook | None
    """Address that receives a signed POST when the job has ended."""
    model: Required[ModelTerms | ModelOfJob]
    """The model, given by its terms or by the job that identified it."""
    kind: Required[Literal["plan"]]
    """Job kind: plan a measurement."""
    target: Required[PlanTarget]
    noise: float | None
    """Standard deviation of the measurement noise [state]. If omitted: that of the job's data, or
    0."""
    dt: Sequence[float]
    """Sampling intervals to choose from [time]. If omitted, twelve from a 200th to 0.6 of the fast
    relaxation time."""
    trajectory_duration: float | None
    """Duration of every trajectory [time]. If omitted, one trajectory has the whole duration."""
    start: float | None
    """State at which every trajectory begins, e.g. after a preparation [state]; needs
    `trajectory_duration`. If omitted, they begin anywhere in the stationary distribution."""
    max_duration: float | None
    """Longest total duration that can be recorded [time]. The plan says which error it reaches."""
    seed: int
    """Seed of the simulated records, which tell what noise costs and check the plan. Default: 0."""


class PopulationJob(TypedDict, total=False):
    """Estimate how the coefficients differ between trajectories, the records of a population.

    All trajectories together choose the terms. One more pass takes the sums of each, however many
    and however short they are.
    """

    labels: Mapping[str, str]
    """Your own labels for this job. The list of jobs can be filtered by them."""
    timeout_seconds: float
    """Time limit on the worker, after which the job fails with `timed-out` [s]. Default: 600.0."""
    webhook: Webhook | None
    """Address that receives a signed POST when the job has ended."""
    dataset: str | None
    """Id of an uploaded dataset."""
    data: InlineData | None
    """The data themselves, instead of a dataset id."""
    trajectories: Sequence[int] | None
    """Numbers of the trajectories to use, counted from 0 in the order of the dataset; all of them
    if omitted."""
    parameters: IdentificationParameters
    """Parameters of the identification."""
    kind: Required[Literal["population"]]
    """Job kind: estimate how coefficients differ between records."""
    datasets: Sequence[str]
    """Ids of several datasets, instead of one, whose trajectories are the records. All have the
    same variables, in the same units."""
    confidence: float
    """Confidence level of every interval. Default: 0.95."""


class RollingWindows(TypedDict, total=False):
    """Windows of equal length, from the first sample to the last."""

    count: int
    """Number of windows. Default: 50."""
    length: float | None
    """Length of each window [time]. If omitted, `share` determines it."""
    share: float
    """Length of each window as a fraction of the time series. Short windows follow changes; long
    ones have smaller errors. Default: 0.2."""


class RollingJob(TypedDict, total=False):
    """Fit a window moved along one time series of one variable.

    Coefficients, fixed points and spectral gap are estimated in every window, and the correlation
    time of the noise where `parameters.dynamics` is `coloured-noise`.
    """

    labels: Mapping[str, str]
    """Your own labels for this job. The list of jobs can be filtered by them."""
    timeout_seconds: float
    """Time limit on the worker, after which the job fails with `timed-out` [s]. Default: 600.0."""
    webhook: Webhook | None
    """Address that receives a signed POST when the job has ended."""
    dataset: str | None
    """Id of an uploaded dataset."""
    data: InlineData | None
    """The data themselves, instead of a dataset id."""
    trajectories: Sequence[int] | None
    """Numbers of the trajectories to use, counted from 0 in the order of the dataset; all of them
    if omitted."""
    parameters: IdentificationParameters
    """Parameters of the identification."""
    kind: Required[Literal["rolling"]]
    """Job kind: fit a window moved along the time series."""
    windows: RollingWindows
    """Number and length of the windows."""
    confidence: float
    """Confidence level of every interval. Default: 0.95."""


class SweepJob(TypedDict, total=False):
    """Identify one model from the same data for each of several parameter sets.

    Sums over the data are shared where possible.
    """

    labels: Mapping[str, str]
    """Your own labels for this job. The list of jobs can be filtered by them."""
    timeout_seconds: float
    """Time limit on the worker, after which the job fails with `timed-out` [s]. Default: 600.0."""
    webhook: Webhook | None
    """Address that receives a signed POST when the job has ended."""
    dataset: str | None
    """Id of an uploaded dataset."""
    data: InlineData | None
    """The data themselves, instead of a dataset id."""
    trajectories: Sequence[int] | None
    """Numbers of the trajectories to use, counted from 0 in the order of the dataset; all of them
    if omitted."""
    parameters: IdentificationParameters
    """Parameters of the identification."""
    kind: Required[Literal["sweep"]]
    """Job kind: identify a model for each of several parameter sets."""
    variants: Required[Sequence[Mapping[str, Any]]]
    """The parameter sets. Each is merged into `parameters`, object by object."""
    analysis: AnalysisParameters
    """Quantities to derive from each model."""


JOBS: Mapping[str, Any] = {
    "comparison": ComparisonJob,
    "generator": GeneratorJob,
    "identification": IdentificationJob,
    "plan": PlanJob,
    "population": PopulationJob,
    "rolling": RollingJob,
    "sweep": SweepJob,
}
"""Type of the request of each kind of job."""
