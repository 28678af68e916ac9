"""Figure fig:convergence: error of the Ornstein–Uhlenbeck drift by number of trajectories."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.paper.parts import Claim, Part, Table, number, percent, rms, verdict
from benchmarks.paper.runs import TERMS, Run, by_default, least_squares
from benchmarks.recovery import DT, Floats
from benchmarks.recovery import SYSTEMS as PAPER_SYSTEMS
from benchmarks.simulation import SYSTEMS as COEFFICIENTS
from benchmarks.simulation import simulate
from worker.identification.data.library import make_library
from worker.identification.data.trajectories import from_arrays, measure_scales
from worker.identification.estimation.paper import StackedSystem, sparse_fit, stacked_system
from worker.identification.sums.kernels import make_kernels

SYSTEMS = ("ornstein-uhlenbeck",)
COUNTS = (2, 4, 8, 15, 30, 60, 120)
WAYS = (
    "stacked, Algorithm 1",
    "stacked, x alone",
    "stacked, all five terms",
    "pooled, x alone",
    "default",
)
COARSE = 0.01
TRUTH = np.array([0.0, PAPER_SYSTEMS["ornstein-uhlenbeck"].drift["x"], 0.0, 0.0, 0.0])
X = [1]


@dataclass(frozen=True, slots=True)
class Converging:
    """Measurements of one seed.

    errors     ‖ĉ − c‖₂ by way and number of trajectories
    bound      Cramér–Rao bound of c_x alone, by number of trajectories
    stacked    error of c_x on stacked rows, x alone, by duration and step of the paths
    """

    errors: dict[str, dict[int, float]]
    bound: dict[int, float]
    stacked: dict[tuple[float, float], float]


def measure(run: Run) -> Converging:
    """Fit growing numbers of the run's trajectories."""
    system = run.paper.system
    errors: dict[str, dict[int, float]] = {way: {} for way in WAYS}
    bound: dict[int, float] = {}
    for n in (n for n in COUNTS if n <= len(run.paths)):
        part = _first(system, n)
        whole = n == len(run.paths)
        answer = run.by_default[0] if whole else by_default(from_arrays(list(run.paths[:n]), DT))
        found = {
            WAYS[0]: sparse_fit(part.rows, part.increments.ravel(), part.groups, 0.25).coefficients,
            WAYS[1]: least_squares(part.rows, part.increments.ravel(), X),
            WAYS[2]: least_squares(part.rows, part.increments.ravel()),
            WAYS[3]: least_squares(part.design.sum(axis=0), part.increments.sum(axis=0), X),
            WAYS[4]: np.array([answer.drift["x"].active().get(t, 0.0) for t in TERMS]),
        }
        for way, coefficients in found.items():
            errors[way][n] = float(np.linalg.norm(coefficients - TRUTH))
        bound[n] = run.limits["drift", "x"].bound * float(np.sqrt(len(run.paths) / n))
    duration = DT * (run.paths.shape[1] - 1)
    stacked = {(duration, DT): _on_x(system)}
    for share in (2, 4):
        shorter = run.paths[:, : (run.paths.shape[1] - 1) // share + 1]
        stacked[duration / share, DT] = _on_x(_system_of(shorter, DT))
    start = np.random.default_rng([run.seed, 5]).uniform(-3, 3, len(run.paths))
    coarse = simulate(
        *COEFFICIENTS[run.name],
        start,
        dt=COARSE,
        n_steps=round(duration / COARSE),
        seed=1000 + run.seed,
    )
    stacked[duration, COARSE] = _on_x(_system_of(coarse, COARSE))
    return Converging(errors, bound, stacked)


def _first(system: StackedSystem, n: int) -> StackedSystem:
    """Return the system of the first n trajectories."""
    return StackedSystem(
        system.design[:n],
        system.increments[:n],
        system.squares[:n],
        system.time_squared[:n],
        system.terms,
        system.kernels,
    )


def _system_of(paths: Floats, dt: float) -> StackedSystem:
    data = from_arrays(list(paths), dt)
    scales = measure_scales(data)
    kernels = make_kernels(scales, bandwidth=0.22, centre_range=(-2.5, 2.5))
    return stacked_system(data, scales, make_library((scales,)), kernels)


def _on_x(system: StackedSystem) -> float:
    return float((least_squares(system.rows, system.increments.ravel(), X) - TRUTH)[1])


def part(found: Mapping[str, Sequence[Converging]]) -> Part:
    """Make the part of the document."""
    each = found[SYSTEMS[0]]
    counts = list(each[0].bound)
    rows = tuple(
        (
            f"{n}",
            *(number(_rms(each, way, n), 4) for way in WAYS),
            number(rms([f.bound[n] for f in each]), 4),
        )
        for n in counts
    )
    by_setting = tuple(
        (
            f"T = {duration:g}, dt = {dt:g}",
            percent(float(np.mean(e)), 2),
            percent(float(np.std(e) / np.sqrt(len(e))), 2),
        )
        for duration, dt in each[0].stacked
        for e in [[f.stacked[duration, dt] for f in each]]
    )
    return Part(
        "Error against the number of trajectories",
        "figure fig:convergence",
        (
            Table(
                "Ornstein–Uhlenbeck, T = 100 for each trajectory: rms of ‖ĉ − c‖₂ over "
                f"{len(each)} seeds. The last column falls exactly as R^(−1/2).",
                ("R", *WAYS, "Cramér–Rao bound, x alone"),
                rows,
            ),
            Table(
                "Bias of x with stacked rows, x alone, of all trajectories: what the floor is "
                "made of.",
                ("paths", "bias", "its standard error"),
                by_setting,
            ),
        ),
        (
            "There is a floor, but not the one that the paper sees. The paths are Euler–Maruyama "
            "chains and are fitted by Euler's rule, so there is no discretisation bias to find: "
            "at five times the step the floor is not five times as large. It goes as 1/T, the "
            "mark of the regressors' correlation with the past shocks of the same trajectory: the "
            "bias that the paper proves for temporal weights, brought back by stacking. E[B] = "
            "E[A] c (theorem thm:unbiased) is true and not enough, since least squares on stacked "
            "rows needs E[A_rᵀ(B_r − A_r c)] = 0, which is false. Summed over trajectories first, "
            "the same equations have no floor.",
        ),
        tuple(_claims(each)),
    )


def _rms(each: Sequence[Converging], way: str, n: int) -> float:
    return rms([f.errors[way][n] for f in each])


def _slope(each: Sequence[Converging], way: str, counts: Sequence[int]) -> float:
    logs = np.log([_rms(each, way, n) for n in counts])
    return float(np.polyfit(np.log(counts), logs, 1)[0])


def _claims(each: Sequence[Converging]) -> Iterator[Claim]:
    counts = list(each[0].bound)
    few, many = [n for n in counts if n <= 30], [n for n in counts if n >= 30]
    algorithm, default = WAYS[0], WAYS[4]
    if len(few) > 1:
        slope = _slope(each, algorithm, few)
        yield Claim(
            "Algorithm 1's error falls as R^(−1/2) up to R = 30",
            "fig:convergence",
            "slope −0.5",
            f"slope {number(slope, 2)}; default {number(_slope(each, default, few), 2)}",
            verdict(abs(slope + 0.5) < 0.1),
        )
    if len(many) > 1:
        yield Claim(
            "from R = 30 on Algorithm 1's error has a floor",
            "fig:convergence",
            "flat from R = 30",
            f"slope {number(_slope(each, algorithm, many), 2)}; default "
            f"{number(_slope(each, default, many), 2)}",
            verdict(_slope(each, algorithm, many) > -0.35),
        )
    yield Claim(
        "kernels in state make the equations unbiased, and so least squares",
        "thm:unbiased, sec:drift",
        "E[B] = E[A] c",
        "true of the sums, which is why pooled they have no bias; not of stacked rows, since "
        "E[A_rᵀ(B_r − A_r c)] ≠ 0",
        "partly",
    )
    by = {
        setting: float(np.mean([f.stacked[setting] for f in each])) for setting in each[0].stacked
    }
    longest = max(duration for duration, _ in by)
    fine, coarse, short = by[longest, DT], by[longest, COARSE], by[longest / 4, DT]
    yield Claim(
        "the floor is Euler–Maruyama discretisation bias",
        "fig:convergence",
        "–",
        f"{percent(fine)} at dt = {DT:g}, {percent(coarse)} at {COARSE:g}; {percent(short)} at a "
        "quarter of T",
        verdict(abs(coarse / fine) > 2),
    )
    half = by[longest / 2, DT]
    yield Claim(
        "the estimator is consistent as T → ∞",
        "thm:consistency",
        "ĉ → c",
        f"stacked: bias {percent(short)}, {percent(half)}, {percent(fine)} at T = {longest / 4:g}, "
        f"{longest / 2:g}, {longest:g}; not as R → ∞",
        verdict(abs(fine) < abs(short) / 2),
    )
