"""How often do the intervals of a population hold, and how often is a difference found?

    python -m benchmarks.population [--populations 400] [--first 0] [--only "equal;differ"]

Records are Ornstein–Uhlenbeck processes of mean rate 1, exactly sampled at Δt = 0.1, whose level
and rate are terms of the drift. `long` records last 50 to 200 relaxation times, `short` ones five.
Rates are equal, or have a standard deviation of 0.2 between records; levels (0.3) and log a (0.2)
may differ, too. Each row of the table tells of one such population, drawn again and again:

    mean        average of the mean rate's estimates, and how often its 95 % interval holds
    deviation   the same of the standard deviation between records
    found       share of populations in which the p-value of the rate, or level, is below 0.05
    single      average of the mean of single fits
    apart       share of populations in which a record stands apart

Of equal rates `found` should be 5 %.
"""

import argparse
import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter
from threadpoolctl import threadpool_limits

from worker.identification.data.trajectories import Trajectories, from_arrays
from worker.identification.estimation.setup import ComponentTerms, Settings
from worker.population.population import population

Floats = NDArray[np.float64]
DT = 0.1
SETTINGS = Settings(
    dynamics="first-order",
    polynomial_degree=1,
    diffusion_degree=0,
    measurement_noise="none",
    constraints={"x": ComponentTerms(required=("1", "x"))},
)


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of population: N records, and standard deviations between them."""

    records: int = 50
    durations: tuple[float, float] = (50, 200)
    rate: float = 0.0
    level: float = 0.0
    log_diffusion: float = 0.0
    populations: int = 400


KINDS = {
    "equal": Kind(),
    "differ": Kind(rate=0.2),
    "a little": Kind(rate=0.1),
    "levels": Kind(level=0.3, log_diffusion=0.2),
    "all differ": Kind(rate=0.2, level=0.3, log_diffusion=0.2),
    "short, equal": Kind(1000, (5, 5), populations=100),
    "short, differ": Kind(1000, (5, 5), rate=0.2, populations=100),
    "short, levels": Kind(1000, (5, 5), level=0.3, populations=100),
    "short, all differ": Kind(1000, (5, 5), rate=0.2, level=0.3, populations=100),
}


def drawn(kind: Kind, seed: int) -> Trajectories:
    """Simulate a population by exact transitions."""
    generator = np.random.default_rng(seed)
    made = []
    for _ in range(kind.records):
        rate = max(1 + kind.rate * generator.normal(), 0.1)
        a = np.exp(kind.log_diffusion * generator.normal())
        level = kind.level * generator.normal()
        n = round(generator.uniform(*kind.durations) / DT)
        keep, variance = np.exp(-rate * DT), a / (2 * rate)
        kicks = generator.normal(size=n + 1) * np.sqrt(variance * (1 - keep**2))
        kicks[0] = generator.normal() * np.sqrt(variance)
        made.append(level + lfilter([1.0], [1.0, -keep], kicks))
    return from_arrays(made, DT)


def held(interval: tuple[float, float], truth: float) -> bool:
    """Return whether an interval holds the truth."""
    return interval[0] <= truth <= interval[1]


def share(of: list[bool] | list[float]) -> str:
    """Write a share with its standard error."""
    mean = float(np.mean(of))
    error = np.sqrt(max(mean * (1 - mean), 0.25 / len(of)) / len(of))
    return f"{mean:6.1%} ± {error:.1%}"


def average(of: list[float]) -> str:
    """Write an average with its standard error."""
    return f"{np.mean(of):.3f} ± {np.std(of) / np.sqrt(len(of)):.3f}"


def row(name: str, seeds: range) -> None:
    """Print a row of the table."""
    kind, mean, deviation, single = KINDS[name], [], [], []
    holds_mean, holds_deviation, found, apart, levels = [], [], [], [], []
    begun = time.process_time()
    for seed in seeds:
        seen = population(drawn(kind, seed), SETTINGS, lambda *_: None)
        level, rate = seen.components["x"]
        mean.append(-rate.mean)
        holds_mean.append(held(rate.mean_interval, -1.0))
        deviation.append(rate.spread.value)
        holds_deviation.append(held(rate.spread.interval, kind.rate))
        found.append(rate.heterogeneity.p_value < 0.05)
        levels.append(level.heterogeneity.p_value < 0.05)
        single.append(float(np.nanmean(-rate.own)))
        apart.append(seen.apart != ())
    seconds = (time.process_time() - begun) / len(seeds)
    print(f"{name}: {len(seeds)} populations, {seconds:.2f} s of CPU each")
    print(f"  mean       {average(mean)}, its interval holds {share(holds_mean)}")
    print(f"  deviation  {average(deviation)}, its interval holds {share(holds_deviation)}")
    print(f"  found      {share(found)}; of levels {share(levels)}")
    print(f"  single     {average(single)}")
    print(f"  apart      {share(apart)}", flush=True)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--populations", type=int, help="default: those of the table")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", help="rows, separated by semicolons", default=";".join(KINDS))
    asked = parser.parse_args()
    with threadpool_limits(1):
        for name in asked.only.split(";"):
            count = asked.populations or KINDS[name].populations
            row(name, range(asked.first, asked.first + count))


if __name__ == "__main__":
    main()
