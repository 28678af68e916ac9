"""Does a drifting correlation time of the noise pass for a closing gap? (`rolling --coloured`)

dx = f(x) dt + u dt with an Ornstein–Uhlenbeck process u, 40 000 samples at Δt = 0.05 (T = 2000),
ten windows of a tenth. Beside rolling with `dynamics: coloured-noise`:

- the customary indicators, variance and lag-one autocorrelation of the windows: Kendall's τ over
  the ten windows, exact, one-sided at 5 %; an alarm where both rise;
- rolling of first order, on every 20th sample: on all of them it refuses the smooth path.
"""

from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numba as nb
import numpy as np
from numpy.typing import NDArray
from scipy.stats import kendalltau
from threadpoolctl import threadpool_limits

from contract.identification import IdentificationParameters
from contract.rolling import RollingWindows
from worker.identification.data.trajectories import from_arrays
from worker.identification.errors import IdentificationError
from worker.jobs.rolling import roll_along
from worker.rolling.rolling import Rolling

Floats = NDArray[np.float64]

DT, STEPS, SUBSTEPS, EVERY = 0.05, 40_000, 10, 20
WINDOWS = RollingWindows(count=10, share=0.1)
LEVEL = 0.05


@dataclass(frozen=True)
class System:
    """What drifts from the first sample to the last: τ geometrically, λ linearly.

    of_one_size   whether Var u is constant; else the strength 2 τ Var u is
    cubic         whether f = λ x − x³; else −λ x
    share         records for each that is asked for
    """

    name: str
    times: tuple[float, float]
    rates: tuple[float, float]
    of_one_size: bool = True
    cubic: bool = False
    share: float = 0.1


SYSTEMS = (
    System("noise reddens, τ 0.1 → 0.5, Var u constant, λ = 1", (0.1, 0.5), (1, 1), share=1.0),
    System("the same, strength constant", (0.1, 0.5), (1, 1), of_one_size=False),
    System("noise becomes the slower, τ 0.2 → 2, λ = 1", (0.2, 2.0), (1, 1)),
    System("double well x − x³, τ 0.1 → 0.4", (0.1, 0.4), (1, 1), of_one_size=False, cubic=True),
    System("nothing drifts, τ = 0.2, λ = 1", (0.2, 0.2), (1, 1)),
    System("gap closes, λ 1 → 0.4, τ = 0.2", (0.2, 0.2), (1, 0.4)),
    System("both, λ 1 → 0.4, τ 0.1 → 0.3", (0.1, 0.3), (1, 0.4)),
)


@nb.njit
def record(
    seed: int,
    times: tuple[float, float],
    rates: tuple[float, float],
    of_one_size: bool,
    cubic: bool,
) -> Floats:
    """Integrate by Heun's scheme; u is exact. (STEPS,)"""
    np.random.seed(seed)
    h, x, u, out = DT / SUBSTEPS, 0.0, 0.0, np.empty(STEPS)
    for n in range(-STEPS // 50, STEPS):
        share = max(n, 0) / STEPS
        tau = times[0] * (times[1] / times[0]) ** share
        rate = rates[0] + (rates[1] - rates[0]) * share
        decay = np.exp(-h / tau)
        kick = np.sqrt((1.0 if of_one_size else 0.2 / tau) * (1 - decay**2))
        if n >= 0:
            out[n] = x
        for _ in range(SUBSTEPS):
            later = u * decay + kick * np.random.randn()
            drift = rate * x - x**3 if cubic else -rate * x
            end = x + h * (drift + u)
            drift += rate * end - end**3 if cubic else -rate * end
            x += h / 2 * (drift + u + later)
            u = later
    return out


def alarms(task: tuple[System, int]) -> tuple[list[str], float, float]:
    """Return the alarms of one record, and z of the trends of gap and correlation time."""
    system, seed = task
    x = record(seed, system.times, system.rates, system.of_one_size, system.cubic)
    with threadpool_limits(1):
        coloured, z, z_of_time = _codes(x, DT, "coloured-noise")
        found = [f"coloured: {code}" for code in coloured]
        first_order, _, _ = _codes(x[::EVERY], DT * EVERY, "first-order")
        found += [f"first order: {code}" for code in first_order]
    windows = x.reshape(WINDOWS.count, -1)
    neighbours = [np.corrcoef(w[1:], w[:-1])[0, 1] for w in windows]
    rise = [_rises(windows.var(axis=1)), _rises(neighbours)]
    names = ["variance", "autocorrelation"]
    found += [f"indicators: {name}" for name, rises in zip(names, rise, strict=True) if rises]
    return found + ["indicators: both"] * all(rise), z, z_of_time


def _codes(x: Floats, dt: float, dynamics: str) -> tuple[list[str], float, float]:
    parameters = IdentificationParameters.model_validate({"dynamics": dynamics})
    try:
        found: Rolling = roll_along(from_arrays([x], dt), parameters, WINDOWS, lambda *_: None)
    except IdentificationError as error:
        return [error.code], np.nan, np.nan
    without = ["no trend"] if found.trend is None else []
    codes = [*(finding.code for finding in found.findings), *without]
    z, of_time = (np.nan if t is None else t.z for t in (found.trend, found.time_trend))
    return codes, z, of_time


def _rises(values: Floats | list[float]) -> bool:
    test = kendalltau(np.arange(len(values)), values, alternative="greater", method="exact")
    return bool(test.pvalue < LEVEL)


def measure(records: int) -> None:
    """Print the shares of records with each alarm."""
    with ProcessPoolExecutor(2) as pool:
        for system in SYSTEMS:
            count = max(1, round(records * system.share))
            tasks = [(system, seed) for seed in range(1, count + 1)]
            found = list(pool.map(alarms, tasks, chunksize=5))
            counts = Counter(code for codes, _, _ in found for code in set(codes))
            print(f"{system.name}: {count} records")
            for code in sorted(counts):
                print(f"    {100 * counts[code] / count:5.1f} %  {code}")
            for name, place in (("gap", 1), ("correlation time", 2)):
                z = np.array([row[place] for row in found])
                told = f"{np.nanmean(z):+.2f} ± {np.nanstd(z):.2f}"
                print(f"    z of the trend of the {name}: {told}", flush=True)
