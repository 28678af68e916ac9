"""How long and how often to record, so that a quantity of a model has a given error. Start here.

Terms are taken as known: that they have to be selected costs more, which no plan accounts for.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from worker.generator.analysis import Analysis
from worker.generator.process import DiffusionProcess
from worker.planning.check import Check, check_of
from worker.planning.errors import NoPlan
from worker.planning.information import Chain, Terms, chain_of, covariance_per_time
from worker.planning.noise_law import INTERVALS, NoiseFactors, noise_factors
from worker.planning.target import Quantity, Target, analysis_for, target_of

Floats = NDArray[np.float64]

FINEST, COARSEST, N_INTERVALS = 0.005, 0.6, 12
"""Sampling intervals that are tried unless they are given, times the rate inside the wells; with
noise the first is the least at which its cost was measured."""

ENOUGH = 1.05
"""Longest duration, over the shortest of all intervals, at which a longer interval is preferred."""

POINTS = 25
"""Number of points of a curve."""

LONG = 1e7
"""Duration, times the rate inside the wells, of the record whose errors are the changes of the
coefficients in differences that give gradients: 0.05 % of a rate. Of terms that are nearly the same
on the visited range, changes by the errors of 10⁴ turned one well into two."""

LOUDEST = 3.0
"""Variance ν of the noise up to which there are plans; its cost was measured up to a tenth."""

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
    names       (k,) names of all terms, the drift's first
    process_at  model with other coefficients
    """

    process: DiffusionProcess
    terms: Terms
    names: tuple[str, ...]
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
    measured          whether the factors of the noise were measured in this range
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
    measured: bool
    check: Check


def plan(
    model: PlannedModel, quantity: Quantity, precision: float, design: Design, *, seed: int = 0
) -> Plan:
    """Plan a measurement by information per unit of time, (M79)–(M82), and simulate it.

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
    per_time = [_Covariance.of(model, chain, dt, density) for dt in intervals]
    # Coefficients of a model far from x = 0 can only be changed together.
    changes = changes_of(per_time[0].clean * chain.fast_rate / LONG)
    target = target_of(quantity, model.terms.coefficients, model.process_at, analysed, changes)

    def duration(of: _Covariance, noise: float) -> float:
        return float(target.gradient @ of.through(noise) @ target.gradient) / precision**2

    options = tuple(
        _option(dt, duration(of, design.noise), duration(of, 0.0), design)
        for dt, of in zip(intervals, per_time, strict=True)
    )
    shortest = min(option.duration for option in options)
    number = max(i for i, o in enumerate(options) if o.duration <= ENOUGH * shortest)
    best, at_best = options[number], per_time[number]
    durations = best.duration * np.geomspace(0.05, 20, POINTS)
    # Noise up to a third of a well's width, and some beyond what was given.
    largest = max(0.5 / np.sqrt(chain.fast_rate / chain.mean_diffusion), 2 * design.noise)
    noises = np.append(0.0, np.geomspace(0.05, 1, POINTS - 1)) * largest
    slowest = _relaxation_time(analysed)
    unit = at_best.through(design.noise)
    return Plan(
        target,
        precision,
        options,
        best,
        Curve(durations, precision * np.sqrt(best.duration / durations)),
        Curve(noises, np.array([duration(at_best, float(s)) for s in noises])),
        np.sqrt(np.diag(unit) / best.duration),
        chain.fast_rate,
        slowest,
        at_best.factors(design.noise).measured,
        check_of(
            model.process,
            model.terms,
            model.names,
            target,
            dt=best.dt,
            duration=best.duration,
            noise=design.noise,
            trajectory_duration=design.trajectory_duration,
            start=design.start,
            chain=chain,
            covariance=unit,
            seed=seed,
        ),
    )


def changes_of(covariance: Floats) -> Floats:
    """Return changes (k, k) of the coefficients, in columns, whose products sum to a covariance."""
    errors = np.sqrt(np.diag(covariance))
    values, vectors = np.linalg.eigh(covariance / errors / errors[:, None])
    # Rounding leaves nearly equal terms with eigenvalues of either sign.
    return np.asarray(errors[:, None] * vectors * np.sqrt(values.clip(min=1e-12)))


@dataclass(frozen=True, slots=True, eq=False)
class _Covariance:
    """Covariance times duration at one sampling interval.

    clean   (k, k) from clean samples
    """

    chain: Chain
    n_drift: int
    dt: float
    clean: Floats

    @classmethod
    def of(cls, model: PlannedModel, chain: Chain, dt: float, density: Floats) -> "_Covariance":
        n_drift = len(model.terms.drift)
        try:
            clean = covariance_per_time(chain, n_drift, dt, density)
        except np.linalg.LinAlgError:
            clean = np.full((len(model.names),) * 2, np.nan)
        if not (np.isfinite(clean).all() and (np.diag(clean) > 0).all()):
            raise NoPlan(
                f"Samples every {dt:.4g} do not determine all of the model's terms. Leave out "
                "terms that are combinations of others, or give shorter sampling intervals in `dt`."
            )
        return cls(chain, n_drift, dt, clean)

    def factors(self, noise: float) -> NoiseFactors:
        rate = self.chain.fast_rate
        return noise_factors(rate * self.dt, rate * noise * noise / self.chain.mean_diffusion)

    def through(self, noise: float) -> Floats:
        found = self.factors(noise)
        scale = np.full(len(self.clean), found.diffusion)
        scale[: self.n_drift] = found.drift
        return np.asarray(self.clean * scale * scale[:, None])


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
        finest = INTERVALS[0] if design.noise else FINEST
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
