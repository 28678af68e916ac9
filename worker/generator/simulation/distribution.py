"""Stationary distribution from simulated paths, or the reason why they show none."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from worker.generator.linear.fixed_points import gaussian_covariance
from worker.generator.process import DiffusionProcess, FloatArray
from worker.generator.quantities.outcomes import Outcome, Reason
from worker.generator.quantities.report import GeneratorReport
from worker.generator.quantities.stationary import SimulatedLaw
from worker.generator.simulation.estimates import estimated
from worker.generator.simulation.paths import (
    BURN_IN,
    PART,
    Run,
    fastest_rate,
    run,
    semidefinite_cholesky,
    stepper_of,
)

PATHS = 400
STEPS = 2_400
"""Number of paths and of steps: together 1 to 3 s on one core."""
DOUBTFUL, SIGNIFICANT = 2.5, 4.0
"""Standard errors by which parts of the run, or paths from different starts, may differ.

Beyond the first the run goes on; beyond the second there is no answer.
"""
FINER = 4
"""Factor by which steps are shortened once a path has escaped, as the step may have caused it."""


def simulated_law(
    process: DiffusionProcess,
    starts: FloatArray,
    spreads: FloatArray,
    lengths: FloatArray,
    *,
    seed: int = 0,
) -> SimulatedLaw | None:
    """Simulate paths, equally many from each start, and estimate the stationary distribution.

    None where nothing sets the length of a step: the drift has no slope, and the noise is constant.

    Parameters
    ----------
    process : process
    starts : (m, d) means of the Gaussian initial distributions [state]
    spreads : (m, d, d) covariances of the initial distributions [state²]
    lengths : (d,) typical lengths of coordinates along which all starts are the same [state]
    seed : seed of the random numbers
    """
    generator = np.random.default_rng(seed)
    group = np.arange(PATHS) % len(starts)
    roots = semidefinite_cholesky(spreads)
    cloud = starts[group] + np.einsum(
        "nij,nj->ni", roots[group], generator.standard_normal((PATHS, starts.shape[1]))
    )
    centre, scale = cloud.mean(axis=0), cloud.std(axis=0)
    scale = np.where(scale > 1e-6 * lengths, scale, lengths)
    stepper = stepper_of(process, cloud)
    cloud = stepper.reflected(cloud)
    rate = fastest_rate(stepper, cloud, scale)
    if not rate > 0:
        return None
    step = PART / rate
    paths = run(stepper, cloud, centre, scale, step=step, steps=STEPS, seed=seed)
    if paths.escaped.any():
        paths = run(stepper, cloud, centre, scale, step=step / FINER, steps=STEPS, seed=seed)
    else:
        # The distribution may be wider than the initial one, and rates may be higher at its rim.
        settled = PART / fastest_rate(stepper, centre + scale * paths.fine[-1], scale)
        if settled < step / 2:
            paths = run(stepper, cloud, centre, scale, step=settled, steps=STEPS, seed=seed)
    before = paths.duration * (1 + BURN_IN)
    if (
        not paths.escaped.any()
        and _unsettled(paths, group, process.periods, before, DOUBTFUL) is not None
    ):
        paths = run(
            stepper,
            centre + scale * paths.fine[-1],
            centre,
            scale,
            step=paths.step,
            steps=STEPS,
            seed=seed + 1,
            burn_in=0.0,
        )
        before += paths.duration
    found = SimulatedLaw(PATHS, int(paths.escaped.sum()), paths.duration, paths.step)
    reason = (
        _escape(paths, before)
        if found.n_escaped
        else _unsettled(paths, group, process.periods, before)
    )
    if reason is not None:
        return replace(found, reason=reason)
    return replace(found, estimates=estimated(paths, centre, scale, process, stepper.order))


def _escape(paths: Run, whole: float) -> Reason:
    away = paths.left[paths.escaped]
    along = int(np.argmax(np.mean(np.abs(away), axis=0)))
    sides = {"positive" if value > 0 else "negative" for value in away[:, along]}
    where = f"large {next(iter(sides))} values" if len(sides) == 1 else "large values of both signs"
    return Reason(
        Outcome.ESCAPES,
        f"{len(away)} of {len(paths.escaped)} simulated paths escaped within "
        f"{whole:.4g} units of time, towards {where} of coordinate {along + 1}, "
        "so the process does not appear to be ergodic",
    )


def _unsettled(
    paths: Run,
    group: NDArray[np.int64],
    periods: tuple[float | None, ...],
    whole: float,
    most: float = SIGNIFICANT,
) -> Reason | None:
    """Say why the paths are not stationary; None where they are.

    Their first quarter or half must not differ from the rest, nor the second half depend on the
    start.
    """
    z = paths.fine[:, :, [turn is None for turn in periods]]
    if not z.size:
        return None
    powers = np.concatenate([z, z**2], axis=2)
    half = len(z) // 2
    second = powers[half:].mean(axis=0)
    for part in (half // 2, half):
        moved = powers[part:].mean(axis=0) - powers[:part].mean(axis=0)
        if np.max(np.abs(moved.mean(axis=0)) / (moved.std(axis=0) / np.sqrt(len(moved)))) > most:
            why = f"the simulated paths did not become stationary within {whole:.4g} units of time"
            return Reason(Outcome.UNRESOLVED, why)
    for start in range(int(group.max()) + 1):
        own, rest = second[group == start], second[group != start]
        if not len(rest):
            break
        error = np.sqrt(own.var(axis=0) / len(own) + rest.var(axis=0) / len(rest))
        if np.max(np.abs(own.mean(axis=0) - rest.mean(axis=0)) / error) > most:
            return Reason(
                Outcome.UNRESOLVED,
                f"after {whole:.4g} units of time the simulated paths still depended on the "
                "stable fixed point that they started from: transitions between the wells are too "
                "rare to be simulated, and the population of each is unknown",
            )
    return None


PART_OF_RECTANGLE = 0.25
"""Standard deviation of the starts, over half the rectangle, if there is no stable fixed point."""


def with_simulation(
    process: DiffusionProcess, report: GeneratorReport, rectangle: FloatArray
) -> GeneratorReport:
    """Add to a report what simulated paths show.

    The paths start at the stable fixed points, or else around the middle of the rectangle.

    Parameters
    ----------
    process : process
    report : report of its linear approximation
    rectangle : (d, 2) range of the data [state]
    """
    middle, half = rectangle.mean(axis=1), np.diff(rectangle, axis=1)[:, 0] / 2
    starts, spreads = _starts(process, report)
    if not starts:
        starts, spreads = [middle], [np.diag((PART_OF_RECTANGLE * half) ** 2)]
    law = simulated_law(process, np.array(starts), np.array(spreads), half)
    if law is None:
        return report
    if law.n_escaped:
        beside = (
            "distribution and rates are those near the stable fixed point, before paths escape"
            if report.ergodic
            else None
        )
        return replace(
            report, simulated=law, ergodic=False, reason=law.reason, approximation=beside
        )
    if law.reason is not None or report.stationary is not None:
        return replace(report, simulated=law)
    if report.ergodic:
        return replace(
            report,
            simulated=law,
            approximation=f"{report.approximation}; simulated paths went between them",
        )
    if not any(point.stable for point in report.fixed_points):
        shown = "no stable fixed point was found: only the moments of simulated paths are known"
        return replace(report, simulated=law, ergodic=True, reason=None, approximation=shown)
    return replace(report, simulated=law)


def _starts(
    process: DiffusionProcess, report: GeneratorReport
) -> tuple[list[FloatArray], list[FloatArray]]:
    """Return the stable fixed points and the covariances of the linear approximations at them."""
    starts, spreads = [], []
    for point in report.fixed_points:
        if not point.stable:
            continue
        at = np.array(point.at)
        covariance = gaussian_covariance(
            process.drift_jacobian(at[None])[0], process.diffusion(at[None])[0]
        )
        if covariance is not None and np.all(np.diag(covariance) >= 0):
            starts.append(at)
            spreads.append(covariance)
    return starts, spreads
