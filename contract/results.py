"""The answer: a versioned, immutable document. Numbers are finite, or null with a reason beside them."""

from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import Field

from contract.base import Document, Interval
from contract.curves import Curves, DriftField, Observed

SCHEMA_VERSION: Final = "1.0"


class Notice(Document):
    """Something the reader of a number should know, in a sentence, with what to try."""

    code: str
    """Stable and machine-readable."""
    message: str
    """For people."""
    details: dict[str, Any] = {}
    """The numbers behind it."""


class EncodedArray(Document):
    """An array of more than 2 000 numbers: little-endian bytes in base64, C order."""

    dtype: Literal["<f8"] = "<f8"
    """Eight-byte floating point, little-endian."""
    shape: tuple[int, ...]
    """Length of each axis."""
    encoding: Literal["base64"] = "base64"
    """How `data` is spelled."""
    data: str
    """The bytes."""


Array = tuple[float | None, ...] | EncodedArray

Values = Array | tuple[tuple[float | None, ...], ...]
"""On a grid of one variable, or rows on that of two."""


class Estimate(Document):
    """A number and its confidence interval."""

    value: float | None
    """Null where there is none, see `reason`."""
    ci: Interval | None = None
    """Confidence interval; an open end is null."""
    reason: str | None = None
    """Why there is no value."""


class Term(Document):
    """One candidate term. Coefficients are in the data's units, for the term as written."""

    term: str
    """As in the library, e.g. `x^3`."""
    value: float
    """Coefficient; 0 where the term was not kept."""
    active: bool
    """Whether the term was kept."""
    std_error: float | None = None
    """Model-based standard error."""
    robust_std_error: float | None = None
    """Standard error from the scatter between blocks of the data."""
    ci: tuple[float, float] | None = None
    """Confidence interval: from `std_error` and, where two sampling rules describe the data, their disagreement."""
    z: float | None = None
    """value / std_error."""


class Component(Document):
    """One component of the drift, or of the diffusion tensor."""

    expression: str
    """The active terms as one formula, rounded to the digits that their errors leave."""
    terms: tuple[Term, ...]
    """Every candidate term."""


class Model(Document):
    """dX = b(X) dt + σ(X) dW in the Itô sense; diffusion is a = σσᵀ (twice the physicists' D)."""

    drift: dict[str, Component]
    """b, by variable [state/time]."""
    diffusion: dict[str, Component]
    """a, by pair of variables, e.g. `x,x` [state²/time]."""
    convention: str = "Itô; diffusion a = σσᵀ = 2D"
    """What drift and diffusion mean here."""


class Support(Document):
    """A model that was considered."""

    support: tuple[str, ...]
    """Its terms."""
    score: float
    """Larger is better. Gain in log-likelihood less what the terms cost; of `lasso_cv` minus the smallest held-out error."""
    coefficients: dict[str, float] = {}
    """Its coefficients, by term; empty where they are not kept."""
    equivalent: tuple[tuple[str, ...], ...] = ()
    """Other supports of this size that fit equally well; of these the lowest degree was taken."""
    penalty: float | None = None
    """Of `lasso_cv`: the largest at which the lasso keeps these terms, in standard errors."""


class CrossValidation(Document):
    """How well estimates predict data that were held out, along a path of falling penalties."""

    penalties: tuple[float, ...]
    """In standard errors: of orthogonal terms those whose |z| is above the penalty stay."""
    errors: tuple[float, ...]
    """Mean squared error of the held-out equations, in units of their noise: about 1 for the true model."""
    std_errors: tuple[float, ...]
    """Of `errors`, from the folds."""
    n_terms: tuple[int, ...]
    """Terms that are kept at each penalty."""
    chosen: float
    """The largest penalty whose error is within one standard error of the smallest error."""
    lowest: float
    """The penalty of the smallest error."""
    n_folds: int
    """Groups of the data, each of which was held out once."""


class SelectionPath(Document):
    """What was considered, so that a person can overrule the choice."""

    method: str
    """How the terms were chosen; see `selection.method` of the parameters."""
    path: tuple[Support, ...]
    """The best support of each size; of `stlsq` that of each round, and of `lasso_cv` each along its path. Fewest terms first."""
    curve: CrossValidation | None = None
    """Of `lasso_cv`."""


class Selection(Document):
    """How the terms were chosen."""

    drift: dict[str, SelectionPath]
    """By variable."""
    diffusion: dict[str, SelectionPath]
    """By pair of variables."""


class DataSummary(Document):
    """The data behind the numbers."""

    variables: tuple[dict[str, str | None], ...]
    """`name`, `column` and `unit` of each."""
    n_trajectories: int
    """Trajectories."""
    n_increments: int
    """Pairs of consecutive samples."""
    dt: float
    """Median sampling interval [time]."""
    duration: float
    """Sum of all increments' time steps [time]."""
    time_unit: str | None = None
    """A label, as given or found."""
    range: tuple[tuple[float, float], ...]
    """Smallest and largest value of each variable [state]."""


class Eigenvalue(Document):
    """An eigenvalue λ of −L [1/time]; the real part is a decay rate."""

    re: float
    """Decay rate [1/time]."""
    im: float = 0.0
    """Angular frequency [1/time]."""
    ci: tuple[float, float] | None = None
    """Of the real part."""
    im_ci: tuple[float, float] | None = None
    """Of the imaginary part."""
    period: float | None = None
    """2π / |im λ| [time]; null where the eigenvalue is real."""


class Spectrum(Document):
    """Relaxation rates: the eigenvalues of −L."""

    eigenvalues: tuple[Eigenvalue, ...]
    """Non-zero eigenvalues of −L, slowest first."""
    overtones: tuple[Eigenvalue, ...] = ()
    """Those that turn a whole number of times faster than a slower pair of `eigenvalues`, and decay at least half as fast again:
    they follow from that pair."""
    relaxation_times: tuple[float, ...]
    """1 / re λ [time]."""
    eigenfunctions: tuple[Array, ...] = ()
    """Right eigenfunctions on the density's grid, unit norm under the stationary law; of one variable only."""
    eigenfunctions_ci: tuple[tuple[Array, Array] | None, ...] = ()
    """Of each eigenfunction the lower and upper ends of the intervals at each point, over a hundred of the sampled models."""
    reason: str | None = None
    """Why there are fewer eigenvalues than asked for."""


class Density(Document):
    """The stationary density on a grid; both empty for three variables and more."""

    grid: tuple[Array, ...]
    """The points of each variable [state]."""
    values: Values
    """At each point; of two variables at each pair of points, the first variable's rows."""
    values_ci: tuple[Values, Values] | None = None
    """Lower and upper ends of the intervals at each point, like `values`."""


class Stationary(Document):
    """The stationary law."""

    mean: tuple[float | None, ...]
    """Of each variable [state]."""
    mean_ci: tuple[Interval | None, ...] = ()
    """Its intervals."""
    covariance: tuple[tuple[float | None, ...], ...]
    """Of each pair of variables [state²]."""
    covariance_ci: tuple[tuple[Interval | None, ...], ...] = ()
    """Its intervals."""
    skewness: tuple[float | None, ...] = ()
    """Of each variable; 0 for a Gaussian."""
    skewness_ci: tuple[Interval | None, ...] = ()
    """Its intervals."""
    kurtosis: tuple[float | None, ...] = ()
    """Fourth central moment over the squared variance (3 for a Gaussian)."""
    kurtosis_ci: tuple[Interval | None, ...] = ()
    """Its intervals."""
    density: Density
    """The law itself."""
    reason: str | None = None
    """Which numbers do not exist or are only approximate, and why."""
    current: EncodedArray | None = None
    """Probability current of two variables on the density's grid, (n₀, n₁, 2) [1/(state·time)]."""
    probability_current: float | None = None
    """Of an angle: net flow of probability through every point, in turns per time [1/time]."""
    probability_current_ci: Interval | None = None
    """Its interval."""
    mean_velocity: float | None = None
    """Of an angle: mean of dx/dt, the probability current times the period [state/time]."""
    mean_velocity_ci: Interval | None = None
    """Its interval."""
    circulation: float | None = None
    """Area that the process of two variables sweeps per time, ½⟨x b_y − y b_x⟩ [state²/time]."""
    circulation_ci: Interval | None = None
    """Its interval."""
    entropy_production: float | None = None
    """In units of Boltzmann's constant [1/time]; 0 in equilibrium."""
    entropy_production_ci: Interval | None = None
    """Its interval."""


class Autocorrelation(Document):
    """Autocorrelation function of the stationary model, ⟨δx(0) δx(t)⟩ / ⟨δx²⟩."""

    lags: Array = ()
    """[time]."""
    values: dict[str, Array] = {}
    """Of each variable; of an angle x of period P the real part of that of exp(2πix/P)."""
    values_ci: dict[str, tuple[Array, Array]] = {}
    """Of each variable the lower and upper ends of the intervals at each lag, over a hundred of the sampled models, of an
    angle seventy."""
    integrated_time: dict[str, Estimate] = {}
    """Integral of each over all lags from 0 [time]."""
    reason: str | None = None
    """Why there is none, or of which variable."""


class PowerSpectrum(Document):
    """One-sided power spectral density of the stationary model; its integral over all frequencies is the variance."""

    frequencies: Array
    """[1/time]."""
    values: dict[str, Array]
    """Of each variable [state²·time]; of an angle x of period P, of cos(2πx/P) and sin(2πx/P) together [time]."""
    values_ci: dict[str, tuple[Array, Array]] = {}
    """Of each variable the lower and upper ends of the intervals at each frequency, over a hundred of the sampled models, of an
    angle seventy."""


class FixedPoint(Document):
    """A root of the drift."""

    at: tuple[float, ...]
    """Where [state]."""
    at_ci: tuple[Interval | None, ...] = ()
    """Interval of each coordinate, over those sampled models that have as many fixed points where the process is."""
    stable: bool
    """Whether paths without noise come back to it."""
    jacobian_eigenvalues: tuple[Eigenvalue, ...] = ()
    """Of the drift's Jacobian there, in two variables and more, the largest real part first [1/time]."""


class Barrier(Document):
    """The way out of a well over the barrier next to it."""

    from_: Annotated[float, Field(alias="from")]
    """The well [state]."""
    over: float
    """The top of the barrier [state]."""
    to: float | None
    """The well beyond; null where there is none [state]."""
    height: float | None
    """Difference of V = −∫b dx between barrier and well [state²/time]."""
    height_ci: Interval | None = None
    """Its interval, over those sampled models that have the barrier."""
    height_over_noise: float
    """Difference of the effective potential Φ = −∫2b/a dx + log a: the barrier in units of kT."""
    height_over_noise_ci: Interval | None = None
    """Its interval, likewise."""


class Quantile(Document):
    """The passage is over by `time` with this probability [time]."""

    probability: float
    """Between 0 and 1."""
    time: float
    """[time]"""
    ci: Interval | None = None
    """Confidence interval, of one variable, from a hundred of the sampled models, of an angle seventy; an open end is null."""


Place = float | tuple[float, ...] | dict[str, Interval]
"""Of one variable a number, of several a point, or a region: the interval of each variable [state]."""


class PassageDistribution(Document):
    """Law of a first-passage time, between the times by which it is over with probabilities 0.001 and 0.999."""

    times: Array = ()
    """Close together where much happens [time]."""
    density: Array = ()
    """[1/time]."""
    cumulative: Array = ()
    """Probability that the passage is over by then."""
    reason: str | None = None
    """Why there is none."""


class Passage(Document):
    """First passage from one place to another.

    In two variables those between neighbouring wells start and end in the box around each stable fixed point that reaches one
    standard deviation of the linear process next to it along each variable.
    """

    from_: Annotated[Place, Field(alias="from")]
    """Where it begins [state]."""
    to: Place
    """Where it ends [state]."""
    mean_time: Estimate
    """Exact mean first-passage time of the model [time]; from a region the mean over the stationary law in it."""
    kramers: Estimate
    """Eyring–Kramers asymptotic formula for the same passage [time]."""
    standard_deviation: Estimate | None = None
    """Of the passage time itself, from one passage to the next [time]; not the error of its mean."""
    quantiles: tuple[Quantile, ...] = ()
    """Of the passage time; empty where there is no mean."""
    distribution: PassageDistribution | None = None
    """Law of the passage time; null where it is not looked at."""


class Committor(Document):
    """The probability of entering `to` before `from`, from each state."""

    from_: Annotated[Place, Field(alias="from")]
    """The place not to be entered first [state]."""
    to: Place
    """The place to be entered first [state]."""
    grid: tuple[Array, ...] = ()
    """Points of each variable [state]."""
    values: Values = ()
    """At each point; of two variables at each pair of points, the first variable's rows."""
    values_ci: tuple[Values, Values] | None = None
    """Lower and upper ends of the intervals at each point, like `values`."""
    reason: str | None = None
    """Why there are no values."""


class Exit(Document):
    """How an interval of one variable is left, from a state inside."""

    from_: Annotated[float, Field(alias="from")]
    """Where it begins [state]."""
    low: float
    """Lower end of the interval [state]."""
    high: float
    """Upper end of the interval [state]."""
    probability_high: Estimate
    """That it is left at `high` and not at `low` (splitting probability)."""
    mean_time: Estimate
    """Mean time until it is left at either end [time]."""


class EffectivePotential(Document):
    """Φ(x) = −∫2b/a dx + log a, zero at its lowest point; −log of the stationary density where there is one."""

    grid: Array
    """[state]."""
    values: Array
    """[kT]; on a circle that is driven round they do not close."""
    values_ci: tuple[Array, Array] | None = None
    """Lower and upper ends of the intervals at each point; each sampled potential is zero at its own lowest point."""


class End(Document):
    """An end of the state space of one variable, in Feller's classification."""

    at: float | None
    """[state]; null at infinity, the lower end first."""
    kind: Literal["natural", "entrance", "regular", "exit"]
    """`natural`: never reached, and the process cannot start there. `entrance`: never reached, but it can. `regular`: reached and
    left again. `exit`: reached and never left; of an open end, that the process runs away in finite time."""
    reason: str | None = None
    """Why there is no stationary law because of this end."""


class LocalRelaxation(Document):
    """γ(x) = |b'(x)| / a(x), the source paper's local relaxation rate. It is not the spectral gap."""

    grid: Array
    """[state]"""
    rate: Array
    """[1/state²]"""
    rate_ci: tuple[Array, Array] | None = None
    """Lower and upper ends of the intervals at each point, like `rate`."""


class Simulated(Document):
    """A number from simulated paths and its Monte Carlo standard error."""

    value: float
    """Mean over the paths."""
    std_error: float
    """From the scatter between the paths."""


class SimulatedMarginal(Document):
    """Density of one variable in equal bins, and its Monte Carlo standard errors [1/state]."""

    edges: tuple[float, ...]
    """One more than bins [state]."""
    density: tuple[float, ...]
    """In each bin."""
    std_error: tuple[float, ...]
    """Of each."""


class SimulatedLaw(Document):
    """What simulated paths of the model show, in three variables and more, where neither law nor rates can be computed.

    Numbers are null for an angle, and lists are empty where the paths ran away or did not settle."""

    n_paths: int
    """Simulated paths."""
    n_escaped: int
    """Paths that ran away: the model is then not ergodic as far as was seen."""
    duration: float
    """Of each path, after what was left out of it to settle [time]."""
    step: float
    """[time]"""
    step_error: float | None = None
    """What extrapolation to step zero changed: a mean, in standard deviations, or a standard deviation, relative."""
    mean: tuple[Simulated | None, ...] = ()
    """Of each variable [state]."""
    covariance: tuple[tuple[Simulated | None, ...], ...] = ()
    """Of each pair of variables [state²]."""
    skewness: tuple[Simulated | None, ...] = ()
    """Of each variable."""
    kurtosis: tuple[Simulated | None, ...] = ()
    """3 for a Gaussian."""
    integrated_times: tuple[Simulated | None, ...] = ()
    """∫₀^∞ of each variable's autocorrelation [time]; null where the paths are too short for it."""
    marginals: tuple[SimulatedMarginal, ...] = ()
    """Density of each variable."""
    reason: str | None = None
    """Why there are no numbers."""


class GeneratorAnalysis(Document):
    """What the generator L f = b·∇f + ½ a:∇²f says."""

    ergodic: bool | None
    """Whether the model has a stationary law; null where the model alone was asked for (`analysis.model_only`)."""
    reason: str | None = None
    """Why there is no stationary law, or why nothing is known about it."""
    domain: Interval = (None, None)
    """Interval the analysis ran on, of one variable [state]."""
    domains: tuple[Interval, ...] = ()
    """Likewise of each of two variables and more."""
    boundaries: Literal["natural", "reflecting"] = "natural"
    """`reflecting`: the process reaches an end of the domain and is taken to be reflected there. A declared end where the noise
    is positive is one; and where `ergodic` is false, the model has no stationary law and the ends were closed on request."""
    approximation: str | None = None
    """Why law and rates are those of a simpler process; null where they are the model's own."""
    observed_ranges: tuple[Interval, ...] = ()
    """Where the data were, of each variable [state]: what law, rates and times rest on. Empty without data, and for angles."""
    unseen_mass: float | None = None
    """Stationary probability of the model beyond the observed ranges; null without a law, or a density."""
    spectrum: Spectrum | None = None
    """Relaxation rates."""
    stationary: Stationary | None = None
    """The stationary law; null where there is none."""
    autocorrelation: Autocorrelation | None = None
    """How long the model remembers."""
    power_spectrum: PowerSpectrum | None = None
    """The same by frequency."""
    fixed_points: tuple[FixedPoint, ...] = ()
    """Roots of the drift."""
    barriers: tuple[Barrier, ...] = ()
    """Ways out of wells, of one variable."""
    passages: tuple[Passage, ...] = ()
    """First-passage times: those asked for, and between neighbouring wells."""
    committors: tuple[Committor, ...] = ()
    """Those asked for, and between neighbouring wells."""
    exits: tuple[Exit, ...] = ()
    """Those asked for."""
    effective_potential: EffectivePotential | None = None
    """Of one variable; on the density's grid where there is a stationary law."""
    ends: tuple[End, ...] = ()
    """Lower and upper end of the domain of one variable; empty for an angle, and where the noise is not positive."""
    local_relaxation: LocalRelaxation | None = None
    """Of one variable."""
    simulated: SimulatedLaw | None = None
    """Beside the linear process next to the stable fixed points, in three variables and more."""
    ergodic_share: float | None = None
    """Share of the models drawn around the estimate that are ergodic too."""


class Residuals(Document):
    """Standardised residuals of the fitted model; a right model gives 0, 1, 0, 3."""

    mean: float | None = None
    """0 for a right model."""
    variance: float | None = None
    """1 for a right model."""
    skewness: float | None = None
    """0 for a right model."""
    kurtosis: float | None = None
    """3 for a right model."""
    lag_one_correlation: float | None = None
    """Between neighbours in time; 0 for a right model."""


class Coverage(Document):
    """Where the kernels saw data."""

    n_kernels: int
    """Kernels in use."""
    n_sparse: int
    """Kernels whose total weight is below ten increments."""
    range: tuple[float, float] | None
    """First and last centre [state]; null in several variables, where the kernels are wherever the data are."""
    bandwidth: float
    """[state]; in several variables in standard deviations of the decorrelated data."""


class KernelCandidate(Document):
    """Kernels that cross-validation tried. Numbers are null where they do not tell the library's terms apart."""

    count: int
    """Number of kernels."""
    bandwidth: float
    """[state]; in several variables in standard deviations of the decorrelated data."""
    score: float | None
    """Log-likelihood of the drift on held-out data, above that of no drift; larger is better."""
    std_error: float | None
    """Standard error, over the folds, of the score's difference from the best."""
    drift_variance: float | None
    """Variance of the drift's coefficients relative to the Cramér–Rao bound, mean over the library; 1 is the best there is."""
    diffusion_variance: float | None
    """Likewise of the diffusion's."""


class KernelChoice(Document):
    """How bandwidth and count were chosen: of the candidates within two standard errors of the best score the one of smallest
    variance, and of those alike the one with the fewest kernels."""

    count: int
    """Number of kernels."""
    bandwidth: float
    """[state]; in several variables in standard deviations of the decorrelated data."""
    n_folds: int
    """Groups of trajectories, or stretches of the record, each of which was held out once."""
    surface: tuple[KernelCandidate, ...]
    """Every candidate."""


class ChapmanKolmogorov(Document):
    """The model run for several sampling intervals at once, against what the data did in that time."""

    variable: str
    """Which one was predicted."""
    lag: float
    """[time]"""
    statistic: float
    """χ² of the prediction's errors, seen by several kernels."""
    degrees_of_freedom: int
    """Of the statistic, if the model is right."""
    p_value: float
    """Probability of such a statistic if the model is right, at this lag alone. Conservative, as these data made the model."""
    mean_difference: float
    """Largest difference of the mean later state, from states near one of the kernels, in standard deviations of the state."""
    spread_difference: float
    """Likewise of its square, in variances."""
    n_windows: int
    """Pairs of states that far apart in time."""


class DataAutocorrelation(Document):
    """The data's autocorrelation and the model's. Empty where `reason` says why."""

    lags: tuple[float, ...] = ()
    """[time]"""
    data: tuple[float, ...] = ()
    """About the record's mean, of the state without its measurement noise; of an angle x of period P, of exp(2πix/P)."""
    band: tuple[tuple[float, float], ...] = ()
    """95 % interval of `data`, from the scatter between blocks of the record."""
    model: tuple[float, ...] = ()
    """The model's, at the same lags."""
    p_value: float | None = None
    """Probability of such a difference, at four lags together, if the model is right."""
    reason: str | None = None
    """Why there is nothing to compare."""


class Diagnostics(Document):
    """How far the answer can be trusted."""

    measurement_noise_variance: float | None = None
    """Variance of white noise added to the state by the instrument [state²]; 0 where none was found. In several variables their
    mean."""
    measurement_noise_variances: dict[str, float] = {}
    """By variable, where there are several."""
    step_error: dict[str, dict[str, float]] = {}
    """Relative difference between sampling rules, by component and active term."""
    residuals: Residuals = Residuals()
    """In several variables those of all, pooled."""
    residuals_by_variable: dict[str, Residuals] = {}
    """Where there are several."""
    density_total_variation: float | None = None
    """Total variation between the data's histogram and the model's stationary density, 0 to 1; of one variable or two."""
    autocorrelation: dict[str, DataAutocorrelation] = {}
    """By variable."""
    chapman_kolmogorov: tuple[ChapmanKolmogorov, ...] = ()
    """At lags of 1, 2, 4, … sampling intervals, up to about a relaxation time."""
    comparison_share: float | None = None
    """Share of the samples that these comparisons looked at, in stretches spread over the record."""
    comparison_reason: str | None = None
    """Why `chapman_kolmogorov` is empty."""
    coverage: Coverage | None = None
    """Where there was enough to see."""
    kernel_choice: KernelChoice | None = None
    """Where `kernels.count` is `auto`."""
    condition_number: float | None = None
    """Of the column-normalised whitened drift design."""


class Provenance(Document):
    """Where the numbers come from: the same again gives the same."""

    version: str
    """Of Itoscope."""
    dataset: str | None = None
    """Its id."""
    dataset_sha256: str | None = None
    """Digest of the bytes as uploaded, hexadecimal."""
    parameters: dict[str, Any]
    """Of the identification, or the model's terms, every default filled in."""
    analysis: dict[str, Any] = {}
    """Of the generator analysis, every default filled in."""
    seconds: float
    """Computing time on the worker [s]."""


class Result(Document):
    """A result of any kind of job; `contract.kinds` lists the kinds."""

    if TYPE_CHECKING:  # Each kind has its own fields, in its own order.
        kind: str
        job: str
        provenance: Provenance


class ModelResult(Result):
    """A result that is one model."""

    schema_version: Literal["1.0"] = SCHEMA_VERSION
    """Of this document; what is stored is never rewritten."""
    job: str
    """Its id."""
    model: Model
    """Drift and diffusion."""
    generator: GeneratorAnalysis
    """What follows from them."""
    curves: Curves | None = None
    """Drift and diffusion of one variable, for drawing."""
    drift_field: DriftField | None = None
    """Drift of two variables, for drawing."""
    warnings: tuple[Notice, ...] = ()
    """What a reader of the numbers should know."""
    provenance: Provenance
    """Where they come from."""


class IdentificationResult(ModelResult):
    """Data → model → what its generator says."""

    kind: Literal["identification"] = "identification"
    """Of the job."""
    data: DataSummary
    """What the model was found from."""
    selection: Selection
    """Which other models were considered."""
    diagnostics: Diagnostics
    """Whether it can be trusted."""
    observed: Observed | None = None
    """The data beside it, for drawing."""


class GeneratorResult(ModelResult):
    """A model → what its generator says."""

    kind: Literal["generator"] = "generator"
    """Of the job."""
