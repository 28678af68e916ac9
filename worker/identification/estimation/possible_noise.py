"""Measurement noise that is possible, although it is not significant (docs/method.md §§10, 11).

Noise of variance s² adds 2s²/h to the diffusion. Below detection that is up to six standard errors.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from worker.identification.checks.residuals import SIGNIFICANT, ResidualMoments
from worker.identification.estimation.fit import Fit
from worker.identification.estimation.problem import Problem
from worker.identification.regression import lower_root
from worker.identification.selection.best_subset import Estimate
from worker.identification.selection.support_selection import Selected

Floats = NDArray[np.float64]

PRIOR_ODDS = 0.5
"""Odds of noise before its sign and size are known to be those of noise."""

LEAST_EVIDENCE = 2.0
"""Likelihood of the residuals with noise over that without, from which the noise is allowed for;
one record in ten without noise has as much."""


NOT_EXCLUDED = 1.645
"""Standard errors above its estimate up to which noise is not excluded, at 95 %."""


@dataclass(frozen=True, slots=True)
class NoiseBelow:
    """Variance of measurement noise that was looked for and is not significant, internal units."""

    variance: float
    error: float


def is_noisy(residuals: Sequence[ResidualMoments]) -> bool:
    """Return whether residuals show noise, of one variable or of all of them together.

    An instrument's noise is in every variable as a rule: at noise of 5 % of the standard deviation
    and 20 000 samples, each of two variables alone shows it in every second record.
    """
    z = np.array([m.lag_one_z for m in residuals if not m.is_deterministic])
    if any(m.is_noisy for m in residuals):
        return True
    correlation = np.array([m.lag_one_correlation for m in residuals if not m.is_deterministic])
    return bool(
        len(z)
        and (z < 0).all()
        and z.sum() < -SIGNIFICANT * np.sqrt(len(z))
        and correlation.mean() < -0.005
    )


def with_possible_noise(fit: Fit, problem: Problem) -> Fit:
    """Lower the diffusion by the noise that is to be expected, and widen its errors by its chance.

    Thinned and persistent residuals, and an isotropic tensor, are left as they are.

    Parameters
    ----------
    fit : fit of several variables without a correction for noise
    problem : library and structure of the tensor
    """
    exponents = problem.library.exponents
    constant = next((k for k, e in enumerate(exponents) if e is not None and not any(e)), None)
    own = [p for p in range(len(fit.drift)) if p not in fit.noise_free]
    found = possible_variances([fit.raw[p] for p in own])
    settled = problem.structure == "isotropic" or fit.least_step > 0 or fit.rule.persistent
    if constant is None or found is None or settled:
        return fit
    assert fit.sample is not None, "there are several variables"
    factor = per_variance(fit, 1 / fit.sample.step)
    diffusion = dict(fit.diffusion)
    for p, mean, variance in zip(own, *found, strict=True):
        diffusion[p, p] = _all_moved(diffusion[p, p], constant, factor * mean, factor**2 * variance)
    return replace(fit, diffusion=diffusion)


def per_variance(fit: Fit, per_step: Floats) -> float:
    """Compute by how much noise of variance one raises the diffusion.

    Parameters
    ----------
    fit : fit without a correction for noise
    per_step : (n,) reciprocal sampling intervals, internal units
    """
    return 2 * sum(fit.rule.moments) / sum(fit.rule.diffusion) * float(np.mean(per_step))


def with_noise_below(fit: Fit, problem: Problem, noise: NoiseBelow | None) -> Fit:
    """Lower the diffusion of one variable by the noise to be expected, and widen its errors.

    Parameters
    ----------
    fit : fit without a correction for noise
    problem : library and sampling intervals
    noise : noise that is not significant, or None where there is none
    """
    (raw,) = fit.raw
    monomials = problem.library.exponents
    constant = next((k for k, e in enumerate(monomials) if e is not None and not any(e)), None)
    if noise is None or constant is None or raw.is_deterministic or not noise.error > 0:
        return fit
    fit = replace(fit, not_excluded=noise.variance + NOT_EXCLUDED * noise.error)
    error = np.array([noise.error])
    found = _moments(np.array([noise.variance]) / error, error)
    if found is None:
        return fit
    (mean,), (variance,) = found
    steps = problem.scales.steps[problem.scales.steps <= problem.longest_step]
    factor = per_variance(fit, problem.scales.time / steps)
    moved = _all_moved(fit.diffusion[0, 0], constant, factor * mean, factor**2 * variance)
    return replace(fit, diffusion={(0, 0): moved})


def _all_moved(selected: Selected, constant: int, by: float, more: float) -> Selected:
    """Lower the constant term of all likely estimates of a component; see `_moved`."""
    return replace(
        selected,
        estimate=_moved(selected.estimate, constant, by, more),
        alternatives=tuple(
            replace(a, estimate=_moved(a.estimate, constant, by, more))
            for a in selected.alternatives
        ),
    )


def possible_variances(residuals: Sequence[ResidualMoments]) -> tuple[Floats, Floats] | None:
    """Return mean and variance of each variable's noise variance, given the residuals; (M19a).

    It is zero in all variables, or else positive in all and equally likely of any size. None where
    there is hardly any evidence for noise.

    Parameters
    ----------
    residuals : residuals of each variable with noise of its own
    """
    products = np.array([m.products[:3] for m in residuals]).reshape(-1, 3)
    if not len(products) or not (products[:, [0, 2]] > 0).all():
        return None
    error = np.sqrt(products[:, 2]) / products[:, 0]
    return _moments(-products[:, 1] / np.sqrt(products[:, 2]), error)


def _moments(z: Floats, error: Floats) -> tuple[Floats, Floats] | None:
    """Return mean and variance of noise variances, of these z and standard errors; (M19a)."""
    evidence = float(np.exp(min(np.sum(log_ndtr(z) + z**2 / 2), 100.0)))
    if evidence < LEAST_EVIDENCE:
        return None
    probability = PRIOR_ODDS * evidence / (1 + PRIOR_ODDS * evidence)
    # Moments of a normal distribution above zero.
    ratio = np.exp(-(z**2) / 2 - log_ndtr(z)) / np.sqrt(2 * np.pi)
    mean = probability * (z + ratio)
    variance = probability * (1 + z**2 + z * ratio) - mean**2
    return mean * error, variance * error**2


def _moved(estimate: Estimate, constant: int, by: float, more: float) -> Estimate:
    """Lower an estimate's constant term, with so much more variance; internal units.

    Parameters
    ----------
    estimate : estimate of a diagonal component of the diffusion
    constant : position of the term 1
    by, more : what is subtracted, and its variance
    """
    if constant not in estimate.support:
        return estimate
    i, k = estimate.support.index(constant), len(estimate.support)
    internal, raw = estimate.internal.copy(), estimate.raw.copy()
    # The first internal function is 1, too.
    internal[0] -= by
    raw[i] -= by
    covariance, factor = estimate.covariance.copy(), estimate.internal_factor
    covariance[i, i] += more
    column = np.zeros((len(internal), 1))
    column[0] = np.sqrt(more)
    factor = np.concatenate([factor[:, :k], column, factor[:, k + 1 :]], axis=1)

    def wider(errors: Floats) -> Floats:
        out = errors.copy()
        out[i] = np.hypot(out[i], np.sqrt(more))
        return out

    return replace(
        estimate,
        internal=internal,
        # All columns are taken where all terms are.
        internal_factor=factor if k < len(internal) else lower_root(factor),
        raw=raw,
        std_error=wider(estimate.std_error),
        robust_std_error=None
        if estimate.robust_std_error is None
        else wider(estimate.robust_std_error),
        covariance=covariance,
    )
