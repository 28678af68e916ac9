"""Execution of a claimed job by the procedure of its kind, and help with the sums of another."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from contract.jobs import DataJob
from contract.results import Result
from storage.stores import Claim, Stores
from worker.fan_out.serialization import unpack
from worker.fan_out.shards import Share, Sum
from worker.fan_out.summing import packed_sums, summing_with
from worker.generator.errors import GeneratorError
from worker.identification.errors import IdentificationError
from worker.jobs.kinds import PROCEDURES
from worker.jobs.problems import JobProblem, of_core
from worker.jobs.sources import record_of
from worker.progress import Report


def execute(
    claim: Claim, stores: Stores, report: Report, share: Share, fan_out_increments: float
) -> Result:
    """Compute a job's result.

    fan_out_increments   a pass over more increments is shared among workers

    Raises JobProblem where data or model do not allow it, and what `report` and `share` raise.
    """
    begun = time.monotonic()
    job, procedure = claim.job, PROCEDURES[claim.job.kind]
    try:
        with procedure.load(claim.tenant, job, stores) as source:
            found = procedure.compute(job, source, report, summing_with(share, fan_out_increments))
        report(0.95, "writing", "result")
        return procedure.describe(claim.job_id, job, source, found, time.monotonic() - begun)
    except (IdentificationError, GeneratorError) as error:
        raise JobProblem(of_core(error)) from error


@contextmanager
def helper(claim: Claim, stores: Stores, work: bytes, shards: int) -> Iterator[Sum]:
    """Yield the function that sums shards of another's job. Raises JobProblem without its data."""
    assert isinstance(claim.job, DataJob), "no other job has data"
    with record_of(claim.tenant, claim.job, stores) as record:
        yield partial(packed_sums, unpack(work, record.data), shards)
