"""The default estimator in several variables. Read `identify` first; docs/method.md §11 has the equations.

As in one variable (`efficient.py`): by the trapezoid rule first; corrected for measurement noise where its residuals show some;
by Simpson's rule where the step is too coarse for it.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from worker.identification.choice import Method, Selected, choose, simplest
from worker.identification.efficient import NOISE_ROUNDS, NoiseHandling, is_noisy
from worker.identification.fitting import N_BLOCKS, N_BLOCKS_FOR_ERRORS
from worker.identification.library import Library
from worker.identification.multivariate.equations import JointEquations, Model, Shares
from worker.identification.multivariate.increments import Space, Stretch, stretches
from worker.identification.multivariate.instruments import Instruments
from worker.identification.multivariate.noise import MeasurementNoise
from worker.identification.multivariate.residuals import JointResiduals, measure_residuals
from worker.identification.multivariate.rules import RULES, SIMPSON, THROUGH_NOISE, TRAPEZOID, JointRule, other_rule
from worker.identification.multivariate.statistics import JointStatistics, Sample, gather, take_sample
from worker.identification.multivariate.sums import Pair, pairs_of
from worker.identification.regression import NormalEquations
from worker.identification.sampling import RuleName
from worker.identification.selection import Estimate, estimate_on
from worker.identification.trajectories import Trajectories, block_edges

Floats = NDArray[np.float64]
Structure = Literal["full", "diagonal", "isotropic"]

SAMPLE_SIZE = 40_000
"""Windows from which the residuals' local variance is read."""

FEWEST_WINDOWS = 200


@dataclass(frozen=True, slots=True, eq=False)
class JointProblem:
    """Everything a fit needs besides the rule.

    structure      of the diffusion tensor; `isotropic`: a_pq = α(x) δ_pq, in the data's units
    longest_step   increments over longer steps are left out [time]
    """

    data: Trajectories
    space: Space
    library: Library
    instruments: Instruments
    selection: Method = "bic"
    structure: Structure = "full"
    longest_step: float = np.inf


@dataclass(frozen=True, slots=True, eq=False)
class JointFit:
    """Drift and diffusion by one rule, internal units.

    drift        one component a variable
    diffusion    by pair p ≤ q; what is known to be zero has an empty support and no path
    coarse       raw coefficients on the same supports at twice the step, drift by variable and diffusion by pair
    residuals    of this model          raw   of the pairwise fit that decided about noise and rule
    noise_free   variables whose increments hold no noise of their own
    condition    largest of the column-normalised whitened drift designs
    sample       of the windows
    kernel_weights   (n_kernels,) Σ K_j(z_n), in windows
    """

    rule: JointRule
    drift: tuple[Selected, ...]
    diffusion: Mapping[Pair, Selected]
    coarse: tuple[tuple[Floats | None, ...], Mapping[Pair, Floats | None]]
    residuals: JointResiduals
    raw: JointResiduals
    noise_free: tuple[int, ...]
    noise: MeasurementNoise | None
    condition: float
    sample: Sample
    kernel_weights: Floats
    n_windows: int
    longest_step: float

    @property
    def coefficients(self) -> Floats:
        """Of the drift; (d, n_functions)."""
        return np.stack([s.estimate.internal for s in self.drift])

    @property
    def tensor(self) -> Floats:
        """Of the diffusion; (d, d, n_functions)."""
        d = len(self.drift)
        return np.stack([np.stack([self.diffusion[min(p, q), max(p, q)].estimate.internal for q in range(d)]) for p in range(d)])


def identify(problem: JointProblem, rule: RuleName | Literal["auto"], noise: NoiseHandling) -> JointFit:
    """Drift vector and diffusion tensor. Raises NoDataUnderKernels."""
    problem = without_long_steps(problem)
    plain = fitted(problem, RULES.get(rule, TRAPEZOID))
    if noise == "corrected" or (noise == "auto" and _is_noisy(plain)):
        corrected = fitted_through_noise(problem, plain)
        if corrected is not None:
            return corrected
    if rule == "auto" and is_too_coarse(plain):
        finer = fitted(problem, SIMPSON, plain)
        # Simpson's rule needs pairs of equal steps; an uneven record has few.
        if finer.n_windows > 0.8 * plain.n_windows:
            return finer
    return plain


def fitted(problem: JointProblem, rule: JointRule, plain: JointFit | None = None) -> JointFit:
    """By one rule, with weights from the residuals of a first fit: that of the plain rule, where there is one."""
    equations = _equations(problem, rule)
    model = _first_model(problem, equations) if plain is None else (plain.coefficients, plain.tensor)
    return _judged(problem, equations, model, plain)


def fitted_through_noise(problem: JointProblem, plain: JointFit) -> JointFit | None:
    """Corrected for measurement noise; None where no noise is left once drift and diffusion are, or it cannot be done."""
    if problem.library.other:
        return None
    equations = _equations(problem, THROUGH_NOISE)
    if equations.statistics.n_windows < FEWEST_WINDOWS:
        return None
    b, tensor = plain.coefficients, plain.tensor
    v = _covariances(problem, equations, (b, tensor))
    covariance = np.zeros((len(b), len(b)))
    for _ in range(NOISE_ROUNDS):
        noisy = replace(equations, noise=MeasurementNoise(covariance, problem.library))
        drift, diffusion, _ = _selected(problem, noisy, v)
        b, tensor = _drift_of(drift), _tensor_of(problem, _completed(problem, diffusion, ()))
        covariance = _positive(noisy.noise_covariance(b, tensor))
        if not covariance.any():
            return None
    return _judged(problem, replace(equations, noise=MeasurementNoise(covariance, problem.library)), (b, tensor), plain)


def is_too_coarse(fit: JointFit) -> bool:
    """Whether doubling the step moves a coefficient beyond its error and by more than a percent."""
    components = [*zip(fit.drift, fit.coarse[0], strict=True), *((s, fit.coarse[1].get(p)) for p, s in fit.diffusion.items())]
    for selected, coarse in components:
        estimate = selected.estimate
        if coarse is not None and len(coarse):
            moved = np.abs(coarse - estimate.raw)
            if bool(np.any((moved > 2.5 * estimate.std_error) & (moved > 0.01 * np.abs(estimate.raw)))):
                return True
    return False


def without_long_steps(problem: JointProblem) -> JointProblem:
    """Steps up to half the fastest relaxation time, where sampling is uneven and enough steps are shorter; else all.

    See `efficient.without_long_steps`. The rate here is the largest eigenvalue of the drift's linear regression on the state.
    """
    steps = problem.space.scales[0].steps
    if not steps[-1] > 1.5 * steps[0]:
        return problem
    equations = _equations(problem, TRAPEZOID)
    b, y = equations.sample.functions @ equations.rough_drift().T, equations.sample.instrument
    slopes = np.linalg.lstsq(np.column_stack([y, np.ones(len(y))]), b, rcond=None)[0][:-1]
    rate = float(np.abs(np.linalg.eigvals(slopes)).max())
    if not rate > 0:
        return problem
    limit = problem.space.time / (2 * rate)
    share = float(np.searchsorted(steps, limit)) / len(steps)
    return replace(problem, longest_step=limit) if 0.2 < share < 1 else problem


def _is_noisy(fit: JointFit) -> bool:
    return any(is_noisy(m) for p, m in enumerate(fit.raw.moments) if p not in fit.noise_free)


def _walk(problem: JointProblem, rule: JointRule, n_blocks: int, only: int = 1) -> Iterator[Stretch]:
    edges = block_edges(problem.data, n_blocks)
    windows = replace(rule.windows, longest_step=problem.longest_step * rule.stride)
    return stretches(problem.data, problem.space, edges, windows, only=only)


def _statistics(problem: JointProblem, rule: JointRule) -> JointStatistics | None:
    walk = _walk(problem, rule, N_BLOCKS_FOR_ERRORS if rule.overlapping else N_BLOCKS)
    return gather(walk, problem.space, problem.instruments, rule)


def _equations(problem: JointProblem, rule: JointRule) -> JointEquations:
    every = max(1, round(problem.data.n_increments / SAMPLE_SIZE))
    sample = take_sample(_walk(problem, rule, 1, every), problem.space, problem.instruments, rule)
    statistics = _statistics(problem, rule)
    assert statistics is not None, "the sample has windows, so the record has"
    return JointEquations(rule, statistics, sample, problem.instruments)


@dataclass(frozen=True, slots=True, eq=False)
class _Covariances:
    """V of every component."""

    drift: list[Floats]
    diffusion: dict[Pair, Floats]


def _first_model(problem: JointProblem, equations: JointEquations) -> Model:
    """Selected and estimated before anything is known about the residuals' variance but its local average."""
    rough = equations.rough_drift()
    of_diffusion = {pair: equations.first_diffusion_covariance(shares, rough) for pair, shares in _components(problem).items()}
    v = _Covariances(equations.first_drift_covariances(rough), of_diffusion)
    drift, diffusion, _ = _selected(problem, equations, v)
    return _drift_of(drift), _tensor_of(problem, _completed(problem, diffusion, ()))


def _covariances(problem: JointProblem, equations: JointEquations, model: Model) -> _Covariances:
    """From the residuals of a model."""
    of_diffusion = {pair: equations.diffusion_covariance(shares, model) for pair, shares in _components(problem).items()}
    return _Covariances(equations.drift_covariances(model), of_diffusion)


def _selected(
    problem: JointProblem, equations: JointEquations, v: _Covariances
) -> tuple[tuple[Selected, ...], dict[Pair, Selected], float]:
    """Drift, then the components of the diffusion that are to be estimated; and the drift's condition number."""
    other, n = other_rule(equations.rule), equations.statistics.n_windows

    def chosen(of: Callable[[JointRule], NormalEquations]) -> tuple[Selected, float]:
        found = of(equations.rule)
        doubting = None if other is None else of(other)
        return choose(found, doubting, problem.library, n, problem.selection), found.condition

    drift = [chosen(partial(equations.of_drift, p, covariance)) for p, covariance in enumerate(v.drift)]
    b = _drift_of([selected for selected, _ in drift])
    diffusion = {
        pair: chosen(partial(equations.of_diffusion, shares, b, v.diffusion[pair]))[0]
        for pair, shares in _components(problem).items()
    }
    return tuple(selected for selected, _ in drift), diffusion, max(condition for _, condition in drift)


def _judged(problem: JointProblem, equations: JointEquations, rough: Model, plain: JointFit | None) -> JointFit:
    """The fit, weighted by the residuals of a rough model, and what its residuals say."""
    rule, noise = equations.rule, equations.noise
    v = _covariances(problem, equations, rough)
    drift, estimated, condition = _selected(problem, equations, v)
    b = _drift_of(drift)
    tensor = _tensor_of(problem, _completed(problem, estimated, ()))
    diagonal = np.stack([tensor[p, p] for p in range(len(b))])
    residuals = measure_residuals(_walk(problem, rule, N_BLOCKS), problem.space, problem.library, rule, b, diagonal, noise)
    noise_free = residuals.noise_free() if plain is None else plain.noise_free
    drift = tuple(
        simplest(s, equations.of_drift(p, v.drift[p]), problem.library) if p in noise_free else s for p, s in enumerate(drift)
    )
    coarse_drift, coarse_diffusion = _at_double_step(problem, equations, v, drift, estimated)
    return JointFit(
        rule=rule,
        drift=drift,
        diffusion=_completed(problem, estimated, noise_free),
        coarse=(coarse_drift, {p: c for p, c in coarse_diffusion.items() if not set(p) & set(noise_free)}),
        residuals=residuals,
        raw=residuals if plain is None else plain.raw,
        noise_free=noise_free,
        noise=noise,
        condition=condition,
        sample=equations.sample,
        kernel_weights=equations.kernel_weights,
        n_windows=equations.statistics.n_windows,
        longest_step=problem.longest_step,
    )


def _at_double_step(
    problem: JointProblem,
    equations: JointEquations,
    v: _Covariances,
    drift: tuple[Selected, ...],
    diffusion: Mapping[Pair, Selected],
) -> tuple[tuple[Floats | None, ...], dict[Pair, Floats | None]]:
    """The same supports from windows of twice the step: how much the answer depends on the sampling interval."""
    nothing: tuple[tuple[Floats | None, ...], dict[Pair, Floats | None]] = ((None,) * len(drift), {})
    statistics = _statistics(problem, equations.rule.at_stride(2 * equations.rule.stride))
    if statistics is None:
        return nothing
    coarse = replace(equations, statistics=statistics)
    found = [estimate_on(coarse.of_drift(p, v.drift[p]), problem.library, s.estimate.support) for p, s in enumerate(drift)]
    estimates = [e for e in found if e is not None]
    if len(estimates) < len(drift):
        return nothing
    b = np.stack([e.internal for e in estimates])
    raw: dict[Pair, Floats | None] = {}
    for pair, shares in _components(problem).items():
        equation = coarse.of_diffusion(shares, b, v.diffusion[pair])
        estimate = estimate_on(equation, problem.library, diffusion[pair].estimate.support)
        raw[pair] = None if estimate is None else estimate.raw
    return tuple(e.raw for e in estimates), raw


def _components(problem: JointProblem) -> dict[Pair, Shares]:
    """What is estimated of the tensor; the isotropic α is in squared internal units of the first variable."""
    d = problem.space.dimension
    if problem.structure == "isotropic":
        return {(0, 0): {(p, p): 1 / (d * _from_first(problem, p)) for p in range(d)}}
    return {pair: {pair: 1.0} for pair in pairs_of(d) if problem.structure == "full" or pair[0] == pair[1]}


def _completed(problem: JointProblem, estimated: Mapping[Pair, Selected], noise_free: tuple[int, ...]) -> dict[Pair, Selected]:
    """All pairs: those estimated, those that follow from them, and those that are zero."""
    nothing = Selected(_nothing(problem.library), (), ())
    out = {}
    for p, q in pairs_of(problem.space.dimension):
        if p in noise_free or q in noise_free:
            out[p, q] = nothing
        elif problem.structure == "isotropic" and p == q:
            out[p, q] = _rescaled(estimated[0, 0], _from_first(problem, p))
        else:
            out[p, q] = estimated.get((p, q), nothing)
    return out


def _from_first(problem: JointProblem, p: int) -> float:
    """Squared internal units of the first variable in those of variable p."""
    return float((problem.space.units[0] / problem.space.units[p]) ** 2)


def _rescaled(selected: Selected, factor: float) -> Selected:
    e = selected.estimate
    return Selected(
        replace(
            e,
            internal=e.internal * factor,
            internal_factor=e.internal_factor * factor,
            raw=e.raw * factor,
            std_error=e.std_error * factor,
            robust_std_error=None if e.robust_std_error is None else e.robust_std_error * factor,
        ),
        tuple(replace(c, raw=c.raw * factor) for c in selected.path),
        selected.doubted,
    )


def _nothing(library: Library) -> Estimate:
    n = library.internal_size
    return Estimate((), np.zeros(n), np.zeros((n, n)), np.zeros(0), np.zeros(0), None)


def _drift_of(drift: tuple[Selected, ...] | list[Selected]) -> Floats:
    return np.stack([s.estimate.internal for s in drift])


def _tensor_of(problem: JointProblem, diffusion: Mapping[Pair, Selected]) -> Floats:
    d = problem.space.dimension
    return np.stack([np.stack([diffusion[min(p, q), max(p, q)].estimate.internal for q in range(d)]) for p in range(d)])


def _positive(covariance: Floats) -> Floats:
    """The nearest covariance; zero where there is none."""
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray((vectors * values.clip(min=0)) @ vectors.T)
