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
    extra_terms: Annotated[
        tuple[Term, ...], Field(max_length=20, examples=[["x^6", "sin(2*x)"]])
    ] = ()
    """Additional terms as text, e.g. `x^6`, `sin(2*x)`."""


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

    @property
    def any(self) -> bool:
        """Whether anything is known."""
        return self != Constraints()

    @model_validator(mode="after")
    def _no_term_is_two_things(self) -> Self:
        for what in ("drift", "diffusion"):
            groups = {
                name: getattr(getattr(self, name), what)
                for name in ("known", "required", "excluded")
            }
            for component in {key for terms in groups.values() for key in terms}:
                seen: dict[str, str] = {}
                for name, terms in groups.items():
                    for term in terms.get(component, ()):
                        if seen.setdefault(term, name) != name:
                            raise ValueError(
                                f"{term} of {what} {component} cannot be {seen[term]} and {name}"
                            )
        return self


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
    measurement_noise: Literal["auto", "none", "corrected"] = "auto"
    """Correction for white measurement noise. `auto`: applied, with a warning, if the residuals
    show noise. `none`: never applied. `corrected`: always applied."""
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
