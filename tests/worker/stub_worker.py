"""A real worker with a stub computation: `python stub_worker.py`, controlled by each job's labels.

sleep     seconds of the first attempt; later attempts answer at once
die       the first attempt kills its own process
take      bytes that every attempt takes

`STUB_TAKE_UP_LOOKS`: in how many looks a child must have taken up its message.
"""

import os
import signal
import sys
import time
from contextlib import AbstractContextManager

from contract.results import Component, GeneratorAnalysis, GeneratorResult, Model, Provenance
from storage.stores import Claim, Stores
from worker.fan_out.shards import Share, Sum
from worker.progress import Report
from worker.queue import liveness
from worker.queue.app import run
from worker.queue.settings import WorkerSettings
from worker.queue.tasks import Computation


def execute(claim: Claim, stores: Stores, report: Report, share: Share) -> GeneratorResult:
    """Sleeps, dies, and answers with what it saw of its surroundings."""
    report(0.5, "sleeping", "")
    taken = bytes(int(claim.job.labels.get("take", "0")))
    if claim.attempt == 1:
        if "die" in claim.job.labels:
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(float(claim.job.labels.get("sleep", "0")))
    surroundings = {
        "numba_threads": os.environ["NUMBA_NUM_THREADS"],
        "numpy_imported": "numpy" in sys.modules,
        "attempt": claim.attempt,
        "taken": len(taken),
        "pid": os.getpid(),
    }
    return GeneratorResult(
        job=claim.job_id,
        model=Model(
            drift={"x": Component(expression="-x", terms=())},
            diffusion={"x,x": Component(expression="1", terms=())},
        ),
        generator=GeneratorAnalysis(ergodic=True),
        provenance=Provenance(version="stub", parameters=surroundings, seconds=0.0),
    )


def nobody(claim: Claim, stores: Stores, work: bytes, shards: int) -> AbstractContextManager[Sum]:
    """Its jobs have no shards."""
    raise AssertionError("nobody asked for help")


if __name__ == "__main__":
    settings = WorkerSettings()
    liveness.TAKE_UP_LOOKS = int(os.environ.get("STUB_TAKE_UP_LOOKS", liveness.TAKE_UP_LOOKS))
    sys.exit(run(settings, Computation(execute, nobody, settings.job_memory_bytes)))
