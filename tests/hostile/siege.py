"""Hostile uploads sent to a running service, and their effects."""

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import httpx
from pydantic import ValidationError

from contract.problems import Problem
from tests.acceptance.served import Served, descendants, finished
from tests.hostile.uploads import CSV, Upload

TRACE = Path("/tmp/itoscope-was-here")
"""File that a pickle leaves where it is opened."""


@dataclass(slots=True)
class Siege:
    """Effects of the uploads.

    grown      largest growth of the serving process [byte]
    slowest    time of the slowest answer [s]
    breaches   sentences about answers and events that should not occur
    canary     state in which an ordinary job ended afterwards
    """

    sent: int = 0
    grown: float = 0.0
    slowest: float = 0.0
    breaches: list[str] = field(default_factory=list)
    canary: str = ""


def besiege(served: Served, uploads: Iterable[Upload]) -> Siege:
    """Send all uploads, one after the other."""
    siege, service = Siege(), serving_process(served)
    with served.client() as client:
        client.post(
            "/v1/datasets", content=CSV, headers={"Content-Type": "text/csv"}
        ).raise_for_status()
        idle = memory(service)
        for upload in uploads:
            started = time.monotonic()
            headers = {"Content-Type": upload.media_type}
            answer = client.post(
                "/v1/datasets", params=upload.query, content=upload.body, headers=headers
            )
            siege.sent += 1
            siege.slowest = max(siege.slowest, time.monotonic() - started)
            siege.grown = max(siege.grown, memory(service) - idle)
            breach = _breach(upload, answer)
            if breach:
                siege.breaches.append(f"{upload.name}: {breach}")
        siege.canary = _canary(client)
    if serving_process(served) != service:
        siege.breaches.append("the service was started again")
    if TRACE.exists():
        siege.breaches.append("a pickle was opened")
    return siege


def serving_process(served: Served) -> int:
    """Return the id of the process that serves HTTP."""
    (pid,) = [
        pid
        for pid, command in descendants(served.process.pid).items()
        if command.endswith("-m service")
    ]
    return pid


def memory(pid: int) -> float:
    """Return the resident memory of a process [byte]."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096.0


def _breach(upload: Upload, answer: httpx.Response) -> str | None:
    if answer.status_code >= 500:
        return f"answered {answer.status_code}"
    if answer.status_code < 400:
        return None if upload.harmless else "was read"
    try:
        problem = Problem.model_validate_json(answer.content)
    except ValidationError:
        return "the refusal is no problem document"
    explained = problem.detail and problem.status == answer.status_code
    return None if explained else "the refusal says nothing"


def _canary(client: httpx.Client) -> str:
    model = {"drift": {"x": {"x": -1}}, "diffusion": {"x,x": {"1": 1}}}
    answer = client.post("/v1/jobs", json={"kind": "generator", "model": model})
    return str(finished(client, answer.raise_for_status().json()["id"])["state"])
