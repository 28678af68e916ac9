"""Every warning about a fit: what was found, what it means, and what to try.

One and several variables share the sentences; with several, a warning begins with the names of its
variables.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from grammar.terms import variable_name
from worker.identification.checks.markov_tests import ScoreTests
from worker.identification.checks.reflecting_boundaries import Walls
from worker.identification.checks.residuals import SIGNIFICANT, ResidualMoments, ResidualSums
from worker.identification.checks.trajectory_tests import TrajectoryTests
from worker.identification.checks.visited_states import empty_arc, indefinite
from worker.identification.data.library import Library
from worker.identification.data.preconditions import dependences
from worker.identification.data.trajectories import Trajectories
from worker.identification.errors import SecondOrderDynamics
from worker.identification.estimation.fit import Fit
from worker.identification.estimation.goodness_of_fit import Misfit, size_of_noise
from worker.identification.estimation.problem import Problem
from worker.identification.selection.kernel_scores import KernelChoice, gain_of_narrower
from worker.identification.selection.support_selection import Selected
from worker.identification.sums.kernels import Kernels
from worker.identification.sums.rules import ScalarNoise

Floats = NDArray[np.float64]

SCORE_LIMIT = 4.5
"""Standard normal score beyond which the model leaves something out; by chance once in 150 000."""

MATERIAL_LEVEL = 0.1
"""Change of the diffusion from stage to stage that is worth a warning."""

MATERIAL_STEP_ERROR = 0.03
"""Relative error from the sampling interval that is worth a warning."""

WRONG_SIZE = 0.1
"""Relative difference of the diffusion from the increments' mean square that is worth a warning."""

CLEARLY = 3.0
"""Standard errors of that difference from which it is said."""

MATERIAL_GAIN = 1.5
"""Ratio of variances beyond which kernels are too wide: standard errors are a quarter larger."""

MOST_KERNELS = 100
"""Largest number of kernels that is compared with twice as many."""

FEW_TRANSITIONS = 10

UNDECIDED = 0.5
"""Probability of the selected terms below which other sets of terms are named."""

FINER_RULES = {
    "adams-moulton": "a rule of fourth order (Adams–Moulton) through four samples",
    "simpson": "Simpson's rule over two steps",
}
"""Sampling rules of higher order, in words."""

MODEL_ONLY = "only the model was requested (analysis.model_only)"


@dataclass(frozen=True, slots=True)
class Finding:
    """A warning, before it becomes a document."""

    code: str
    message: str
    details: Mapping[str, object] = field(default_factory=dict)


def check_paths(fit: Fit) -> None:
    """Raise SecondOrderDynamics for a variable with a smooth path.

    Its neighbouring residuals are nearly equal, though its increments are noisy."""
    for p, moments in enumerate(fit.raw):
        rho = moments.lag_one_correlation
        smooth = rho > 0.5 and moments.lag_one_z > SIGNIFICANT and not moments.is_deterministic
        if not smooth or p in fit.noise_free:
            continue
        where = f"In variable {variable_name(p)}: " if len(fit.raw) > 1 else ""
        raise SecondOrderDynamics(
            f"{where}The path is smooth: successive increments, less the drift, are correlated "
            f"{rho:+.2f}. This is the position of an underdamped (inertial, second-order) process, "
            "and no first-order equation dX = b(X)dt + σ(X)dW describes it.",
            hints=(
                "Upload position and velocity together, as two state columns.",
                "Or sample more slowly than the velocity relaxes, until increments are "
                "uncorrelated.",
            ),
        )


def step_errors(
    selected: Selected, coarse: Floats | None, order: int, library: Library
) -> dict[str, float]:
    """Estimate each term's relative error from the sampling interval.

    The error is the term's change on doubling the interval, over 2^order − 1.

    Parameters
    ----------
    selected : estimate of the component
    coarse : raw coefficients at twice the interval; None: no errors
    order : order of the sampling rule
    library : terms
    """
    if coarse is None:
        return {}
    pairs = zip(selected.estimate.support, selected.estimate.raw, coarse, strict=True)
    return {
        library.names[k]: float((far - near) / (2**order - 1) / near)
        for k, near, far in pairs
        if near
    }


def findings(fit: Fit, problem: Problem) -> Iterator[Finding]:
    """Yield all warnings about the fit itself."""
    yield from _no_noise(fit)
    yield from _no_drift(fit, problem.library)
    yield from _undecided_terms(fit, problem.library)
    yield from _long_steps(fit, problem)
    yield from _thinned(fit)
    yield from _coarse(fit, problem.library)
    yield from _rule_dependent(fit, problem.library)
    yield from _measurement_noise(fit, problem)
    yield from _motion_blur(fit)
    yield from _by_variable(
        fit,
        ((p, finding) for p in range(len(fit.raw)) for finding in _of_residuals(fit, p, problem)),
    )
    yield from _wrong_size(fit, problem)
    yield from _trajectories_differ(fit, problem)
    yield from _negative_diffusion(fit, problem)
    yield from _coverage(fit)
    yield from _kernels_not_chosen(fit.choice, len(fit.kernel_weights))
    yield from _wide_kernels(fit, problem.library)


def _trajectories_differ(fit: Fit, problem: Problem) -> Iterator[Finding]:
    """Warn of trajectories that do not follow one model, or that move together."""
    found = {
        name: list(_differences(tests, name, float(problem.space.units[p]), problem.space.time))
        for p, (name, tests) in enumerate(
            zip(problem.library.variables, fit.trajectories, strict=False)
        )
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


def _by_variable(fit: Fit, found: Iterable[tuple[int, Finding]]) -> Iterator[Finding]:
    """Merge the findings of several variables to one for each code, with the variables' names."""
    if len(fit.raw) == 1:
        yield from (finding for _, finding in found)
        return
    by_code: dict[str, dict[str, Finding]] = {}
    for p, finding in found:
        by_code.setdefault(finding.code, {})[variable_name(p)] = finding
    for code, several in by_code.items():
        message = next(iter(several.values())).message
        yield Finding(
            code,
            f"In {', '.join(several)}: {message}",
            {name: dict(f.details) for name, f in several.items()},
        )


def _by_name(values: Sequence[float]) -> object:
    """Return the value of one variable, or the values of several by name."""
    return (
        values[0]
        if len(values) == 1
        else {variable_name(p): value for p, value in enumerate(values)}
    )


def _no_noise(fit: Fit) -> Iterator[Finding]:
    names = [variable_name(p) for p in fit.noise_free]
    if (len(fit.raw) == 1 and fit.raw[0].is_deterministic) or len(names) == len(fit.raw):
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


def _no_drift(fit: Fit, library: Library) -> Iterator[Finding]:
    terms = [[library.names[k] for k in selected.estimate.support] for selected in fit.drift]
    empty = [variable_name(p) for p, names in enumerate(terms) if not names]
    if empty:
        where = "" if len(terms) == 1 else f" in {', '.join(empty)}"
        yield Finding(
            "no-significant-drift",
            f"No drift term is significant{where}: the time series cannot be distinguished from a "
            "random walk. Without mean reversion there is no relaxation time and, unless "
            "boundaries confine the process, no stationary distribution. If you expect one, record "
            "longer.",
            {} if len(terms) == 1 else {"variables": empty},
        )
    elif terms == [["1"]] and library.period is None:
        yield Finding(
            "no-mean-reversion",
            "The drift is constant: a random walk with a trend. There is no mean reversion and, "
            "unless boundaries confine the process, no stationary distribution.",
        )


def _undecided_terms(fit: Fit, library: Library) -> Iterator[Finding]:
    """Warn of components whose terms are more likely others than the selected ones."""
    likely: dict[str, dict[str, float]] = {}
    for name, selected, _ in fit.components_at_double_step():
        chosen, *others = selected.supports
        if chosen.weight < UNDECIDED and any(s.weight > chosen.weight / 2 for s in others):
            best = sorted(others, key=lambda s: -s.weight)[:2]
            likely[name] = {
                " + ".join(library.names[k] for k in s.estimate.support) or "none": s.weight
                for s in (chosen, *best)
            }
    if likely:
        sets = "; ".join(
            f"{name}: " + ", ".join(f"{terms} ({100 * p:.0f} %)" for terms, p in found.items())
            for name, found in likely.items()
        )
        yield Finding(
            "terms-undecided",
            f"The data do not decide which terms the model has. Probable sets are, first the "
            f"selected one: {sets}. Confidence intervals account for all of them. A longer time "
            "series decides, and so does a smaller library, if some terms are known to be absent.",
            {"probabilities": likely},
        )


def _long_steps(fit: Fit, problem: Problem) -> Iterator[Finding]:
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


def _thinned(fit: Fit) -> Iterator[Finding]:
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
            {"residual_correlation": _by_name(rho), "least_step": fit.least_step},
        )


def _coarse(fit: Fit, library: Library) -> Iterator[Finding]:
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
    if fit.rule.name in FINER_RULES:
        yield Finding(
            f"{fit.rule.name}-rule",
            "The sampling interval is so coarse that the discretisation error of the trapezoid "
            "rule would exceed the statistical error. The drift was integrated by "
            f"{FINER_RULES[fit.rule.name]} instead.",
        )


def _rule_dependent(fit: Fit, library: Library) -> Iterator[Finding]:
    found = {
        name: [library.names[k] for k in s.rule_dependent]
        for name, s, _ in fit.components_at_double_step()
    }
    found = {name: terms for name, terms in found.items() if terms}
    if found:
        where = "; ".join(f"{', '.join(terms)} in the {name}" for name, terms in found.items())
        yield Finding(
            "term-hangs-on-sampling-rule",
            "Terms that are significant under one sampling rule only, and no larger than the "
            f"difference between the rules, were left out: {where}. Set sampling_rule to 'euler' "
            "if the data are simulated Euler steps.",
            {"terms": found},
        )


def _measurement_noise(fit: Fit, problem: Problem) -> Iterator[Finding]:
    names, rho = problem.library.variables, [m.lag_one_correlation for m in fit.raw]
    noisy = [
        name
        for p, (name, m) in enumerate(zip(names, fit.raw, strict=True))
        if p not in fit.noise_free and m.is_noisy
    ]
    variances = (fit.noise_variances * problem.space.units**2).tolist()
    if fit.rounding is not None:
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
                "variance": _by_name(variances),
                "residual_correlation": _by_name(rho),
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
            {"residual_correlation": _by_name(rho), "corrected": False},
        )


def _motion_blur(fit: Fit) -> Iterator[Finding]:
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


def _of_residuals(fit: Fit, p: int, problem: Problem) -> Iterator[Finding]:
    """Yield warnings about the residuals of one variable."""
    if p in fit.noise_free:
        return
    if fit.scores:
        gain, explained = max(c.gain for c in fit.drift[p].path), _explained(fit, p)
        yield from (f for f in _left_out(fit.scores[p], gain) if f.code not in explained)
    if not fit.exposure:
        yield from _persistent(fit.raw[p])
    moments, raw = fit.residuals[p], fit.raw[p]
    # A mixture of diffusions has a kurtosis of its own.
    mixed = sum(3 * t.diffusion.variance for t in _tests(fit, p) if t.diffusion_differs)
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


def _left_out(scores: ScoreTests, gain: float) -> Iterator[Finding]:
    """Warn where the drift leaves something out, or the noise changes.

    The missing part must add more than a hundredth to the drift's own gain."""
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
            "The time series is not stationary: its drift depends on time (a trend, a moving "
            "baseline, or a change of regime). Relaxation times and the stationary distribution "
            "describe the trend rather than the process. Remove the trend, or cut the time series "
            "into stationary parts.",
            {"z": scores.trend, "stages_z": None if stages is None else stages.z},
        )
    elif material(past):
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


def _wrong_size(fit: Fit, problem: Problem) -> Iterator[Finding]:
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


def _negative_diffusion(fit: Fit, problem: Problem) -> Iterator[Finding]:
    if isinstance(fit.residuals[0], ResidualSums):
        where = fit.residuals[0].negative
        estimate = fit.diffusion[0, 0].estimate
        if where is None or not estimate.support:
            return
        at_ends = problem.library.internal(np.array(where))
        error = np.linalg.norm(at_ends @ estimate.internal_factor, axis=1)
        # Noise that vanishes at the end of the data is fitted a little off the end.
        if np.any(at_ends @ estimate.internal < -2 * error):
            low, high = (problem.scales.origin + problem.scales.unit * y for y in where)
            yield Finding(
                "negative-diffusion",
                f"The fitted diffusion is not positive for some data between {low:.4g} and "
                f"{high:.4g}. Lower library.polynomial_degree, or declare the domain.",
                {"range": [low, high]},
            )
    elif fit.sample is not None:
        outside = indefinite(fit.sample.instrument, fit.sample.functions, fit.tensor)
        if outside is None:
            return
        space, variables = problem.space, problem.library.variables
        worst, bottom, top = (
            space.origins + space.units * y for y in (outside.worst, outside.low, outside.high)
        )
        at = ", ".join(f"{name} = {x:.4g}" for name, x in zip(variables, worst, strict=True))
        box = {
            name: [float(a), float(b)] for name, a, b in zip(variables, bottom, top, strict=True)
        }
        yield Finding(
            "negative-diffusion",
            "The fitted diffusion tensor is not positive semi-definite at "
            f"{100 * outside.share:.2g} % of the data, worst near {at}. Lower "
            "library.polynomial_degree, choose a simpler diffusion_structure, or declare the "
            "domain.",
            {
                "share": outside.share,
                "worst": dict(zip(variables, worst.tolist(), strict=True)),
                "range": box,
            },
        )


def _coverage(fit: Fit) -> Iterator[Finding]:
    sparse, count = int((fit.kernel_weights < 10).sum()), len(fit.kernel_weights)
    if sparse > count // 2:
        narrower = " or a narrower kernels.range" if len(fit.raw) == 1 else ""
        yield Finding(
            "sparse-coverage",
            f"{sparse} of {count} kernels have fewer than ten increments. Use fewer kernels "
            f"(kernels.count){narrower}.",
            {"sparse": sparse},
        )


def _kernels_not_chosen(choice: KernelChoice | None, n_kernels: int) -> Iterator[Finding]:
    """Warn where kernels were to be chosen and could not be."""
    if choice is not None and choice.chosen is None:
        reason = (
            "none of those tried distinguishes the library's terms"
            if choice.candidates
            else "there are too few samples"
        )
        yield Finding(
            "kernels-not-chosen",
            f"Kernels could not be chosen by cross-validation: {reason}. The default of "
            f"{n_kernels} kernels was used.",
        )


def _wide_kernels(fit: Fit, library: Library) -> Iterator[Finding]:
    """Warn where the library of one variable varies faster than kernels not chosen for it."""
    statistics, kernels = fit.statistics, fit.instruments
    if (
        statistics is None
        or fit.variance is None
        or not isinstance(kernels, Kernels)
        or fit.choice is not None
    ):
        return
    if len(kernels.centres) <= MOST_KERNELS:
        functions = library.internal(statistics.nodes)
        gain = gain_of_narrower(
            kernels, statistics.nodes, functions, statistics.time, fit.variance, MATERIAL_GAIN
        )
        if gain > MATERIAL_GAIN:
            yield Finding(
                "wide-kernels",
                "Terms of the library vary within the width of a kernel, which averages out what "
                "distinguishes them; narrower kernels would determine the drift better. Set "
                'kernels to "auto", or raise kernels.count.',
                {"variance_ratio": min(float(gain), 1e6)},
            )


def reflecting_boundaries(walls: Walls, bounds: tuple[float, float]) -> Iterator[Finding]:
    """Warn of boundaries that reflect the path, declared or not.

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
            f"The path is reflected at {places}: it arrives there often and at full speed, as at a "
            "wall (a boundary, a detector's end). Increments that start near it were excluded, "
            "because drift and diffusion alone do not explain them." + declare,
            {"walls": seen, "undeclared": undeclared},
        )


def wrong_drift(misfit: Misfit | None, variable: str) -> Iterator[Finding]:
    """Warn of a drift that the data contradict, and say where.

    variable   name of the variable
    """
    if misfit is None or not misfit.is_material:
        return
    low, high, at, difference, error = misfit.worst()
    side = "above" if difference > 0 else "below"
    yield Finding(
        "drift-misfit",
        f"The fitted drift does not describe the data (Hansen's J test, p = {misfit.p_value:.1g}). "
        f"Between {variable} = {low:.4g} and {high:.4g} the data's drift is {side} the model's, by "
        f"{abs(difference):.2g} ± {error:.1g} at {variable} = {at:.4g}, where the model's drift is "
        f"of size {misfit.size:.2g} on average. The band of the drift is widened to what the data "
        "say; intervals of coefficients, rates and times do not contain this error. No combination "
        "of the library's terms may fit: raise library.polynomial_degree, or name a function that "
        "saturates or oscillates in library.extra_terms, such as tanh(x) or x/(1+x^2). Or the "
        "sampling interval is too coarse for the sampling rule.",
        {
            "p_value": misfit.p_value,
            "range": [low, high],
            "at": at,
            "difference": difference,
            "std_error": error,
        },
    )


def collinear_terms(library: Library, y: Floats) -> Iterator[Finding]:
    """Warn of terms that no data of this kind can distinguish.

    y   (n, d) some of the internal states
    """
    found = list(dependences(library, y))
    if found:
        sentences = [f"{d.term} is a combination of {', '.join(d.of)}" for d in found]
        yield Finding(
            "collinear-terms",
            f"On these data {'; '.join(sentences)}. Such terms are collinear. Equivalent forms "
            "exist; the one with the fewest terms and the lowest degree is shown. Take these terms "
            "out of library.extra_terms, or lower library.polynomial_degree if you want them "
            "instead.",
            {d.term: list(d.of) for d in found},
        )


def unvisited_arcs(data: Trajectories, periods: Sequence[float | None]) -> Iterator[Finding]:
    """Warn of angles with a wide arc without a sample."""
    for i, period in enumerate(periods):
        arc = None if period is None else empty_arc(data, i, period)
        if arc is not None:
            low, high = arc
            yield Finding(
                "unvisited",
                f"The angle {variable_name(i)} was never between {low:.4g} and {high:.4g} (its "
                f"period is {period:.6g}). A state there is unvisited: the model's values there "
                "are extrapolated, and its population and the rates into and out of it are "
                "unknown. Record longer, or start trajectories there.",
                {"variable": variable_name(i), "range": [low, high]},
            )


def paper_preset() -> Finding:
    """Warn that the fit is by Algorithm 1."""
    return Finding(
        "paper-preset",
        "These coefficients come from the source paper's Algorithm 1. Its stacked rows leave a "
        "bias of some percent that more data do not remove, and it gives no standard errors. The "
        "default estimator is more accurate on the same data.",
    )


def sentence_findings(
    code: Literal["diffusion-cut", "extrapolated"], sentences: Sequence[str]
) -> Iterator[Finding]:
    """Warn of a domain cut where the diffusion is not positive, or of results outside the data."""
    yield from (Finding(code, f"{sentence[:1].upper()}{sentence[1:]}.") for sentence in sentences)


def not_analysed(reason: str) -> Iterator[Finding]:
    """Warn of a model that the analysis could not resolve: it may have a distribution or not."""
    yield Finding(
        "not-analysed",
        f"The model was identified, but its analysis failed: {reason.rstrip('.')}. Whether it has "
        "a stationary distribution is not known.",
    )


def rarely_ergodic(share: float | None, confidence: float) -> Iterator[Finding]:
    """Warn where more sampled models have no stationary distribution than intervals leave out.

    share   share of the models drawn around the estimate that have one
    """
    if share is not None and share < confidence:
        yield Finding(
            "ergodic-share",
            f"{100 * (1 - share):.2g} % of the models within the fit's uncertainty have no "
            "stationary distribution: poorly determined terms make the drift point outward. Where "
            "that happens beyond the data, rates and times hold until the process gets there. A "
            "lower library.polynomial_degree, a selection of terms instead of all of them, a "
            "domain, or a longer time series helps.",
            {"ergodic_share": share},
        )


def few_transitions(low: float, high: float, seen: int) -> Iterator[Finding]:
    """Warn of escape times that rest on few transitions, or none.

    Parameters
    ----------
    low : stable fixed point [state]
    high : next stable fixed point [state]
    seen : number of transitions between them in the data
    """
    if seen < FEW_TRANSITIONS:
        count = (
            "No transition was"
            if seen == 0
            else "Only one transition was"
            if seen == 1
            else f"Only {seen} transitions were"
        )
        yield Finding(
            "few-transitions",
            f"{count} observed between the stable fixed points {low:.4g} and {high:.4g}: escape "
            "times over the barrier between them are extrapolated from the drift inside the wells, "
            "and uncertain. Record longer, or start trajectories in both.",
            {"wells": [low, high], "seen": seen},
        )


def stationary_density_differs(distance: float) -> Finding:
    """Warn of a stationary distribution that differs from that of the data.

    distance   total variation between the two densities, 0 to 1
    """
    return Finding(
        "stationary-density",
        "The model's stationary density differs from that of the data: their total variation "
        f"distance is {distance:.2g}, where 0 is equality and 1 no overlap. Its mean, variance and "
        "rates say little about the region of the data: the time series had not relaxed to the "
        "stationary distribution, or poorly determined terms move that distribution away. A longer "
        "time series, a lower library.polynomial_degree, a domain, or trajectories that start "
        "further out helps.",
        {"total_variation": distance},
    )


def wrong_at_longer_times(
    lag: float, mean: float, spread: float, p_value: float, lags: Sequence[float]
) -> Finding:
    """Warn of a model that is wrong at longer times than the sampling interval.

    Parameters
    ----------
    lag : lag of the largest difference [time]
    mean : largest difference of the conditional mean [standard deviations]
    spread : largest difference of the conditional second moment [variances]
    p_value : significance under the null hypothesis that the model is correct
    lags : all lags at which there is a difference [time]
    """
    return Finding(
        "chapman-kolmogorov",
        f"At a lag of {lag:.4g} the model disagrees with the data (Chapman–Kolmogorov test, p = "
        f"{p_value:.1g}): the conditional mean differs by up to {mean:.2g} standard deviations of "
        f"the state, the conditional second moment by {spread:.2g} variances. The coefficients "
        "depend on the time scale at which they are fitted: a hidden variable or other memory, "
        "measurement noise, or a sampling interval too coarse for the sampling rule. Relaxation "
        "times are those of this model, not of the data.",
        {"lags": list(lags), "lag": lag, "p_value": p_value},
    )


def autocorrelation_differs(difference: float, p_value: float) -> Finding:
    """Warn of an autocorrelation function that differs from that of the data."""
    return Finding(
        "autocorrelation",
        "The autocorrelation of the data differs from that of the model by up to "
        f"{difference:.2g}, outside the confidence band of the data (p = {p_value:.1g}). The data "
        "have a longer or shorter memory than this model: a hidden variable, a trend, or a time "
        "series that had not relaxed.",
        {"difference": difference, "p_value": p_value},
    )
