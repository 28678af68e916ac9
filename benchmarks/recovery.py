"""Are the paper's three systems found at its settings, over HTTP, and how near to the bound?

    python -m benchmarks.recovery URL [--seeds 5] [--trajectories 120] [--only SYSTEM]

Euler–Maruyama paths (T = 100, dt = 0.002, starts uniform in [−3, 3]) go to a running service as
NPY; the jobs are the paper's preset and the default. One table: right supports out of seeds, then
for each true coefficient the mean and the root mean square of its relative error, beside the
Cramér–Rao bound and the error of maximum likelihood on these very paths. Exit status 1 where a
support is wrong, or where the default estimator's rms error of a drift coefficient is more than 1.5
times the bound.
"""

import argparse
import io
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx
import numpy as np
from numpy.typing import NDArray

from benchmarks.simulation import SYSTEMS as COEFFICIENTS
from benchmarks.simulation import simulate

Floats = NDArray[np.float64]
Terms = Mapping[str, float]

DT = 0.002
T = 100.0
ALLOWED = 1.5
"""Largest rms error of a drift coefficient in Cramér–Rao bounds.

An efficient estimator exceeds it on five seeds once in twenty times.
"""

POWERS = {"1": 0, "x": 1, "x^2": 2, "x^3": 3, "x^4": 4}


@dataclass(frozen=True)
class System:
    """System of the paper, and its parameters beside the preset."""

    drift: Terms
    diffusion: Terms
    paper: dict[str, Any] = field(default_factory=dict)


SYSTEMS = {
    "ornstein-uhlenbeck": System({"x": -1.0}, {"1": 0.49}),
    "double-well": System({"x": 1.0, "x^3": -1.0}, {"1": 0.25}),
    "multiplicative": System(
        {"x": -2.0},
        {"1": 0.25, "x^2": 0.25},
        {"kernels": {"range": [-2.8, 2.8], "bandwidth": 0.27}, "selection": {"threshold": 0.30}},
    ),
}


@dataclass(frozen=True)
class Limit:
    """Smallest errors of one coefficient, relative to it.

    bound       Cramér–Rao bound
    likeliest   error of maximum likelihood on the same paths
    """

    bound: float
    likeliest: float


Limits = dict[tuple[str, str], Limit]
"""Limits by component and term."""


def paths_of(name: str, n_trajectories: int, seed: int, duration: float = T) -> Floats:
    """Simulate (n_trajectories, n_samples) [state]; no two systems share their noise."""
    number = 100 * list(SYSTEMS).index(name) + seed
    start = np.random.default_rng([number, 1]).uniform(-3, 3, n_trajectories)
    return simulate(*COEFFICIENTS[name], start, dt=DT, n_steps=round(duration / DT), seed=number)


def jobs_of(name: str) -> dict[str, dict[str, Any]]:
    """Return the two jobs that are compared, without their dataset."""
    return {
        "paper": {"kind": "identification", "preset": "paper", "parameters": SYSTEMS[name].paper},
        "efficient": {"kind": "identification"},
    }


def limits_of(name: str, paths: Floats) -> Limits:
    """Return the smallest errors on these paths with known support and other coefficients.

    Drift:      information Σ f_k f_l Δt / a,   score Σ f_k (ΔX − bΔt) / a.
    Diffusion:  information Σ f_k f_l / 2a²,    score Σ f_k ((ΔX − bΔt)²/Δt − a) / 2a².
    """
    system, (drift, diffusion) = SYSTEMS[name], COEFFICIENTS[name]
    x = paths[:, :-1].ravel()
    a, noise = diffusion(x), np.diff(paths).ravel() - drift(x) * DT
    weighted = {
        "drift": (system.drift, DT / a, noise / a),
        "diffusion": (system.diffusion, 0.5 / a**2, (noise**2 / DT - a) / (2 * a**2)),
    }
    limits: Limits = {}
    for component, (terms, weight, score) in weighted.items():
        f = np.stack([x ** POWERS[term] for term in terms])
        covariance = np.linalg.inv((f * weight) @ f.T)
        errors = covariance @ (f @ score)
        for k, (term, value) in enumerate(terms.items()):
            limits[component, term] = Limit(
                float(np.sqrt(covariance[k, k]) / abs(value)), float(errors[k] / value)
            )
    return limits


def upload(client: httpx.Client, paths: Floats) -> str:
    """Upload the paths, each row a trajectory; return the id of the dataset."""
    body = io.BytesIO()
    np.save(body, paths)
    layout: dict[str, str | float] = {"dt": DT, "orientation": "rows"}
    response = client.post(
        "/v1/datasets",
        params=layout,
        content=body.getvalue(),
        headers={"Content-Type": "application/x-npy"},
    )
    return str(_success(response)["id"])


def result_of(client: httpx.Client, job: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result of a job, once it has ended. Raise RuntimeError where it has none."""
    wait = {"Prefer": "wait=30"}
    record = _success(client.post("/v1/jobs", json=job, headers=wait))
    while record["state"] in ("queued", "running"):
        record = _success(client.get(f"/v1/jobs/{record['id']}", headers=wait))
    if record["state"] != "succeeded":
        raise RuntimeError(f"job {record['id']} {record['state']}: {record['error']}")
    return _success(client.get(f"/v1/jobs/{record['id']}/result"))


def _success(response: httpx.Response) -> dict[str, Any]:
    if not response.is_success:
        raise RuntimeError(f"{response.status_code} {response.request.url}: {response.text}")
    body: dict[str, Any] = response.json()
    return body


def active_terms(result: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the active terms of drift and diffusion, by name."""
    components = {
        "drift": result["model"]["drift"]["x"],
        "diffusion": result["model"]["diffusion"]["x,x"],
    }
    return {
        name: {t["term"]: t for t in component["terms"] if t["active"]}
        for name, component in components.items()
    }


@dataclass
class Errors:
    """Errors of one estimator on one system, for each seed."""

    right: dict[str, int] = field(default_factory=lambda: {"drift": 0, "diffusion": 0})
    relative: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    limits: dict[tuple[str, str], list[Limit]] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)

    def add(self, system: System, result: Mapping[str, Any], limits: Limits) -> None:
        """Add one result. A term that was not found counts as zero, an error of 100 %."""
        self.seconds.append(result["provenance"]["seconds"])
        for component, found in active_terms(result).items():
            truth: Terms = getattr(system, component)
            self.right[component] += found.keys() == truth.keys()
            for term, value in truth.items():
                given = found[term]["value"] if term in found else 0.0
                self.relative.setdefault((component, term), []).append(given / value - 1)
                self.limits.setdefault((component, term), []).append(limits[component, term])

    def bound(self, coefficient: tuple[str, str]) -> float:
        """Return the rms of the Cramér–Rao bounds."""
        return rms([limit.bound for limit in self.limits[coefficient]])

    def likeliest(self, coefficient: tuple[str, str]) -> float:
        """Return the rms error of maximum likelihood."""
        return rms([limit.likeliest for limit in self.limits[coefficient]])


def measure(
    client: httpx.Client, name: str, n_seeds: int, n_trajectories: int
) -> dict[str, Errors]:
    """Return the errors of both estimators on `n_seeds` sets of paths."""
    errors = {estimator: Errors() for estimator in jobs_of(name)}
    for seed in range(n_seeds):
        paths = paths_of(name, n_trajectories, seed)
        limits, dataset = limits_of(name, paths), upload(client, paths)
        for estimator, job in jobs_of(name).items():
            errors[estimator].add(
                SYSTEMS[name], result_of(client, {**job, "dataset": dataset}), limits
            )
        client.delete(f"/v1/datasets/{dataset}").raise_for_status()
    return errors


def rms(values: list[float]) -> float:
    """Return the root mean square."""
    return float(np.sqrt(np.mean(np.square(values))))


def rows_of(name: str, estimator: str, errors: Errors, n_seeds: int) -> Iterator[str]:
    """Yield the lines of the table."""
    for coefficient, relative in errors.relative.items():
        component, term = coefficient
        yield (
            f"{name:19} {estimator:10} {component:10} {errors.right[component]:>2}/{n_seeds:<3} "
            f"{term:4} {100 * float(np.mean(relative)):+8.2f} % {100 * rms(relative):8.2f} % "
            f"{100 * errors.bound(coefficient):8.2f} % {100 * errors.likeliest(coefficient):8.2f} "
            f"% {float(np.mean(errors.seconds)):7.2f} s"
        )


def failures_of(name: str, estimator: str, errors: Errors, n_seeds: int) -> Iterator[str]:
    """Yield a line for each missed bar."""
    for component, right in errors.right.items():
        if right < n_seeds:
            yield (
                f"{name}, {estimator}: {component} has the right support in {right} of {n_seeds} "
                "seeds"
            )
    for coefficient, relative in errors.relative.items():
        component, term = coefficient
        ratio, likeliest = (
            value / errors.bound(coefficient)
            for value in (rms(relative), errors.likeliest(coefficient))
        )
        if estimator == "efficient" and component == "drift" and ratio > ALLOWED:
            yield (
                f"{name}, {estimator}: rms error of {term} is {ratio:.2f} times the bound, allowed "
                f"are {ALLOWED}; maximum likelihood has {likeliest:.2f} on the same paths"
            )


def main() -> int:
    """Print the table; return 1 where a bar is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("url")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--trajectories", type=int, default=120)
    parser.add_argument("--only", choices=SYSTEMS)
    parser.add_argument("--key", help="API key")
    options = parser.parse_args()
    headers = {"Authorization": f"Bearer {options.key}"} if options.key else {}
    print(
        f"{'system':19} {'estimator':10} {'component':10} {'right':6} {'term':4} "
        f"{'mean error':>10} {'rms error':>10} {'bound':>10} {'likeliest':>10} {'job':>9}"
    )
    failures: list[str] = []
    with httpx.Client(base_url=options.url, headers=headers, timeout=120) as client:
        for name in [options.only] if options.only else SYSTEMS:
            for estimator, errors in measure(
                client, name, options.seeds, options.trajectories
            ).items():
                print(*rows_of(name, estimator, errors, options.seeds), sep="\n", flush=True)
                failures += failures_of(name, estimator, errors, options.seeds)
    print(*failures or ["every bar is met"], sep="\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
