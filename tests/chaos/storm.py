"""Jobs are sent while everything goes wrong; then it is counted what became of them."""

import random
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx

from contract.results import GeneratorResult
from storage.stores import StoreUnavailable
from tests.chaos.faults import Fault
from tests.chaos.installation import LEASE, Installation
from tests.chaos.stub import answer_to

SENDERS = 8
SHARED_OUT = 5
"""One job in so many is shared out among the workers."""
LATE = 3 * LEASE
"""Seconds after the last job's end during which a late commit would show."""
AFTERWARDS = LEASE + 30.0
"""Seconds after the last fault within which every accepted job must have ended."""


@dataclass(slots=True)
class Count:
    """What became of the jobs. All but the first three and the last must be 0.

    accepted   jobs for which the service said 202 (or 200)
    faults     by name
    seconds    from the last fault to the end of the last job
    lost       accepted, and now unknown
    stuck      not ended in time
    wrong      ended otherwise than with the one right answer
    twice      ended more than once
    doubled    sent once and recorded as two jobs
    rerun      computed more often than needed; allowed, as long as only one counts
    """

    accepted: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    lost: int = 0
    stuck: int = 0
    wrong: int = 0
    twice: int = 0
    doubled: int = 0
    rerun: int = 0

    @property
    def broken_promises(self) -> dict[str, int]:
        """What must not be."""
        found = {
            name: getattr(self, name) for name in ("lost", "stuck", "wrong", "twice", "doubled")
        }
        return {name: number for name, number in found.items() if number}


def storm(
    installation: Installation,
    jobs: int,
    faults: Sequence[Fault],
    seed: int = 0,
    *,
    rounds: int = 1,
    seconds: float | None = None,
) -> Count:
    """Send so many jobs while each fault happens `rounds` times, in random order, and longer as
    long as jobs are being sent.

    seconds   that each job takes; a quarter of a second on the average if not said, and one in five
              is shared out, a second long
    """
    accepted: dict[str, str] = {}
    questions = iter(range(jobs))
    lock = threading.Lock()
    count, chance = Count(), random.Random(seed)
    senders = [
        threading.Thread(target=_send, args=(installation, questions, lock, accepted, seconds))
        for _ in range(SENDERS)
    ]
    for sender in senders:
        sender.start()
    planned = [fault for fault in faults for _ in range(rounds)]
    chance.shuffle(planned)
    while planned or (faults and any(sender.is_alive() for sender in senders)):
        fault = planned.pop() if planned else chance.choice(faults)
        fault(installation, chance)
        count.faults[fault.__name__] += 1
        time.sleep(chance.uniform(0.2, 1.0))
    installation.heal()
    last_fault = time.monotonic()
    for sender in senders:
        sender.join()
    count.accepted = len(accepted)
    _judge(installation, accepted, last_fault, count)
    return count


def _send(
    installation: Installation,
    questions: Any,
    lock: threading.Lock,
    accepted: dict[str, str],
    seconds: float | None,
) -> None:
    chance = random.Random()
    while True:
        with lock:
            number = next(questions, None)
        if number is None:
            return
        question = f"question {number}"
        labels = {
            "question": question,
            "seconds": f"{chance.expovariate(4) if seconds is None else seconds:.3f}",
        }
        variables = ["x"]
        if seconds is None and number % SHARED_OUT == 0:
            labels["shards"], labels["seconds"] = (
                str(chance.randint(2, 9)),
                f"{chance.uniform(0.5, 2):.3f}",
            )
            # Of two variables it counts as a large job: those who ask for help with it do not stand
            # in the others' line.
            variables = ["x", "y"]
        body = {
            "kind": "generator",
            "model": {
                "drift": {v: {v: -1} for v in variables},
                "diffusion": {f"{v},{v}": {"1": 1} for v in variables},
            },
            "labels": labels,
        }
        while True:  # as a client should: the same key until there is an answer
            try:
                # Plain HTTP: else each request would read all certificates anew, for longer than it
                # takes itself.
                options = {"timeout": 10, "trust_env": False, "verify": False}
                answer = httpx.post(
                    f"{installation.url}/v1/jobs",
                    json=body,
                    headers={"Idempotency-Key": question},
                    **options,
                )
            except httpx.HTTPError:
                time.sleep(0.2)
                continue
            if answer.status_code in (200, 202):
                with lock:
                    accepted[question] = answer.json()["id"]
                break
            assert answer.status_code in (503, 507), answer.text
            time.sleep(0.2)


def _judge(
    installation: Installation, accepted: dict[str, str], since: float, count: Count
) -> None:
    open_jobs = set(accepted.values())
    while open_jobs and time.monotonic() - since < AFTERWARDS:
        for job_id in list(open_jobs):
            record = _patiently(installation.jobs.get, "default", job_id)
            if record is None or record.terminal:
                open_jobs.discard(job_id)
        time.sleep(0.1)
    count.seconds, count.stuck = time.monotonic() - since, len(open_jobs)
    time.sleep(LATE)
    for question, job_id in accepted.items():
        record = _patiently(installation.jobs.get, "default", job_id)
        if record is None:
            count.lost += 1
            continue
        ends = [
            event
            for event in _patiently(installation.jobs.events, "default", job_id) or ()
            if event.state == "succeeded"
        ]
        count.twice += len(ends) > 1
        name = _patiently(installation.jobs.result_name, "default", job_id)
        body = installation.results.get("default", name) if name else None
        found = (
            None
            if body is None
            else GeneratorResult.model_validate_json(body).provenance.parameters["answer"]
        )
        count.wrong += record.terminal and found != answer_to(question)
    listed, cursor = 0, None
    while True:
        page, cursor = installation.jobs.list("default", limit=200, cursor=cursor)
        listed += len(page)
        if cursor is None:
            break
    count.doubled = max(0, listed - len(accepted))
    runs = installation.folder / "runs"
    lines = runs.read_text("ascii").split("\n") if runs.exists() else []
    count.rerun = max(0, len([line for line in lines if line]) - len(accepted))


def _patiently(ask: Any, *arguments: Any) -> Any:
    for _ in range(100):
        try:
            return ask(*arguments)
        except StoreUnavailable:
            time.sleep(0.1)
    return ask(*arguments)
