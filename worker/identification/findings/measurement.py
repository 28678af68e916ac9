"""Warnings about how the path was measured: sampling interval, noise, rounding and blur."""

from collections.abc import Iterator

import numpy as np

from grammar.terms import variable_name
from worker.identification.data.given_noise import GivenNoise
from worker.identification.data.library import Library
from worker.identification.estimation.components import step_errors
from worker.identification.estimation.fit import Fit
from worker.identification.estimation.noise_correction import COARSE
from worker.identification.estimation.one_rule import mean_diffusion_and_rate
from worker.identification.estimation.possible_noise import per_variance
from worker.identification.estimation.problem import Problem
from worker.identification.findings.finding import Finding, by_name
from worker.identification.sums.rules import SIMPSON

MATERIAL_STEP_ERROR = 0.03
"""Relative error from the sampling interval that is worth a warning."""

UNEVEN = 0.05
"""Variation of the squares of the samples' errors from which it is worth a warning."""

MATERIAL_NOISE = 0.05
"""Share of the diffusion from which noise that is not excluded is worth a warning."""


def no_noise(fit: Fit, problem: Problem) -> Iterator[Finding]:
    """Warn of variables whose increments contain no noise of their own."""
    names = [variable_name(p) for p in fit.noise_free if p not in problem.velocities]
    if (len(fit.raw) == 1 and fit.raw[0].is_deterministic) or len(fit.noise_free) == len(fit.raw):
        share = max(m.squares[0] / m.squares[1] if m.squares[1] else 0.0 for m in fit.raw)
        yield Finding(
            "no-noise",
            "The time series is deterministic: the drift alone explains the increments, all but "
            f"{share:.1g} of their mean square. The diffusion is negligible, so that a stationary "
            "distribution and escape times have no meaning here.",
        )
    elif names:
        yield Finding(
            "degenerate-diffusion",
            f"The increments of {', '.join(names)} contain no noise of their own: the diffusion "
            "tensor is degenerate (singular, a hypoelliptic process), as for a position whose "
            f"velocity is another variable. The components of the tensor in {', '.join(names)} are "
            "set to zero.",
            {"variables": names},
        )


def state_dependent_steps(fit: Fit) -> Iterator[Finding]:
    """Warn of sampling intervals that depend on the state."""
    if not fit.informative:
        return
    unused = (
        "Simpson's rule was asked for and takes only windows of equal steps, which such a clock "
        "chooses by what the path does in them: the estimates are biased. Leave sampling_rule out."
        if fit.rule.windows.even
        else "Corrections for measurement noise, rounding and coarse steps would choose intervals "
        "by what the path does in them, or suppose the same intervals in every state. They were "
        "not used, and no interval was left out."
    )
    yield Finding(
        "state-dependent-steps",
        "The sampling interval depends on the state: where the path is, the interval before or "
        "after it is longer or shorter than elsewhere, as with samples taken at events (jumps, "
        f"reactions, transactions) or with an instrument that adapts its rate. {unused} If the "
        "state at even times is known, e.g. because it stays constant between events, upload that "
        "instead.",
    )


def long_steps(fit: Fit, problem: Problem) -> Iterator[Finding]:
    """Warn of sampling intervals that were too long for the sampling rule."""
    limit, steps = fit.longest_step, problem.scales.steps
    if np.isfinite(limit):
        share = 1 - np.searchsorted(steps, limit) / len(steps)
        yield Finding(
            "long-steps-left-out",
            f"Sampling is uneven, and {100 * share:.0f} % of the sampling intervals are longer "
            f"than {limit:.3g}, half a relaxation time. They are too coarse for the sampling rule "
            "and were excluded.",
            {"longest_step": float(limit), "share": float(share)},
        )


def thinned(fit: Fit) -> Iterator[Finding]:
    """Warn where only samples far enough apart were used."""
    if fit.least_step:
        rho = [m.lag_one_correlation for m in fit.before_thinning]
        yield Finding(
            "persistent-increments",
            "At the original sampling interval, successive residuals are positively correlated "
            f"({max(rho):+.2f}): the path is smoother than a diffusion, as with inertia (velocity "
            "persistence), filtering, or motion blur (every sample an average over an exposure). "
            f"Only samples at least {fit.least_step:.4g} apart, where the correlation vanishes, "
            "were used, and the model describes longer times only. Set sampling_rule to "
            "'trapezoid' to fit every increment.",
            {"residual_correlation": by_name(rho), "least_step": fit.least_step},
        )


def coarse_sampling(fit: Fit, library: Library) -> Iterator[Finding]:
    """Warn of terms with a discretisation error, and where a finer rule was needed."""
    order = fit.rule.order
    worst: tuple[float, str, str] | None = None
    for name, selected, coarse in fit.components_at_double_step():
        errors, estimate = step_errors(selected, coarse, order, library), selected.estimate
        for k, near, error in zip(estimate.support, estimate.raw, estimate.std_error, strict=True):
            relative = errors.get(library.names[k], 0.0)
            material = abs(relative) > MATERIAL_STEP_ERROR and abs(relative * near) > error
            if material and (worst is None or abs(relative) > abs(worst[0])):
                worst = relative, name, library.names[k]
    if worst is not None:
        relative, name, term = worst
        yield Finding(
            "coarse-sampling",
            f"The sampling interval is coarse: at half the sampling rate, the term {term} of the "
            f"{name} changes by {100 * (2**order - 1) * relative:+.0f} %, so its discretisation "
            f"error is about {100 * abs(relative):.0f} %. Sample faster, or treat the coefficients "
            "as effective ones.",
            {"component": name, "term": term, "relative_error": relative},
        )
    if fit.coarse_step:
        yield Finding(
            "coarse-step-corrected",
            "The sampling interval is so coarse that the discretisation error of the trapezoid "
            "rule exceeds the statistical error. It was calculated from the model and removed, so "
            "that the estimates compare increments with what the model expects of them.",
        )
    if fit.rule.name == SIMPSON.name:
        yield Finding(
            "simpson-rule",
            "The sampling interval is so coarse that the discretisation error of the trapezoid "
            "rule would exceed the statistical error. The drift was integrated by Simpson's rule "
            "over two steps instead.",
        )


def measurement_noise(fit: Fit, problem: Problem) -> Iterator[Finding]:
    """Warn of measurement noise, corrected for or not."""
    names, rho = problem.names, [m.lag_one_correlation for m in fit.raw]
    noisy = [
        name
        for p, (name, m) in enumerate(zip(names, fit.raw, strict=True))
        if p not in fit.noise_free and m.is_noisy
    ]
    variances = (fit.noise_variances * problem.space.units**2).tolist()
    if fit.rounding is not None:
        return
    given = problem.given_noise
    if fit.given_noise and given is not None:
        yield from errors_averaged(given)
        return
    if any(variances):
        each = [
            f"{v:.3g}" if len(names) == 1 else f"{v:.3g} in {name}"
            for v, name in zip(variances, names, strict=True)
        ]
        yield Finding(
            "measurement-noise",
            f"Measurement noise (localisation error) of variance {', '.join(each)} was found and "
            "corrected for: without the correction, successive residuals are correlated "
            f"{min(rho):+.2f}. Standard errors come from blocks of the time series.",
            {
                "variance": by_name(variances),
                "residual_correlation": by_name(rho),
                "corrected": True,
            },
        )
    elif noisy and fit.rule.windows.stride == 1:
        where = "" if len(names) == 1 else f" of {', '.join(noisy)}"
        yield Finding(
            "measurement-noise",
            f"Successive residuals{where} are anticorrelated ({min(rho):+.2f}), as with "
            "measurement noise (localisation error) or with motion that reverses within a sampling "
            "interval (caging; not Markov at this lag). This was not corrected for: the diffusion "
            "is too large and the drift too steep. Sample more slowly, or reduce the instrument's "
            "noise.",
            {"residual_correlation": by_name(rho), "corrected": False},
        )


def errors_averaged(given: GivenNoise) -> Iterator[Finding]:
    """Warn of standard errors of the samples that differ, of which the mean square is used."""
    if given.spread > UNEVEN:
        yield Finding(
            "errors-averaged",
            "The standard errors of the samples differ: their squares vary by "
            f"{100 * given.spread:.0f} % about their mean. That mean was used for all samples, "
            "which is right on average. Should the errors depend on the state, the diffusion "
            "is wrong by as much as they do.",
            {"spread": given.spread},
        )


def noise_not_excluded(fit: Fit, problem: Problem) -> Iterator[Finding]:
    """Warn of noise of one variable that may hide in coarse steps and matters to the diffusion."""
    if not fit.not_excluded or fit.statistics is None:
        return
    a, rate = mean_diffusion_and_rate(problem, fit.statistics, fit)
    share = per_variance(fit, np.ones(1)) * fit.not_excluded / a if a > 0 else 0.0
    if rate > COARSE and share > MATERIAL_NOISE:
        deviation = float(np.sqrt(fit.not_excluded)) * problem.scales.unit
        yield Finding(
            "possible-noise",
            f"Measurement noise (localisation error) of a standard deviation of up to "
            f"{deviation:.3g} cannot be excluded: at this sampling interval, {rate:.2g} relaxation "
            "times, it is hardly distinguished from motion. Alone it would make the diffusion "
            f"{100 * share:.0f} % too large. The diffusion and its interval allow for noise that "
            "is as likely as not, and for no more. Sample faster, or measure the noise on an "
            "object at rest.",
            {"deviation": deviation, "relative_error": share},
        )


def motion_blur(fit: Fit) -> Iterator[Finding]:
    """Warn of samples that are averages over an exposure."""
    if fit.exposure:
        rho = fit.raw[0].lag_one_correlation
        yield Finding(
            "motion-blur",
            f"Neighbouring residuals are positively correlated ({rho:+.2f}), and only neighbours: "
            f"every sample is an average over an exposure of about {fit.exposure:.2g} sampling "
            "intervals (motion blur). This was corrected for; without the correction the diffusion "
            "is too small. Measurement noise hides part of the effect, so the exposure is a lower "
            "bound. Inertia that relaxes within one sampling interval looks the same.",
            {"exposure": fit.exposure, "residual_correlation": rho, "corrected": True},
        )
