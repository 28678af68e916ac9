"""Is the memory of a velocity found from samples further apart than it lasts?

Exact paths of a velocity that is forgotten in 0.7 sampling intervals and a position that relaxes in
200; a tenth of the samples is missing, and once 50 in a row. With the ratio of the samples' noise
to the rms increment.
"""

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.linalg import expm, solve_continuous_lyapunov
from threadpoolctl import threadpool_limits

from benchmarks.measured import each
from benchmarks.second_order.tables import parameters_of
from worker import pipeline
from worker.identification.data.trajectories import Trajectories
from worker.identification.errors import IdentificationError
from worker.identification.model_sampling import confidence_interval
from worker.jobs.parameters import settings_of

MEMORY, RELAXATION = 0.7, 200.0
FRICTION = 1 / MEMORY + 1 / RELAXATION
RECORDS = {
    "one coordinate, 4000": (1, 4000, 0.0),
    "two coordinates, 2000": (2, 2000, 0.0),
    "two coordinates, 10 000": (2, 10_000, 0.0),
    "the same, noise 0.2": (2, 10_000, 0.2),
}
"""Coordinates, samples, and noise over the rms increment."""

HELD = (92.0, 97.5)
"""Share of 95 % intervals that has to hold the friction [%]."""


@dataclass(frozen=True)
class Found:
    """Friction of the first velocity, whether its interval holds, warnings, and CPU seconds."""

    friction: float
    held: bool
    codes: tuple[str, ...]
    seconds: float


def record(name: str, seed: int) -> Trajectories:
    """Sample a record from its stationary law."""
    d, n, noise = RECORDS[name]
    random = np.random.default_rng([list(RECORDS).index(name), seed, 21])
    times = np.sort(random.permutation(n + n // 10)[:n]) + 50.0 * (np.arange(n) > n // 3)
    rates = np.array([[0, 1.0], [-1 / MEMORY / RELAXATION, -FRICTION]])
    law = solve_continuous_lyapunov(rates, -np.diag([0, 1.0]))
    z, out = random.standard_normal((d, 2)) @ np.linalg.cholesky(law).T, np.empty((n, d))
    steps = {}
    for h in np.unique(np.diff(times)).tolist():
        step = expm(rates * h)
        steps[h] = step.T, np.linalg.cholesky(law - step @ law @ step.T).T
    out[0] = z[:, 0]
    for i, h in enumerate(np.diff(times).tolist(), start=1):
        z = z @ steps[h][0] + random.standard_normal((d, 2)) @ steps[h][1]
        out[i] = z[:, 0]
    # E Δx² of free motion, with kicks of one
    moved = np.sqrt((FRICTION - 1 + np.exp(-FRICTION)) / FRICTION**3)
    out += noise * moved * random.standard_normal(out.shape)
    return Trajectories(out, times, np.array([[0, n, 0]]))


def measured(seed: int, name: str) -> Found:
    """Identify one record as a job does."""
    data = record(name, seed)
    with threadpool_limits(1):
        begun = time.process_time()
        try:
            model = pipeline.identify(data, settings_of(parameters_of()), lambda *_: None)
        except IdentificationError as error:
            return Found(np.nan, False, (f"refused as {error.code}",), time.process_time() - begun)
        seconds = time.process_time() - begun
    velocity = "v" if RECORDS[name][0] == 1 else "vx"
    term = next(t for t in model.drift[velocity].terms if t.name == velocity)
    low, high = confidence_interval(term.estimates, 0.95, term.value)
    codes = tuple(finding.code for finding in model.findings)
    return Found(-term.value, low < -FRICTION < high, codes, seconds)


def rows(seeds: int, jobs: int, misses: list[str]) -> Iterator[str]:
    """Yield a row for each kind of record, and collect the missed bars."""
    yield f"{'friction of':26}{'mean':>9}{'± ':>8}{'rms':>8}{'held':>8}{'CPU':>8}"
    for name in RECORDS:
        found = each(partial(measured, name=name), range(seeds), jobs)
        errors = np.array([f.friction for f in found]) / FRICTION - 1
        share = 100 * float(np.mean([f.held for f in found]))
        yield (
            f"{name:26}{100 * np.nanmean(errors):+8.2f}%"
            f"{100 * np.nanstd(errors) / np.sqrt(seeds):7.2f}%"
            f"{100 * np.sqrt(np.nanmean(errors**2)):7.2f}%{share:7.1f}%"
            f"{np.median([f.seconds for f in found]):6.2f} s"
        )
        codes = Counter(code for f in found for code in f.codes)
        yield f"{'':26}{', '.join(f'{code} ({n})' for code, n in codes.most_common())}"
        if not HELD[0] <= share <= HELD[1]:
            misses.append(f"{name}: {share:.1f} % of the intervals hold the friction")
