"""Covariance of coefficients that are estimated through measurement noise, at a known model.

The correction of docs/method.md §10 sums over overlapping windows of a record, with means of noisy
samples as instruments: its errors cannot be written down. But they can be had from a simulated
record of the model in one pass, without any iteration, as at a known model stride, instrument and
weights are known, too. Each of the estimates, drift c, diffusion d and the noise's variance s², is
linear in its own equations given the others. With u_β the influence of the record's block β on each
given the others, J the slopes of each in the others, and n_w windows,

    δθ_β = (1 − J)⁻¹ u_β,     T Cov θ = n_w Δt Σ_β δθ_β δθ_βᵀ,     θ = (c, d, s²)           (M81)
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag

from worker.identification.estimation.cell_equations import (
    CellEquations,
    Weights,
    cell_equations,
    weights_through_noise,
)
from worker.identification.estimation.components import solve as solve_all
from worker.identification.estimation.noise_correction import (
    NOISE_DEVIATIONS,
    no_narrower,
    rule_for_noise,
)
from worker.identification.estimation.problem import Problem
from worker.identification.regression import NormalEquations, solve
from worker.identification.selection.best_subset import Estimate, estimate_on
from worker.identification.selection.supports import SupportBasis, support_basis
from worker.identification.sums.rules import SCALAR_THROUGH_NOISE, ScalarNoise
from worker.planning.information import Chain
from worker.planning.records import Names

Floats = NDArray[np.float64]
Support = tuple[int, ...]

CHANGE = 0.3
"""Change of an unknown, in its standard errors, by which slopes in it are found."""


def covariance_through_noise(
    problem: Problem,
    names: Names,
    model: Floats,
    chain: Chain,
    noise: float,
) -> Floats:
    """Return T times the covariance of all coefficients and of the noise's variance, (M81).

    Raises NoDataUnderKernels, and LinAlgError where a record does not determine them.

    Parameters
    ----------
    problem : simulated record
    names : the model's terms in drift and diffusion
    model : (k,) their coefficients [data's units]
    chain : the model on cells
    noise : standard deviation of the measurement noise [state]

    Returns
    -------
    (k + 1, k + 1) covariance times duration [data's units · time]
    """
    unit, time = float(problem.space.units[0]), problem.space.time
    units = np.repeat([unit / time, unit**2 / time, unit**2], [*map(len, names), 1])
    variance = (noise / unit) ** 2
    mean, rate = chain.mean_diffusion * time / unit**2, chain.fast_rate * time
    problem = no_narrower(problem, 0.0)
    rule = rule_for_noise(problem, SCALAR_THROUGH_NOISE, variance, mean, rate)
    problem = no_narrower(problem, NOISE_DEVIATIONS * float(np.sqrt(variance * rule.own)))
    correction = _Correction.at(cell_equations(problem, rule), names, model / units[:-1], variance)
    influences = correction.influences() * units
    blocks, duration = len(influences), correction.equations.n_windows * time
    return np.asarray(influences.T @ influences * duration * blocks / (blocks - 1))


@dataclass(frozen=True, slots=True, eq=False)
class _Correction:
    """The correction for noise at a known model, internal units.

    Unknowns are the coefficients along the rows of a basis of each component's terms, which are far
    from parallel whatever the origin, and the variance of the noise.

    equations   sums of the record by the rule with the stride and the instrument for this noise
    weights     V of both components
    supports    positions of the terms of drift and diffusion in the library
    unknowns    (k + 1,) the model's
    """

    equations: CellEquations
    weights: Weights
    supports: tuple[Support, Support]
    unknowns: Floats

    @classmethod
    def at(
        cls,
        equations: CellEquations,
        names: Names,
        model: Floats,
        variance: float,
    ) -> "_Correction":
        """Make the correction at a model."""
        problem, statistics = equations.problem, equations.statistics
        library = problem.library
        drift, diffusion = (tuple(library.names.index(name) for name in own) for own in names)
        b = library.term_rows[list(drift)].T @ model[: len(drift)]
        a = library.term_rows[list(diffusion)].T @ model[len(drift) :]
        along = [
            np.linalg.lstsq(support_basis(library, support).rows.T, function)[0]
            for support, function in ((drift, b), (diffusion, a))
        ]
        noise = ScalarNoise(variance)
        noisy = replace(equations, rule=replace(equations.rule, noise=noise))
        first = Weights(statistics.time, statistics.time_squared.sum(axis=0))
        found = solve_all(problem, noisy, first, briefly=True)
        weights = weights_through_noise(problem, statistics, found, noise, equations.runs)
        return cls(equations, weights, (drift, diffusion), np.concatenate([*along, [variance]]))

    def influences(self) -> Floats:
        """Return what each block adds to the errors of raw coefficients and variance, (M81)."""
        n, k = len(self.unknowns), len(self.supports[0])
        b, variance = self.unknowns[:k], float(self.unknowns[-1])
        # The variance's error is in the weights of the drift's equations.
        error = self._diffusion(b, self._drift(variance, 0.0), variance).errors[-1]
        drift = self._drift(variance, error)
        rest = self._diffusion(b, drift, variance)
        slopes, change = np.zeros((n, n)), CHANGE * rest.errors[-1]
        slopes[:k, -1] = (self._drift(variance + change, error).values - drift.values) / change
        slopes[k:, -1] = (
            self._diffusion(b, drift, variance + change).values - rest.values
        ) / change
        for j, change in enumerate(CHANGE * drift.errors):
            moved = b + change * np.eye(k)[j]
            slopes[k:, j] = (self._diffusion(moved, drift, variance).values - rest.values) / change
        given_others = np.column_stack([drift.influences, rest.influences])
        together = np.linalg.solve(np.eye(n) - slopes, given_others.T)
        of_terms = [
            np.stack([basis.raw_coefficients(row) for row in np.eye(len(basis.rows))], axis=1)
            for basis in map(self._basis, self.supports)
        ]
        return np.asarray((block_diag(*of_terms, np.ones((1, 1))) @ together).T)

    def _drift(self, variance: float, error: float) -> "_Found":
        """Estimate the drift given the noise's variance, with weights for its standard error."""
        rule = replace(self.equations.rule, noise=ScalarNoise(variance, error=error))
        return self._solved(self.equations.of_drift(0, self.weights, rule), self.supports[0])

    def _diffusion(self, b: Floats, drift: "_Found", variance: float) -> "_Found":
        """Estimate diffusion and variance, given the drift, and the variance in corrections.

        Parameters
        ----------
        b : (k,) drift
        drift : its estimate, whose errors are in the weights
        variance : variance of the noise
        """
        given = replace(drift.estimate, internal=self._basis(self.supports[0]).rows.T @ b)
        rule = replace(self.equations.rule, noise=ScalarNoise(variance))
        equations, line = self.equations.of_diffusion((0, 0), {}, [given], self.weights, rule)
        assert line is not None, "the variance is an unknown"
        found = self._solved(equations, self.supports[1])
        inner, rows = found.estimate.internal, self._basis(self.supports[1]).rows
        left = line.blocks @ np.concatenate([[1.0], -inner, [-line.at(inner)]])
        of_variance = left - found.influences @ (rows @ line.slope)
        return _Found(
            np.append(found.values, line.at(inner)),
            np.column_stack([found.influences, of_variance]),
            np.append(found.errors, line.error(found.estimate.internal_factor)),
            found.estimate,
        )

    def _solved(self, equations: NormalEquations, support: Support) -> "_Found":
        """Estimate along a support's basis. Raises LinAlgError."""
        estimate = estimate_on(equations, self.equations.problem.library, support)
        rows = self._basis(support).rows
        found = solve(equations, rows, robust=False)
        if estimate is None or found is None:
            raise np.linalg.LinAlgError("the record does not determine the coefficients")
        scores = equations.block_score - equations.block_information @ estimate.internal
        errors = np.sqrt(np.diag(found.covariance))
        return _Found(found.values, scores @ rows.T @ found.covariance, errors, estimate)

    def _basis(self, support: Support) -> SupportBasis:
        return support_basis(self.equations.problem.library, support)


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    """Estimates of some unknowns given the others.

    values      (m,) along the rows of the basis
    influences  (n_blocks, m) what each block adds to their errors
    errors      (m,) their standard errors by the model
    estimate    those of a component's coefficients as the identification has them
    """

    values: Floats
    influences: Floats
    errors: Floats
    estimate: Estimate
