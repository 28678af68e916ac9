"""A real worker whose computation can be told right from wrong: it takes as long as the job's label `seconds` says, writes its
name into `runs`, and answers with a hash of the label `question`. Once in a while it holds the GIL, as native code does.
"""

import hashlib
import os
import sys
import time

from contract.results import Component, GeneratorAnalysis, GeneratorResult, Model, Provenance
from storage.stores import Claim, Stores
from worker.app import run
from worker.settings import WorkerSettings
from worker.tasks import Report

STEPS = 5


def answer_to(question: str) -> str:
    """The one right answer."""
    return hashlib.sha256(question.encode()).hexdigest()


def execute(claim: Claim, stores: Stores, report: Report) -> GeneratorResult:
    """Works for a while, reporting, and answers."""
    seconds = float(claim.job.labels["seconds"])
    for step in range(STEPS):
        report(step / STEPS, f"step {step}", "")
        time.sleep(seconds / STEPS)
    with open(os.environ["CHAOS_RUNS"], "a", encoding="ascii") as runs:
        runs.write(f"{claim.job_id} {claim.attempt}\n")
    return GeneratorResult(
        job=claim.job_id,
        model=Model(drift={"x": Component(expression="-x", terms=())}, diffusion={"x,x": Component(expression="1", terms=())}),
        generator=GeneratorAnalysis(ergodic=True),
        provenance=Provenance(version="chaos", parameters={"answer": answer_to(claim.job.labels["question"])}, seconds=0.0),
    )


if __name__ == "__main__":
    sys.exit(run(WorkerSettings(), execute))
