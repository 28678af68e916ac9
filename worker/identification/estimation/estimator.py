"""The default estimator in several variables. Read `identify` first; docs/method.md §11 has the equations.

As in one variable (`efficient.py`): by the trapezoid rule first; corrected for measurement noise where its residuals show some;
by Simpson's rule where the step is too coarse for it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from worker.identification.checks.residuals import JointResiduals, measure_residuals
from worker.identification.checks.scalar_residuals import ResidualMoments
from worker.identification.equations.scalar_rules import RuleName
from worker.identification.equations.weak_system import JointEquations, Model
from worker.identification.estimation.fit import (
    covariances,
    equations_of,
    first_model,
    select,
    walk,
)
from worker.identification.estimation.problem import (
    JointProblem,
    completed,
    drift_of,
    tensor_of,
)
from worker.identification.estimation.scalar_estimator import (
    NOISE_ROUNDS,
    SIGNIFICANT,
    NoiseHandling,
    is_noisy,
)
from worker.identification.estimation.scalar_fit import N_BLOCKS
from worker.identification.estimation.step_doubling import at_double_step
from worker.identification.estimation.thinning import at_longer_steps
from worker.identification.selection.support_selection import Selected, simplest
from worker.identification.sums.noise_corrections import MeasurementNoise
from worker.identification.sums.rules import (
    RULES,
    SIMPSON,
    THROUGH_NOISE,
    TRAPEZOID,
    JointRule,
)
from worker.identification.sums.window_products import Pair
from worker.identification.sums.window_statistics import Sample

Floats = NDArray[np.float64]

FEWEST_WINDOWS = 200

UNCORRELATED = 0.1
"""Correlation of neighbouring residuals below which a thinned record is no longer persistent."""

WINDOWS_FOR_DIAGNOSTICS = 200_000
"""About so many, in chunks spread over the record, tell what residuals are like."""


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
    least_step       of samples that were thinned for their persistent residuals, else 0 [time]
    before_thinning  these residuals, by variable
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
    least_step: float
    before_thinning: tuple[ResidualMoments, ...] = ()

    @property
    def coefficients(self) -> Floats:
        """Of the drift; (d, n_functions)."""
        return np.stack([s.estimate.internal for s in self.drift])

    @property
    def tensor(self) -> Floats:
        """Of the diffusion; (d, d, n_functions)."""
        d = len(self.drift)
        return np.stack(
            [
                np.stack([self.diffusion[min(p, q), max(p, q)].estimate.internal for q in range(d)])
                for p in range(d)
            ]
        )


def identify(
    problem: JointProblem, rule: RuleName | Literal["auto"], noise: NoiseHandling
) -> JointFit:
    """Drift vector and diffusion tensor. Raises NoDataUnderKernels."""
    problem = without_long_steps(problem)
    asked = RULES.get(rule, TRAPEZOID)
    # What windows that overlap leave is correlated by itself: whether the path's noise is, pairs tell.
    plain = fitted(problem, TRAPEZOID if asked.overlapping else asked)
    if noise == "corrected" or (noise == "auto" and _is_noisy(plain)):
        corrected = fitted_through_noise(problem, plain)
        if corrected is not None:
            return corrected
    if rule == "auto" and _is_persistent(plain):
        slower = fitted_at_longer_steps(problem, plain)
        if slower is not None:
            return slower
    if asked.overlapping:
        return fitted(problem, asked, plain)
    if _is_persistent(plain):
        # V knows only the residuals' size; the blocks of the record know all of their covariance.
        plain = fitted(problem, replace(plain.rule, persistent=True), plain)
    if rule == "auto" and is_too_coarse(plain):
        finer = fitted(problem, SIMPSON, plain)
        # Simpson's rule needs pairs of equal steps; an uneven record has few.
        if finer.n_windows > 0.8 * plain.n_windows:
            return finer
    return plain


def fitted(problem: JointProblem, rule: JointRule, plain: JointFit | None = None) -> JointFit:
    """By one rule, with weights from the residuals of a first fit: that of the plain rule, where there is one."""
    equations = equations_of(problem, rule)
    model = first_model(problem, equations) if plain is None else (plain.coefficients, plain.tensor)
    return _judged(problem, equations, model, plain)


def fitted_through_noise(problem: JointProblem, plain: JointFit) -> JointFit | None:
    """Corrected for measurement noise; None where no noise is left once drift and diffusion are, or it cannot be done."""
    if problem.library.other:
        return None
    equations = equations_of(problem, THROUGH_NOISE)
    if equations.statistics.n_windows < FEWEST_WINDOWS:
        return None
    b, tensor = plain.coefficients, plain.tensor
    v = covariances(problem, equations, (b, tensor))
    covariance = np.zeros((len(b), len(b)))
    for _ in range(NOISE_ROUNDS):
        noisy = replace(equations, noise=MeasurementNoise(covariance, problem.library))
        drift, diffusion, _ = select(problem, noisy, v, briefly=True)
        b, tensor = drift_of(drift), tensor_of(problem, completed(problem, diffusion, ()))
        covariance = _positive(noisy.noise_covariance(b, tensor))
        if not covariance.any():
            return None
    return _judged(
        problem,
        replace(equations, noise=MeasurementNoise(covariance, problem.library)),
        (b, tensor),
        plain,
    )


def fitted_at_longer_steps(problem: JointProblem, plain: JointFit) -> JointFit | None:
    """At the shortest steps whose residuals are uncorrelated; None where there are none shorter than half a relaxation time."""
    first = plain.raw.moments
    for slower in at_longer_steps(problem):
        fit = fitted(slower, TRAPEZOID)
        if (
            _fastest_rate(fit.coefficients, fit.sample) * slower.least_step
            > 0.5 * problem.space.time
        ):
            return None
        moments = [m for p, m in enumerate(fit.raw.moments) if p not in fit.noise_free]
        if all(m.lag_one_correlation < UNCORRELATED and m.lag_one_z < SIGNIFICANT for m in moments):
            return replace(fit, before_thinning=first)
    return None


def is_too_coarse(fit: JointFit) -> bool:
    """Whether doubling the step moves a coefficient beyond its error and by more than a percent."""
    components = [
        *zip(fit.drift, fit.coarse[0], strict=True),
        *((s, fit.coarse[1].get(p)) for p, s in fit.diffusion.items()),
    ]
    for selected, coarse in components:
        estimate = selected.estimate
        if coarse is not None and len(coarse):
            moved = np.abs(coarse - estimate.raw)
            if bool(
                np.any((moved > 2.5 * estimate.std_error) & (moved > 0.01 * np.abs(estimate.raw)))
            ):
                return True
    return False


def without_long_steps(problem: JointProblem) -> JointProblem:
    """Steps up to half the fastest relaxation time, where sampling is uneven and enough steps are shorter; else all.

    See `efficient.without_long_steps`. The rate here is the largest eigenvalue of the drift's linear regression on the state.
    """
    steps = problem.space.scales[0].steps
    if not steps[-1] > 1.5 * steps[0]:
        return problem
    equations = equations_of(problem, TRAPEZOID)
    rate = _fastest_rate(equations.rough_drift(), equations.sample)
    if not rate > 0:
        return problem
    limit = problem.space.time / (2 * rate)
    share = float(np.searchsorted(steps, limit)) / len(steps)
    return replace(problem, longest_step=limit) if 0.2 < share < 1 else problem


def _fastest_rate(drift: Floats, sample: Sample) -> float:
    """Largest eigenvalue's size of the drift's linear regression on the state; drift (d, n_functions)."""
    b, y = sample.functions @ drift.T, sample.instrument
    slopes = np.linalg.lstsq(np.column_stack([y, np.ones(len(y))]), b, rcond=None)[0][:-1]
    return float(np.abs(np.linalg.eigvals(slopes)).max())


def _is_noisy(fit: JointFit) -> bool:
    return any(is_noisy(m) for p, m in enumerate(fit.raw.moments) if p not in fit.noise_free)


def _judged(
    problem: JointProblem, equations: JointEquations, rough: Model, plain: JointFit | None
) -> JointFit:
    """The fit, weighted by the residuals of a rough model, and what its residuals say."""
    rule, noise = equations.rule, equations.noise
    v = covariances(problem, equations, rough)
    drift, estimated, condition = select(problem, equations, v)
    b = drift_of(drift)
    tensor = tensor_of(problem, completed(problem, estimated, ()))
    diagonal = np.stack([tensor[p, p] for p in range(len(b))])
    windows = walk(
        problem,
        rule,
        N_BLOCKS,
        every_chunk=max(1, problem.data.n_increments // WINDOWS_FOR_DIAGNOSTICS),
    )
    residuals = measure_residuals(windows, problem.space, problem.library, rule, b, diagonal, noise)
    noise_free = residuals.noise_free() if plain is None else plain.noise_free
    drift = tuple(
        simplest(s, equations.of_drift(p, v.drift[p]), problem.library) if p in noise_free else s
        for p, s in enumerate(drift)
    )
    coarse_drift, coarse_diffusion = at_double_step(problem, equations, v, drift, estimated)
    return JointFit(
        rule=rule,
        drift=drift,
        diffusion=completed(problem, estimated, noise_free),
        coarse=(
            coarse_drift,
            {p: c for p, c in coarse_diffusion.items() if not set(p) & set(noise_free)},
        ),
        residuals=residuals,
        raw=residuals if plain is None else plain.raw,
        noise_free=noise_free,
        noise=noise,
        condition=condition,
        sample=equations.sample,
        kernel_weights=equations.kernel_weights,
        n_windows=equations.statistics.n_windows,
        longest_step=problem.longest_step,
        least_step=problem.least_step,
    )


def _is_persistent(fit: JointFit) -> bool:
    """Whether neighbouring residuals are positively correlated, beyond chance and enough to matter to a standard error."""
    moments = [m for p, m in enumerate(fit.raw.moments) if p not in fit.noise_free]
    return any(m.lag_one_z > SIGNIFICANT and m.lag_one_correlation > 0.05 for m in moments)


def _positive(covariance: Floats) -> Floats:
    """The nearest covariance; zero where there is none."""
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray((vectors * values.clip(min=0)) @ vectors.T)
