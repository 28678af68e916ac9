"""Whitened equations of every component of drift and diffusion, from direct sums (§11)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from worker.identification.checks.residual_sums import measure_joint_residuals
from worker.identification.checks.residuals import Residuals
from worker.identification.data.trajectories import Integers, Windows, block_edges
from worker.identification.data.windows import Stretch, stretches
from worker.identification.estimation.cell_equations import N_BLOCKS, N_BLOCKS_FOR_ERRORS
from worker.identification.estimation.fit import Solution
from worker.identification.estimation.least_errors import LeastErrors
from worker.identification.estimation.problem import Problem, Shares, components_of
from worker.identification.regression import (
    NormalEquations,
    noise_covariance,
    whitened,
    with_block_errors,
)
from worker.identification.selection.best_subset import Estimate
from worker.identification.selection.constraints import functions_up_to
from worker.identification.sums.block_sums import blocks_between
from worker.identification.sums.instruments import Instruments
from worker.identification.sums.kernel_statistics import WeakSystem
from worker.identification.sums.measurement_noise import MeasurementNoise
from worker.identification.sums.rules import FIRST_STEP, SamplingRule
from worker.identification.sums.window_products import Pair, pairs_of
from worker.identification.sums.window_statistics import (
    JointPass,
    JointStatistics,
    Sample,
    joint_statistics,
    take_sample,
)

Floats = NDArray[np.float64]
SAMPLE_SIZE = 25_000
"""Windows from which the residuals' local variance is read."""

WINDOWS_FOR_DIAGNOSTICS = 200_000
"""Windows, in chunks spread over the record, from which residuals are diagnosed."""

WINDOWS_FOR_STEP_ERRORS = 200_000
"""Windows, in blocks spread over the record, that show the effect of doubling the step."""

SMALLEST_EIGENVALUE = 1e-5
"""Share of the largest eigenvalue of the scaled V below which a direction is dropped.

Such combinations of instruments nearly vanish where the sample is, and not where the rest of the
data are. Dropping them changes standard errors by less than a percent."""


@dataclass(frozen=True, slots=True, eq=False)
class Covariances:
    """V of every component; (n_instruments, n_instruments) each."""

    drift: list[Floats]
    diffusion: dict[Pair, Floats]


@dataclass(frozen=True, eq=False)
class JointEquations:
    """Equations of all components by one rule, from direct sums; see `components.Equations`.

    V comes from the residuals of a sample, averaged over a kernel's width (over the whole record
    where additive noise was declared), so that it holds for residuals of any distribution. It only
    weights the equations: estimates are unbiased with any V, and a sample of the windows is enough.

    sample   some of the windows
    noise    measurement noise that is corrected for
    least    errors that coefficients have at least, where trajectories differ
    """

    problem: Problem
    rule: SamplingRule
    statistics: JointStatistics
    sample: Sample
    noise: MeasurementNoise | None = None
    least: LeastErrors | None = None

    @property
    def n_windows(self) -> int:
        """Number of windows."""
        return self.statistics.n_windows

    @property
    def instruments(self) -> Instruments:
        """Instruments of the problem."""
        return self.problem.joint_instruments

    @cached_property
    def _diffusion_functions(self) -> NDArray[np.int_] | None:
        """Positions of the internal functions of the diffusion; None: all."""
        degree, library = self.problem.diffusion_degree, self.problem.library
        return None if degree is None else functions_up_to(degree, library)

    @cached_property
    def _at_sample(self) -> tuple[Floats, Floats]:
        """Kernels (n, n_kernels) and all instruments (n, n_instruments) at the sample."""
        kernels, functions = self.instruments.at(self.sample.instrument)
        return kernels, np.concatenate([kernels, functions], axis=1)

    @property
    def _kernels(self) -> Floats:
        return self._at_sample[0]

    def kernel_weights(self, residuals: Residuals) -> Floats:
        """Return Σ K_j(z_n) over all windows; (n_kernels,)."""
        return np.asarray(
            self.statistics.products.count[:, : self.instruments.n_kernels].sum(axis=0)
        )

    def rough_drift(self) -> Floats:
        """Fit all functions at once, weighted by local second moments; (d, n_functions)."""
        moves, step = self.sample.products.displacements[:, -1], self.sample.step
        v = Covariances([self._covariance(move, step) for move in moves.T], {})
        return np.stack([_pseudo_solution(self.of_drift(p, v)) for p in range(len(v.drift))])

    def first_covariances(self) -> Covariances:
        """Return V before anything is selected.

        The drift's comes from local averages of the squared residuals of a rough drift, the
        diffusion's from the deviations of its responses from their local means.
        """
        drift = self.rough_drift()
        of_drift = [self._covariance(r, self.sample.step) for r in self._residuals(drift).T]
        shares = components_of(self.problem)
        return Covariances(
            of_drift,
            {pair: self._first_diffusion_covariance(s, drift) for pair, s in shares.items()},
        )

    def covariances(self, model: Solution) -> Covariances:
        """Return V from the residuals of a model."""
        drift, tensor = model.coefficients, model.tensor
        moments = self._expected_moments(drift, tensor)
        of_drift = [
            self._covariance(r, moments[:, p, p]) for p, r in enumerate(self._residuals(drift).T)
        ]
        shares = components_of(self.problem)
        of_diffusion = {
            pair: self._diffusion_covariance(s, drift, tensor, moments)
            for pair, s in shares.items()
        }
        return Covariances(of_drift, of_diffusion)

    def _first_diffusion_covariance(self, shares: Shares, drift: Floats) -> Floats:
        products, step = self.sample.products, self.sample.step
        parts = [
            w * products.diffusion_response(self.rule, pair, drift, self.noise)
            for pair, w in shares.items()
        ]
        target = np.asarray(sum(parts))
        return self._covariance(
            target - self._average(target, step) * step, step**2, squared_step=True
        )

    def _diffusion_covariance(
        self, shares: Shares, drift: Floats, tensor: Floats, moments: Floats
    ) -> Floats:
        products = self.sample.products
        design = products.diffusion_design(self.rule, self.noise)
        residual, expected = np.zeros(len(design)), np.zeros(len(design))
        for (p, q), w in shares.items():
            residual += w * (
                products.diffusion_response(self.rule, (p, q), drift, self.noise)
                - design @ tensor[p, q]
            )
            for (r, s), other in shares.items():
                # Isserlis' theorem gives the covariance of products of Gaussians.
                expected += (
                    w
                    * other
                    * (moments[:, p, r] * moments[:, q, s] + moments[:, p, s] * moments[:, q, r])
                )
        return self._covariance(residual, expected, squared_step=True)

    def _residuals(self, drift: Floats) -> Floats:
        """Return the residuals of the sample; (n, d)."""
        products = self.sample.products
        return np.asarray(
            products.displacements[:, -1] - products.drift_design(self.rule, self.noise) @ drift.T
        )

    def _expected_moments(self, drift: Floats, tensor: Floats) -> Floats:
        """Return ⟨r_p r_q⟩ = â_pq m h + 2 S_pq of each window of the sample; (n, d, d).

        A fifth of the local average of r_p² is the lower limit of the diagonal.
        """
        span = self.sample.step * (len(self.rule.drift) - 1)
        out = (
            np.einsum("pqk,nk->npq", tensor, self.sample.functions, optimize=True)
            * span[:, None, None]
        )
        if self.noise is not None:
            out += 2 * self.noise.covariance
        for p, r in enumerate(self._residuals(drift).T):
            out[:, p, p] = np.maximum(out[:, p, p], 0.2 * self._average(r**2, span) * span)
        return np.asarray(out)

    def of_drift(self, p: int, v: Covariances, rule: SamplingRule | None = None) -> NormalEquations:
        """Return the equations of b_p."""
        products = self.statistics.products
        system = WeakSystem(
            products.drift_design(rule or self.rule, self.noise), products.drift_response(p)
        )
        found = self._whitened(system, v.drift[p])
        return found if self.least is None else self.least.of_drift(p, found)

    def of_diffusion(
        self,
        pair: Pair,
        shares: Shares,
        drift: Sequence[Estimate],
        v: Covariances,
        rule: SamplingRule | None = None,
    ) -> tuple[NormalEquations, None]:
        """Return the equations of a component of the tensor."""
        products, rule = self.statistics.products, rule or self.rule
        b = np.stack([estimate.internal for estimate in drift])
        response = sum(
            w * products.diffusion_response(rule, each, b, self.noise) for each, w in shares.items()
        )
        design = products.diffusion_design(rule, self.noise)
        if self._diffusion_functions is not None:
            design = design[..., self._diffusion_functions]
        found = self._whitened(WeakSystem(design, np.asarray(response)), v.diffusion[pair])
        return found if self.least is None else self.least.of_diffusion(pair, found), None

    def residuals(self, model: Solution) -> Residuals:
        """Measure the residuals of a model."""
        problem = self.problem
        diagonal = np.stack([model.tensor[p, p] for p in range(len(model.drift))])
        every_chunk = max(1, problem.data.n_increments // WINDOWS_FOR_DIAGNOSTICS)
        windows = walk(problem, self.rule, N_BLOCKS, every_chunk=every_chunk)
        return measure_joint_residuals(
            windows,
            problem.space,
            problem.library,
            self.rule,
            model.coefficients,
            diagonal,
            self.noise,
        )

    def blocks_at_double_step(self) -> int:
        """Return k where each k-th block shows the effect of doubling the step."""
        return max(1, min(6, self.problem.data.n_increments // WINDOWS_FOR_STEP_ERRORS))

    def at_double_step(self, every: int) -> "JointEquations | None":
        """Return the equations at twice the step from each k-th block; None without windows."""
        found = statistics_of(self.problem, self.rule.at_stride(2 * self.rule.stride), every)
        return None if found is None else replace(self, statistics=found)

    def of_blocks(self, every: int) -> "JointEquations":
        """Return the equations of each k-th block only."""
        return replace(self, statistics=self.statistics.of_blocks(every))

    def noise_covariance(self, drift: Floats, tensor: Floats) -> Floats:
        """Return ½ mean of D_1 D_1ᵀ less the part of drift and tensor; (d, d)."""
        # The instruments are the kernels, then the library's functions, of which the first is 1.
        row = self.instruments.n_kernels
        products = type(self.statistics.products)(
            self.statistics.products.columns[:, row].sum(axis=0), self.statistics.products.layout
        )
        design, d = products.diffusion_design(FIRST_STEP, self.noise), len(drift)
        out = np.zeros((d, d))
        for p, q in pairs_of(d):
            response = products.diffusion_response(FIRST_STEP, (p, q), drift, self.noise)
            out[p, q] = out[q, p] = float((response - design @ tensor[p, q]) / (2 * products.count))
        return out

    def _average(self, numerator: Floats, denominator: Floats) -> Floats:
        """Return Σ K numerator / Σ K denominator at the sample, of (n,) and (n,) > 0; (n,)."""
        mean = float(numerator.sum() / denominator.sum())
        if self.problem.diffusion_degree == 0:
            return np.full(len(numerator), mean)
        top, bottom = self._kernels.T @ numerator, self._kernels.T @ denominator
        # A trace of the overall mean keeps the ratio finite away from all kernels.
        prior = 1e-6 * float(bottom.max())
        floor = 1e-9 * prior
        ratio = (self._kernels @ (top + prior * mean) + floor * mean) / (
            self._kernels @ (bottom + prior) + floor
        )
        return np.asarray(ratio)

    def _covariance(
        self, residual: Floats, expected: Floats, *, squared_step: bool = False
    ) -> Floats:
        """Return V_ij = Σ Φ_i Φ_j ω over all windows (M8), with windows that share noise (M8a).

        ω is the expected square times the local average of actual over expected, which holds for
        residuals of any distribution. An average of the squares alone would pull their variance,
        and with it the errors, towards where most data are.
        """
        squared = residual**2
        ratio = self._average(squared, expected)
        ratio = ratio.clip(
            min=max(1e-9 * float(squared.sum() / expected.sum()), np.finfo(float).tiny)
        )
        power = 2 if squared_step else 1
        total = self.statistics.time_squared if squared_step else self.statistics.time
        out = noise_covariance(self._at_sample[1].T, ratio * expected)
        for lag in range(1, self.rule.lags + 1):
            shared = self._shared_noise(residual, ratio * expected, lag)
            out += shared + shared.T
        return out * (total / float((self.sample.step**power).sum()))

    def _shared_noise(self, residual: Floats, variance: Floats, lag: int) -> Floats:
        """Return Σ Φ_i(z_n) Φ_j(z_{n+lag}) ⟨r_n r_{n+lag}⟩ over the pairs of the sample.

        The correlation is averaged locally, as ω is.
        """
        early, late = self.sample.pairs(lag)
        scale = np.sqrt(variance[early] * variance[late])
        product, weight = np.zeros(len(residual)), np.zeros(len(residual))
        product[early], weight[early] = residual[early] * residual[late], scale
        if not weight.any():
            return np.zeros((self._at_sample[1].shape[1],) * 2)
        correlation = self._average(product, weight)[early].clip(-0.5, 1.0)
        # A run of the sample has fewer pairs than windows; the record has as many pairs as
        # windows, except at its ends.
        weights = correlation * scale / (1 - lag / self.sample.run)
        instruments = self._at_sample[1]
        return np.asarray((instruments[early] * weights[:, None]).T @ instruments[late])

    def _whitened(self, system: WeakSystem, covariance: Floats) -> NormalEquations:
        scale = np.sqrt(np.diag(covariance))
        scale = np.where(scale > 0, scale, np.inf)
        scaled = WeakSystem(system.design / scale[:, None], system.response / scale)
        found = whitened(scaled, covariance / np.outer(scale, scale), SMALLEST_EIGENVALUE)
        return (
            with_block_errors(found, at_least_model=self.rule.persistent)
            if self.rule.errors_from_blocks
            else found
        )


def joint_equations_of(problem: Problem, rule: SamplingRule) -> JointEquations:
    """Make the equations of several variables, in a pass over the data and one over a sample."""
    only = max(1, round(problem.data.n_increments / SAMPLE_SIZE))
    run = 1 + rule.lags
    windows = walk(problem, rule, 1, only=only, run=run)
    sample = take_sample(
        windows, problem.space, problem.joint_instruments, rule, run if only > run else np.inf
    )
    statistics = statistics_of(problem, rule)
    assert statistics is not None, "the sample has windows, so the record has"
    return JointEquations(problem, rule, statistics, sample)


def walk(problem: Problem, rule: SamplingRule, n_blocks: int, **some: int) -> Iterator[Stretch]:
    """Walk the rule's windows.

    Parameters
    ----------
    problem : data and space
    rule : sampling rule
    n_blocks : number of blocks
    some : arguments of `stretches` that choose some of the windows
    """
    edges, windows = _edges_and_windows(problem, rule, n_blocks)
    return stretches(problem.data, problem.space, edges, windows, **some)


def statistics_of(
    problem: Problem, rule: SamplingRule, every_block: int = 1
) -> JointStatistics | None:
    """Take the sums over the rule's windows; None without windows.

    Parameters
    ----------
    problem : data, space and instruments
    rule : sampling rule
    every_block : take each k-th block only
    """
    edges, windows = _edges_and_windows(
        problem, rule, N_BLOCKS_FOR_ERRORS if rule.errors_from_blocks else N_BLOCKS
    )
    blocks = blocks_between(edges, every_block)
    found = problem.summing(
        JointPass(problem.data, blocks, problem.space, windows, problem.joint_instruments, rule)
    )
    assert found is not None, "windows fit any data"
    return joint_statistics(found, problem.space, problem.joint_instruments, rule)


def _edges_and_windows(
    problem: Problem, rule: SamplingRule, n_blocks: int
) -> tuple[Integers, Windows]:
    edges = block_edges(problem.data, n_blocks, whole=not (rule.overlapping or rule.persistent))
    return edges, replace(rule.windows, longest_step=problem.longest_step * rule.stride)


def _pseudo_solution(equations: NormalEquations) -> Floats:
    scale = np.sqrt(np.diag(equations.information).clip(min=0))
    scale = np.where(scale > 0, scale, 1.0)
    inverse = np.linalg.pinv(
        equations.information / np.outer(scale, scale), rcond=1e-12, hermitian=True
    )
    return np.asarray(inverse @ (equations.score / scale) / scale)
