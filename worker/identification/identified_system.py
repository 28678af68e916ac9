"""The identified model of several variables in the data's own units, with everything needed to judge it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from worker.identification.checks.diagnostics import Finding
from worker.identification.checks.multivariate_findings import check_paths, joint_findings, name_of
from worker.identification.checks.scalar_residuals import ResidualMoments
from worker.identification.data.windows import Space
from worker.identification.estimation.estimator import JointFit, identify
from worker.identification.estimation.problem import JointProblem
from worker.identification.estimation.scalar_estimator import NoiseHandling
from worker.identification.identified_model import ComponentFit, component_of
from worker.identification.selection.cross_validation import KernelChoice
from worker.identification.selection.support_selection import Selected
from worker.identification.sums.cell_rules import RuleName
from worker.identification.sums.window_products import pairs_of
from worker.identification.symbolic_system import Field, SymbolicSystem, field_from_internal

Floats = NDArray[np.float64]
Bounds = tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True, eq=False)
class JointAnswer:
    """A model of several coordinates.

    drift, diffusion   by variable `x`, and by pair `x,y`
    draws              processes drawn from the coefficients' covariance
    residuals          by variable
    noise_variances    of the instrument by variable, 0 where none is significant [state²]; None where it was not looked for
    kernel_weights     (n_kernels,) Σ K_j, in increments
    bandwidth          of the kernels, in standard deviations of the decorrelated data
    rule               name of the sampling rule that was used
    kernel_choice      by cross-validation, where asked for
    """

    drift: Mapping[str, ComponentFit]
    diffusion: Mapping[str, ComponentFit]
    process: SymbolicSystem
    draws: tuple[SymbolicSystem, ...]
    findings: tuple[Finding, ...]
    residuals: Mapping[str, ResidualMoments]
    noise_variances: Mapping[str, float] | None
    condition: float
    kernel_weights: Floats
    bandwidth: float
    space: Space
    rule: str
    kernel_choice: KernelChoice | None = None

    @property
    def observed(self) -> Bounds:
        """Smallest and largest sample of each variable [state]."""
        return tuple((s.low, s.high) for s in self.space.scales)


def joint_answer(
    problem: JointProblem,
    *,
    rule: RuleName | Literal["auto"] = "auto",
    noise: NoiseHandling = "auto",
    bounds: Bounds,
    n_draws: int = 100,
    seed: int = 0,
) -> JointAnswer:
    """Identify and put into the data's units; a sampling rule that was named is taken at its word, even on smooth paths.

    Raises SecondOrderDynamics and what `estimator.identify` raises."""
    fit = identify(problem, rule, noise)
    variables, space = problem.library.variables, problem.space
    if rule == "auto":
        check_paths(fit, variables)
    found = tuple(
        f for f in joint_findings(fit, problem) if noise != "none" or f.code != "measurement-noise"
    )

    def component(selected: Selected, coarse: Floats | None, factor: float) -> ComponentFit:
        return component_of(
            selected, coarse, problem.library, problem.selection.method, fit.rule.order, factor
        )

    to_drift, to_diffusion = (
        space.units / space.time,
        np.outer(space.units, space.units) / space.time,
    )
    variances = (
        np.zeros(len(variables))
        if fit.noise is None
        else np.diag(fit.noise.covariance) * space.units**2
    )
    return JointAnswer(
        drift={
            v: component(fit.drift[p], fit.coarse[0][p], to_drift[p])
            for p, v in enumerate(variables)
        },
        diffusion={
            name_of(pair, variables): component(
                selected, fit.coarse[1].get(pair), to_diffusion[pair]
            )
            for pair, selected in fit.diffusion.items()
        },
        process=_process(problem, fit.coefficients, fit.tensor, bounds),
        draws=tuple(_draws(problem, fit, bounds, n_draws, seed)),
        findings=found,
        residuals=dict(zip(variables, fit.residuals.moments, strict=True)),
        noise_variances=None
        if noise == "none"
        else dict(zip(variables, variances.tolist(), strict=True)),
        condition=fit.condition,
        kernel_weights=fit.kernel_weights,
        bandwidth=problem.instruments.bandwidth,
        space=space,
        rule=fit.rule.name,
    )


def _draws(
    problem: JointProblem, fit: JointFit, bounds: Bounds, n_draws: int, seed: int
) -> Iterator[SymbolicSystem]:
    """Each component's coefficients from its own covariance, an isotropic tensor's being one component's; every second model is
    that of the other sampling rule, where both describe the data, as in one variable (`draws.py`)."""
    d = problem.space.dimension
    b, tensor = fit.coefficients, fit.tensor
    generator = np.random.default_rng(seed)
    for n in range(n_draws):
        z = generator.standard_normal((d + len(fit.diffusion), problem.library.internal_size))
        drawn_b = np.stack([b[p] + _drawn_from(fit.drift[p], z[p], n) for p in range(d)])
        drawn = tensor.copy()
        for i, ((p, q), selected) in enumerate(fit.diffusion.items()):
            noise = z[d] if problem.structure == "isotropic" else z[d + i]
            drawn[p, q] = drawn[q, p] = tensor[p, q] + _drawn_from(selected, noise, n)
        yield _process(problem, drawn_b, drawn, bounds)


def _drawn_from(selected: Selected, normal: Floats, n: int) -> Floats:
    """The n-th model's distance from the estimate."""
    away = selected.estimate.internal_factor @ normal
    return np.asarray(
        away + selected.shift.internal if n % 2 and selected.shift is not None else away
    )


def _process(
    problem: JointProblem, drift: Floats, tensor: Floats, bounds: Bounds
) -> SymbolicSystem:
    space, library, d = problem.space, problem.library, problem.space.dimension
    fields: dict[tuple[int, int], Field] = {}
    for p, q in pairs_of(d):
        fields[p, q] = field_from_internal(
            library, tensor[p, q], float(space.units[p] * space.units[q] / space.time)
        )
    return SymbolicSystem(
        tuple(
            field_from_internal(library, b, float(u / space.time))
            for b, u in zip(drift, space.units, strict=True)
        ),
        tuple(tuple(fields[min(p, q), max(p, q)] for q in range(d)) for p in range(d)),
        bounds,
        space.periods,
    )
