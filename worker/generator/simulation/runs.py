"""Many independent paths, run side by side at two step lengths with the same noise, and what is kept of them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from worker.generator.process import FloatArray
from worker.generator.simulation.steps import Stepper

BURN_IN = 0.25
"""Of the steps."""
RECORDS = 200
"""Times at which the paths are looked at, after the burn-in."""
FAR = 100.0
"""Distance from the start, in typical lengths, at which a path counts as having run away."""


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """What is kept of R paths. States are z = (x − centre)/scale.

    interval    between the records [time]
    fine        (RECORDS, R, d) z by the step
    coarse      (RECORDS, R, d) z by twice the step, driven by the same noise
    averages    (RECORDS, R, d) of z over the time before each record, by the step
    escaped     (R,) whether a path ran away, and `left` (R, d) where z then was
    step, duration   of a path after the burn-in [time]
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
    """Paths from `start` (R, d) [state], `steps` of them after the burn-in (a part of them), rounded up to whole records.

    centre, scale   (d,) [state]; one path further than `FAR` scales from the centre is an escape, and stays where it was
    """
    generator = np.random.default_rng(seed)
    pairs = max(1, -(-steps // (2 * RECORDS)))
    before = int(np.ceil(burn_in * RECORDS)) * pairs
    shape = (RECORDS, *start.shape)
    fine, coarse, averages = np.empty(shape), np.empty(shape), np.empty(shape)
    escaped, left = np.zeros(len(start), dtype=np.bool_), np.zeros(start.shape)
    x, y = start.copy(), start.copy()
    # Angles go round; only their distance along open coordinates is a distance.
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
