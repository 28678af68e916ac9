"""From sums to whitened equations: one system for every component of drift and diffusion (docs/method.md §11)."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from worker.identification.equations.regression import (
    NormalEquations,
    noise_covariance,
    whitened,
    with_block_errors,
)
from worker.identification.equations.scalar_rules import WeakSystem
from worker.identification.sums.instruments import Instruments
from worker.identification.sums.noise_corrections import MeasurementNoise
from worker.identification.sums.rules import FIRST_STEP, JointRule
from worker.identification.sums.window_products import Pair, pairs_of
from worker.identification.sums.window_statistics import JointStatistics, Sample

Floats = NDArray[np.float64]
SMALLEST_EIGENVALUE = 1e-5
"""Directions of V below this share of the largest, after scaling: combinations of instruments that nearly vanish where the sample
is, and not where the rest of the data are. Dropping them costs no precision (standard errors change by less than a percent)."""

Model = tuple[Floats, Floats]
"""Drift (d, n_functions) and tensor (d, d, n_functions), internal coefficients."""

Shares = dict[Pair, float]
"""Σ share · a_pq, the component that an equation is for: one pair, or a mean over the diagonal."""


@dataclass(frozen=True, eq=False)
class JointEquations:
    """The equations of all components by one rule.

    The noise of each is read off the residuals of a sample, averaged over a kernel's width, so that it is right for whatever the
    residuals are; but where additive noise was declared, over all of the record. V only weights the equations: estimates are
    unbiased with any V, and a sample of the windows is enough for it.

    additive             the noise was declared to be the same everywhere
    diffusion_functions  positions of the internal functions that the diffusion's equations are in; None: all
    """

    rule: JointRule
    statistics: JointStatistics
    sample: Sample
    instruments: Instruments
    noise: MeasurementNoise | None = None
    additive: bool = False
    diffusion_functions: NDArray[np.int_] | None = None

    @cached_property
    def _at_sample(self) -> tuple[Floats, Floats]:
        """Kernels (n, n_kernels) and all instruments (n, n_instruments)."""
        kernels, functions = self.instruments.at(self.sample.instrument)
        return kernels, np.concatenate([kernels, functions], axis=1)

    @property
    def _kernels(self) -> Floats:
        return self._at_sample[0]

    @property
    def kernel_weights(self) -> Floats:
        """Σ K_j(z_n) over all windows; (n_kernels,)."""
        return np.asarray(
            self.statistics.products.count[:, : self.instruments.n_kernels].sum(axis=0)
        )

    def rough_drift(self) -> Floats:
        """All internal functions at once, weighted by local second moments; (d, n_functions)."""
        moves, step = self.sample.products.displacements[:, -1], self.sample.step
        return np.stack(
            [
                _pseudo_solution(self.of_drift(p, self._covariance(v, step)))
                for p, v in enumerate(moves.T)
            ]
        )

    def first_drift_covariances(self, drift: Floats) -> list[Floats]:
        """V of each component before a diffusion is known: from the local averages of this drift's squared residuals."""
        return [self._covariance(r, self.sample.step) for r in self._residuals(drift).T]

    def first_diffusion_covariance(self, shares: Shares, drift: Floats) -> Floats:
        """Likewise, from the targets' deviations from their local means."""
        products, step = self.sample.products, self.sample.step
        parts = [
            w * products.diffusion_response(self.rule, pair, drift, self.noise)
            for pair, w in shares.items()
        ]
        target = np.asarray(sum(parts))
        return self._covariance(
            target - self._average(target, step) * step, step**2, squared_step=True
        )

    def drift_covariances(self, model: Model) -> list[Floats]:
        """V of each component, from the residuals of a model."""
        expected, residuals = self._expected_moments(model), self._residuals(model[0])
        return [self._covariance(r, expected[:, p, p]) for p, r in enumerate(residuals.T)]

    def diffusion_covariance(self, shares: Shares, model: Model) -> Floats:
        """V of a component of the tensor, from the residuals of a model."""
        products, (drift, tensor) = self.sample.products, model
        design = products.diffusion_design(self.rule, self.noise)
        residual, expected, moments = (
            np.zeros(len(design)),
            np.zeros(len(design)),
            self._expected_moments(model),
        )
        for (p, q), w in shares.items():
            residual += w * (
                products.diffusion_response(self.rule, (p, q), drift, self.noise)
                - design @ tensor[p, q]
            )
            for (r, s), other in shares.items():
                # The covariance of products of Gaussians (Isserlis).
                expected += (
                    w
                    * other
                    * (moments[:, p, r] * moments[:, q, s] + moments[:, p, s] * moments[:, q, r])
                )
        return self._covariance(residual, expected, squared_step=True)

    def _residuals(self, drift: Floats) -> Floats:
        """Of the sample; (n, d)."""
        products = self.sample.products
        return np.asarray(
            products.displacements[:, -1] - products.drift_design(self.rule, self.noise) @ drift.T
        )

    def _expected_moments(self, model: Model) -> Floats:
        """⟨r_p r_q⟩ = â_pq m h + 2 S_pq for the residuals of each window of the sample; (n, d, d).

        Where the fitted â_pp falls below a fifth of what the residuals around say, that is taken.
        """
        drift, tensor = model
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

    def of_drift(
        self, p: int, covariance: Floats, rule: JointRule | None = None
    ) -> NormalEquations:
        """Of b_p; by another rule of the same sums if given one. Raises NoDataUnderKernels."""
        products = self.statistics.products
        system = WeakSystem(
            products.drift_design(rule or self.rule, self.noise), products.drift_response(p)
        )
        return self._whitened(system, covariance)

    def of_diffusion(
        self, shares: Shares, drift: Floats, covariance: Floats, rule: JointRule | None = None
    ) -> NormalEquations:
        """Of a component of the tensor, for drift (d, n_functions). Raises NoDataUnderKernels."""
        products, rule = self.statistics.products, rule or self.rule
        response = sum(
            w * products.diffusion_response(rule, pair, drift, self.noise)
            for pair, w in shares.items()
        )
        design = products.diffusion_design(rule, self.noise)
        if self.diffusion_functions is not None:
            design = design[..., self.diffusion_functions]
        return self._whitened(WeakSystem(design, np.asarray(response)), covariance)

    def noise_covariance(self, drift: Floats, tensor: Floats) -> Floats:
        """½ mean of D_1 D_1ᵀ less what drift and diffusion put there; (d, d), for tensor (d, d, n_functions)."""
        # The constant is the first of the library's functions among the instruments.
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
        """Σ K numerator / Σ K denominator at every instrument of the sample; both (n,), the denominator positive."""
        mean = float(numerator.sum() / denominator.sum())
        if self.additive:
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
        """V_ij = Σ Φ_i Φ_j ω over all windows, equation (M8), and between windows that share noise (M8a), from the sample.

        ω is the expected square times the local average of actual over expected: right for whatever the residuals are. Averaging
        the squares alone would pull their variance towards where most data are, and errors with it.
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
        """Σ Φ_i(z_n) Φ_j(z_{n+lag}) ⟨r_n r_{n+lag}⟩ over the sample's pairs, their correlation averaged as ω is."""
        early, late = self.sample.pairs(lag)
        scale = np.sqrt(variance[early] * variance[late])
        product, weight = np.zeros(len(residual)), np.zeros(len(residual))
        product[early], weight[early] = residual[early] * residual[late], scale
        if not weight.any():
            return np.zeros((self._at_sample[1].shape[1],) * 2)
        correlation = self._average(product, weight)[early].clip(-0.5, 1.0)
        # A run of the sample has fewer pairs than windows; the record has as many, but for its ends.
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


def _pseudo_solution(equations: NormalEquations) -> Floats:
    scale = np.sqrt(np.diag(equations.information).clip(min=0))
    scale = np.where(scale > 0, scale, 1.0)
    inverse = np.linalg.pinv(
        equations.information / np.outer(scale, scale), rcond=1e-12, hermitian=True
    )
    return np.asarray(inverse @ (equations.score / scale) / scale)
