"""How many callers and jobs does one installation on this machine bear, and how long do they wait?

    python -m benchmarks.load [--clients 200] [--jobs 5000] [--models 1000]
                              [--identifications 300] [--ramp 5]

An installation of its own: Valkey with a log synced at every write, the service, one worker of two
processes. The clients are one more process, on the same cores; the CPU time of each is printed.

  submit      POST /v1/jobs, from the first byte sent to the answer
  long poll   GET with `Prefer: wait=30`: from the end of the job, by its record, to the answer
  look        GET without waiting, of every tenth job
  overhead    one client, one trivial job at a time: from POST to the result, by one long poll
  backlog     jobs that were all accepted while the worker was stopped: the worker's speed alone
"""

import argparse
import asyncio
import gc
import signal
import ssl
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from os import getloadavg, sysconf
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from contract.records import TERMINAL
from tests.chaos.installation import Installation, installed

TRIVIAL = {
    "kind": "generator",
    "model": {"drift": {"x": {"1": 0}}, "diffusion": {"x,x": {"1": 1}}},
}
"""Brownian motion: its analysis takes a few milliseconds, so all else is measured."""
ANALYSIS = {
    "kind": "generator",
    "model": {"drift": {"x": {"x": -1}}, "diffusion": {"x,x": {"1": 1}}},
}
"""Ornstein-Uhlenbeck process: spectrum, stationary distribution and correlations are computed."""
N_SAMPLES, DT = 2000, 0.05
WAIT_SECONDS = 30
PATIENCE_SECONDS = 60.0
LOOK_EVERY = 10
MOST_IN_LINE = 500
"""Most jobs of a backlog."""
PLAIN = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""One context for all clients, as nothing is encrypted: making one for each delays all others."""


@dataclass(slots=True)
class Measured:
    """Seconds of single requests, and counts of errors by kind."""

    submits: list[float] = field(default_factory=list)
    polls: list[float] = field(default_factory=list)
    looks: list[float] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0


def main() -> None:
    """Start an installation, measure it and print the results."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=5000)
    parser.add_argument(
        "--ramp", type=float, default=5.0, help="seconds in which the clients arrive"
    )
    parser.add_argument(
        "--models", type=int, default=1000, help="identifications that ask for the model alone"
    )
    parser.add_argument("--identifications", type=int, default=300)
    parser.add_argument("--trivial", type=int, default=50)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # Leaves nothing running.
    print(f"load of the machine before: {getloadavg()[0]:.2f}")
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        installed(Path(folder) / "installation", workers=1, stub=None, lease=30.0) as installation,
    ):
        asyncio.run(measure(installation, options))


async def measure(installation: Installation, options: argparse.Namespace) -> None:
    """Run all measurements and print each as it is found."""
    async with connected(installation.url) as client:
        dataset = await uploaded(client)
        identification = {"kind": "identification", "dataset": dataset}
        model = identification | {"analysis": {"model_only": True}}
        kinds = [
            TRIVIAL,
            ANALYSIS,
            *([model] if options.models else []),
            *([identification] if options.identifications else []),
        ]
        for job in kinds * 4:  # Each of the worker's processes loads and compiles.
            await overhead(client, job)
        for what, job in (("a trivial job", TRIVIAL), ("the analysis of one model", ANALYSIS)):
            took = np.array([await overhead(client, job) for _ in range(options.trivial)])
            print(
                f"overhead of {what}: p50 {1e3 * np.median(took):.1f} ms, p99 "
                f"{1e3 * np.quantile(took, 0.99):.1f} ms",
                flush=True,
            )
        for what, job in (("the model alone", model), ("a small identification", identification)):
            if job in kinds:
                alone = np.array([await overhead(client, job) for _ in range(5)])
                print(
                    f"{what}, nothing else running: p50 {1e3 * np.median(alone):.0f} ms", flush=True
                )
    for what, job, jobs in (
        ("trivial jobs", TRIVIAL, options.jobs),
        (f"identifications of {N_SAMPLES} samples, the model alone", model, options.models),
        (f"identifications of {N_SAMPLES} samples", identification, options.identifications),
    ):
        if not jobs:
            continue
        clients = min(options.clients, jobs)
        before, stages = cpu_seconds(installation), installation.jobs.tally().stages
        found = await load(installation.url, job, jobs, clients, options.ramp)
        used = {
            name: seconds - before.get(name, 0.0)
            for name, seconds in cpu_seconds(installation).items()
        }
        show(f"{jobs} {what}, {clients} clients", found, jobs, used)
        stays = (
            f"{name} {milliseconds:.0f} ms" for name, milliseconds in spent(stages, installation)
        )
        print("  a job stays: " + ", ".join(stays), flush=True)
        await backlog(installation, what, job, min(jobs, MOST_IN_LINE))
    print(f"load of the machine after: {getloadavg()[0]:.2f}")


async def load(url: str, job: dict[str, Any], jobs: int, clients: int, ramp: float) -> Measured:
    """Run clients, each with one job at a time, until all jobs are done."""
    found, left = Measured(), iter(range(jobs))
    begun = time.monotonic()
    # Otherwise the clients' own garbage collection is measured while they arrive, not the service.
    gc.collect()
    gc.freeze()

    async def client(number: int) -> None:
        await asyncio.sleep(ramp * number / clients)
        async with connected(url) as connection:
            for turn in left:
                try:
                    await one(connection, job, found, look=turn % LOOK_EVERY == 0)
                except httpx.HTTPStatusError as error:
                    found.errors[f"{error.request.method} {error.response.status_code}"] += 1
                except httpx.HTTPError as error:
                    found.errors[type(error).__name__] += 1

    await asyncio.gather(*(client(number) for number in range(clients)))
    found.seconds = time.monotonic() - begun
    return found


async def backlog(installation: Installation, what: str, job: dict[str, Any], jobs: int) -> None:
    """Measure how fast the worker does jobs that stand in line."""
    worker = installation.workers[0]
    worker.signal_group(signal.SIGSTOP)
    try:
        async with connected(installation.url) as client:
            for _ in range(jobs):
                (await client.post("/v1/jobs", json=job)).raise_for_status()
    finally:
        worker.signal_group(signal.SIGCONT)
    begun, before = time.monotonic(), cpu_seconds(installation)
    while (tally := installation.jobs.tally()).queued + tally.running:
        await asyncio.sleep(0.05)
    seconds = time.monotonic() - begun
    used = {
        name: 1e3 * (now - before[name]) / jobs for name, now in cpu_seconds(installation).items()
    }
    spent = ", ".join(f"{name} {used[name]:.1f} ms" for name in ("worker", "store"))
    print(
        f"  backlog of {jobs} {what}: {jobs / seconds:.1f} jobs/s; CPU a job: {spent}", flush=True
    )


async def one(
    client: httpx.AsyncClient, job: dict[str, Any], found: Measured, *, look: bool
) -> None:
    """Run one job from its submission to its end."""
    begun = time.perf_counter()
    answer = await client.post("/v1/jobs", json=job, headers={"Idempotency-Key": uuid.uuid4().hex})
    found.submits.append(time.perf_counter() - begun)
    answer.raise_for_status()
    address = answer.headers["location"]
    record = answer.json()
    answered = asked = time.time()
    while record["state"] not in TERMINAL:
        asked = time.time()
        answer = await client.get(address, headers={"Prefer": f"wait={WAIT_SECONDS}"})
        answered = time.time()
        answer.raise_for_status()
        record = answer.json()
    if record["state"] != "succeeded":
        found.errors[record["state"]] += 1
    # Where the job ended before it was asked for, the answer was due when it was asked for.
    found.polls.append(
        answered - max(asked, datetime.fromisoformat(record["finished_at"]).timestamp())
    )
    if look:
        begun = time.perf_counter()
        (await client.get(address)).raise_for_status()
        found.looks.append(time.perf_counter() - begun)


async def overhead(client: httpx.AsyncClient, job: dict[str, Any]) -> float:
    """Return the seconds from the job to its result."""
    begun = time.perf_counter()
    answer = await client.post("/v1/jobs", json=job)
    answer.raise_for_status()
    address = answer.headers["location"]
    while answer.json()["state"] not in TERMINAL:
        answer = await client.get(address, headers={"Prefer": f"wait={WAIT_SECONDS}"})
        answer.raise_for_status()
    (await client.get(f"{address}/result")).raise_for_status()
    return time.perf_counter() - begun


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[httpx.AsyncClient]:
    """Open a client without proxies."""
    async with httpx.AsyncClient(
        base_url=url, timeout=PATIENCE_SECONDS, trust_env=False, verify=PLAIN
    ) as client:
        yield client


async def uploaded(client: httpx.AsyncClient) -> str:
    """Upload a short record of an Ornstein-Uhlenbeck process, dX = -X dt + √2 dW; return its id."""
    noise, decay = np.random.default_rng(0).standard_normal(N_SAMPLES), np.exp(-DT)
    x = [float(noise[0])]
    for kick in noise[1:]:
        x.append(decay * x[-1] + np.sqrt(1 - decay**2) * float(kick))
    rows = "".join(f"{i * DT:.4f},{value:.9f}\n" for i, value in enumerate(x))
    answer = await client.post(
        "/v1/datasets", content=f"t,x\n{rows}", headers={"Content-Type": "text/csv"}
    )
    answer.raise_for_status()
    return str(answer.json()["id"])


def cpu_seconds(installation: Installation) -> dict[str, float]:
    """Return the CPU time of each part so far, the clients' among them [s]."""
    store = installation.store.process
    assert store is not None
    parts = {
        "store": store.pid,
        "service": installation.service.process.pid,
        "worker": installation.workers[0].process.pid,
    }
    used = {name: sum(_cpu(pid) for pid in _family(pid)) for name, pid in parts.items()}
    return used | {"clients": time.process_time()}


def _family(pid: int) -> Iterator[int]:
    yield pid
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        yield from _family(int(child))


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    # User and system time, its own and that of children that have ended.
    return sum(int(ticks) for ticks in fields[11:15]) / sysconf("SC_CLK_TCK")


def spent(
    before: Mapping[str, tuple[int, float]], installation: Installation
) -> Iterator[tuple[str, float]]:
    """Yield the mean time in each stage since `before` [ms]."""
    for name, (number, seconds) in installation.jobs.tally().stages.items():
        number_before, seconds_before = before.get(name, (0, 0.0))
        if number > number_before:
            yield name, 1e3 * (seconds - seconds_before) / (number - number_before)


def show(title: str, found: Measured, jobs: int, used: dict[str, float]) -> None:
    """Print one measurement."""
    print(f"\n{title}: {jobs / found.seconds:.1f} jobs/s in {found.seconds:.1f} s")
    print(f"  errors: {dict(found.errors) or 0}")
    for name, seconds in (
        ("submit", found.submits),
        ("long poll", found.polls),
        ("look", found.looks),
    ):
        if seconds:
            p50, p99, most = 1e3 * np.quantile(seconds, [0.5, 0.99, 1])
            print(
                f"  {name:10} p50 {p50:6.1f} ms   p99 {p99:6.1f} ms   most {most:6.1f} ms   of "
                f"{len(seconds)}"
            )
    print(
        "  CPU a job: "
        + ", ".join(f"{name} {1e3 * seconds / jobs:.1f} ms" for name, seconds in used.items()),
        flush=True,
    )


if __name__ == "__main__":
    main()
