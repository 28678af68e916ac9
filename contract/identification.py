"""Parameters of an identification: data in, drift and diffusion out."""

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from contract.base import Document, Interval, Name
from contract.datasets import PositiveFinite
from contract.terms import Term


class LibraryParameters(Document):
    """Candidate terms of drift and diffusion."""

    polynomial_degree: Annotated[int, Field(ge=0, le=10)] = 4
    """Highest total degree of the monomials 1, x, x^2, …"""
    fourier_harmonics: Annotated[int, Field(ge=0, le=8)] = 0
    """Highest n of sin(n*x), cos(n*x) for coordinates declared periodic."""
    diffusion_degree: Annotated[Annotated[int, Field(ge=0, le=10)] | None, Field(examples=[0, 2])] = None
    """Highest total degree of the diffusion's monomials, its only terms then; 0 for additive noise. `null`: all terms."""
    extra_terms: Annotated[tuple[Term, ...], Field(max_length=20, examples=[["x^6", "sin(2*x)"]])] = ()
    """Further terms by name, e.g. `x^6`, `sin(2*x)`."""


class KernelParameters(Document):
    """The Gaussian test functions K_j (instruments) that weight the increments by state."""

    count: Literal["auto"] | Annotated[int, Field(ge=2, le=400)] = 50
    """Number of equally spaced centres; in several variables the most there may be. `auto`: by cross-validation, together with
    the bandwidth where none is given; `"kernels": "auto"` is short for that."""
    bandwidth: Annotated[Literal["auto"] | PositiveFinite, Field(examples=["auto", 0.22])] = "auto"
    """Standard deviation h of each kernel [state]; `auto`: 2.2 times the spacing of the centres, unless `count` is `auto` too.
    In several variables it is in standard deviations of the decorrelated data, and `auto` is 1.5 times the spacing."""
    range: Annotated[Literal["auto"] | tuple[float, float], Field(examples=["auto", [-2.5, 2.5]])] = "auto"
    """First and last centre [state]; `auto`: the central 99.9 % of the samples. In one variable only."""


def _spelled_out(given: Any) -> Any:
    """`auto` stands for everything by cross-validation."""
    return {"count": "auto"} if given == "auto" else given


class SelectionParameters(Document):
    """How terms are kept or dropped."""

    method: Literal["bic", "pastis", "lasso_cv", "stlsq", "none"] = "bic"
    """`bic`: all supports, Bayesian information criterion. `pastis`: all supports, each term costing log(K/0.001) for K terms.
    `lasso_cv`: supports along the lasso's path, by cross-validation over trajectories, or over stretches of a single record.
    `stlsq`: least squares, dropping terms below `z_threshold` one by one. `none`: keep every term."""
    z_threshold: Annotated[float, Field(gt=0, le=100)] = 4.0
    """Standard errors that a coefficient must be away from zero for `stlsq` to keep it; not used otherwise."""
    threshold: Annotated[float, Field(gt=0, lt=1)] = 0.25
    """Relative threshold of STLSQ in the `paper` preset; not used otherwise."""


class IdentificationParameters(Document):
    """Everything that decides the answer besides the data; each field has a default."""

    library: LibraryParameters = LibraryParameters()
    kernels: Annotated[
        KernelParameters, BeforeValidator(_spelled_out, json_schema_input_type=Literal["auto"] | KernelParameters)
    ] = KernelParameters()
    """The test functions that weight the increments by state. `auto`: bandwidth and count by cross-validation."""
    estimator: Literal["efficient", "paper"] = "efficient"
    """`efficient`: sums pooled over trajectories, generalised least squares. `paper`: Algorithm 1 to the letter."""
    sampling_rule: Literal["auto", "euler", "trapezoid", "simpson"] = "auto"
    """Quadrature of the drift over one sampling interval. `auto`: trapezoid, or a rule of fourth order where the trapezoid's
    step error exceeds the statistical one. The paper estimator is always `euler`."""
    measurement_noise: Literal["auto", "none", "corrected"] = "auto"
    """`auto`: corrected for where the residuals show it, with a warning. `none`: not looked at. `corrected`: always."""
    selection: SelectionParameters = SelectionParameters()
    diffusion_structure: Literal["full", "diagonal", "isotropic"] = "full"
    """Structure of the diffusion tensor; all the same in one dimension."""
    periodic: Annotated[dict[Name, PositiveFinite], Field(max_length=64, examples=[{"x": 360.0}])] = {}
    """Period of each variable that is an angle, e.g. `{"x": 360.0}` [state]."""
    domain: Annotated[dict[Name, Interval], Field(max_length=64, examples=[{"x": [0.0, None]}])] = {}
    """Known bounds of a variable, open where not given, e.g. `{"x": [0.0, null]}` [state]."""
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 0
    """Seed of everything random (the samples behind the intervals of derived quantities)."""

    @model_validator(mode="after")
    def _algorithm_1_has_its_own_kernels(self) -> Self:
        if self.estimator == "paper" and self.kernels.count == "auto":
            raise ValueError("the paper's Algorithm 1 does not choose kernels: give kernels.count, or leave kernels out")
        return self


PAPER_PRESET = IdentificationParameters(
    kernels=KernelParameters(count=50, bandwidth=0.22, range=(-2.5, 2.5)),
    estimator="paper",
    sampling_rule="euler",
    measurement_noise="none",
)
"""Algorithm 1 with the paper's settings for the Ornstein–Uhlenbeck and double-well systems."""

PRESETS: dict[str, IdentificationParameters] = {"paper": PAPER_PRESET}


class Preset(Document):
    """Parameters by a name, to be given as a job's `preset`."""

    name: str
    """As a job gives it."""
    description: str
    """What it is for."""
    parameters: IdentificationParameters
    """What it stands for; what a job gives beside it wins."""


PRESET_LIST = (
    Preset(
        name="paper",
        description="Algorithm 1 of the source paper, to the letter, with its settings for the Ornstein–Uhlenbeck and "
        "double-well systems. One variable only.",
        parameters=PAPER_PRESET,
    ),
)
