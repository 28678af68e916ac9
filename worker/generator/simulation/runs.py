"""Independent paths, run side by side at two step lengths with the same noise."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from worker.generator.process import FloatArray
from worker.generator.simulation.steps import Stepper

BURN_IN = 0.25
"""Part of the steps that is discarded as burn-in."""
RECORDS = 200
"""Number of recorded times after the burn-in."""
FAR = 100.0
"""Distance from the start, in typical lengths, at which a path counts as escaped."""


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """Records of R paths; states are z = (x − centre)/scale.

    interval   time between the records [time]
    fine       (RECORDS, R, d) z by the step
    coarse     (RECORDS, R, d) z by twice the step, driven by the same noise
    averages   (RECORDS, R, d) mean of z over the time before each record, by the step
    escaped    (R,) whether a path escaped
    left       (R, d) z at the escape
    step       length of a step [time]
    duration   length of a path after the burn-in [time]
    """

    interval: float
    fine: FloatArray
    coarse: FloatArray
    averages: FloatArray
    escaped: NDArray[np.bool_]
    left: FloatArray
    step: float
    duration: float


def run(
    stepper: Stepper,
    start: FloatArray,
    centre: FloatArray,
    scale: FloatArray,
    *,
    step: float,
    steps: int,
    seed: int,
    burn_in: float = BURN_IN,
) -> Run:
    """Simulate paths from `start`; a path further than `FAR` scales from the centre has escaped.

    Parameters
    ----------
    stepper : integration rule of the process
    start : (R, d) initial states [state]
    centre, scale : (d,) origin and unit of the recorded states [state]
    step : length of a step [time]
    steps : number of steps after the burn-in, rounded up to whole records
    seed : seed of the random numbers
    burn_in : part of the steps that is discarded first
    """
    generator = np.random.default_rng(seed)
    pairs = max(1, -(-steps // (2 * RECORDS)))
    before = int(np.ceil(burn_in * RECORDS)) * pairs
    shape = (RECORDS, *start.shape)
    fine, coarse, averages = np.empty(shape), np.empty(shape), np.empty(shape)
    escaped, left = np.zeros(len(start), dtype=np.bool_), np.zeros(start.shape)
    x, y = start.copy(), start.copy()
    # An angle is periodic, so only open coordinates define a distance.
    angles = np.array([turn is not None for turn in stepper.process.periods])
    total, root = np.zeros(start.shape), np.sqrt(step)
    with np.errstate(all="ignore"):
        for n in range(-before, RECORDS * pairs):
            kicks = root * generator.standard_normal((2, *start.shape))
            first = stepper.step(x, kicks[0], step)
            x = stepper.step(first, kicks[1], step)
            y = stepper.step(y, kicks[0] + kicks[1], 2 * step)
            total += first + x
            z, w = (x - centre) / scale, (y - centre) / scale
            near = (np.abs(z) < FAR) & (np.abs(w) < FAR) | angles
            if not near.all():
                gone = ~escaped & ~near.all(axis=1)
                left[gone] = np.where(
                    near[gone], 0.0, np.where(np.abs(z[gone]) < FAR, w[gone], z[gone])
                )
                escaped |= gone
            if escaped.any():
                x[escaped], y[escaped], total[escaped] = centre, centre, 0.0
            if (n + 1) % pairs:
                continue
            if n >= 0:
                k = n // pairs
                fine[k], coarse[k], averages[k] = z, w, (total / (2 * pairs) - centre) / scale
            total[:] = 0.0
    return Run(
        2 * pairs * step, fine, coarse, averages, escaped, left, step, 2 * pairs * RECORDS * step
    )
