"""Is the order of a record told right, and is a first-order record never called second order?

    python -m benchmarks.order [--seeds 60] [--jobs 1] [--only GROUP ...]

Random records of eleven groups, `seeds` of each, of 2 000 to 20 000 samples; drift, noise, sampling
interval and what the instrument does are drawn at random. One table: how many of a group end with
order 1, 2 or undecided, how many are right, and the CPU time of the decision. What was smoothed
over two sampling intervals and more, and what is no process at all, is right with anything but 2.
Velocities have memories of three sampling intervals and more: shorter ones are not told from motion
blur, whoever looks. Exit status 1 where fewer than 98 % are right, or a record that is not of
second order is called that.
"""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d
from scipy.signal import butter, lfilter
from threadpoolctl import threadpool_limits

from benchmarks.kinetics_paths import paths_at, paths_in_space, paths_of
from benchmarks.measured import each
from worker.identification.data.compiled import compiled
from worker.identification.data.trajectories import Trajectories, from_arrays
from worker.identification.second_order.order import Order, decide_order

Floats = NDArray[np.float64]
Random = np.random.Generator

NEEDED = 0.98
BURN_IN = 200


@dataclass(frozen=True)
class Record:
    """Record of a known order.

    name      what it is
    data      samples
    allowed   orders that are right
    period    period of the state
    """

    name: str
    data: Trajectories
    allowed: tuple[int | None, ...]
    period: float | None = None


def drawn(random: Random, low: float, high: float) -> float:
    """Draw a number, its logarithm uniform."""
    return float(np.exp(random.uniform(np.log(low), np.log(high))))


def size(random: Random) -> int:
    """Draw a number of samples."""
    return round(drawn(random, 2_000, 20_000))


def seed(random: Random) -> int:
    """Draw a seed."""
    return int(random.integers(2**31))


def first_order(random: Random) -> tuple[str, Mapping[str, float], Mapping[str, float], float]:
    """Draw a first-order model: name, drift, diffusion, and its fastest rate about the mean."""
    rate, spread = drawn(random, 0.3, 3.0), drawn(random, 0.1, 2.0)
    kind = random.choice(["relaxing", "double well", "multiplicative", "quartic"])
    if kind == "relaxing":
        return kind, {"x": -rate}, {"1": spread}, rate
    if kind == "double well":
        return kind, {"x": rate, "x^3": -rate}, {"1": spread * rate / 2}, 2 * rate
    if kind == "multiplicative":
        return kind, {"x": -rate}, {"1": spread, "x^2": random.uniform(0.1, 0.9) * rate}, rate
    return kind, {"1": 0.2, "x": -rate, "x^3": -rate}, {"1": spread}, 2 * rate


def diffusing(random: Random, coarse: tuple[float, float], fine: int = 1) -> tuple[str, Floats]:
    """Simulate a first-order path; its fastest rate times the sampling interval lies in `coarse`.

    Parameters
    ----------
    random : numbers
    coarse : range of rate times interval
    fine : samples in each interval
    """
    name, drift, diffusion, rate = first_order(random)
    dt = drawn(random, *coarse) / rate
    path = paths_of(
        drift,
        diffusion,
        np.array([random.normal()]),
        n_samples=size(random) * fine + BURN_IN,
        dt=dt / fine,
        seed=seed(random),
    )[0]
    return name, path[BURN_IN:]


@compiled
def _inertial(
    powers: NDArray[np.int64], force: Floats, kick: float, steps: Floats, sub: int, seed: int
) -> Floats:
    """Integrate dx = v dt, dv = Σ c x^j v^k dt + kick dW by Heun's steps of weak order two."""
    np.random.seed(seed)
    x, v, out = 0.3, 0.0, np.empty(len(steps))
    for n in range(len(steps)):
        h = steps[n] / sub
        for _ in range(sub):
            dw = kick * np.sqrt(h) * np.random.standard_normal()
            here, there = 0.0, 0.0
            ahead, faster = x + h * v, v
            for j in range(len(force)):
                here += force[j] * x ** powers[j, 0] * v ** powers[j, 1]
            faster = v + h * here + dw
            for j in range(len(force)):
                there += force[j] * ahead ** powers[j, 0] * faster ** powers[j, 1]
            following = v + h * (here + there) / 2 + dw
            x += h * (v + following) / 2
            v = following
        out[n] = x
    return out


Force = Mapping[tuple[int, int], float]


def inertial(force: Force, kick: float, steps: Floats, seed: int) -> Floats:
    """Simulate the positions of a second-order process at these steps."""
    before = np.full(BURN_IN, float(np.median(steps)))
    path = _inertial(
        np.array(list(force), dtype=np.int64),
        np.array([float(c) for c in force.values()]),
        kick,
        np.append(before, steps),
        max(8, int(np.ceil(float(np.median(steps)) / 0.01))),
        seed,
    )
    return np.asarray(path[BURN_IN:])


def second_order(random: Random, kinds: tuple[str, ...]) -> tuple[str, Force, float, float]:
    """Draw a second-order model: name, force, kicks, and its shortest time."""
    kind = str(random.choice(kinds))
    kick = drawn(random, 0.3, 2.0)
    if kind == "harmonic":
        stiff, damping = drawn(random, 0.5, 6.0), drawn(random, 0.2, 3.0)
        return kind, {(1, 0): -stiff, (0, 1): -damping}, kick, 1 / max(np.sqrt(stiff), damping)
    if kind == "van der Pol":
        mu = drawn(random, 0.3, 3.0)
        return kind, {(1, 0): -1, (0, 1): mu, (2, 1): -mu}, kick / 2, 1 / (1 + 2 * mu)
    if kind == "double well":
        damping = drawn(random, 0.3, 3.0)
        force = {(1, 0): 1.0, (3, 0): -1.0, (0, 1): -damping}
        return kind, force, np.sqrt(damping) * drawn(random, 0.5, 1.5), 1 / max(1.5, damping)
    if kind == "free":
        damping = drawn(random, 0.3, 3.0)
        return kind, {(0, 1): -damping}, kick, 1 / damping
    if kind == "overdamped":
        damping = drawn(random, 3.0, 20.0)
        force = {(1, 0): -damping * drawn(random, 0.2, 1.0), (0, 1): -damping}
        return kind, force, damping * kick, 1 / damping
    memory = drawn(random, 0.1, 0.4)
    # dx = x − x³ + u, du = −u/τ dt + …
    force = {(1, 0): 1 / memory, (3, 0): -1 / memory, (0, 1): 1 - 1 / memory, (2, 1): -3.0}
    return kind, force, drawn(random, 0.4, 1.0) / memory, memory


INERTIAL = ("harmonic", "van der Pol", "double well", "free")


def moving(random: Random, kinds: tuple[str, ...]) -> tuple[str, Floats, float, float]:
    """Simulate a second-order path; return its name, positions, kicks and shortest time."""
    name, force, kick, shortest = second_order(random, kinds)
    dt = shortest * drawn(random, 0.05, 0.33)
    path = inertial(force, kick, np.full(size(random), dt), seed(random))
    return name, path, kick, shortest


def clean_first(random: Random) -> Record:
    """Draw a clean first-order record."""
    name, path = diffusing(random, (0.005, 0.4))
    return Record(name, from_arrays([path], 1.0), (1,))


def noisy_first(random: Random) -> Record:
    """Draw a first-order record with noise of up to the state's own deviation."""
    name, path = diffusing(random, (0.005, 0.4))
    noise = drawn(random, 0.02, 1.0) * path.std()
    path = path + noise * random.standard_normal(len(path))
    return Record(name, from_arrays([path], 1.0), (1,))


def blurred_first(random: Random) -> Record:
    """Draw a first-order record of which each sample is a mean over an exposure."""
    name, path = diffusing(random, (0.01, 0.4), fine=20)
    exposed = int(random.integers(5, 21))
    path = path[: len(path) // 20 * 20].reshape(-1, 20)[:, :exposed].mean(axis=1)
    if random.random() < 0.5:
        noise = drawn(random, 0.05, 1.0) * np.diff(path).std()
        path = path + noise * random.standard_normal(len(path))
    return Record(f"{name}, exposure {exposed / 20:g}", from_arrays([path], 1.0), (1,))


def coarse_first(random: Random) -> Record:
    """Draw a first-order record with few samples in a relaxation time."""
    name, path = diffusing(random, (0.4, 1.5))
    return Record(name, from_arrays([path], 1.0), (1,))


def awkward_first(random: Random) -> Record:
    """Draw a first-order record that is quantised, cut, uneven, of two variables or an angle."""
    kind = random.choice(
        ["quantised", "gaps", "tracks", "uneven", "events", "plane", "cycle", "angle", "far"]
    )
    n = size(random)
    if kind == "quantised":
        path = diffusing(random, (0.005, 0.4))[1]
        quantum = drawn(random, 0.3, 5.0) * np.diff(path).std()
        data = from_arrays([np.round(path / quantum) * quantum], 1.0)
    elif kind in ("gaps", "tracks"):
        path = diffusing(random, (0.005, 0.4))[1]
        pieces = np.array_split(path, 12 if kind == "gaps" else len(path) // 24)
        data = from_arrays(list(pieces), 1.0)
    elif kind in ("uneven", "events"):
        _, drift, diffusion, rate = first_order(random)
        steps = random.uniform(0.5, 1.5, n) if kind == "uneven" else random.exponential(1.0, n)
        times = np.cumsum(steps * drawn(random, 0.01, 0.2) / rate)
        path = paths_at(drift, diffusion, np.array([0.1]), times, 0.01, seed(random))[0]
        data = replace(from_arrays([path], 1.0), times=times)
    elif kind in ("plane", "cycle"):
        turn = drawn(random, 0.3, 3.0)
        drift = [{"x": -1.0, "y": turn}, {"x": -turn, "y": -1.0}]
        if kind == "cycle":
            grow = {"x": 1.0, "x^3": -1.0, "x*y^2": -1.0, "y": turn}
            drift = [grow, {"y": 1.0, "y^3": -1.0, "x^2*y": -1.0, "x": -turn}]
        a = [{"1": 0.3}, {"1": 0.1}], [{"1": 0.1}, {"1": 0.2}]
        times = np.arange(n) * drawn(random, 0.01, 0.2)
        path = paths_in_space(drift, a, np.zeros((1, 2)), times, 0.01, seed(random))[0]
        data = from_arrays([path], 1.0)
    elif kind == "angle":
        dt = drawn(random, 0.01, 0.2)
        drift, a = {"1": random.uniform(0, 2), "sin(x)": -1.0}, {"1": 1.0}
        path = paths_of(drift, a, np.zeros(1), n_samples=n, dt=dt, seed=seed(random))[0]
        data = from_arrays([(path + np.pi) % (2 * np.pi) - np.pi], 1.0)
        return Record(kind, data, (1,), 2 * np.pi)
    else:
        _, drift, diffusion, rate = first_order(random)
        start = random.normal(0, 4, 40)
        dt = drawn(random, 0.01, 0.1) / rate
        paths = paths_of(drift, diffusion, start, n_samples=n // 40, dt=dt, seed=seed(random))
        data = from_arrays(list(paths), 1.0)
    return Record(str(kind), data, (1,))


def smoothed_first(random: Random) -> Record:
    """Draw a first-order record that was smoothed over two sampling intervals and more."""
    name, path = diffusing(random, (0.01, 0.4))
    if random.random() < 0.5:
        path = path + drawn(random, 0.1, 3.0) * np.diff(path).std() * random.normal(size=len(path))
    kind = random.choice(["mean of", "Gaussian", "low-pass", "interpolated"])
    width = drawn(random, 2, 30)
    if kind == "mean of":
        m = round(width)
        path = np.convolve(path, np.ones(m) / m, "valid")
    elif kind == "Gaussian":
        path = gaussian_filter1d(path, width / 2)
    elif kind == "low-pass":
        path = lfilter(*butter(int(random.integers(2, 5)), 1 / width), path)
    else:
        m = int(random.integers(2, 8))
        path = np.interp(np.arange(len(path)) / m, np.arange(len(path)), path)
    return Record(f"{name}, {kind} {width:.2g}", from_arrays([path], 1.0), (1, None))


def no_process(random: Random) -> Record:
    """Draw a record that is no stochastic process of either order, or the simplest one."""
    kind = random.choice(["white", "random walk", "sine", "two sines", "curve", "clean", "ramp"])
    n = size(random)
    t, noise = np.linspace(0, 1, n), drawn(random, 0.01, 0.5) * random.standard_normal(n)
    cycles = drawn(random, 3, n / 6)
    path = {
        "white": noise,
        "random walk": np.cumsum(noise),
        "sine": np.sin(2 * np.pi * cycles * t) + noise,
        "two sines": np.sin(2 * np.pi * cycles * t) + np.sin(2 * np.pi * cycles * 0.37 * t) + noise,
        "curve": np.exp(-3 * t) + 0.3 * np.sin(9 * t) + noise,
        "clean": np.exp(-3 * t) + 0.3 * np.sin(9 * t),
        "ramp": 10 * t + noise,
    }[str(kind)]
    return Record(str(kind), from_arrays([path], 1.0), (1, None))


def clean_second(random: Random) -> Record:
    """Draw a clean second-order record, its inertia resolved."""
    name, path, _, _ = moving(random, INERTIAL)
    return Record(name, from_arrays([path], 1.0), (2,))


def overdamped_second(random: Random) -> Record:
    """Draw a clean overdamped second-order record, its inertia resolved."""
    name, path, _, _ = moving(random, ("overdamped",))
    return Record(name, from_arrays([path], 1.0), (2,))


def noisy_second(random: Random) -> Record:
    """Draw a second-order record with noise that leaves the shortest time visible.

    Kicks outweigh noise at intervals of 1.5 (9 ε²/σ²)^⅓, at most two thirds of that time.
    """
    name, path, kick, shortest = moving(random, (*INERTIAL, "overdamped"))
    noise = drawn(random, 0.003, 0.1) * kick * shortest**1.5
    path = path + noise * random.standard_normal(len(path))
    return Record(name, from_arrays([path], 1.0), (2,))


def coloured(random: Random) -> Record:
    """Draw a bistable record under coloured noise, its memory resolved."""
    name, path, _, _ = moving(random, ("coloured noise",))
    return Record(name, from_arrays([path], 1.0), (2,))


GROUPS: Mapping[str, Callable[[Random], Record]] = {
    "first order, clean": clean_first,
    "first order, noisy": noisy_first,
    "first order, blurred": blurred_first,
    "first order, coarse": coarse_first,
    "first order, awkward": awkward_first,
    "first order, smoothed": smoothed_first,
    "no process": no_process,
    "second order, clean": clean_second,
    "second order, overdamped": overdamped_second,
    "second order, noisy": noisy_second,
    "coloured noise": coloured,
}


OF_SECOND_ORDER = tuple(GROUPS)[-4:]


@dataclass(frozen=True)
class Told:
    """Answer about one record."""

    name: str
    right: bool
    order: Order
    seconds: float


def tell(group: str, number: int) -> Told:
    """Draw one record and decide its order."""
    random = np.random.default_rng([list(GROUPS).index(group), number, 18])
    record = GROUPS[group](random)
    with threadpool_limits(1):
        begun = time.process_time()
        order = decide_order(record.data, [record.period] * record.data.dimension)
        seconds = time.process_time() - begun
    return Told(record.name, order.order in record.allowed, order, seconds)


def main() -> int:
    """Run the measurement and print its table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=60)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=list(GROUPS), choices=list(GROUPS))
    arguments = parser.parse_args()
    print(f"{'':26}{'1':>5}{'2':>5}{'none':>6}{'right':>8}{'ms':>6}")
    wrong, right, total, false = [], 0, 0, 0
    for group in arguments.only:
        told = each(partial(tell, group), range(arguments.seeds), arguments.jobs)
        count = Counter(one.order.order for one in told)
        good = sum(one.right for one in told)
        milliseconds = 1e3 * float(np.median([one.seconds for one in told]))
        print(
            f"{group:26}{count[1]:5}{count[2]:5}{count[None]:6}{good / len(told):8.1%}"
            f"{milliseconds:6.0f}",
            flush=True,
        )
        wrong += [(group, n, one) for n, one in enumerate(told) if not one.right]
        right, total = right + good, total + len(told)
        false += 0 if group in OF_SECOND_ORDER else count[2]
    print(f"right: {right} of {total} ({right / total:.1%}); wrongly of second order: {false}")
    for group, n, one in wrong:
        print(f"  {group} {n}: {one.name}: {one.order.order}, {one.order.evidence}")
    return int(right < NEEDED * total or false > 0)


if __name__ == "__main__":
    sys.exit(main())
