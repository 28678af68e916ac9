"""Parameters of an identification: data in, drift and diffusion out."""

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from contract.base import Document, Interval, Name, Term
from contract.datasets import PositiveFinite
from contract.generator import Coefficients


class LibraryParameters(Document):
    """The library: candidate terms of drift and diffusion."""

    polynomial_degree: Annotated[int, Field(ge=0, le=10)] = 4
    """Highest total degree of the monomials 1, x, x^2, …"""
    fourier_harmonics: Annotated[int, Field(ge=0, le=8)] = 0
    """Highest n of sin(n*x) and cos(n*x), for variables declared periodic."""
    diffusion_degree: Annotated[
        Annotated[int, Field(ge=0, le=10)] | None, Field(examples=[0, 2])
    ] = None
    """Highest total degree of the diffusion's monomials; the diffusion then has no other terms.
    0: additive noise. `null`: the diffusion uses the whole library."""
    input_degree: Annotated[int, Field(ge=1, le=4)] = 1
    """Highest total degree of terms with an input u, a column of `layout.input_columns`. 1: u
    alone. 2: also x*u and u^2, and products of inputs."""
    extra_terms: Annotated[
        tuple[Term, ...], Field(max_length=20, examples=[["x^6", "sin(2*x)"]])
    ] = ()
    """Additional terms as text, e.g. `x^6`, `sin(2*x)`."""


class ForcingParameters(Document):
    """Forcing by the clock: functions of the sample times that drive the variables.

    They are terms like inputs; t in a term is the time of the samples.
    """

    periods: Annotated[tuple[PositiveFinite, ...], Field(max_length=8, examples=[[1.0]])] = ()
    """Periods P of the forcing, such as a year or a day [time]."""
    harmonics: Annotated[int, Field(ge=1, le=8)] = 1
    """Number of harmonics: sin(2*pi*k*t/P) and cos(2*pi*k*t/P) for k from 1."""
    trend: Annotated[int, Field(ge=0, le=3)] = 0
    """Highest power of t; 1 is a linear trend, 0 none."""

    @model_validator(mode="after")
    def _each_frequency_once(self) -> Self:
        if self.harmonics > 1 and not self.periods:
            raise ValueError("harmonics are those of periods: name these, or leave harmonics out")
        found: dict[float, float] = {}
        for period in self.periods:
            for k in range(1, self.harmonics + 1):
                near = next((p for p in found if abs(p * k / period - 1) < 1e-6), None)
                if near is not None:
                    raise ValueError(
                        f"the periods {found[near]:g} and {period:g} share a harmonic of period "
                        f"{period / k:g}: name one, or lower harmonics"
                    )
                found[period / k] = period
        return self

    @property
    def any(self) -> bool:
        """Whether there is any forcing."""
        return bool(self.periods or self.trend)


class KernelParameters(Document):
    """The Gaussian test functions K_j (instruments) that weight the increments by state."""

    count: Literal["auto"] | Annotated[int, Field(ge=2, le=400)] = 50
    """Number of equally spaced kernel centres; in several variables the maximum number. `auto`:
    chosen by cross-validation, together with the bandwidth if none is given; `"kernels": "auto"`
    is short for this."""
    bandwidth: Annotated[Literal["auto"] | PositiveFinite, Field(examples=["auto", 0.22])] = "auto"
    """Standard deviation h of each kernel [state]. `auto`: 2.2 times the spacing of the centres,
    unless `count` is `auto` as well. In several variables the unit is one standard deviation of
    the decorrelated data, and `auto` is 1.5 times the spacing."""
    range: Annotated[
        Literal["auto"] | tuple[float, float], Field(examples=["auto", [-2.5, 2.5]])
    ] = "auto"
    """First and last kernel centre [state]; one variable only. `auto`: the range of the central
    99.9 % of the samples."""


def _spelled_out(given: Any) -> Any:
    """Return the kernel parameters that `auto` is short for, and any other value as given."""
    return {"count": "auto"} if given == "auto" else given


class SelectionParameters(Document):
    """Selection of terms from the library."""

    method: Literal["bic", "pastis", "lasso_cv", "stlsq", "none"] = "bic"
    """Selection method. `bic`: Bayesian information criterion over all sets of terms. `pastis`:
    over all sets of terms, with a penalty of log(K/0.001) per term for a library of K terms.
    `lasso_cv`: sets of terms along the lasso path, by cross-validation over trajectories, or
    over blocks of a single time series. `stlsq`: sequentially thresholded least squares,
    dropping terms below `z_threshold` one at a time. `none`: keep every term."""
    z_threshold: Annotated[float, Field(gt=0, le=100)] = 4.0
    """Smallest |z| = |coefficient| / standard error of a term that `stlsq` keeps; other methods
    ignore it."""
    threshold: Annotated[float, Field(gt=0, lt=1)] = 0.25
    """Relative threshold of STLSQ in the `paper` preset; otherwise ignored."""


class KnownCoefficients(Document):
    """Coefficients that are known, in the units of the data."""

    drift: Annotated[
        dict[Name, Coefficients], Field(max_length=64, examples=[{"x": {"x": -1.0}}])
    ] = {}
    """Coefficients of the drift, by variable [state/time]."""
    diffusion: Annotated[
        dict[Name, Coefficients], Field(max_length=100, examples=[{"x,x": {"1": 0.25}}])
    ] = {}
    """Coefficients of the diffusion, by pair of variables [state²/time]."""


class NamedTerms(Document):
    """Terms of drift and diffusion."""

    drift: Annotated[
        dict[Name, Annotated[tuple[Term, ...], Field(min_length=1, max_length=100)]],
        Field(max_length=64, examples=[{"x": ["x^3"]}]),
    ] = {}
    """Terms of the drift, by variable."""
    diffusion: Annotated[
        dict[Name, Annotated[tuple[Term, ...], Field(min_length=1, max_length=100)]],
        Field(max_length=100, examples=[{"x,x": ["x^2"]}]),
    ] = {}
    """Terms of the diffusion, by pair of variables."""


Bounds = Annotated[
    dict[Term, Interval], Field(min_length=1, max_length=100, examples=[{"x^3": [None, 0.0]}])
]
"""Lowest and highest coefficient of each term; `null` means unbounded."""


class CoefficientBounds(Document):
    """Signs and bounds of coefficients, in the units of the data."""

    drift: Annotated[
        dict[Name, Bounds], Field(max_length=64, examples=[{"x": {"x^3": [None, 0.0]}}])
    ] = {}
    """Bounds of the drift's coefficients, by variable [state/time]."""
    diffusion: Annotated[
        dict[Name, Bounds], Field(max_length=100, examples=[{"x,x": {"x^2": [0.0, None]}}])
    ] = {}
    """Bounds of the diffusion's coefficients, by pair of variables [state²/time]."""

    @model_validator(mode="after")
    def _some_value_is_left(self) -> Self:
        for what in ("drift", "diffusion"):
            for component, bounds in getattr(self, what).items():
                for term, (low, high) in bounds.items():
                    if low is None and high is None:
                        raise ValueError(f"{term} of {what} {component} has no bound")
                    if low is not None and high is not None and not low < high:
                        raise ValueError(
                            f"the bounds of {term} of {what} {component} leave no value; for one "
                            "value, give it in constraints.known"
                        )
        return self


class Equality(KnownCoefficients):
    """A linear equation: coefficients times the given factors sum to `equals`.

    {"drift": {"x": {"y": 1}, "y": {"x": 1}}} says that y in the drift of x and x in that of y have
    opposite coefficients.
    """

    equals: float = 0.0
    """The sum, in the units of the data."""

    @model_validator(mode="after")
    def _has_factors(self) -> Self:
        factors = [
            f for part in (self.drift, self.diffusion) for t in part.values() for f in t.values()
        ]
        if not factors or not all(factors):
            raise ValueError("an equality needs coefficients with factors that are not zero")
        return self


LARGEST = 1e100
"""Size of numbers in constraints from which on squares of them are no numbers."""


def _check_size(value: float, of: str, *, small: bool = False) -> None:
    """Raise ValueError for a number that is too large to compute with, or a factor too small."""
    if abs(value) > LARGEST or (small and abs(value) < 1 / LARGEST):
        raise ValueError(f"{value:g} for {of} is too {'large' if abs(value) > 1 else 'small'}")


class Constraints(Document):
    """What is known about the model before the fit.

    The result says for each component whether the data contradict it. Terms that the library does
    not have are added to it.
    """

    known: KnownCoefficients = KnownCoefficients()
    """Coefficients held at a value; they have no error, and the others are fitted."""
    required: NamedTerms = NamedTerms()
    """Terms that are part of the model, whatever the selection says."""
    excluded: NamedTerms = NamedTerms()
    """Terms that are no part of the model."""
    bounds: CoefficientBounds = CoefficientBounds()
    """Signs and bounds of coefficients of the drift and diffusion, where their terms are selected.
    A term that cannot be zero within its bounds is required."""
    equalities: Annotated[
        tuple[Equality, ...],
        Field(max_length=20, examples=[[{"drift": {"x": {"y": 1.0}, "y": {"x": 1.0}}}]]),
    ] = ()
    """Linear equations among coefficients. Their terms are required."""
    odd: bool = False
    """True if x → −x, of all variables together, leaves the dynamics as they are: the drift has odd
    terms only, the diffusion even ones."""
    gradient: bool = False
    """True if the drift is the slope of a potential, b = −∂U, in any number of variables. U is
    `model.potential` of the result."""
    detailed_balance: bool = False
    """True if the process is in detailed balance at a constant diffusion: b = −½ a ∂Φ, where Φ is
    the potential over the temperature. The diffusion is then constant, and Φ is `model.potential`
    of the result."""

    @property
    def joint(self) -> bool:
        """Whether anything is known that is of first order only."""
        return bool(
            self.bounds != CoefficientBounds()
            or self.equalities
            or self.gradient
            or self.detailed_balance
        )

    @model_validator(mode="after")
    def _a_potential_has_terms_of_its_own(self) -> Self:
        if self.gradient and self.detailed_balance:
            raise ValueError("give either gradient or detailed_balance")
        if not (self.gradient or self.detailed_balance):
            return self
        word = "gradient" if self.gradient else "detailed_balance"
        for name in ("known", "required", "excluded", "bounds"):
            if getattr(self, name).drift:
                raise ValueError(f"{name}.drift cannot be combined with {word}")
        if any(e.drift for e in self.equalities):
            raise ValueError(f"equalities of the drift cannot be combined with {word}")
        return self

    @model_validator(mode="after")
    def _bounds_and_equalities_are_of_different_components(self) -> Self:
        for what in ("drift", "diffusion"):
            for key in {k for e in self.equalities for k in getattr(e, what)}:
                if key in getattr(self.bounds, what):
                    raise ValueError(f"{what} {key} cannot have both bounds and equalities")
        return self

    @model_validator(mode="after")
    def _numbers_can_be_computed_with(self) -> Self:
        for what in ("drift", "diffusion"):
            factors = [(e, True) for e in self.equalities]
            for given, is_factor in ((self.known, False), *factors):
                for component, terms in getattr(given, what).items():
                    for term, value in terms.items():
                        _check_size(value, f"{term} of {what} {component}", small=is_factor)
            for component, bounds in getattr(self.bounds, what).items():
                for term, ends in bounds.items():
                    for end in ends:
                        _check_size(end or 0.0, f"{term} of {what} {component}")
        for e in self.equalities:
            _check_size(e.equals, "equals")
        return self

    @property
    def any(self) -> bool:
        """Whether anything is known."""
        return self != Constraints()

    @model_validator(mode="after")
    def _no_term_is_two_things(self) -> Self:
        for what in ("drift", "diffusion"):
            groups = {
                name: getattr(getattr(self, name), what)
                for name in ("known", "excluded", "required", "bounds")
            }
            for component in {key for terms in groups.values() for key in terms}:
                seen: dict[str, str] = {}
                for name, terms in groups.items():
                    for term in terms.get(component, ()):
                        if seen.setdefault(term, name) == name:
                            continue
                        if {seen[term], name} == {"required", "bounds"}:
                            continue
                        other = "have bounds" if name == "bounds" else f"be {name}"
                        raise ValueError(
                            f"{term} of {what} {component} cannot be {seen[term]} and {other}"
                        )
        return self


class KnownNoise(Document):
    """Measurement noise (localisation error) that is known."""

    std_error: (
        PositiveFinite | Annotated[dict[Name, PositiveFinite], Field(min_length=1, max_length=64)]
    ) = Field(examples=[0.02, {"x": 0.02}])
    """Standard error of the samples: one for all variables, or by variable; variables that are not
    named have none [state]."""


class IdentificationParameters(Document):
    """All parameters that, together with the data, determine the result.

    Every field has a default.
    """

    library: LibraryParameters = LibraryParameters()
    kernels: Annotated[
        KernelParameters,
        BeforeValidator(_spelled_out, json_schema_input_type=Literal["auto"] | KernelParameters),
    ] = KernelParameters()
    """The test functions that weight the increments by state. `auto`: bandwidth and number
    chosen by cross-validation."""
    dynamics: Literal["auto", "first-order", "second-order", "coloured-noise"] = "auto"
    """Order of the dynamics. `first-order`: dX = b(X) dt + σ(X) dW of the recorded variables.
    `second-order`: the recorded variables are positions of inertial dynamics, dx = v dt,
    dv = F(x, v) dt + σ(x, v) dW; the library then has terms in x and v. `coloured-noise`:
    dx = f(x) dt + u dt with an Ornstein–Uhlenbeck process u for noise; one variable only. `auto`:
    the record decides."""
    estimator: Literal["efficient", "paper"] = "efficient"
    """Estimator. `efficient`: generalised least squares with sums pooled over trajectories.
    `paper`: Algorithm 1 of the source paper, unchanged."""
    sampling_rule: Literal["auto", "euler", "trapezoid", "simpson"] = "auto"
    """Quadrature rule for the drift over one sampling interval. `auto`: trapezoid; its
    discretisation error is removed where it is material, in several variables by a fourth-order
    rule. The `paper` estimator always uses `euler`."""
    measurement_noise: Annotated[
        Literal["auto", "none", "corrected"] | KnownNoise,
        Field(examples=["auto", {"std_error": 0.02}]),
    ] = "auto"
    """Correction for white measurement noise. `auto`: by the errors of the samples if the data have
    such columns; else applied, with a warning, if the residuals show noise. `none`: never applied.
    `corrected`: always applied. An object gives the standard error of the samples, which is then
    not estimated; of second-order dynamics in one coordinate only."""
    exposure: Annotated[PositiveFinite | None, Field(examples=[0.008])] = None
    """Time over which each sample is an average (motion blur), at most the sampling interval; if
    omitted, it is estimated where the residuals show it [time]. First-order dynamics only."""
    selection: SelectionParameters = SelectionParameters()
    diffusion_structure: Literal["full", "diagonal", "isotropic"] = "full"
    """Structure of the diffusion tensor. It makes no difference in one variable."""
    periodic: Annotated[
        dict[Name, PositiveFinite], Field(max_length=64, examples=[{"x": 360.0}])
    ] = {}
    """Period of each periodic variable (an angle), e.g. `{"x": 360.0}` [state]."""
    domain: Annotated[
        dict[Name, Interval], Field(max_length=64, examples=[{"x": [0.0, None]}])
    ] = {}
    """Known bounds of a variable, e.g. `{"x": [0.0, null]}`; `null` means unbounded [state]."""
    forcing: Annotated[
        ForcingParameters, Field(examples=[{"periods": [1.0], "harmonics": 2, "trend": 1}])
    ] = ForcingParameters()
    """Seasons and trends, which drive the variables and have no equation."""
    constraints: Constraints = Constraints()
    """What is known about the model before the fit."""
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 0
    """Seed of all random numbers (the models drawn for confidence intervals of derived
    quantities)."""

    @model_validator(mode="after")
    def _algorithm_1_has_its_own_kernels(self) -> Self:
        if self.estimator == "paper" and self.kernels.count == "auto":
            raise ValueError(
                "the paper's Algorithm 1 cannot choose kernels: give kernels.count, or omit kernels"
            )
        return self

    @model_validator(mode="after")
    def _algorithm_1_knows_no_constraints(self) -> Self:
        if self.estimator == "paper" and self.constraints.any:
            raise ValueError(
                "the paper's Algorithm 1 cannot hold terms: leave constraints out, or set "
                "estimator to efficient"
            )
        return self

    @model_validator(mode="after")
    def _joint_constraints_are_of_first_order(self) -> Self:
        if self.constraints.joint and self.with_velocities:
            raise ValueError(
                "constraints.bounds, equalities, gradient and detailed_balance are for first-order "
                "dynamics: leave them out, or set dynamics to first-order"
            )
        if self.constraints.detailed_balance and self.library.diffusion_degree:
            raise ValueError(
                "constraints.detailed_balance has a constant diffusion: leave "
                "library.diffusion_degree out"
            )
        if self.diffusion_structure == "isotropic" and (
            self.constraints.bounds.diffusion
            or any(e.diffusion for e in self.constraints.equalities)
        ):
            raise ValueError(
                "an isotropic diffusion is one component: bounds and equalities of the diffusion "
                "need another diffusion_structure"
            )
        return self

    @model_validator(mode="after")
    def _known_noise_is_of_first_order(self) -> Self:
        known = isinstance(self.measurement_noise, KnownNoise)
        if not (known or self.exposure):
            return self
        what = "measurement_noise.std_error" if known else "exposure"
        if self.dynamics == "coloured-noise" or (self.exposure and self.with_velocities):
            what = "exposure" if self.exposure else what
            raise ValueError(
                f"{what} is for first-order dynamics: leave it out, or set dynamics to first-order"
            )
        if self.estimator == "paper":
            raise ValueError(f"the paper's Algorithm 1 knows no {what}: leave it out")
        if self.measurement_noise in ("none", "corrected"):
            raise ValueError(
                f"exposure and measurement_noise {self.measurement_noise} exclude each other: "
                "leave one of them out, or give measurement_noise.std_error"
            )
        return self

    @model_validator(mode="after")
    def _forcing_is_of_first_order(self) -> Self:
        if self.forcing.any and self.with_velocities:
            raise ValueError(
                f"forcing is fitted in first-order dynamics: leave dynamics {self.dynamics} out"
            )
        if self.forcing.any and self.constraints.joint:
            raise ValueError(
                "forcing is not combined with constraints.bounds, equalities, gradient or "
                "detailed_balance: leave them out"
            )
        if self.forcing.any and self.estimator == "paper":
            raise ValueError("the paper's Algorithm 1 knows no forcing: leave estimator out")
        return self

    @model_validator(mode="after")
    def _the_paper_s_dynamics_are_of_first_order(self) -> Self:
        if self.estimator == "paper" and self.with_velocities:
            raise ValueError(
                f"estimator paper knows no dynamics {self.dynamics}: set estimator to efficient"
            )
        return self

    @property
    def with_velocities(self) -> bool:
        """Whether the velocities of the recorded variables are variables, too."""
        return self.dynamics in ("second-order", "coloured-noise")


PAPER_PRESET = IdentificationParameters(
    kernels=KernelParameters(count=50, bandwidth=0.22, range=(-2.5, 2.5)),
    estimator="paper",
    sampling_rule="euler",
    measurement_noise="none",
)
"""Algorithm 1 with the paper's settings for the Ornstein–Uhlenbeck and double-well systems."""

PRESETS: dict[str, IdentificationParameters] = {"paper": PAPER_PRESET}


class Preset(Document):
    """A named set of parameters, for a job's `preset` field."""

    name: str
    """Value of the job's `preset` field."""
    description: str
    """Purpose of the preset."""
    parameters: IdentificationParameters
    """The parameters. Those given in the job take precedence."""


PRESET_LIST = (
    Preset(
        name="paper",
        description="Algorithm 1 of the source paper, unchanged, with its settings for the "
        "Ornstein–Uhlenbeck and double-well systems. One variable only.",
        parameters=PAPER_PRESET,
    ),
)
