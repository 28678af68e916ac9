"""A real worker whose computation can be told right from wrong: it takes as long as the job's label
`seconds` says, writes its name into `runs`, and answers with a hash of the label `question`. A job
with the label `shards` is shared out in so many, and answers so only if each of them is there, in
its place.
"""

import hashlib
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from contract.results import Component, GeneratorAnalysis, GeneratorResult, Model, Provenance
from storage.stores import Claim, Stores
from worker.fan_out.shards import LeaseCheck, Share, Sum
from worker.progress import Report
from worker.queue.app import run
from worker.queue.settings import WorkerSettings
from worker.queue.tasks import Computation

STEPS = 5
PASSES = 2


def answer_to(question: str) -> str:
    """The one right answer."""
    return hashlib.sha256(question.encode()).hexdigest()


def execute(claim: Claim, stores: Stores, report: Report, share: Share) -> GeneratorResult:
    """Works for a while, reporting, and answers."""
    seconds, question, shards = (
        float(claim.job.labels["seconds"]),
        claim.job.labels["question"],
        claim.job.labels.get("shards"),
    )
    answer = answer_to(question)
    if shards is None:
        for step in range(STEPS):
            report(step / STEPS, f"step {step}", "")
            time.sleep(seconds / STEPS)
    else:
        total = int(shards)
        for turn in range(PASSES):
            work = f"{question} {turn}".encode()
            parts = share(work, total, partial(_part, work, seconds / total / PASSES))
            if list(parts) != [_right(work, number) for number in range(total)]:
                answer = "parts are missing, or not in their places"
    with open(os.environ["CHAOS_RUNS"], "a", encoding="ascii") as runs:
        runs.write(f"{claim.job_id} {claim.attempt}\n")
    return GeneratorResult(
        job=claim.job_id,
        model=Model(
            drift={"x": Component(expression="-x", terms=())},
            diffusion={"x,x": Component(expression="1", terms=())},
        ),
        generator=GeneratorAnalysis(ergodic=True),
        provenance=Provenance(version="chaos", parameters={"answer": answer}, seconds=0.0),
    )


@contextmanager
def helper(claim: Claim, stores: Stores, work: bytes, shards: int) -> Iterator[Sum]:
    """Works for as long as the runner would."""
    yield partial(_part, work, float(claim.job.labels["seconds"]) / shards / PASSES)


def _part(work: bytes, seconds: float, number: int, check_lease: LeaseCheck) -> bytes:
    check_lease()
    time.sleep(seconds)
    return _right(work, number)


def _right(work: bytes, number: int) -> bytes:
    return hashlib.sha256(work + b" %d" % number).digest()


COMPUTATION = Computation(execute, helper)

if __name__ == "__main__":
    sys.exit(run(WorkerSettings(), COMPUTATION))
