"""How long does a batch of many records take, and what does a killed worker cost?

    python -m benchmarks.batch [--records 1000] [--samples 6000] [--kill 0.4]

An installation of its own: Valkey with a log synced at every write, the service, one worker of two
processes. The records are trajectories of one dataset, Ornstein-Uhlenbeck processes of rate 1; the
model alone is asked for. After a share of the jobs the worker and its processes are killed and
started again, as a supervisor does. Every result is compared with the truth: rate and diffusion
within five of their standard errors.
"""

import argparse
import io
import signal
import sys
import tempfile
import time
from collections import Counter
from os import getloadavg
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from benchmarks.load import cpu_seconds
from tests.chaos.installation import Installation, installed

DT = 0.05
JOB = {"kind": "identification", "analysis": {"model_only": True}}
FAR = 5.0
"""Standard errors from the truth beyond which a result is called wrong; 6e-7 by chance."""


def main() -> None:
    """Start an installation, run the batch and print what it took."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", type=int, default=1000)
    parser.add_argument("--samples", type=int, default=6000)
    parser.add_argument(
        "--kill", type=float, default=0.4, help="share of the jobs after which the worker is killed"
    )
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # Leaves nothing running.
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        installed(Path(folder) / "installation", workers=1, stub=None, lease=10.0) as installation,
        httpx.Client(base_url=installation.url, timeout=120, trust_env=False) as client,
    ):
        dataset = uploaded(client, options.records, options.samples)
        warmed_up(client, dataset)
        measure(installation, client, dataset, options)


def uploaded(client: httpx.Client, records: int, samples: int) -> str:
    """Upload exactly sampled paths of dX = −X dt + √2 dW as one array; return the dataset's id."""
    decay = np.exp(-DT)
    noise = np.random.default_rng(1).standard_normal((samples, records))
    x = noise[:1].repeat(samples, axis=0)
    for k in range(1, samples):
        x[k] = decay * x[k - 1] + np.sqrt(1 - decay**2) * noise[k]
    body = io.BytesIO()
    np.save(body, x.T)
    begun = time.perf_counter()
    answer = client.post(
        "/v1/datasets",
        params={"axes": "nt", "dt": DT},
        content=body.getvalue(),
        headers={"Content-Type": "application/octet-stream"},
    )
    answer.raise_for_status()
    print(f"upload of {body.tell() / 1e6:.0f} MB: {time.perf_counter() - begun:.1f} s", flush=True)
    return str(answer.json()["id"])


def warmed_up(client: httpx.Client, dataset: str) -> None:
    """Let each of the worker's processes load and compile."""
    body = {"dataset": dataset, "trajectories": list(range(8)), "job": JOB}
    batch = client.post("/v1/batches", json=body).raise_for_status().json()
    while batch["counts"]["queued"] + batch["counts"]["running"]:
        answer = client.get(f"/v1/batches/{batch['id']}", headers={"Prefer": "wait=30"})
        batch = answer.raise_for_status().json()


def measure(
    installation: Installation, client: httpx.Client, dataset: str, options: argparse.Namespace
) -> None:
    """Run the batch, kill the worker once, and print times and results."""
    before, load = cpu_seconds(installation), getloadavg()[0]
    begun = time.perf_counter()
    answer = client.post("/v1/batches", json={"dataset": dataset, "job": JOB})
    answer.raise_for_status()
    accepted, batch = time.perf_counter() - begun, answer.json()
    used: dict[str, float] = {}
    killed_at, looks = None, []
    while batch["counts"]["queued"] + batch["counts"]["running"]:
        time.sleep(0.25)
        began = time.perf_counter()
        batch = client.get(f"/v1/batches/{batch['id']}", params={"limit": 1}).json()
        looks.append(time.perf_counter() - began)
        done = batch["counts"]["succeeded"] + batch["counts"]["failed"]
        if 0 < options.kill < 1 and killed_at is None and done >= options.kill * options.records:
            used = cpu_seconds(installation)
            killed_at = done
            worker = installation.workers[0]
            worker.kill()
            worker.start()
            # The new worker's processes count from zero.
            before["worker"] -= used["worker"]
    seconds = time.perf_counter() - begun
    used = {name: now - before[name] for name, now in cpu_seconds(installation).items()}
    print(
        f"{options.records} records of {options.samples} samples: {seconds:.1f} s "
        f"({options.records / seconds:.1f} a second), accepted after {1e3 * accepted:.0f} ms; load "
        f"of the machine {load:.1f} before, {getloadavg()[0]:.1f} after"
    )
    if killed_at is not None:
        print(f"the worker was killed after {killed_at} jobs")
    print(
        "CPU a job: "
        + ", ".join(f"{name} {1e3 * s / options.records:.1f} ms" for name, s in used.items())
    )
    print(f"a look at the batch: p50 {1e3 * np.median(looks):.0f} ms, most {1e3 * max(looks):.0f}")
    judged(client, batch["id"])


def judged(client: httpx.Client, batch_id: str) -> None:
    """Compare every row with the truth, and print what is wrong or was made twice."""
    rows: list[dict[str, Any]] = []
    cursor: str | None = "0"
    while cursor is not None:
        page = client.get(f"/v1/batches/{batch_id}", params={"limit": 200, "cursor": cursor}).json()
        rows += page["rows"]
        cursor = page["next_cursor"]
    begun = time.perf_counter()
    table = client.get(f"/v1/batches/{batch_id}", params={"format": "csv"}).raise_for_status()
    took = time.perf_counter() - begun
    print(f"table of {len(table.text.splitlines()) - 1} rows as CSV: {1e3 * took:.0f} ms")
    jobs = {row["job"] for row in rows}
    listed = client.get("/v1/jobs", params={"label.batch": batch_id, "limit": 200}).json()
    print(
        f"states: {dict(Counter(row['state'] for row in rows))}; attempts: "
        f"{dict(Counter(row['attempt'] for row in rows))}; jobs: {len(jobs)} of {len(rows)} rows, "
        f"first page {len(listed['items'])}"
    )
    wrong, extra = 0, 0
    for row in rows:
        values = row["values"]
        for name, truth in (("drift.x:x", -1.0), ("diffusion.x,x:1", 2.0)):
            value, error = values.get(name), values.get(f"{name}:std_error")
            wrong += value is None or error is None or abs(value - truth) > FAR * error
        extra += values.get("drift.x:x^3") is not None
    print(f"coefficients further than {FAR:g} standard errors from the truth, or absent: {wrong}")
    print(f"drifts with a term too many (x^3): {extra}")


if __name__ == "__main__":
    main()
