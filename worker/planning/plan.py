"""How long and how often to record, so that a quantity of a model has a given error. Start here.

Terms are taken as known: that they have to be selected costs more, which no plan accounts for.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import PchipInterpolator
from scipy.optimize import brentq

from worker.generator.analysis import Analysis
from worker.generator.process import DiffusionProcess
from worker.planning.check import Check, check_of
from worker.planning.errors import NoPlan
from worker.planning.information import Chain, Terms, chain_of, covariance_per_time
from worker.planning.noise_cost import NoisyModel, ThroughNoise, without_noise
from worker.planning.records import Names
from worker.planning.target import Quantity, Target, analysis_for, target_of

Floats = NDArray[np.float64]

FINEST, COARSEST, N_INTERVALS = 0.005, 0.6, 12
"""Sampling intervals that are tried unless they are given, times the rate inside the wells."""

FINEST_WITH_NOISE = 0.01
"""The first of them with noise: finer ones take more samples and tell nothing more."""

AT_INTERVALS, AT_NOISES = 6, 3
"""Numbers of simulated records that show the cost of noise, over intervals and over its strength.

Smoothed over six, the standard errors that are predicted scatter by 4 %."""

ENOUGH = 1.05
"""Longest duration, over the shortest of all intervals, at which a longer interval is preferred."""

POINTS = 25
"""Number of points of a curve."""

LONG = 1e7
"""Duration, times the rate inside the wells, of the record whose errors are the changes of the
coefficients in differences that give gradients: 0.05 % of a rate. Of terms that are nearly the same
on the visited range, changes by the errors of 10⁴ turned one well into two."""

LOUDEST = 3.0
"""Variance of the noise up to which there are plans, times the rate inside the wells, over ⟨a⟩."""

AT_AN_END = 0.01
"""Density at an end of the domain, over its largest, above which the end matters."""

SHORTEST = 1e-6
"""Shortest sampling interval, times the rate inside the wells."""

RARE = 1e-5
"""Stationary probability beyond each end of the cells."""

LONGEST = 1.5
"""Longest sampling interval, times the rate inside the wells."""

FEWEST = 10
"""Fewest samples of a trajectory."""

SHORT = 50.0
"""Relaxation times below which errors are not those of a long record any more."""


@dataclass(frozen=True, slots=True, eq=False)
class PlannedModel:
    """The model that a plan is made for.

    process     model with its terms
    terms       its terms and their coefficients
    names       names of the terms of drift and diffusion
    process_at  model with other coefficients
    """

    process: DiffusionProcess
    terms: Terms
    names: Names
    process_at: Callable[[Floats], DiffusionProcess]


@dataclass(frozen=True, slots=True)
class Design:
    """How the data will be recorded.

    noise                standard deviation of the measurement noise [state]
    intervals            sampling intervals to choose from [time]; empty: by the model's own rate
    trajectory_duration  duration of every trajectory [time]; None: one for all
    start                where every trajectory begins [state]; None: anywhere, as the stationary
                         distribution has it
    """

    noise: float = 0.0
    intervals: tuple[float, ...] = ()
    trajectory_duration: float | None = None
    start: float | None = None


@dataclass(frozen=True, slots=True)
class Option:
    """A sampling interval and what it takes.

    dt              sampling interval [time]
    duration        total duration for the wanted error [time]
    clean_duration  the same without measurement noise [time]
    trajectories    number of trajectories
    samples         number of samples
    """

    dt: float
    duration: float
    clean_duration: float
    trajectories: int
    samples: int


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """A curve (n,)."""

    x: Floats
    y: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """A plan.

    target            the quantity
    precision         wanted standard error over the value
    options           what every sampling interval takes, shortest first
    best              the one to choose
    against_duration  relative standard error against the total duration, at the best interval
    against_noise     total duration against the noise's standard deviation, at the best interval
    std_errors        (k,) standard errors of the coefficients by the best option
    fast_rate         rate of relaxation inside the wells [1/time]
    relaxation_time   longest relaxation time [time]
    error_after       standard error over the value after a duration, at the best interval
    check             simulated records by the best option
    """

    target: Target
    precision: float
    options: tuple[Option, ...]
    best: Option
    against_duration: Curve
    against_noise: Curve
    std_errors: Floats
    fast_rate: float
    relaxation_time: float
    error_after: Callable[[float], float]
    check: Check


def plan(
    model: PlannedModel, quantity: Quantity, precision: float, design: Design, *, seed: int = 0
) -> Plan:
    """Plan a measurement by information per unit of time, (M79)–(M84), and simulate it.

    Raises NoPlan, NoSuchQuantity, and what the analysis raises.

    Parameters
    ----------
    model : model that the data are expected to have
    quantity : quantity that is wanted
    precision : its standard error, over its value
    design : how the data will be recorded
    seed : seed of the simulation
    """
    analysed = analysis_for(quantity, model.process)
    chain = _chain(model, analysed)
    density = _density(chain, design)
    intervals = _intervals(chain.fast_rate, design)
    _check_noise(chain, design)
    per_time = [_clean(model, chain, dt, density) for dt in intervals]
    # Coefficients of a model far from x = 0 can only be changed together.
    changes = changes_of(per_time[0] * chain.fast_rate / LONG)
    target = target_of(quantity, model.terms.coefficients, model.process_at, analysed, changes)
    simulated = NoisyModel(model.process, model.names, model.terms.coefficients, chain, seed)
    expected = [without_noise(clean) for clean in per_time]
    if design.noise:
        expected = through_noise(simulated, per_time, intervals, design.noise)
    options = tuple(
        _option(
            dt,
            _duration(target, precision, noisy),
            _duration(target, precision, without_noise(clean)),
            design,
        )
        for dt, noisy, clean in zip(intervals, expected, per_time, strict=True)
    )
    shortest = min(option.duration for option in options)
    number = max(i for i, o in enumerate(options) if o.duration <= ENOUGH * shortest)
    best, at_best = options[number], expected[number]
    durations = best.duration * np.geomspace(0.05, 20, POINTS)

    def error_after(duration: float) -> float:
        return _error(target, at_best, duration)

    return Plan(
        target,
        precision,
        options,
        best,
        Curve(durations, np.array([error_after(float(t)) for t in durations])),
        _against_noise(
            simulated,
            target,
            precision,
            best.dt,
            per_time[number],
            (design.noise, _duration(target, precision, at_best)),
        ),
        np.sqrt(np.diag(at_best.after(best.duration)) / best.duration),
        chain.fast_rate,
        _relaxation_time(analysed),
        error_after,
        check_of(
            model.process,
            model.names,
            target,
            dt=best.dt,
            duration=best.duration,
            noise=design.noise,
            trajectory_duration=design.trajectory_duration,
            start=design.start,
            chain=chain,
            error_after=error_after,
            seed=seed,
        ),
    )


def changes_of(covariance: Floats) -> Floats:
    """Return changes (k, k) of the coefficients, in columns, whose products sum to a covariance."""
    errors = np.sqrt(np.diag(covariance))
    values, vectors = np.linalg.eigh(covariance / errors / errors[:, None])
    # Rounding leaves nearly equal terms with eigenvalues of either sign.
    return np.asarray(errors[:, None] * vectors * np.sqrt(values.clip(min=1e-12)))


def _error(target: Target, expected: ThroughNoise, duration: float) -> float:
    """Return the standard error over the value after a duration."""
    covariance = expected.after(duration) / duration
    return float(np.sqrt(target.gradient @ covariance @ target.gradient))


def _duration(target: Target, precision: float, expected: ThroughNoise) -> float:
    """Return the duration after which the standard error over the value is `precision`, (M84)."""

    def left(duration: float) -> float:
        return duration * (1 - (_error(target, expected, duration) / precision) ** 2)

    k = len(target.gradient)
    longest = float(target.gradient @ expected.covariance[:k, :k] @ target.gradient) / precision**2
    # Noise that is not seen takes away half of what is passed on at most.
    return float(brentq(left, 0.499 * longest, 1.001 * longest, rtol=1e-12))


def _clean(model: PlannedModel, chain: Chain, dt: float, density: Floats) -> Floats:
    """Return T times the covariance of the coefficients without noise. Raises NoPlan."""
    try:
        clean = covariance_per_time(chain, len(model.terms.drift), dt, density)
    except np.linalg.LinAlgError:
        clean = np.full((len(model.terms.coefficients),) * 2, np.nan)
    if not (np.isfinite(clean).all() and (np.diag(clean) > 0).all()):
        raise NoPlan(
            f"Samples every {dt:.4g} do not determine all of the model's terms. Leave out "
            "terms that are combinations of others, or give shorter sampling intervals in `dt`."
        )
    return clean


def through_noise(
    model: NoisyModel, per_time: list[Floats], intervals: tuple[float, ...], noise: float
) -> list[ThroughNoise]:
    """Return what is expected through noise at every interval."""
    simulated = np.geomspace(intervals[0], intervals[-1], AT_INTERVALS)
    costs = model.costs_over(simulated, noise)
    return [costs.through(clean, dt, noise) for clean, dt in zip(per_time, intervals, strict=True)]


def _against_noise(
    model: NoisyModel,
    target: Target,
    precision: float,
    dt: float,
    clean: Floats,
    design: tuple[float, float],
) -> Curve:
    """Return the total duration against the noise.

    Parameters
    ----------
    model, target, precision : model, quantity and its wanted relative error
    dt : sampling interval [time]
    clean : (k, k) T times the covariance without noise
    design : noise that was given and the duration that it takes
    """
    noise, needed = design
    # Noise up to a third of a well's width, and some beyond what was given.
    width = 1 / np.sqrt(model.chain.fast_rate / model.chain.mean_diffusion)
    largest = min(max(0.5 * width, 2 * noise), np.sqrt(LOUDEST) * width)
    noises = largest * np.geomspace(0.05, 1, POINTS - 1)
    without = _duration(target, precision, without_noise(clean))

    def duration(at: float) -> float:
        through = model.costs_at(dt, at).through(clean, dt, at)
        return _duration(target, precision, through)

    simulated = np.geomspace(noises[0], noises[-1], AT_NOISES)
    # Noise takes information away, but records scatter.
    taken = np.maximum.accumulate([without, *(duration(float(at)) for at in simulated)])[1:]
    between = PchipInterpolator(np.log(simulated), np.log(taken))
    durations = np.exp(between(np.log(noises)))
    if noise:
        # Costs over intervals were simulated apart.
        durations *= needed / np.exp(between(np.log(noise)))
    return Curve(np.append(0.0, noises), np.append(without, durations))


def _chain(model: PlannedModel, analysed: Analysis) -> Chain:
    """Return the model on cells. Raises NoPlan where it has no stationary distribution there."""
    report = analysed.report
    law = report.stationary
    if not report.ergodic or law is None:
        raise NoPlan(
            "No plan is made for a model without a stationary distribution: "
            f"{report.reason or 'it has none'}. Give a model that a force keeps together."
        )
    (x,), density = law.grid, law.density
    below = np.append(0.0, np.cumsum((density[1:] + density[:-1]) / 2 * np.diff(x)))
    first, last = np.searchsorted(below, below[-1] * np.array([RARE, 1 - RARE]))
    interval = float(x[max(first - 1, 0)]), float(x[min(last + 1, len(x) - 1)])
    with np.errstate(all="ignore"):
        chain = chain_of(model.terms, interval)
    ends = zip(interval, model.process.domain[0], (0, -1), strict=True)
    width = interval[1] - interval[0]
    if report.boundaries == "reflecting" and any(
        abs(end - wall) < AT_AN_END * width
        and chain.density[place] > AT_AN_END * chain.density.max()
        for end, wall, place in ends
    ):
        raise NoPlan(
            "No plan is made for a model that is often reflected at an end of its domain: what an "
            "estimate loses there is not known. Give a model that a force keeps inside."
        )
    if not (np.isfinite(chain.density).all() and (chain.a > 0).all()):
        raise NoPlan(
            "No plan is made for a model whose diffusion vanishes in the range it visits, "
            f"[{interval[0]:.4g}, {interval[1]:.4g}]. Give the diffusion a constant term."
        )
    return chain


def _check_noise(chain: Chain, design: Design) -> None:
    """Raise NoPlan where noise hides the process."""
    rate, a = chain.fast_rate, chain.mean_diffusion
    if rate * design.noise * design.noise > LOUDEST * a:
        most = float(np.sqrt(LOUDEST * a / rate))
        raise NoPlan(
            f"Measurement noise of {design.noise:.4g} hides the process. Plans are made for a "
            f"`noise` up to {most:.2g}."
        )


def _density(chain: Chain, design: Design) -> Floats:
    """Return the probabilities of the states at which steps begin. Raises NoPlan."""
    if design.start is None or design.trajectory_duration is None:
        return chain.density
    if not chain.x[0] <= design.start <= chain.x[-1]:
        raise NoPlan(
            f"Trajectories cannot begin at {design.start:.4g}: the model stays between "
            f"{chain.x[0]:.4g} and {chain.x[-1]:.4g}. Give a `start` between them, or none."
        )
    return chain.density_from(design.start, design.trajectory_duration)


def _intervals(rate: float, design: Design) -> tuple[float, ...]:
    """Return the sampling intervals to choose from, shortest first. Raises NoPlan."""
    if design.intervals:
        intervals = tuple(sorted(set(design.intervals)))
        if intervals[0] * rate < SHORTEST:
            raise NoPlan(
                f"A sampling interval of {intervals[0]:.4g} is less than a millionth of the fast "
                f"relaxation time {1 / rate:.4g}. Give intervals from {SHORTEST / rate:.2g} in "
                "`dt`."
            )
        if intervals[-1] * rate > LONGEST:
            raise NoPlan(
                f"A sampling interval of {intervals[-1]:.4g} is {intervals[-1] * rate:.2g} times "
                f"the fast relaxation time {1 / rate:.4g}: consecutive samples hardly know of each "
                f"other. Give intervals up to {LONGEST / rate:.2g} in `dt`."
            )
    else:
        # Two digits, so that the interval can be set on an instrument.
        finest = FINEST_WITH_NOISE if design.noise else FINEST
        tried = np.geomspace(finest, COARSEST, N_INTERVALS) / rate
        intervals = tuple(float(f"{dt:.2g}") for dt in tried)
    longest = design.trajectory_duration
    if longest is not None and intervals[0] * FEWEST > longest:
        raise NoPlan(
            f"A trajectory of {longest:.4g} has fewer than {FEWEST} samples at intervals of "
            f"{intervals[0]:.4g}. Give a longer `trajectory_duration`, or shorter intervals in "
            "`dt`."
        )
    return tuple(dt for dt in intervals if longest is None or dt * FEWEST <= longest)


def _option(dt: float, duration: float, clean_duration: float, design: Design) -> Option:
    """Round a duration up to whole trajectories, or to whole samples of a single one."""
    each = design.trajectory_duration
    if each is None:
        trajectories, total = 1, duration
    else:
        trajectories = max(1, int(np.ceil(duration / each)))
        total = trajectories * each
    return Option(dt, total, clean_duration, trajectories, int(np.ceil(total / dt)) + trajectories)


def _relaxation_time(analysed: Analysis) -> float:
    spectrum = analysed.report.spectrum
    known = spectrum is not None and len(spectrum.eigenvalues)
    return 1 / float(spectrum.eigenvalues[0].real) if spectrum is not None and known else np.nan
