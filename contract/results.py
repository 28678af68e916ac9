"""The result: a versioned, immutable document.

Numbers are finite, or null with a reason beside them.
"""

from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import Field

from contract.base import Document, Interval
from contract.curves import Curves, DriftField, Observed

SCHEMA_VERSION: Final = "1.0"


class Notice(Document):
    """A finding that the reader should know, as a sentence that also says what to try."""

    code: str
    """Stable, machine-readable code."""
    message: str
    """The finding, for people."""
    details: dict[str, Any] = {}
    """The numbers behind the finding."""


class EncodedArray(Document):
    """An array of more than 2 000 numbers: little-endian bytes in base64, in C order."""

    dtype: Literal["<f8"] = "<f8"
    """Data type: eight-byte floating point, little-endian."""
    shape: tuple[int, ...]
    """Length of each axis."""
    encoding: Literal["base64"] = "base64"
    """Encoding of `data`."""
    data: str
    """The encoded bytes."""


Array = tuple[float | None, ...] | EncodedArray

Values = Array | tuple[tuple[float | None, ...], ...]
"""Values on a grid of one variable, or rows of values on a grid of two."""


class Estimate(Document):
    """A number with its confidence interval."""

    value: float | None
    """The number; null if there is none, see `reason`."""
    ci: Interval | None = None
    """Confidence interval; null for an unbounded end."""
    reason: str | None = None
    """Reason why there is no value."""


class Term(Document):
    """One candidate term.

    Its coefficient is in the units of the data and refers to the term as written.
    """

    term: str
    """The term as in the library, e.g. `x^3`, in the standard names x, y, z, … For an angle x of
    period P, `sin(x)` means sin(2πx/P)."""
    value: float
    """Coefficient; 0 if the term was not selected."""
    active: bool
    """True if the term was selected."""
    std_error: float | None = None
    """Model-based standard error."""
    robust_std_error: float | None = None
    """Standard error from the scatter between blocks of the data."""
    ci: tuple[float, float] | None = None
    """Confidence interval over all likely sets of terms, from the standard errors on each of them
    and, if two sampling rules both describe the data, the difference between them. The coefficient
    is zero in sets without the term. A term that was not selected has an interval only if it is
    likely enough to widen it beyond zero."""
    z: float | None = None
    """Coefficient divided by `std_error`."""
    probability: float | None = None
    """Probability that the term belongs to the model, over all likely sets of terms; null if the
    estimator gives none."""
    known: bool = False
    """True if the coefficient was given in `parameters.constraints`; it has no error."""
    bound: bool = False
    """True if the coefficient is at a bound of `parameters.constraints.bounds`. `std_error` is then
    that of the free coefficient."""


class FreeCoefficient(Document):
    """A coefficient as the data alone give it."""

    value: float
    """Coefficient."""
    std_error: float
    """Standard error."""


class ConstraintTest(Document):
    """Test of what was given of a component, against the data."""

    free: dict[str, FreeCoefficient]
    """The known and excluded terms, and their coefficients if they are free beside the selected
    terms, in the units of the data."""
    statistic: float
    """Wald's statistic: squared distance of `free` from what was given, in standard errors."""
    p_value: float
    """Probability of a larger statistic if what was given is true."""


class LikelySupport(Document):
    """A likely set of terms, with the distribution of its coefficients in the data's units.

    A model is drawn with the coefficients `values` + F z, where z are independent standard normal
    numbers and F is `factor`.
    """

    support: tuple[str, ...]
    """The terms of the set."""
    probability: float
    """Probability that exactly these are the terms of the component."""
    values: tuple[float, ...]
    """Coefficients, in the order of `support`."""
    factor: tuple[tuple[float, ...], ...]
    """Square root F of the covariance matrix F Fᵀ of the coefficients, by rows."""
    bounds: tuple[Interval, ...] | None = None
    """Lowest and highest value of each coefficient, in the order of `support`: drawn coefficients
    outside are moved to the nearest ones inside, in the metric of their covariance. Null without
    bounds."""
    shift: tuple[float, ...] | None = None
    """What the other sampling rule adds to `values`; every second model is of that rule. Null if
    that rule does not describe the data."""


class Component(Document):
    """One component of the drift or of the diffusion tensor."""

    expression: str
    """The selected terms as a formula in the variables' symbols, with rounded coefficients. Terms
    of an angle are functions of its value, e.g. `sin(2*pi*phi/360)`."""
    terms: tuple[Term, ...]
    """Every candidate term."""
    covariance: Values | None = None
    """Covariance matrix of the coefficients of the selected terms, if these are the right ones. Its
    rows and columns are the terms with `active`, in the order of `terms`. It is model-based, or
    from the scatter between blocks of the data in directions where that is larger beyond chance.
    Null if no term was selected or the estimator gives no errors. Estimates of different components
    are nearly uncorrelated."""
    constraint_test: ConstraintTest | None = None
    """Test of the known and excluded terms of `parameters.constraints`."""
    supports: tuple[LikelySupport, ...] = ()
    """All likely sets of terms, the selected one first, from which models are drawn
    (`GET /v1/jobs/{id}/draws`). Empty if the estimator gives no errors, and for a velocity."""
    joint: Literal["potential", "equalities"] | None = None
    """Restriction that ties this component to others with the same word. They are drawn with the
    same numbers z; those of a potential with the same sets of terms, too."""


class RestrictionTest(Document):
    """Test of what was given of several coefficients, against the free fit."""

    restriction: Literal[
        "bounds", "equalities", "gradient", "detailed-balance", "measurement-noise"
    ]
    """What was given: constraints, or the standard error of the samples."""
    components: tuple[str, ...]
    """The components it is about: a variable for the drift, a pair for the diffusion."""
    statistic: float
    """Squared distance of the free fit from what was given, in standard errors."""
    degrees_of_freedom: int | None = None
    """Degrees of freedom of the χ² distribution; null for bounds, whose law is a mixture."""
    p_value: float
    """Probability of a larger statistic if what was given is true."""


class Potential(Document):
    """The potential that the drift was restricted to have."""

    form: Literal["gradient", "detailed-balance"]
    """`gradient`: b = −∂U. `detailed-balance`: b = −½ a ∂Φ with the constant diffusion a; the
    stationary density is proportional to exp(−Φ)."""
    expression: str
    """The potential as a formula in the variables' symbols, with rounded coefficients and without
    a constant [state²/time; Φ has no unit]."""
    terms: tuple[Term, ...]
    """Every candidate term of the potential."""
    covariance: Values | None = None
    """Covariance matrix of the coefficients of the selected terms."""


class ColouredNoise(Document):
    """The model dx = f(x) dt + u dt, whose noise u is an Ornstein–Uhlenbeck process.

    Its velocity v = f + u has the force F = f/τ + (f′ − 1/τ) v.
    """

    drift: Component
    """Drift f of the position [state/time]."""
    correlation_time: Estimate
    """Correlation time τ of the noise [time]."""
    diffusion: Estimate
    """Strength of the noise: the diffusion a of the limit dx = f dt + √a dW for τ → 0. The
    variance of u is a/2τ [state²/time]."""
    p_value: float
    """p-value of the test of this force against a free one of second order."""


class Model(Document):
    """The model dX = b(X) dt + σ(X) dW in the Itô sense.

    Its diffusion a = σσᵀ is twice the diffusion coefficient D of physics.
    """

    drift: dict[str, Component]
    """Drift b, by variable [state/time]."""
    diffusion: dict[str, Component]
    """Diffusion a, by pair of variables, e.g. `x,x` [state²/time]."""
    symbols: dict[str, str] = {}
    """Symbol of each variable, by standard name: its word in `expression` and in sentences."""
    periodic: dict[str, float] = {}
    """Period P of each angle [state]."""
    domain: dict[str, Interval] = {}
    """Declared bounds of the variables [state]."""
    inputs: dict[str, float] = {}
    """Inputs that drive the variables and have no equation, and `t`, the time of the samples, where
    the forcing has a trend: the value of each at which the model was analysed. Sines and cosines of
    t are zero there, their mean over a period."""
    order: Literal[1, 2] = 1
    """1: dX = b(X) dt + σ(X) dW of the recorded variables. 2: the variables are positions and then
    their velocities, dx = v dt, dv = F(x, v) dt + σ(x, v) dW. Where positions alone were recorded,
    they are x and v; in several coordinates x, y, … and vx, vy, …. Recorded velocities keep the
    names of their columns. The force F is the drift of a velocity [state/time²], the diffusion
    that of the velocities [state²/time³]."""
    coloured_noise: ColouredNoise | None = None
    """Drift and noise, if `dynamics` is `coloured-noise`."""
    potential: Potential | None = None
    """Potential of the drift, if `constraints.gradient` or `detailed_balance` was set."""
    restriction_tests: tuple[RestrictionTest, ...] = ()
    """Tests of bounds that the free fit violates, of equalities and the potential, and of the
    measurement noise that was given."""
    convention: str = "Itô; diffusion a = σσᵀ = 2D"
    """Definition of drift and diffusion."""


class Support(Document):
    """A set of terms that was considered."""

    support: tuple[str, ...]
    """The terms of the set."""
    score: float
    """Score; larger is better. Gain in log-likelihood minus the penalty for the number of terms;
    for `lasso_cv`, minus the smallest held-out error."""
    coefficients: dict[str, float] = {}
    """Coefficients by term; empty if they are not stored."""
    equivalent: tuple[tuple[str, ...], ...] = ()
    """Other sets of the same size that fit equally well. The one of lowest degree was selected."""
    penalty: float | None = None
    """For `lasso_cv`: the largest penalty at which the lasso keeps these terms, in standard
    errors."""
    probability: float | None = None
    """Probability that exactly these are the terms of the model; null if the estimator gives
    none."""


class CrossValidation(Document):
    """Prediction error on held-out data along a path of decreasing penalties."""

    penalties: tuple[float, ...]
    """Penalties, in standard errors. For orthogonal terms, those with |z| above the penalty are
    kept."""
    errors: tuple[float, ...]
    """Mean squared error of the held-out equations in units of their noise variance; about 1 for
    the true model."""
    std_errors: tuple[float, ...]
    """Standard error of `errors`, from the folds."""
    n_terms: tuple[int, ...]
    """Number of terms kept at each penalty."""
    chosen: float
    """The selected penalty: the largest with an error within one standard error of the smallest
    error."""
    lowest: float
    """The penalty with the smallest error."""
    n_folds: int
    """Number of folds, each of which was held out once."""


class SelectionPath(Document):
    """The sets of terms that were considered, so that the selection can be overruled."""

    method: str
    """Selection method; see `selection.method` of the parameters."""
    path: tuple[Support, ...]
    """The best set of each size; for `stlsq`, the set of each round; for `lasso_cv`, each set
    along the path. Sets with the fewest terms come first."""
    curve: CrossValidation | None = None
    """Cross-validation curve; `lasso_cv` only."""


class Selection(Document):
    """Selection of the terms."""

    drift: dict[str, SelectionPath]
    """Selection path of each drift component, by variable."""
    diffusion: dict[str, SelectionPath]
    """Selection path of each diffusion component, by pair of variables."""


class DataSummary(Document):
    """Summary of the data that the result is based on."""

    variables: tuple[dict[str, str | None], ...]
    """`name`, `symbol`, `label`, `column` and `unit` of each variable."""
    n_trajectories: int
    """Number of trajectories."""
    n_increments: int
    """Number of increments, i.e. pairs of consecutive samples."""
    dt: float
    """Median sampling interval [time]."""
    duration: float
    """Total duration: the sum of the time steps of all increments [time]."""
    time_unit: str | None = None
    """Unit of time, as given or as found in the file; only a label."""
    range: tuple[tuple[float, float], ...]
    """Smallest and largest value of each variable [state]."""


class Eigenvalue(Document):
    """An eigenvalue λ of −L [1/time]. Its real part is a decay rate."""

    re: float
    """Real part: decay rate [1/time]."""
    im: float = 0.0
    """Imaginary part: angular frequency [1/time]."""
    ci: tuple[float, float] | None = None
    """Confidence interval of the real part."""
    im_ci: tuple[float, float] | None = None
    """Confidence interval of the imaginary part."""
    period: float | None = None
    """Period 2π / |im λ| [time]; null if the eigenvalue is real."""


class Spectrum(Document):
    """Relaxation rates: the eigenvalues of −L."""

    eigenvalues: tuple[Eigenvalue, ...]
    """Non-zero eigenvalues of −L, slowest first."""
    overtones: tuple[Eigenvalue, ...] = ()
    """Overtones: eigenvalues whose frequency is an integer multiple of that of a slower pair in
    `eigenvalues` and whose decay rate is at least half as large again. They follow from that
    pair."""
    relaxation_times: tuple[float, ...]
    """Relaxation times 1 / re λ [time]."""
    eigenfunctions: tuple[Array, ...] = ()
    """Right eigenfunctions on the grid of the stationary density, with unit norm under the
    stationary distribution; one variable only."""
    eigenfunctions_ci: tuple[tuple[Array, Array] | None, ...] = ()
    """Pointwise lower and upper confidence limits of each eigenfunction, from a hundred sampled
    models."""
    reason: str | None = None
    """Reason why there are fewer eigenvalues than requested."""


class Density(Document):
    """The stationary density on a grid. Grid and values are empty in three or more variables."""

    grid: tuple[Array, ...]
    """Grid points of each variable [state]."""
    values: Values
    """Density at each grid point; in two variables, rows follow the first variable."""
    values_ci: tuple[Values, Values] | None = None
    """Pointwise lower and upper confidence limits of `values`, in the same form."""


class Stationary(Document):
    """The stationary distribution."""

    mean: tuple[float | None, ...]
    """Mean of each variable [state]."""
    mean_ci: tuple[Interval | None, ...] = ()
    """Confidence intervals of the means."""
    covariance: tuple[tuple[float | None, ...], ...]
    """Covariance of each pair of variables [state²]."""
    covariance_ci: tuple[tuple[Interval | None, ...], ...] = ()
    """Confidence intervals of the covariances."""
    skewness: tuple[float | None, ...] = ()
    """Skewness of each variable; 0 for a Gaussian."""
    skewness_ci: tuple[Interval | None, ...] = ()
    """Confidence intervals of the skewness."""
    kurtosis: tuple[float | None, ...] = ()
    """Kurtosis of each variable: fourth central moment divided by the squared variance; 3 for a
    Gaussian."""
    kurtosis_ci: tuple[Interval | None, ...] = ()
    """Confidence intervals of the kurtosis."""
    density: Density
    """The stationary density."""
    reason: str | None = None
    """Reason why some of these numbers do not exist or are only approximate."""
    current: EncodedArray | None = None
    """Probability current of two variables on the grid of the density, shape (n₀, n₁, 2)
    [1/(state·time)]."""
    probability_current: float | None = None
    """Probability current of a periodic variable: net flow through every point, in turns per
    unit time [1/time]."""
    probability_current_ci: Interval | None = None
    """Confidence interval of the probability current."""
    mean_velocity: float | None = None
    """Mean velocity of a periodic variable: mean of dx/dt, i.e. the probability current times
    the period [state/time]."""
    mean_velocity_ci: Interval | None = None
    """Confidence interval of the mean velocity."""
    kinetic_temperature: float | None = None
    """Kinetic temperature ⟨v²⟩ of a model of second order in one coordinate: kT over the mass, if
    the bath is in equilibrium [state²/time²]."""
    kinetic_temperature_ci: Interval | None = None
    """Confidence interval of the kinetic temperature."""
    circulation: float | None = None
    """Circulation of two variables: area swept per unit time, ½⟨x b_y − y b_x⟩ [state²/time]."""
    circulation_ci: Interval | None = None
    """Confidence interval of the circulation."""
    entropy_production: float | None = None
    """Entropy production rate in units of Boltzmann's constant [1/time]; 0 in equilibrium.
    Velocities of a model of second order count as odd under time reversal."""
    entropy_production_ci: Interval | None = None
    """Confidence interval of the entropy production rate."""


class Autocorrelation(Document):
    """Autocorrelation function of the stationary model, ⟨δx(0) δx(t)⟩ / ⟨δx²⟩."""

    lags: Array = ()
    """Lags [time]."""
    values: dict[str, Array] = {}
    """Autocorrelation of each variable; for an angle x of period P, the real part of the
    autocorrelation of exp(2πix/P)."""
    values_ci: dict[str, tuple[Array, Array]] = {}
    """Pointwise lower and upper confidence limits of each function, from a hundred sampled
    models (for an angle, seventy)."""
    integrated_time: dict[str, Estimate] = {}
    """Integrated autocorrelation time of each variable: the integral over all lags from 0
    [time]."""
    reason: str | None = None
    """Reason why there is no autocorrelation function, or for which variable."""


class PowerSpectrum(Document):
    """One-sided power spectral density of the stationary model.

    Its integral over all frequencies is the variance.
    """

    frequencies: Array
    """Frequencies [1/time]."""
    values: dict[str, Array]
    """Power spectral density of each variable [state²·time]; for an angle x of period P, the sum
    of those of cos(2πx/P) and sin(2πx/P) [time]."""
    values_ci: dict[str, tuple[Array, Array]] = {}
    """Pointwise lower and upper confidence limits of each spectrum, from a hundred sampled
    models (for an angle, seventy)."""


class Oscillation(Document):
    """The oscillation next to a stable fixed point of a model of second order in one coordinate.

    Next to it, d²x/dt² = −ω₀² x − γ dx/dt.
    """

    angular_frequency: Estimate
    """ω₀ = √(−∂F/∂x), in radians: the frequency without friction [1/time]."""
    friction: Estimate
    """γ = −∂F/∂v [1/time]."""
    quality_factor: Estimate
    """Quality factor ω₀/γ; below ½ the motion is overdamped."""
    damped_period: Estimate
    """Period of the damped oscillation, 2π/√(ω₀² − γ²/4) [time]; null if it is overdamped."""


class FixedPoint(Document):
    """A fixed point: a root of the drift."""

    at: tuple[float, ...]
    """Position [state]."""
    at_ci: tuple[Interval | None, ...] = ()
    """Confidence interval of each coordinate, from the sampled models that have the same number
    of fixed points in the region the process visits."""
    stable: bool
    """True if the fixed point is stable: noise-free paths that start nearby return to it."""
    jacobian_eigenvalues: tuple[Eigenvalue, ...] = ()
    """Eigenvalues of the drift's Jacobian at the fixed point, largest real part first; in two or
    more variables [1/time]."""
    oscillation: Oscillation | None = None
    """Oscillation next to a stable fixed point of a model of second order in one coordinate, whose
    second variable is the velocity of the first; null otherwise."""


class Barrier(Document):
    """The barrier between a well and its neighbour."""

    from_: Annotated[float, Field(alias="from")]
    """Bottom of the well [state]."""
    over: float
    """Top of the barrier [state]."""
    to: float | None
    """Bottom of the neighbouring well; null if there is none [state]."""
    height: float | None
    """Barrier height: difference of V = −∫b dx between the top and the well [state²/time]."""
    height_ci: Interval | None = None
    """Confidence interval of the height, from the sampled models that have the barrier."""
    height_over_noise: float
    """Barrier height in units of kT: difference of the effective potential Φ = −∫2b/a dx + log
    a."""
    height_over_noise_ci: Interval | None = None
    """Confidence interval of the height in kT, from the sampled models that have the barrier."""


class Quantile(Document):
    """A quantile of a first-passage time.

    The passage is complete by `time` with this probability.
    """

    probability: float
    """Probability, between 0 and 1."""
    time: float
    """First-passage time at this probability [time]."""
    ci: Interval | None = None
    """Confidence interval, from a hundred sampled models (for an angle, seventy); one variable
    only. Null for an unbounded end."""


Place = float | tuple[float, ...] | dict[str, Interval]
"""In one variable a number; in several a point, or a region as an interval for each variable
[state]."""


class PassageDistribution(Document):
    """Distribution of a first-passage time, between its 0.001 and 0.999 quantiles."""

    times: Array = ()
    """Times, closely spaced where the distribution changes quickly [time]."""
    density: Array = ()
    """Probability density [1/time]."""
    cumulative: Array = ()
    """Cumulative distribution: probability that the passage is complete by this time."""
    reason: str | None = None
    """Reason why there is no distribution."""


class Passage(Document):
    """First passage from one place to another.

    In two variables, passages between neighbouring wells start and end in a box around each
    stable fixed point. The box extends one standard deviation, of the process linearised there,
    along each variable. In a model of second order it is an interval of the position, whatever the
    velocity.
    """

    from_: Annotated[Place, Field(alias="from")]
    """Start of the passage [state]."""
    to: Place
    """Target of the passage [state]."""
    mean_time: Estimate
    """Exact mean first-passage time of the model [time]; from a region, the mean over the
    stationary distribution restricted to it."""
    kramers: Estimate
    """Eyring–Kramers asymptotic formula for the same passage; for a model of second order in one
    coordinate Kramers' formula with the turnover to weak friction [time]."""
    standard_deviation: Estimate | None = None
    """Standard deviation of the first-passage time from one passage to the next [time]. It is
    not the standard error of the mean."""
    quantiles: tuple[Quantile, ...] = ()
    """Quantiles of the first-passage time; empty if the mean does not exist."""
    distribution: PassageDistribution | None = None
    """Distribution of the first-passage time; null if it was not computed."""
    transitions: int | None = None
    """Number of these passages observed in the data; null without data, and for passages from or
    to a point of several variables. If there are few, the mean time is an extrapolation."""


class Committor(Document):
    """Committor: probability of reaching `to` before `from`, by starting state."""

    from_: Annotated[Place, Field(alias="from")]
    """The set that must not be reached first [state]."""
    to: Place
    """The set to be reached first [state]."""
    grid: tuple[Array, ...] = ()
    """Grid points of each variable [state]."""
    values: Values = ()
    """Committor at each grid point; in two variables, rows follow the first variable."""
    values_ci: tuple[Values, Values] | None = None
    """Pointwise lower and upper confidence limits of `values`, in the same form."""
    reason: str | None = None
    """Reason why there are no values."""


class Exit(Document):
    """Exit from an interval of one variable, from a starting point inside."""

    from_: Annotated[float, Field(alias="from")]
    """Starting point [state]."""
    low: float
    """Lower end of the interval [state]."""
    high: float
    """Upper end of the interval [state]."""
    probability_high: Estimate
    """Splitting probability: the probability of leaving at `high` rather than at `low`."""
    mean_time: Estimate
    """Mean exit time, through either end [time]."""


class EffectivePotential(Document):
    """Effective potential Φ(x) = −∫2b/a dx + log a, zero at its minimum.

    It is −log of the stationary density if there is one.
    """

    grid: Array
    """Grid points [state]."""
    values: Array
    """Effective potential in units of kT [kT]. For a driven angle, the values at the two ends of
    the period differ."""
    values_ci: tuple[Array, Array] | None = None
    """Pointwise lower and upper confidence limits. Each sampled potential is zero at its own
    minimum."""


class End(Document):
    """A boundary of the state space of one variable, in Feller's classification."""

    at: float | None
    """Position, the lower boundary first [state]; null at infinity."""
    kind: Literal["natural", "entrance", "regular", "exit"]
    """Feller's class. `natural`: never reached, and the process cannot start there. `entrance`:
    never reached, but the process can start there. `regular`: reached and left again. `exit`:
    reached and never left; at infinity, this means that the process explodes in finite time."""
    reason: str | None = None
    """Reason why this boundary prevents a stationary distribution."""


class LocalRelaxation(Document):
    """The source paper's local relaxation rate γ(x) = |b'(x)| / a(x).

    It is not the spectral gap.
    """

    grid: Array
    """Grid points [state]."""
    rate: Array
    """Local relaxation rate [1/state²]."""
    rate_ci: tuple[Array, Array] | None = None
    """Pointwise lower and upper confidence limits of `rate`."""


class Simulated(Document):
    """A number estimated from simulated paths, with its Monte Carlo standard error."""

    value: float
    """Mean over the paths."""
    std_error: float
    """Standard error, from the scatter between the paths."""


class SimulatedMarginal(Document):
    """Marginal density of one variable in bins of equal width, with standard errors [1/state]."""

    edges: tuple[float, ...]
    """Bin edges, one more than there are bins [state]."""
    density: tuple[float, ...]
    """Density in each bin."""
    std_error: tuple[float, ...]
    """Monte Carlo standard error of each density."""


class SimulatedLaw(Document):
    """Stationary quantities estimated from simulated paths of the model.

    They are given in three or more variables, where neither the stationary distribution nor the
    relaxation rates can be computed directly. Numbers are null for an angle. Lists are empty if
    paths escaped or did not become stationary.
    """

    n_paths: int
    """Number of simulated paths."""
    n_escaped: int
    """Number of paths that escaped to infinity. If there are any, the simulation gives no
    evidence that the model is ergodic."""
    duration: float
    """Duration of each path, without the initial relaxation that was discarded [time]."""
    step: float
    """Time step of the simulation [time]."""
    step_error: float | None = None
    """Change due to extrapolation to zero time step: for a mean in standard deviations, for a
    standard deviation relative."""
    mean: tuple[Simulated | None, ...] = ()
    """Mean of each variable [state]."""
    covariance: tuple[tuple[Simulated | None, ...], ...] = ()
    """Covariance of each pair of variables [state²]."""
    skewness: tuple[Simulated | None, ...] = ()
    """Skewness of each variable; 0 for a Gaussian."""
    kurtosis: tuple[Simulated | None, ...] = ()
    """Kurtosis of each variable; 3 for a Gaussian."""
    integrated_times: tuple[Simulated | None, ...] = ()
    """Integrated autocorrelation time of each variable [time]; null if the paths are too short."""
    marginals: tuple[SimulatedMarginal, ...] = ()
    """Marginal density of each variable."""
    reason: str | None = None
    """Reason why there are no numbers."""


class ComplexNumber(Document):
    """A complex number."""

    real: float
    """Real part."""
    imaginary: float = 0.0
    """Imaginary part."""


class ForcedCycle(Document):
    """Mean and covariance of a periodically forced model over a period, once it has settled."""

    period: float
    """Period of the cycle; for several periods their least common multiple [time]."""
    times: tuple[float, ...]
    """Times from t = 0, where every sine is zero [time]."""
    mean: dict[str, tuple[float, ...]]
    """Mean of each variable at these times [state]."""
    covariance: dict[str, tuple[float, ...]]
    """Covariance of each pair of variables, e.g. `x,x`, at these times [state²]."""
    multipliers: tuple[ComplexNumber, ...]
    """Floquet multipliers: the factors by which deviations from the mean change in a period."""


class ForcedResponse(Document):
    """Response of the mean of a variable to the forcing at one frequency."""

    period: float
    """Period of the harmonic [time]."""
    variable: str
    """Variable."""
    amplitude: Estimate
    """Amplitude of the variable's mean [state]."""
    gain: Estimate
    """Amplitude over the amplitude of the force: of the forcing in the drift of this variable, or,
    where it has none, of the most strongly forced one [time]."""
    lag: Estimate
    """Angle by which the mean lags behind that force [rad]."""


class ForcedPassage(Document):
    """First passage of one variable under periodic forcing, by the time at which it starts."""

    from_: Annotated[float, Field(alias="from")]
    """Start of the passage [state]."""
    to: float
    """Target of the passage [state]."""
    times: tuple[float, ...] = ()
    """Times of a period at which passages start [time]."""
    mean_time: tuple[float, ...] = ()
    """Mean first-passage time of those that start at these times [time]."""
    mean_time_ci: tuple[tuple[float, ...], tuple[float, ...]] | None = None
    """Lower and upper confidence limits of `mean_time`, pointwise."""
    reason: str | None = None
    """Why there are no times."""


class Driving(Document):
    """The response of a model to periodic forcing."""

    cycle: ForcedCycle | None = None
    """Mean and covariance over a period of the forcing."""
    responses: tuple[ForcedResponse, ...] = ()
    """Response at each frequency of the forcing."""
    passages: tuple[ForcedPassage, ...] = ()
    """First passages of one variable, by starting phase: those of the analysis."""
    reason: str | None = None
    """Why there is no cycle, although there is periodic forcing."""


class GeneratorAnalysis(Document):
    """Quantities derived from the generator L f = b·∇f + ½ a:∇²f of the model."""

    ergodic: bool | None
    """True if the model has a stationary distribution; null if that is not known: the analysis
    failed (warning `not-analysed`), or was skipped (`analysis.model_only`)."""
    reason: str | None = None
    """Reason why there is no stationary distribution, or why its existence is unknown."""
    domain: Interval = (None, None)
    """Interval on which one variable was analysed [state]."""
    domains: tuple[Interval, ...] = ()
    """Intervals on which each of several variables was analysed."""
    boundaries: Literal["natural", "reflecting"] = "natural"
    """`reflecting`: the process reaches a boundary of the domain and is assumed to be reflected
    there. This applies to a declared bound at which the noise is positive and, if `ergodic` is
    false, to boundaries added because the model has no stationary distribution: on request, or
    where the drift turns outward near or beyond the ends of the data (see `approximation`)."""
    approximation: str | None = None
    """Reason why the stationary distribution and the rates are those of a simpler process; null if
    they are those of the model itself."""
    observed_ranges: tuple[Interval, ...] = ()
    """Range of the data of each variable [state], on which all derived quantities rest. Empty
    without data and for angles."""
    unseen_mass: float | None = None
    """Stationary probability of the model outside the observed ranges; null without a stationary
    density."""
    spectrum: Spectrum | None = None
    """Relaxation rates."""
    stationary: Stationary | None = None
    """The stationary distribution; null if there is none."""
    autocorrelation: Autocorrelation | None = None
    """Autocorrelation function of the model."""
    power_spectrum: PowerSpectrum | None = None
    """Power spectral density of the model."""
    fixed_points: tuple[FixedPoint, ...] = ()
    """Fixed points: the roots of the drift."""
    barriers: tuple[Barrier, ...] = ()
    """Barriers between wells; one variable only."""
    passages: tuple[Passage, ...] = ()
    """First-passage times: those requested, and those between neighbouring wells."""
    committors: tuple[Committor, ...] = ()
    """Committors: those requested, and those between neighbouring wells."""
    exits: tuple[Exit, ...] = ()
    """Exit probabilities and exit times that were requested."""
    effective_potential: EffectivePotential | None = None
    """Effective potential, on the grid of the stationary density if there is one; one variable
    only."""
    ends: tuple[End, ...] = ()
    """Lower and upper boundary of the domain; one variable only. Empty for an angle, and if the
    noise vanishes somewhere."""
    local_relaxation: LocalRelaxation | None = None
    """Local relaxation rate; one variable only."""
    simulated: SimulatedLaw | None = None
    """Estimates from simulated paths, in three or more variables. The other quantities are then
    those of the process linearised at the stable fixed points."""
    driving: Driving | None = None
    """Response to periodic forcing, if there is any; everything else is without it, at the inputs'
    values in `model.inputs`."""
    ergodic_share: float | None = None
    """Fraction of the sampled models that are ergodic."""


class Residuals(Document):
    """Moments of the standardised residuals of the fitted model.

    If the model is correct, mean, variance, skewness and kurtosis are 0, 1, 0 and 3.
    """

    mean: float | None = None
    """Mean; 0 is expected if the model is correct."""
    variance: float | None = None
    """Variance; 1 is expected if the model is correct."""
    skewness: float | None = None
    """Skewness; 0 is expected if the model is correct."""
    kurtosis: float | None = None
    """Kurtosis; 3 is expected if the model is correct."""
    lag_one_correlation: float | None = None
    """Correlation between consecutive residuals; 0 is expected if the model is correct."""


class Coverage(Document):
    """Coverage of the kernels by data."""

    n_kernels: int
    """Number of kernels in use."""
    n_sparse: int
    """Number of kernels with too few samples: a total weight below ten increments."""
    range: tuple[float, float] | None
    """First and last kernel centre [state]; null in several variables, where the kernels follow
    the data."""
    bandwidth: float
    """Kernel bandwidth [state]; in several variables, in standard deviations of the decorrelated
    data."""


class KernelCandidate(Document):
    """A set of kernels that cross-validation tried.

    Numbers are null if these kernels cannot distinguish the terms of the library.
    """

    count: int
    """Number of kernels."""
    bandwidth: float
    """Kernel bandwidth [state]; in several variables, in standard deviations of the decorrelated
    data."""
    score: float | None
    """Log-likelihood of the drift on held-out data, relative to zero drift; larger is better."""
    std_error: float | None
    """Standard error, over the folds, of the difference between this score and the best."""
    drift_variance: float | None
    """Variance of the drift coefficients relative to the Cramér–Rao bound, averaged over the
    library; 1 is optimal."""
    diffusion_variance: float | None
    """Variance of the diffusion coefficients relative to the Cramér–Rao bound, averaged over the
    library; 1 is optimal."""


class KernelChoice(Document):
    """Choice of the bandwidth and number of kernels.

    Among the candidates within two standard errors of the best score, it is the one with the
    smallest variance; in case of a tie, the one with the fewest kernels.
    """

    count: int
    """Number of kernels."""
    bandwidth: float
    """Kernel bandwidth [state]; in several variables, in standard deviations of the decorrelated
    data."""
    n_folds: int
    """Number of folds (groups of trajectories, or blocks of the time series), each of which was
    held out once."""
    surface: tuple[KernelCandidate, ...]
    """Every candidate."""


class ChapmanKolmogorov(Document):
    """Chapman–Kolmogorov test of the model's prediction several sampling intervals ahead."""

    variable: str
    """The predicted variable."""
    lag: float
    """Prediction time [time]."""
    statistic: float
    """χ² statistic of the prediction errors, weighted by several kernels."""
    degrees_of_freedom: int
    """Degrees of freedom of the statistic under the null hypothesis that the model is correct."""
    p_value: float
    """p-value under the null hypothesis that the model is correct, for this lag alone. It is
    conservative, because the model was fitted to the same data."""
    mean_difference: float
    """Largest difference of the mean later state, starting near one of the kernels, in standard
    deviations of the state."""
    spread_difference: float
    """Largest difference of the mean squared later state, starting near one of the kernels, in
    variances of the state."""
    n_windows: int
    """Number of pairs of states separated by this lag."""


class DataAutocorrelation(Document):
    """Autocorrelation of the data compared with that of the model. Empty if `reason` is given."""

    lags: tuple[float, ...] = ()
    """Lags [time]."""
    data: tuple[float, ...] = ()
    """Autocorrelation of the data about their mean, without measurement noise; for an angle x of
    period P, the autocorrelation of exp(2πix/P)."""
    band: tuple[tuple[float, float], ...] = ()
    """95 % confidence interval of `data`, from the scatter between blocks of the time series."""
    model: tuple[float, ...] = ()
    """Autocorrelation of the model at the same lags."""
    p_value: float | None = None
    """p-value of the difference, at four lags jointly, under the null hypothesis that the model
    is correct."""
    reason: str | None = None
    """Reason why there is no comparison."""


class Diagnostics(Document):
    """Checks of the model against the data."""

    measurement_noise_variance: float | None = None
    """Variance of white measurement noise in the state [state²]; 0 if none was found. In several
    variables, the mean of their variances."""
    measurement_noise_variances: dict[str, float] = {}
    """Measurement noise variance by variable; several variables only."""
    step_error: dict[str, dict[str, float]] = {}
    """Relative difference between sampling rules, by component and selected term."""
    residuals: Residuals = Residuals()
    """Moments of the standardised residuals; pooled over all variables if there are several."""
    residuals_by_variable: dict[str, Residuals] = {}
    """Moments of the standardised residuals by variable; several variables only."""
    density_total_variation: float | None = None
    """Total variation distance, from 0 to 1, between the histogram of the data and the model's
    stationary density; one or two variables only."""
    autocorrelation: dict[str, DataAutocorrelation] = {}
    """Autocorrelation of data and model, by variable."""
    chapman_kolmogorov: tuple[ChapmanKolmogorov, ...] = ()
    """Chapman–Kolmogorov tests at lags of 1, 2, 4, … sampling intervals, up to about one
    relaxation time."""
    comparison_share: float | None = None
    """Fraction of the samples that these comparisons used, in blocks spread over the time
    series."""
    comparison_reason: str | None = None
    """Reason why `chapman_kolmogorov` is empty."""
    coverage: Coverage | None = None
    """Coverage of the kernels by data."""
    kernel_choice: KernelChoice | None = None
    """Choice of the kernels, if `kernels.count` is `auto`."""
    condition_number: float | None = None
    """Condition number of the column-normalised, whitened design matrix of the drift."""


class Provenance(Document):
    """What is needed to reproduce the result.

    The same data, version and parameters give the same numbers.
    """

    version: str
    """Version of Itoscope."""
    dataset: str | None = None
    """Id of the dataset."""
    dataset_sha256: str | None = None
    """SHA-256 digest of the uploaded bytes, in hexadecimal."""
    parameters: dict[str, Any]
    """Parameters of the identification, or terms of the given model, with every default filled
    in."""
    analysis: dict[str, Any] = {}
    """Parameters of the generator analysis, with every default filled in."""
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
    """Version of this document's schema. Stored results are never rewritten."""
    job: str
    """Id of the job."""
    model: Model
    """Drift and diffusion."""
    generator: GeneratorAnalysis
    """Quantities derived from the model's generator."""
    curves: Curves | None = None
    """Drift and diffusion of one variable, for plotting."""
    drift_field: DriftField | None = None
    """Drift of two variables, for plotting."""
    warnings: tuple[Notice, ...] = ()
    """Findings that the reader should know."""
    provenance: Provenance
    """Data, version and parameters that produced the result."""


class IdentificationResult(ModelResult):
    """A model identified from data, with the quantities derived from it."""

    kind: Literal["identification"] = "identification"
    """Kind of the job."""
    data: DataSummary
    """The data the model was identified from."""
    selection: Selection
    """The sets of terms that were considered."""
    diagnostics: Diagnostics
    """Checks of the model against the data."""
    observed: Observed | None = None
    """The data, for plotting beside the model."""

    @property
    def recorded(self) -> tuple[str, ...]:
        """Variables of the model that were recorded; the velocities of positions may not be."""
        columns = {variable["name"] for variable in self.data.variables}
        return tuple(name for name in self.model.drift if name in columns)


class GeneratorResult(ModelResult):
    """A given model, with the quantities derived from it."""

    kind: Literal["generator"] = "generator"
    """Kind of the job."""
