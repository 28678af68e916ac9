"""What a careful colleague would say on seeing the fit: each finding is a sentence with what to try."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from worker.identification.checks.markov_tests import ScoreTests
from worker.identification.checks.reflecting_boundaries import Walls
from worker.identification.checks.scalar_residuals import ResidualMoments
from worker.identification.data.library import Library
from worker.identification.data.trajectories import Scales
from worker.identification.errors import SecondOrderDynamics
from worker.identification.estimation.scalar_estimator import (
    SIGNIFICANT,
    Identified,
    is_deterministic,
    is_noisy,
)
from worker.identification.selection.support_selection import Selected

Floats = NDArray[np.float64]

SCORE_LIMIT = 4.5
"""Standard normal score beyond which the model is said to leave something out; by chance once in 150 000."""

MATERIAL_LEVEL = 0.1
"""Change of the diffusion from stage to stage that is worth a word."""

FINER_RULES = {
    "adams-moulton": "a rule of fourth order (Adams–Moulton) through four samples",
    "simpson": "Simpson's rule over two steps",
}
"""What the sampling rules of higher order are, in words."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A warning before it is a document."""

    code: str
    message: str
    details: Mapping[str, object] = field(default_factory=dict)


def check_smoothness(residuals: ResidualMoments) -> None:
    """Raises SecondOrderDynamics where neighbouring residuals are nearly equal: the path is differentiable."""
    rho = residuals.lag_one_correlation
    if rho > 0.5 and residuals.lag_one_z > SIGNIFICANT and not is_deterministic(residuals):
        raise SecondOrderDynamics(
            f"The path is smooth: successive increments, less the drift, are correlated {rho:+.2f}. This is the position of an "
            "underdamped (inertial, second-order) process, and no first-order equation dX = b(X)dt + σ(X)dW describes it.",
            hints=(
                "Upload position and velocity together, as two state columns.",
                "Or sample more slowly than the velocity relaxes, until increments are uncorrelated.",
            ),
        )


def step_errors(
    selected: Selected, coarse: Floats | None, order: int, library: Library
) -> dict[str, float]:
    """Estimated relative error by term from the sampling interval: its change on doubling, over 2^order − 1."""
    if coarse is None:
        return {}
    pairs = zip(selected.estimate.support, selected.estimate.raw, coarse, strict=True)
    return {
        library.names[k]: float((far - near) / (2**order - 1) / near)
        for k, near, far in pairs
        if near
    }


def findings(
    identified: Identified, scores: ScoreTests, library: Library, scales: Scales
) -> Iterator[Finding]:
    """Everything worth saying about the fit itself."""
    residuals = identified.raw
    yield from _no_noise(residuals)
    yield from _no_drift(identified.fit.drift, library)
    yield from _long_steps(identified, scales)
    yield from _coarse(identified, library)
    yield from _doubted(identified, library)
    yield from _measurement_noise(identified, scales)
    yield from left_out(scores, max(c.gain for c in identified.fit.drift.path))
    yield from _motion_blur(identified)
    if not identified.exposure:
        yield from persistent(residuals)
    yield from heavy_tails(identified.residuals)
    yield from quantised(residuals)
    yield from _negative_diffusion(identified, scales)
    yield from _coverage(identified)


def _no_noise(residuals: ResidualMoments) -> Iterator[Finding]:
    if is_deterministic(residuals):
        yield Finding(
            "no-noise",
            "There is no noise to speak of: the drift alone explains the increments, and the record is deterministic to "
            f"{residuals.squares[0] / residuals.squares[1]:.1g} of their mean square. The diffusion is negligible; "
            "stationary law and escape times have no meaning here.",
        )


def _no_drift(drift: Selected, library: Library) -> Iterator[Finding]:
    names = [library.names[k] for k in drift.estimate.support]
    if not names:
        yield Finding(
            "no-significant-drift",
            "No drift is significant: the record cannot be told from a random walk. There is no mean reversion to report, so no "
            "relaxation time and, but for walls, no stationary law. Record longer if you expect one.",
        )
    elif names == ["1"] and library.period is None:
        yield Finding(
            "no-mean-reversion",
            "The drift is a constant: a random walk with a trend, with no mean reversion and, but for walls, no stationary law.",
        )


def _long_steps(identified: Identified, scales: Scales) -> Iterator[Finding]:
    limit = identified.longest_step
    if np.isfinite(limit):
        share = 1 - np.searchsorted(scales.steps, limit) / len(scales.steps)
        yield Finding(
            "long-steps-left-out",
            f"Sampling is uneven, and {100 * share:.0f} % of the steps are longer than {limit:.3g}, half a relaxation time; "
            "they are too coarse for the sampling rule and were left out.",
            {"longest_step": float(limit), "share": float(share)},
        )


def _coarse(identified: Identified, library: Library) -> Iterator[Finding]:
    fit = identified.fit
    for name, selected, coarse in zip(
        ("drift", "diffusion"), (fit.drift, fit.diffusion), identified.coarse, strict=True
    ):
        errors = step_errors(selected, coarse, fit.rule.order, library)
        estimate = selected.estimate
        for k, near, error in zip(estimate.support, estimate.raw, estimate.std_error, strict=True):
            relative = errors.get(library.names[k], 0.0)
            if abs(relative) > 0.03 and abs(relative * near) > error:
                yield Finding(
                    "coarse-sampling",
                    f"The sampling interval is coarse: at half the rate the {name} term {library.names[k]} changes by "
                    f"{100 * (2**fit.rule.order - 1) * relative:+.0f} %, so its finite time step error is about "
                    f"{100 * abs(relative):.0f} %. Sample faster, or read the coefficients as effective ones.",
                    {"component": name, "term": library.names[k], "relative_error": relative},
                )
                return
    yield from finer_rule(fit.rule.name)


def finer_rule(name: str) -> Iterator[Finding]:
    """Where the sampling rule of this name is one of higher order."""
    if name in FINER_RULES:
        yield Finding(
            f"{name}-rule",
            "The sampling interval is so coarse that the trapezoid rule's time step error would exceed the statistical one; the "
            f"drift was integrated by {FINER_RULES[name]} instead.",
        )


def _doubted(identified: Identified, library: Library) -> Iterator[Finding]:
    for name, selected in (
        ("drift", identified.fit.drift),
        ("diffusion", identified.fit.diffusion),
    ):
        if selected.doubted:
            terms = ", ".join(library.names[k] for k in selected.doubted)
            yield Finding(
                "term-hangs-on-sampling-rule",
                f"In the {name}, {terms} is significant under one sampling rule only, as small as what the rules disagree about; "
                "it is left out. Set sampling_rule to 'euler' if these are simulated Euler steps.",
                {"component": name, "terms": [library.names[k] for k in selected.doubted]},
            )


def left_out(scores: ScoreTests, gain: float) -> Iterator[Finding]:
    """What the drift leaves out, where it would add more than a hundredth to the drift's own gain; and whether the noise stays
    the same."""
    past = max(abs(v) for v in scores.past)
    stages = scores.drift_stages
    moving = abs(scores.trend)
    if stages is not None and stages.excess > 0.01 * gain:
        moving = max(moving, stages.z)

    def material(statistic: float) -> bool:
        return abs(statistic) > SCORE_LIMIT and statistic**2 / 2 > 0.01 * gain

    if material(moving) and moving > past:
        yield Finding(
            "trend",
            "The record is not stationary: its drift depends on time (a trend, a moving baseline, or a change of regime). "
            "Relaxation times and the stationary law below describe the trend, not the process. Remove the trend, or cut the "
            "record into stationary stretches.",
            {"z": scores.trend, "stages_z": None if stages is None else stages.z},
        )
    elif material(past):
        yield Finding(
            "memory",
            "The record is not Markov: the average of the recent past improves the prediction. A hidden variable, two time "
            "scales, a slow or seasonal forcing, or filtering give such memory; the relaxation time then grows with the lag it "
            "is read at.",
            {"z": list(scores.past)},
        )
    yield from _changing_noise(scores)


def _changing_noise(scores: ScoreTests) -> Iterator[Finding]:
    """A diffusion that is not the same from stage to stage."""
    stages, levels = scores.noise_stages, [v for v in scores.noise_levels if np.isfinite(v)]
    if (
        stages is None
        or stages.z < SCORE_LIMIT
        or max((abs(v - 1) for v in levels), default=0.0) < MATERIAL_LEVEL
    ):
        return
    yield Finding(
        "noise-changes",
        f"The record is not stationary: its diffusion changes with time, from {min(levels):.2g} to {max(levels):.2g} times that "
        "of the model, which is an average (a change of regime, of temperature, or of the instrument). Cut the record into "
        "stationary stretches and identify each.",
        {"z": stages.z, "levels": list(scores.noise_levels)},
    )


def persistent(residuals: ResidualMoments) -> Iterator[Finding]:
    """Residuals that go on in the same direction."""
    rho, z = residuals.lag_one_correlation, residuals.lag_one_z
    if 0.05 < rho <= 0.5 and z > SIGNIFICANT:
        yield Finding(
            "persistent-increments",
            f"Successive residuals are positively correlated ({rho:+.2f}): the path is smoother than a diffusion, as with "
            "inertia (velocity persistence), filtering or averaging by the instrument (motion blur: every sample is a mean over "
            "an exposure), or a forcing that is no variable here (a season). At this sampling interval it is not Markov. Sample "
            "more slowly, or add the variable.",
            {"residual_correlation": rho},
        )


def _motion_blur(identified: Identified) -> Iterator[Finding]:
    if identified.exposure:
        rho = identified.raw.lag_one_correlation
        yield Finding(
            "motion-blur",
            f"Neighbouring residuals are positively correlated ({rho:+.2f}), and only neighbours: every sample is an average "
            f"over an exposure of about {identified.exposure:.2g} sampling intervals (motion blur). It was corrected for; "
            "without that the diffusion is too small. Measurement noise hides a part of it, so the exposure is a lower bound. "
            "Inertia that relaxes within one sampling interval looks alike.",
            {"exposure": identified.exposure, "residual_correlation": rho, "corrected": True},
        )


def _measurement_noise(identified: Identified, scales: Scales) -> Iterator[Finding]:
    rho = identified.raw.lag_one_correlation
    if identified.noise_variance > 0:
        variance = identified.noise_variance * scales.unit**2
        yield Finding(
            "measurement-noise",
            f"Measurement noise (localisation error) of variance {variance:.3g} was found and corrected for: without that, "
            f"successive residuals are correlated {rho:.2f}. Errors are those of the blocks of the record.",
            {"variance": variance, "residual_correlation": rho, "corrected": True},
        )
    elif is_noisy(identified.raw) and identified.fit.rule.windows.stride == 1:
        yield Finding(
            "measurement-noise",
            f"Successive residuals are correlated {rho:.2f}, as by measurement noise (localisation error), which is not "
            "corrected for here: the diffusion is too large and the drift too steep. Set measurement_noise to 'corrected', "
            "sample more slowly, or reduce the instrument's noise.",
            {"residual_correlation": rho, "corrected": False},
        )


def heavy_tails(residuals: ResidualMoments) -> Iterator[Finding]:
    """Noise with more large values than a Gaussian has."""
    if residuals.is_heavy_tailed and not is_deterministic(residuals):
        yield Finding(
            "heavy-tails",
            f"The noise is not Gaussian: the residuals' kurtosis is {residuals.kurtosis:.1f} instead of 3. Jumps or heavy tails; "
            "the diffusion below contains the jumps' variance. Look at the largest increments; a jump-diffusion needs another "
            "model.",
            {"kurtosis": residuals.kurtosis},
        )


def quantised(residuals: ResidualMoments) -> Iterator[Finding]:
    """Values coarser than the motion."""
    if residuals.zero_steps > 0.05:
        yield Finding(
            "quantised",
            f"{100 * residuals.zero_steps:.0f} % of the increments are exactly zero: the values are quantised, "
            "coarser than the process moves in one sampling interval. This inflates the diffusion. Use more digits, or sample "
            "more slowly.",
            {"zero_share": residuals.zero_steps},
        )


def at_walls(walls: Walls, bounds: tuple[float, float]) -> Iterator[Finding]:
    """Walls that the path bounces off, declared or not.

    bounds   declared ends [state]
    """
    seen = [wall for wall in (walls.low, walls.high) if np.isfinite(wall)]
    undeclared = [
        wall
        for wall, end in ((walls.low, bounds[0]), (walls.high, bounds[1]))
        if np.isfinite(wall) and np.isinf(end)
    ]
    if seen:
        places = " and ".join(f"{wall:.4g}" for wall in seen)
        declare = (
            ""
            if not undeclared
            else " Declare the domain, so that the analysis of the model reflects it there too."
        )
        yield Finding(
            "wall",
            f"The path is turned back at {places}: it comes there often and at full speed, as at a reflecting wall (a boundary, "
            "a detector's end). Increments that start near it were left out, as drift and diffusion alone do not explain them."
            + declare,
            {"walls": seen, "undeclared": undeclared},
        )


def _negative_diffusion(identified: Identified, scales: Scales) -> Iterator[Finding]:
    where = identified.residuals.negative
    if where is not None and identified.fit.diffusion.estimate.support:
        low, high = (scales.origin + scales.unit * y for y in where)
        yield Finding(
            "negative-diffusion",
            f"The fitted diffusion is not positive for some data between {low:.4g} and {high:.4g}. Lower "
            "library.polynomial_degree, or declare the domain.",
            {"range": [low, high]},
        )


def _coverage(identified: Identified) -> Iterator[Finding]:
    weights = identified.kernel_weights
    sparse = int((weights < 10).sum())
    if sparse > len(weights) // 2:
        yield Finding(
            "sparse-coverage",
            f"{sparse} of {len(weights)} kernels saw fewer than ten increments. Use fewer kernels (kernels.count) or a narrower "
            "kernels.range.",
            {"sparse": sparse},
        )
