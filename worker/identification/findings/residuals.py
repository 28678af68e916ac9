"""Warnings about residuals, and about trajectories that do not follow one model."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from grammar.terms import variable_name
from worker.identification.checks.markov_tests import ScoreTests
from worker.identification.checks.residuals import SIGNIFICANT, ResidualMoments
from worker.identification.checks.seasons import season_of
from worker.identification.checks.trajectory_tests import TrajectoryTests
from worker.identification.errors import SecondOrderDynamics
from worker.identification.estimation.fit import Fit
from worker.identification.estimation.goodness_of_fit import size_of_noise
from worker.identification.estimation.problem import Problem
from worker.identification.findings.finding import Finding
from worker.identification.sums.rules import ScalarNoise

NEAR = 1e-3
"""Distance at which the diffusion is differentiated [internal unit]."""

SCORE_LIMIT = 4.5
"""Standard normal score beyond which the model leaves something out; by chance once in 150 000."""

MATERIAL_LEVEL = 0.1
"""Change of the diffusion from stage to stage that is worth a warning."""

WRONG_SIZE = 0.1
"""Relative difference of the diffusion from the increments' mean square that is worth a warning."""

CLEARLY = 3.0
"""Standard errors of that difference from which it is said."""


def check_paths(fit: Fit) -> None:
    """Raise SecondOrderDynamics for a variable with a smooth path.

    Its neighbouring residuals are nearly equal, though its increments are noisy."""
    for p, moments in enumerate(fit.raw):
        rho = moments.lag_one_correlation
        smooth = rho > 0.5 and moments.lag_one_z > SIGNIFICANT and not moments.is_deterministic
        if not smooth or p in fit.noise_free:
            continue
        where = ""
        other: tuple[str, ...] = ()
        if len(fit.raw) > 1:
            name = variable_name(p)
            where = f"In variable {name}: "
            other = (
                f"Or leave variable {name} out: name the other columns in layout.state_columns.",
            )
        raise SecondOrderDynamics(
            f"{where}The path is smooth: successive increments, less the drift, are correlated "
            f"{rho:+.2f}. This is the position of an underdamped (inertial, second-order) process, "
            "and no first-order equation dX = b(X)dt + σ(X)dW describes it.",
            hints=(
                "Set parameters.dynamics to second-order, which fits force, friction and kicks to "
                "positions alone. The result is a model of position and velocity.",
                "If they were, upload position and velocity together, as two state columns.",
                "Or sample more slowly than the velocity relaxes, until increments are "
                "uncorrelated.",
                *other,
            ),
        )


def of_residuals(fit: Fit, p: int, problem: Problem) -> Iterator[Finding]:
    """Yield warnings about the residuals of one variable."""
    if p in fit.noise_free:
        return
    if fit.scores:
        explained = _explained(fit, p)
        found = left_out(fit.scores[p], gain_of_drift(fit, p))
        yield from (f for f in found if f.code not in explained)
    if not fit.exposure:
        yield from _persistent(fit.raw[p])
    moments, raw = fit.residuals[p], fit.raw[p]
    # A mixture of diffusions has a kurtosis of its own.
    mixed = sum(3 * t.diffusion.variance for t in _tests(fit, p) if t.diffusion_differs)
    # A coarse step has up to a third more than the expansion says.
    mixed += 1.5 * _kurtosis_by_state(fit, problem)
    is_heavy_tailed = moments.is_heavy_tailed and moments.kurtosis > 4 + mixed
    if is_heavy_tailed and not moments.is_deterministic:
        yield Finding(
            "heavy-tails",
            f"The noise is not Gaussian: the residuals' kurtosis is {moments.kurtosis:.1f} instead "
            "of 3, as with jumps or heavy tails. The diffusion below contains the variance of the "
            "jumps. Look at the largest increments; a jump-diffusion needs another model.",
            {"kurtosis": moments.kurtosis},
        )
    if raw.zero_steps > 0.05 and fit.rounding is not None:
        yield _rounded(fit, fit.rounding, problem)
    elif raw.zero_steps > 0.05:
        yield Finding(
            "quantised",
            f"{100 * raw.zero_steps:.0f} % of the increments are exactly zero: the values are "
            "quantised, more coarsely than the process moves in one sampling interval. This "
            "inflates the diffusion. Use more digits, or sample more slowly.",
            {"zero_share": raw.zero_steps},
        )


def _kurtosis_by_state(fit: Fit, problem: Problem) -> float:
    """Return the excess kurtosis that a step has as the noise of one variable changes along it.

    By an expansion in the step, (x − x₀)/√(ah) = ξ + ε(ξ² − 1) + η(ξ³ − 3ξ) + …, this is
    16v = h (3 a′²/a + 2 a″). For a = σ²x², where v = σ²h, all orders are known.
    """
    statistics = fit.statistics
    if statistics is None:
        return 0.0
    y, time = statistics.nodes, statistics.time.clip(min=0)
    step = float(statistics.time_squared.sum() / statistics.time.sum())
    below, a, above = (
        problem.library.internal(y + side) @ fit.tensor[0, 0] for side in (-NEAR, 0.0, NEAR)
    )
    slope, curvature = (above - below) / (2 * NEAR), (above - 2 * a + below) / NEAR**2
    # Windows that start where the noise vanishes within a step do not count in the kurtosis.
    steady = (a > 0) & (np.abs(slope) * np.sqrt(step) < np.sqrt(np.maximum(a, 0)))
    if not time @ steady > 0:
        return 0.0
    v = step * (3 * slope**2 / np.where(steady, a, 1.0) + 2 * curvature) / 16
    v = float((time * steady) @ v / (time @ steady))
    return max(float(np.exp(4 * v) + 2 * np.exp(3 * v) + 3 * np.exp(2 * v) - 6), 0.0)


def _rounded(fit: Fit, rounding: ScalarNoise, problem: Problem) -> Finding:
    quantum = float(np.sqrt(12 * rounding.variance)) * problem.scales.unit
    stride, zeros = fit.rule.windows.stride, fit.raw[0].zero_steps
    spaced = (
        f" Increments are taken over {stride} sampling intervals, in which the process moves by "
        "half a quantum."
        if stride > 1
        else ""
    )
    return Finding(
        "quantised",
        f"The values are rounded to multiples of {quantum:.3g}, and {100 * zeros:.0f} % of the "
        "increments are exactly zero. The known variance of the rounding, a twelfth of that "
        f"squared, was corrected for.{spaced}",
        {"zero_share": zeros, "quantum": quantum, "stride": stride, "corrected": True},
    )


def _tests(fit: Fit, p: int) -> tuple[TrajectoryTests, ...]:
    """Return the tests of one variable, where there are several trajectories."""
    return fit.trajectories[p : p + 1]


def _explained(fit: Fit, p: int) -> set[str]:
    """Return warnings that differences between trajectories explain.

    A trajectory remembers a level of its own. What moves all at the same time is no trend of each,
    and few trajectories with much noise make that of a stage by chance.
    """
    found = set()
    for tests in _tests(fit, p):
        if tests.level_differs or tests.rate_differs:
            found.add("memory")
        if tests.moves_together:
            found |= {"trend", "noise-changes"}
        if tests.diffusion_differs:
            found.add("noise-changes")
    return found


def gain_of_drift(fit: Fit, p: int) -> float:
    """Return the log-likelihood that the drift of a variable gains over none."""
    return max(c.gain for c in fit.drift[p].path)


def left_out(scores: ScoreTests, gain: float) -> Iterator[Finding]:
    """Warn where the drift leaves something out, or the noise changes.

    The missing part must add more than a hundredth to the drift's own gain.

    Parameters
    ----------
    scores : tests of a record or a part of it
    gain : log-likelihood that the drift gains there over none
    """
    past = max(abs(v) for v in scores.past)
    stages = scores.drift_stages
    moving = abs(scores.trend)
    if stages is not None and stages.excess > 0.01 * gain:
        moving = max(moving, stages.z)

    if _is_material(moving, gain) and moving > past:
        yield Finding(
            "trend",
            "The time series is not stationary: its drift depends on time (a trend, a moving "
            "baseline, or a change of regime). Relaxation times and the stationary distribution "
            "describe the trend rather than the process. Take it into the model by "
            'parameters.forcing {"trend": 1}, remove it, or cut the time series into stationary '
            "parts.",
            {"z": scores.trend, "stages_z": None if stages is None else stages.z},
        )
    elif _is_material(past, gain):
        yield Finding(
            "memory",
            "The time series is not Markov: the average of the recent past improves the "
            "prediction. A hidden variable, two time scales, slow or seasonal forcing, or "
            "filtering cause such memory; the relaxation time then grows with the lag at which it "
            "is measured.",
            {"z": list(scores.past)},
        )
    noise, levels = scores.noise_stages, [v for v in scores.noise_levels if np.isfinite(v)]
    changes = noise is not None and noise.z >= SCORE_LIMIT
    if (
        noise is not None
        and changes
        and max((abs(v - 1) for v in levels), default=0.0) >= MATERIAL_LEVEL
    ):
        yield Finding(
            "noise-changes",
            "The time series is not stationary: its diffusion changes with time, from "
            f"{min(levels):.2g} to {max(levels):.2g} times that of the model, which is an average "
            "(a change of regime, of temperature, or of the instrument). Cut the time series into "
            "stationary parts and identify each.",
            {"z": noise.z, "levels": list(scores.noise_levels)},
        )


def _is_material(score: float, gain: float) -> bool:
    """Check whether a score is significant, and adds a hundredth to the drift's own gain."""
    return abs(score) > SCORE_LIMIT and score**2 / 2 > 0.01 * gain


def _persistent(residuals: ResidualMoments) -> Iterator[Finding]:
    rho = residuals.lag_one_correlation
    if not (rho > 0.05 and residuals.lag_one_z > SIGNIFICANT):
        return
    if rho <= 0.5:
        yield Finding(
            "persistent-increments",
            f"Successive residuals are positively correlated ({rho:+.2f}): the path is smoother "
            "than a diffusion, as with inertia (velocity persistence), filtering or averaging by "
            "the instrument (motion blur: every sample is a mean over an exposure), or forcing "
            "that is not among the variables (a season). At this sampling interval the time series "
            "is not Markov. Sample more slowly, or add the variable.",
            {"residual_correlation": rho},
        )
    elif not residuals.is_deterministic:
        yield Finding(
            "persistent-increments",
            f"The path is smooth: successive residuals are correlated {rho:+.2f} (velocity "
            "persistence), as for the position of an underdamped (inertial, second-order) process. "
            "The coefficients below depend on the requested sampling rule and on the "
            "sampling interval. Set sampling_rule to 'auto' to look for longer intervals at which "
            "the residuals are uncorrelated.",
            {"residual_correlation": rho},
        )


LEFT_BY_SEASONS = frozenset(("memory", "trend", "persistent-increments"))
"""Warnings that a season causes."""


def seasons(fit: Fit, problem: Problem, said: Collection[str]) -> Iterator[Finding]:
    """Warn of a season in the residuals, where there are warnings that one causes.

    said   codes of the warnings
    """
    if problem.space.inputs or not LEFT_BY_SEASONS & set(said):
        return
    for p, name in enumerate(problem.names):
        if p in fit.noise_free:
            continue
        found = season_of(
            problem.data,
            problem.space,
            problem.library,
            p,
            fit.coefficients[p],
            fit.tensor[p, p],
        )
        if found is not None:
            yield Finding(
                "season",
                f"The residuals of {name} have a period of {found.period:g}: a season, or another "
                "periodic forcing, drives them. Take it into the model: set parameters.forcing to "
                f'{{"periods": [{found.period:g}], "harmonics": 2}}.',
                {"variable": name, "period": found.period, "power": found.power},
            )
            return


def wrong_size(fit: Fit, problem: Problem) -> Iterator[Finding]:
    """Warn of increments that are larger or smaller than the fitted diffusion makes them."""
    found = None if fit.raw[0].is_deterministic else size_of_noise(fit, problem)
    if found is None or not abs(found[0] - 1) > max(WRONG_SIZE, CLEARLY * found[1]):
        return
    ratio, error = found
    side = "below" if ratio > 1 else "above"
    yield Finding(
        "diffusion-size",
        f"The fitted diffusion is {100 * abs(1 - 1 / ratio):.0f} % {side} the mean squared "
        f"increment per unit of time, of which it should be the average (ratio {ratio:.3g} ± "
        f"{error:.1g}). The noise varies in a way that the diffusion's terms do not describe, and "
        "the states with little noise have the greatest weight in them. Raise "
        "library.polynomial_degree or library.diffusion_degree, name a term in "
        "library.extra_terms, or divide the time series where its noise changes.",
        {"ratio": ratio, "std_error": error},
    )


def trajectories_differ(fit: Fit, problem: Problem) -> Iterator[Finding]:
    """Warn of trajectories that do not follow one model, or that move together."""
    found = {
        name: list(_differences(tests, name, float(problem.space.units[p]), problem.space.time))
        for p, (name, tests) in enumerate(zip(problem.names, fit.trajectories, strict=False))
    }
    every = [difference for several in found.values() for difference in several]
    if not every:
        return
    apart = [difference.what for difference in every if difference.what]
    noise = " (or its measurement noise)" if fit.noise is not None else ""
    what = (
        f"Trajectories differ beyond chance{noise}, by one standard deviation: {', '.join(apart)}. "
        "Terms of the model that only tell trajectories apart were left out. "
        if apart
        else ""
    )
    advice = "; or ".join(dict.fromkeys(difference.advice for difference in every))
    yield Finding(
        "trajectories-differ",
        f"{what}{' '.join(difference.effect for difference in every)} Standard errors account for "
        f"that. {advice[:1].upper()}{advice[1:]}.",
        {
            name: {key: value for each in several for key, value in each.details.items()}
            for name, several in found.items()
            if several
        },
    )


@dataclass(frozen=True, slots=True)
class _Difference:
    """Difference between trajectories: what differs, what that does, and what to try."""

    what: str
    effect: str
    advice: str
    details: Mapping[str, float]


def _differences(
    tests: TrajectoryTests, name: str, unit: float, time: float
) -> Iterator[_Difference]:
    """Yield what differs in one variable.

    Parameters
    ----------
    tests : tests of the variable
    name : its name
    unit : its unit [state]
    time : unit of time [time]
    """
    groups = "make one dataset of each group of similar trajectories, or of each trajectory"
    within, pooled = tests.within / time, tests.pooled / time
    if tests.diffusion_differs:
        factor = float(np.exp(np.sqrt(np.log1p(tests.diffusion.variance))))
        yield _Difference(
            f"the diffusion of {name} by a factor of {factor:.2g}",
            f"The diffusion of {name} is a mean over trajectories.",
            groups,
            {"diffusion_factor": factor},
        )
    if tests.level_differs and tests.relaxes:
        level = float(np.sqrt(max(tests.position.variance, 0.0)) * unit)
        yield _Difference(
            f"the level of {name} by {level:.3g}",
            f"About its own level a trajectory relaxes at a rate of about {within:.3g}; about the "
            f"mean of all, which the drift of {name} describes, {name} relaxes at {pooled:.3g}.",
            f"subtract from {name} in each trajectory its mean there",
            {"level": level, "rate_within": within, "rate_pooled": pooled},
        )
    elif tests.level_differs:
        velocity = float(np.sqrt(max(tests.constant.variance, 0.0)) * unit / time)
        yield _Difference(
            f"the drift of {name} by a constant of {velocity:.3g}",
            f"The drift of {name} is a mean over trajectories.",
            groups,
            {"velocity": velocity},
        )
    if tests.rate_differs:
        rate = float(np.sqrt(tests.rate.variance) / time)
        yield _Difference(
            f"the relaxation rate of {name} by {rate:.2g}",
            f"The pooled rate of {name} is that of no trajectory; their mean is about "
            f"{within:.3g}.",
            groups,
            {"rate": rate, "rate_within": within},
        )
    if tests.moves_together:
        rho = tests.common.variance
        yield _Difference(
            "",
            f"Trajectories move together: increments of {name} at the same time are correlated "
            f"({rho:+.2f}), as by a drift of the stage or a forcing of all, so they are not "
            "independent of each other.",
            f"upload this common motion, such as the mean of {name} over all trajectories at each "
            "time, as another variable, or subtract it",
            {"common_correlation": rho},
        )
