"""Figure fig:noise: do increments get noisier as the step shrinks, and weak equations not?"""

from collections.abc import Iterator, Sequence

import numpy as np

from benchmarks.paper.parts import Claim, Part, Table, number, percent, rms, verdict
from benchmarks.paper.runs import by_default, least_squares
from benchmarks.recovery import Floats
from benchmarks.simulation import SYSTEMS as COEFFICIENTS
from benchmarks.simulation import simulate
from worker.identification.data.library import make_library
from worker.identification.data.trajectories import from_arrays, measure_scales
from worker.identification.estimation.paper import stacked_system
from worker.identification.sums.kernels import make_kernels

SEEDS = 25
STEPS = (0.05, 0.02, 0.01, 0.005, 0.002)
R, T = 8, 100.0
N_BINS = 50
WAYS = (
    "increments over dt, regressed",
    "the same, averaged in bins",
    "weak, pooled",
    "weak, stacked",
    "default",
)

Errors = dict[tuple[str, float], float]
"""Errors ĉ_x − c_x by way and step."""


def measure(seed: int, steps: Sequence[float] = STEPS) -> Errors:
    """Fit paths of every step."""
    errors: Errors = {}
    for dt in steps:
        start = np.random.default_rng([seed, 11]).uniform(-3, 3, R)
        paths = simulate(
            *COEFFICIENTS["ornstein-uhlenbeck"],
            start,
            dt=dt,
            n_steps=round(T / dt),
            seed=3000 + seed,
        )
        data = from_arrays(list(paths), dt)
        scales = measure_scales(data)
        system = stacked_system(
            data,
            scales,
            make_library((scales,)),
            make_kernels(scales, bandwidth=0.22, centre_range=(-2.5, 2.5)),
        )
        x, rate = paths[:, :-1].ravel(), (np.diff(paths) / dt).ravel()
        found = (
            float(x @ rate / (x @ x)),
            _binned(x, rate),
            float(least_squares(system.design.sum(axis=0), system.increments.sum(axis=0), [1])[1]),
            float(least_squares(system.rows, system.increments.ravel(), [1])[1]),
            by_default(data).drift["x"].active().get("x", 0.0),
        )
        for way, value in zip(WAYS, found, strict=True):
            errors[way, dt] = value + 1
    return errors


def _binned(x: Floats, rate: Floats) -> float:
    """Return the slope through the origin of the bins' means, weighted by their counts."""
    bins = np.clip(((x + 3) * N_BINS / 6).astype(int), 0, N_BINS - 1)
    count = np.bincount(bins, minlength=N_BINS)
    seen = count > 0
    mean_x, mean_rate = (np.bincount(bins, v, N_BINS)[seen] / count[seen] for v in (x, rate))
    return float((count[seen] * mean_x) @ mean_rate / ((count[seen] * mean_x) @ mean_x))


def part(each: Sequence[Errors]) -> Part:
    """Make the part of the document."""
    steps = sorted({dt for _, dt in each[0]}, reverse=True)
    measured = tuple(
        (f"{dt:g}", *(percent(rms([e[way, dt] for e in each]), 1) for way in WAYS)) for dt in steps
    )
    formulas = tuple(
        (
            f"{dt:g}",
            *(f"{v:.3g}" for snr in (5, 10, 20) for v in _formulas(dt, snr)),
            f"{_ratio(dt):.2e}",
        )
        for dt in steps
    )
    return Part(
        "Noise against the step",
        "figure fig:noise, section “Theoretical Noise Scaling”",
        (
            Table(
                f"Measured: rms error of OU's c_x over {len(each)} seeds, R = 8, T = 100, x alone "
                f"(default: as chosen). The bound is {percent(np.sqrt(2 / (R * T)), 1)} at every "
                "dt (a little less, for the starts up to ±3).",
                ("dt", *WAYS),
                measured,
            ),
            Table(
                "The paper's formulas: σ_obs/dt (KM) and σ_obs/√(N h_eff) (WF), σ_obs = "
                "0.495/SNR, and their ratio.",
                (
                    "dt",
                    *(f"{kind}, SNR {snr}" for snr in (5, 10, 20) for kind in ("KM", "WF")),
                    "ratio",
                ),
                formulas,
            ),
        ),
        (
            "The ratio 5·10⁴ compares the noise of one increment with the noise of a mean over "
            "all. Least squares on increments is a mean over all of them, too: Σ f ΔX/dt against "
            "Σ f f is, after a multiplication by dt, Σ f ΔX against Σ f f dt, the weak equations "
            "with the terms themselves for kernels. Its error does not depend on dt, and is the "
            "bound. What makes weak equations worth their while is elsewhere: other rules for "
            "coarse samples, instruments before the noise, state-dependent weights.",
        ),
        tuple(_claims(each, steps)),
    )


def _formulas(dt: float, snr: float) -> tuple[float, float]:
    observed = 0.495 / snr
    return observed / dt, float(observed / np.sqrt(T / dt * np.sqrt(np.pi / 2) * 0.22))


def _ratio(dt: float) -> float:
    first, second = _formulas(dt, 10)
    return first / second


def _claims(each: Sequence[Errors], steps: Sequence[float]) -> Iterator[Claim]:
    km, wf = (rms([e[way, steps[-1]] for e in each]) for way in (WAYS[0], WAYS[2]))
    yield Claim(
        "KM over WF noise exceeds 5·10⁴ at dt = 0.002",
        "fig:noise",
        "> 5·10⁴",
        f"{_ratio(0.002):.1e} by its formulas; of the errors of c_x: {km / wf:.2f}",
        "partly",
    )
    sizes = [rms([e[WAYS[0], dt] for e in each]) for dt in steps]
    yield Claim(
        "regressing increments gets noisier as dt → 0",
        "introduction, fig:noise",
        "∝ 1/dt",
        f"rms {percent(sizes[0])} at dt = {steps[0]:g}, {percent(sizes[-1])} at {steps[-1]:g}",
        verdict(sizes[-1] > 1.5 * sizes[0]),
    )
    weak = [rms([e[WAYS[2], dt] for e in each]) for dt in steps]
    yield Claim(
        "weak equations do not get noisier as dt → 0",
        "introduction",
        "bounded",
        f"pooled {number(100 * weak[0], 1)} % and {number(100 * weak[-1], 1)} %",
        verdict(weak[-1] < 1.5 * weak[0]),
    )
