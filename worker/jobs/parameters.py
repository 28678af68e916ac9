"""Conversion of a job document's parameters into the core's values."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from contract.base import Interval
from contract.generator import AnalysisParameters, ModelTerms
from contract.identification import Constraints, IdentificationParameters, KnownNoise
from grammar.terms import variable_name
from worker.analysis import AnalysisSettings
from worker.identification.data.forcing import Forcing
from worker.identification.estimation.setup import ComponentTerms, Settings, Sum
from worker.identification.selection.support_selection import Criterion
from worker.identification.symbolic_process import SymbolicProcess, from_terms
from worker.identification.symbolic_system import SymbolicSystem, field_from_terms


def settings_of(
    parameters: IdentificationParameters, frozen: Mapping[str, float] | None = None
) -> Settings:
    """Return the settings of an identification.

    frozen   values of inputs at which the model is analysed; the others' are means
    """
    library, kernels, selection = parameters.library, parameters.kernels, parameters.selection
    constraints, noise = parameters.constraints, parameters.measurement_noise
    return Settings(
        dynamics=parameters.dynamics,
        estimator=parameters.estimator,
        **library.model_dump(),
        diffusion_structure=parameters.diffusion_structure,
        kernel_count=None if kernels.count == "auto" else kernels.count,
        bandwidth=None if kernels.bandwidth == "auto" else kernels.bandwidth,
        centre_range=None if kernels.range == "auto" else kernels.range,
        criterion=Criterion(selection.method, selection.z_threshold),
        threshold=selection.threshold,
        sampling_rule=parameters.sampling_rule,
        measurement_noise="auto" if isinstance(noise, KnownNoise) else noise,
        noise_errors=noise.std_error if isinstance(noise, KnownNoise) else None,
        exposure=parameters.exposure,
        bounds={variable: bounds_of(parameters.domain, variable) for variable in parameters.domain},
        periods=parameters.periodic,
        seed=parameters.seed,
        constraints=_constraints_of(parameters.constraints),
        sums=tuple(Sum({**e.drift, **e.diffusion}, e.equals) for e in constraints.equalities),
        odd=constraints.odd,
        potential="gradient"
        if constraints.gradient
        else "detailed-balance"
        if constraints.detailed_balance
        else None,
        forcing=Forcing(**parameters.forcing.model_dump()),
        frozen=frozen or {},
    )


def _constraints_of(given: Constraints) -> dict[str, ComponentTerms]:
    """Return what is known of each component."""
    parts = [(kind, getattr(given, kind)) for kind in ("known", "required", "excluded", "bounds")]
    components = {key for _, part in parts for key in (*part.drift, *part.diffusion)}
    return {
        key: ComponentTerms(
            **{
                kind: _values((part.diffusion if "," in key else part.drift)[key])
                for kind, part in parts
                if key in (part.diffusion if "," in key else part.drift)
            }
        )
        for key in sorted(components)
    }


def _values(terms: Any) -> Any:
    """Return bounds with infinite ends, and any other terms as they are."""
    if not isinstance(terms, Mapping):
        return terms
    return {t: _ends(v) if isinstance(v, tuple) else v for t, v in terms.items()}


def _ends(bounds: Interval) -> tuple[float, float]:
    low, high = bounds
    return (-np.inf if low is None else low, np.inf if high is None else high)


OPTIONS = {
    "density_points", "eigenpairs", "lags", "frequencies", "reflecting_ends", "eigenfunctions",
}  # fmt: skip
"""Parameters that the analysis takes by the same names."""


def analysis_settings_of(wanted: AnalysisParameters) -> AnalysisSettings:
    """Return the settings of a generator analysis."""
    return AnalysisSettings(
        passages=tuple((p.from_, p.to) for p in wanted.passages),
        committors=tuple((c.from_, c.to) for c in wanted.committors),
        exits=tuple((e.from_, e.low, e.high) for e in wanted.exits),
        options=wanted.model_dump(include=OPTIONS),
        confidence=wanted.confidence,
        model_only=wanted.model_only,
    )


def process_of(model: ModelTerms) -> SymbolicProcess | SymbolicSystem:
    """Build the process of a model's terms; missing pairs of the diffusion are zero.

    Raises UnknownTerm, InvalidLibrary.
    """
    if len(model.drift) == 1:
        period = model.periodic.get("x")
        b, a = model.drift["x"], model.diffusion.get("x,x", {})
        return SymbolicProcess(
            from_terms(b, period), from_terms(a, period), bounds_of(model.domain, "x"), period
        )
    standard = tuple(variable_name(i) for i in range(len(model.drift)))
    variables = standard if set(model.drift) == set(standard) else tuple(model.drift)
    periods = tuple(model.periodic.get(v) for v in variables)
    rows = [
        [model.diffusion.get(f"{v},{w}", model.diffusion.get(f"{w},{v}", {})) for w in variables]
        for v in variables
    ]
    return SymbolicSystem(
        tuple(field_from_terms(model.drift[v], variables, periods) for v in variables),
        tuple(tuple(field_from_terms(terms, variables, periods) for terms in row) for row in rows),
        tuple(bounds_of(model.domain, v) for v in variables),
        periods,
    )


def bounds_of(domain: Mapping[str, Interval], variable: str) -> tuple[float, float]:
    """Return the bounds of a variable, infinite where open."""
    return _ends(domain.get(variable, (None, None)))
