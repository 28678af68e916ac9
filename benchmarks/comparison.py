"""How often do comparisons of groups find a difference where there is none, and where there is one?

    python -m benchmarks.comparison [--level 300] [--power 100] [--first 0] [--model-only]
    python -m benchmarks.comparison --post URL

Level: pairs of records of one process (Ornstein–Uhlenbeck; double well; multiplicative noise,
dX = −X dt + √(½ + ½X²) dW), simulated at steps of 0.001. Each record's duration is 200, 500 or
1000, its sampling interval 0.01, 0.02 or 0.04, and its measurement noise 0, 0 or 0.03, drawn for
each record. The share of p-values below 0.05 should be 5 % (a share of 1000 has a standard error of
0.7 %).

Power: Ornstein–Uhlenbeck rates 1 and 1 + δ, four tracks each of 1000 samples at Δt = 0.05 by exact
transitions, against the non-central χ² whose parameter is δ² over the variances that the estimates
give, on average. `--post`: two datasets of 10⁵ samples, from POST /v1/jobs to the result.
"""

import argparse
import json
import math
import time
import urllib.request
from collections import defaultdict
from collections.abc import Callable, Iterable

import numba as nb
import numpy as np
from numpy.typing import NDArray
from scipy.stats import ncx2
from threadpoolctl import threadpool_limits

from worker.analysis import AnalysisSettings
from worker.comparison.comparison import Comparison, compare
from worker.identification.data.trajectories import Trajectories, from_arrays
from worker.identification.estimation.setup import Settings

Floats = NDArray[np.float64]
STEP = 0.001
PROCESSES = ("Ornstein–Uhlenbeck", "double well", "multiplicative")
EFFECTS = (0.2, 0.4, 0.6)
DT = 0.05


@nb.njit
def path(process: int, noise: Floats, x: float) -> Floats:
    """Simulate samples; (n,) from standard normal numbers (n, substeps)."""
    out, root = np.empty(noise.shape[0]), math.sqrt(STEP)
    for i in range(noise.shape[0]):
        for k in range(noise.shape[1]):
            z = root * noise[i, k]
            if process == 0:
                x += -x * STEP + z
            elif process == 1:
                x += (x - x**3) * STEP + math.sqrt(0.5) * z
            else:
                x += -x * STEP + math.sqrt(0.5 + 0.5 * x * x) * z
        out[i] = x
    return out


def record(process: int, seed: int, duration: float, dt: float, noise: float) -> Trajectories:
    """Simulate a record with measurement noise."""
    generator = np.random.default_rng(seed)
    n, substeps = int(duration / dt), round(dt / STEP)
    x = path(process, generator.normal(size=(n, substeps)), generator.normal())
    return from_arrays([x + noise * generator.normal(size=n)], dt)


def relaxing(rate: float, seed: int) -> Trajectories:
    """Simulate four tracks of dX = −rate X dt + dW by exact transitions."""
    generator, decay = np.random.default_rng(seed), math.exp(-rate * DT)
    x, seen = generator.normal(size=4) / math.sqrt(2 * rate), []
    for kick in generator.normal(0, math.sqrt((1 - decay**2) / (2 * rate)), (1000, 4)):
        x = decay * x + kick
        seen.append(x)
    return from_arrays(list(np.array(seen).T), DT)


def of(groups: dict[str, Trajectories], asked: AnalysisSettings) -> Comparison:
    """Compare by first order, which is known here."""
    return compare(groups, Settings(dynamics="first-order"), asked, lambda *_: None)


def level(seeds: Iterable[int], model_only: bool) -> None:
    """Print the share of small p-values among null pairs."""
    asked = AnalysisSettings(model_only=model_only, passages=() if model_only else ((-1.0, 1.0),))
    found: dict[str, list[float]] = defaultdict(list)
    for seed in seeds:
        draw, process = np.random.default_rng(seed), seed % 3
        durations, steps = draw.choice([200, 500, 1000], 2), draw.choice([0.01, 0.02, 0.04], 2)
        noises = draw.choice([0, 0, 0.03], 2)
        drawn = zip("ab", durations, steps, noises, strict=True)
        comparison = of(
            {
                name: record(process, 2 * seed + k, t, dt, s)
                for k, (name, t, dt, s) in enumerate(drawn)
            },
            asked,
        )
        for key, component in comparison.components.items():
            what = "diffusion" if "," in key else "drift"
            p = [test.p_value for test in component.found.by_term]
            found["coefficients"] += p
            found[f"{PROCESSES[process]}, {what}"] += p
            found["components"].append(component.found.equality.p_value)
        for quantity, value in comparison.quantities.items():
            found["quantities"].append(value.p_value)
            found[quantity.kind].append(value.p_value)
    for name, p_values in found.items():
        share = float(np.mean(np.array(p_values) < 0.05))
        error = math.sqrt(0.05 * 0.95 / len(p_values))
        print(f"{name:32} p < 0.05 in {share:6.1%} ± {error:.1%} of {len(p_values)}")


def power(seeds: range) -> None:
    """Print the share of pairs whose drift is found to differ, and what the errors promise."""
    for effect in EFFECTS:
        p_values, variances = [], []
        for seed in seeds:
            groups = {"a": relaxing(1.0, 2 * seed), "b": relaxing(1 + effect, 2 * seed + 1)}
            drift = of(groups, AnalysisSettings(model_only=True)).components["x"]
            if drift.terms != ("x",):
                continue
            p_values.append(drift.found.equality.p_value)
            variances.append(drift.found.covariance[:, 0, 0].sum())
        found = float(np.mean(np.array(p_values) < 0.05))
        promised = float(ncx2.sf(3.8415, 1, effect**2 / np.mean(variances)))
        error = math.sqrt(promised * (1 - promised) / len(p_values))
        print(
            f"rates 1 and {1 + effect}: found {found:.1%}, non-central χ² {promised:.1%} "
            f"± {error:.1%} ({len(p_values)} pairs)"
        )


def post(url: str) -> None:
    """Print the seconds from POST to result for two datasets of 10⁵ samples, five times."""

    def sent(path: str, body: bytes, media_type: str, **fields: str) -> dict[str, object]:
        headers = {"Content-Type": media_type, **fields}
        asked = urllib.request.Request(url + path, body, headers)
        with urllib.request.urlopen(asked) as answer:
            return dict(json.load(answer))

    def dataset(seed: int) -> str:
        x = record(1, seed, 1000, 0.01, 0.0).states[:, 0]
        text = "x\n" + "\n".join(f"{value:.6f}" for value in x)
        return str(sent("/v1/datasets?dt=0.01", text.encode(), "text/csv")["id"])

    job: Callable[[int], bytes] = lambda number: json.dumps(  # noqa: E731
        {
            "kind": "comparison",
            "groups": groups,
            "analysis": {"passages": [{"from": -1, "to": 1 + number / 1000}]},
        }
    ).encode()
    groups = {"control": [dataset(1)], "treated": [dataset(2)]}
    for number in range(5):
        begun = time.monotonic()
        record_of = sent("/v1/jobs", job(number), "application/json", Prefer="wait=60")
        with urllib.request.urlopen(f"{url}/v1/jobs/{record_of['id']}/result") as answer:
            result = json.load(answer)
        seconds = time.monotonic() - begun
        print(
            f"{seconds:.2f} s from POST to result ({result['provenance']['seconds']} s computing)"
        )


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--level", type=int, default=300)
    parser.add_argument("--power", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--model-only", action="store_true")
    parser.add_argument("--post", metavar="URL")
    asked = parser.parse_args()
    if asked.post:
        post(asked.post)
        return
    with threadpool_limits(1):
        if asked.power:
            power(range(asked.first, asked.first + asked.power))
        if asked.level:
            level(range(asked.first, asked.first + asked.level), asked.model_only)


if __name__ == "__main__":
    main()
