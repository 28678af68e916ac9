"""One variable under periodic forcing: its first-passage times by starting phase."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from worker.generator.line.passages.by_phase import ForcedLine, passage_times_by_phase
from worker.generator.quantities.outcomes import Reason
from worker.identification.identified_model import Driving

Floats = NDArray[np.float64]

STEPS_A_HARMONIC, FEWEST_STEPS, MOST_STEPS = 48, 48, 960
"""Steps in the period of the fastest harmonic, and in a period. Times are then right to 1e-4."""

MODELS, COARSER = 60, 2.0
"""Sampled models from which times have their errors, and the factor of their panels' length."""


@dataclass(frozen=True, slots=True, eq=False)
class ForcedPassage:
    """First passage of one variable by its starting phase, equation (M90).

    start, to    states [state]
    mean_times   (n,) mean time of a passage that starts at each time of the cycle [time]; None
                 where there is a reason
    interval     lower and upper ends (2, n); None without errors
    reason       why there are no times
    """

    start: float
    to: float
    mean_times: Floats | None = None
    interval: Floats | None = None
    reason: Reason | None = None


@dataclass(frozen=True, slots=True)
class ForcedModels:
    """Model of one variable under periodic forcing, and models drawn around it.

    line    the model
    drawn   models drawn around it, by number
    count   number of them
    steps   steps of a period in which they are followed
    """

    line: ForcedLine
    drawn: Callable[[int], ForcedLine]
    count: int
    steps: int


def forced_line(driving: Driving, bounds: tuple[float, float], period: float) -> ForcedModels:
    """Return the model of one variable as a function of state and time.

    Parameters
    ----------
    driving : inputs and forcing
    bounds : ends of the domain [state]
    period : period of all forcing together [time]
    """
    library, forcing = driving.library, driving.forcing
    origins, units = np.array(library.origins), np.array(library.units)
    waves = 1 + np.flatnonzero([name in forcing.waves for name in driving.names])

    def function(coefficients: Floats, factor: float) -> Callable[[Floats, Floats], Floats]:
        def values(x: Floats, times: Floats) -> Floats:
            rows = np.empty((len(times), len(x), 1 + len(driving.names)))
            rows[..., 0], rows[..., 1:] = x, driving.frozen
            rows[..., waves] = forcing.at(times)[:, None, -len(waves) :]
            y = (rows.reshape(-1, rows.shape[-1]) - origins) / units
            return np.asarray(library.internal(y) @ coefficients * factor).reshape(rows.shape[:2])

        return values

    def line(b: Floats, a: Floats) -> ForcedLine:
        return ForcedLine(
            function(b, float(driving.to_drift[0])),
            function(a, float(driving.to_diffusion[0, 0])),
            bounds,
            period,
        )

    fastest = period * max(forcing.frequencies) / (2 * np.pi)
    return ForcedModels(
        line(driving.drift[0], driving.tensor[0, 0]),
        lambda k: line(driving.draws[k, 0], driving.tensor_draws[k, 0]),
        min(len(driving.draws), MODELS),
        int(min(max(FEWEST_STEPS, STEPS_A_HARMONIC * fastest), MOST_STEPS)),
    )


def forced_passages(
    models: ForcedModels,
    passages: Sequence[tuple[float, float]],
    phases: int,
    confidence: float,
) -> tuple[ForcedPassage, ...]:
    """Compute first passages by starting phase, with the spread of the drawn models' logarithms.

    Parameters
    ----------
    models : model and those drawn around it
    passages : starts and targets [state]
    phases : number of starting times of a period
    confidence : coverage of the intervals
    """
    steps = phases * -(-models.steps // phases)
    every = steps // phases
    out = []
    for start, to in passages:
        if start == to:
            continue
        found = passage_times_by_phase(models.line, start, to, steps)
        if isinstance(found, Reason):
            out.append(ForcedPassage(start, to, reason=found))
            continue
        mean = found[::every]
        logs = [
            np.log(times[::every])
            for k in range(models.count)
            if not isinstance(
                times := passage_times_by_phase(models.drawn(k), start, to, steps, COARSER), Reason
            )
        ]
        interval = None
        if len(logs) > models.count / 2:
            width = NormalDist().inv_cdf((1 + confidence) / 2) * np.std(logs, axis=0)
            interval = np.stack([mean * np.exp(-width), mean * np.exp(width)])
        out.append(ForcedPassage(start, to, mean, interval))
    return tuple(out)
