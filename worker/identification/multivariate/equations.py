"""From sums to whitened equations: one system for every component of drift and diffusion (docs/method.md §11)."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from worker.identification.multivariate.instruments import Instruments
from worker.identification.multivariate.noise import MeasurementNoise
from worker.identification.multivariate.rules import FIRST_STEP, JointRule
from worker.identification.multivariate.statistics import JointStatistics, Sample
from worker.identification.multivariate.sums import Pair, pairs_of
from worker.identification.regression import NormalEquations, noise_covariance, whitened, with_block_errors
from worker.identification.sampling import WeakSystem

Floats = NDArray[np.float64]
Shares = dict[Pair, float]
"""Σ share · a_pq, the component that an equation is for: one pair, or a mean over the diagonal."""


@dataclass(frozen=True, eq=False)
class JointEquations:
    """The equations of all components by one rule.

    The noise of each is read off the residuals of a sample, averaged over a kernel's width, so that it is right for whatever the
    residuals are. V only weights the equations: estimates are unbiased with any V, and a sample of the windows is enough for it.
    """

    rule: JointRule
    statistics: JointStatistics
    sample: Sample
    instruments: Instruments
    noise: MeasurementNoise | None = None

    @cached_property
    def _kernels(self) -> Floats:
        """At the sample's instruments; (n, n_kernels)."""
        return self.instruments.kernels(self.sample.instrument)

    @property
    def kernel_weights(self) -> Floats:
        """Σ K_j(z_n) over all windows, from the sample; (n_kernels,)."""
        return np.asarray(self._kernels.sum(axis=0) * (self.statistics.n_windows / len(self.sample.step)))

    @cached_property
    def _phi(self) -> Floats:
        """All instruments at the sample; (n, n_instruments)."""
        return np.concatenate([self._kernels, self.sample.functions], axis=1)

    def rough_drift(self) -> Floats:
        """All internal functions at once, weighted by the raw second moments; (d, n_functions). Only for residuals."""
        squares = self.sample.products.displacements[:, -1] ** 2
        return np.stack([_pseudo_solution(self.of_drift(p, self.covariance(v))) for p, v in enumerate(squares.T)])

    def drift_covariances(self, drift: Floats) -> list[Floats]:
        """V of each component, from the residuals of this drift (d, n_functions)."""
        products = self.sample.products
        residuals = products.displacements[:, -1] - products.drift_design(self.rule, self.noise) @ drift.T
        return [self.covariance(v**2) for v in residuals.T]

    def diffusion_covariance(self, shares: Shares, drift: Floats) -> Floats:
        """V of a component of the tensor, from the deviations of the sample's targets from their local mean."""
        products, step = self.sample.products, self.sample.step
        parts = [w * products.diffusion_response(self.rule, pair, drift, self.noise) for pair, w in shares.items()]
        target = np.asarray(sum(parts))
        # Where increments are Gaussian this is (a_pp a_qq + a_pq²) h²; it is measured instead.
        return self.covariance((target - self._average(target, step) * step) ** 2, squared_step=True)

    def of_drift(self, p: int, covariance: Floats, rule: JointRule | None = None) -> NormalEquations:
        """Of b_p; by another rule of the same sums if given one. Raises NoDataUnderKernels."""
        products = self.statistics.products
        system = WeakSystem(products.drift_design(rule or self.rule, self.noise), products.drift_response(p))
        return self._whitened(system, covariance)

    def of_diffusion(self, shares: Shares, drift: Floats, covariance: Floats, rule: JointRule | None = None) -> NormalEquations:
        """Of a component of the tensor, for drift (d, n_functions). Raises NoDataUnderKernels."""
        products, rule = self.statistics.products, rule or self.rule
        response = sum(w * products.diffusion_response(rule, pair, drift, self.noise) for pair, w in shares.items())
        return self._whitened(WeakSystem(products.diffusion_design(rule, self.noise), np.asarray(response)), covariance)

    def noise_covariance(self, drift: Floats, tensor: Floats) -> Floats:
        """½ mean of D_1 D_1ᵀ less what drift and diffusion put there; (d, d), for tensor (d, d, n_functions)."""
        # The constant is the first of the library's functions among the instruments: its sums are plain sums.
        row = self.instruments.n_kernels
        products = type(self.statistics.products)(
            self.statistics.products.columns[:, row].sum(axis=0), self.statistics.products.layout
        )
        design, d = products.diffusion_design(FIRST_STEP, self.noise), len(drift)
        out = np.zeros((d, d))
        for p, q in pairs_of(d):
            response = products.diffusion_response(FIRST_STEP, (p, q), drift, self.noise)
            out[p, q] = out[q, p] = (response - design @ tensor[p, q]) / (2 * self.statistics.n_windows)
        return out

    def _average(self, numerator: Floats, denominator: Floats) -> Floats:
        """Σ K numerator / Σ K denominator at every instrument of the sample; both (n,), the denominator positive."""
        mean = float(numerator.sum() / denominator.sum())
        top, bottom = self._kernels.T @ numerator, self._kernels.T @ denominator
        # A trace of the overall mean keeps the ratio finite away from all kernels.
        prior = 1e-6 * float(bottom.max())
        floor = 1e-9 * prior
        ratio = (self._kernels @ (top + prior * mean) + floor * mean) / (self._kernels @ (bottom + prior) + floor)
        return np.asarray(ratio)

    def covariance(self, squared: Floats, *, squared_step: bool = False) -> Floats:
        """V_ij = Σ Φ_i Φ_j ω h, equation (M8), from the sample's squared residuals = ω h, or ω h² of the diffusion's."""
        exposure = self.sample.step**2 if squared_step else self.sample.step
        total = self.statistics.time_squared if squared_step else self.statistics.time
        variance = self._average(squared, exposure)
        variance = variance.clip(min=max(1e-9 * float(squared.sum() / exposure.sum()), np.finfo(float).tiny))
        return noise_covariance(self._phi.T, variance * exposure) * (total / float(exposure.sum()))

    def _whitened(self, system: WeakSystem, covariance: Floats) -> NormalEquations:
        scale = np.sqrt(np.diag(covariance))
        scale = np.where(scale > 0, scale, np.inf)
        scaled = WeakSystem(system.design / scale[:, None], system.response / scale)
        found = whitened(scaled, covariance / np.outer(scale, scale))
        return with_block_errors(found) if self.rule.overlapping else found


def _pseudo_solution(equations: NormalEquations) -> Floats:
    scale = np.sqrt(np.diag(equations.information).clip(min=0))
    scale = np.where(scale > 0, scale, 1.0)
    inverse = np.linalg.pinv(equations.information / np.outer(scale, scale), rcond=1e-12, hermitian=True)
    return np.asarray(inverse @ (equations.score / scale) / scale)
