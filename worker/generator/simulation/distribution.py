"""The stationary law of a process as simulated paths show it, or that they ran away or did not settle."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from worker.generator.numerics.semidefinite_cholesky import root_of
from worker.generator.process import DiffusionProcess, FloatArray
from worker.generator.quantities.stationary import SimulatedLaw
from worker.generator.simulation.estimates import estimated
from worker.generator.simulation.runs import BURN_IN, Run, run
from worker.generator.simulation.steps import PART, fastest_rate, stepper_of

PATHS = 400
STEPS = 2_400
"""Paths, and steps of the run: together 1 to 3 s on one core."""
DOUBTFUL, SIGNIFICANT = 2.5, 4.0
"""Standard errors by which parts of the run, or paths from different starts, may not differ: else the run goes on, and has no
answer."""
FINER = 4
"""Where a path ran away, steps shorter by this factor tell whether it was the step that threw it out."""


def simulated_law(
    process: DiffusionProcess,
    starts: FloatArray,
    spreads: FloatArray,
    lengths: FloatArray,
    *,
    seed: int = 0,
) -> SimulatedLaw | None:
    """Paths from around `starts` (m, d), Gaussian with covariances `spreads` (m, d, d), equally many from each [state].

    lengths   (d,) typical of the coordinates, for those along which the starts are all the same [state]

    None where nothing says how long a step is to be: the drift has no slope, and the noise is the same everywhere.
    """
    generator = np.random.default_rng(seed)
    group = np.arange(PATHS) % len(starts)
    roots, _ = root_of(spreads)
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
        # The law may be wider than the cloud that the paths started from, and faster at its rim.
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


def _escape(paths: Run, whole: float) -> str:
    away = paths.left[paths.escaped]
    along = int(np.argmax(np.mean(np.abs(away), axis=0)))
    sides = {"positive" if value > 0 else "negative" for value in away[:, along]}
    where = f"large {next(iter(sides))} values" if len(sides) == 1 else "large values of both signs"
    return (
        f"{len(away)} of {len(paths.escaped)} simulated paths escaped within {whole:.4g} units of time, towards {where} of "
        f"coordinate {along + 1}, so the process does not appear to be ergodic"
    )


def _unsettled(
    paths: Run,
    group: NDArray[np.int64],
    periods: tuple[float | None, ...],
    whole: float,
    most: float = SIGNIFICANT,
) -> str | None:
    """Whether the paths' first quarter or half differs from what follows, or the second half hangs on where they started."""
    z = paths.fine[:, :, [turn is None for turn in periods]]
    if not z.size:
        return None
    powers = np.concatenate([z, z**2], axis=2)
    half = len(z) // 2
    second = powers[half:].mean(axis=0)
    for part in (half // 2, half):
        moved = powers[part:].mean(axis=0) - powers[:part].mean(axis=0)
        if np.max(np.abs(moved.mean(axis=0)) / (moved.std(axis=0) / np.sqrt(len(moved)))) > most:
            return f"the simulated paths did not become stationary within {whole:.4g} units of time"
    for start in range(int(group.max()) + 1):
        own, rest = second[group == start], second[group != start]
        if not len(rest):
            break
        error = np.sqrt(own.var(axis=0) / len(own) + rest.var(axis=0) / len(rest))
        if np.max(np.abs(own.mean(axis=0) - rest.mean(axis=0)) / error) > most:
            return (
                f"after {whole:.4g} units of time the simulated paths still depended on the stable fixed point that they "
                "started from: transitions between the wells are too rare to be simulated, and the population of each is unknown"
            )
    return None
