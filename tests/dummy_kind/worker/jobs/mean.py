"""The mean of each variable → the document."""

import numpy as np
from numpy.typing import NDArray

from contract.mean import MeanJob, MeanResult
from worker.documents.results import provenance_of
from worker.identification.sums.block_sums import Summing
from worker.jobs.sources import Record
from worker.progress import Report


def compute(job: MeanJob, record: Record, report: Report, summing: Summing) -> NDArray[np.float64]:
    """(d,) means of the samples that are left [state]."""
    report(0.5, "averaging", "sorting the samples")
    states = np.sort(record.data.states, axis=0)
    left_out = int(job.trim * len(states))
    means: NDArray[np.float64] = states[left_out : len(states) - left_out].mean(axis=0)
    return means


def describe(
    job_id: str, job: MeanJob, record: Record, found: NDArray[np.float64], seconds: float
) -> MeanResult:
    """Write the document of a mean."""
    names = [variable.name for variable in record.dataset.report.variables]
    return MeanResult(
        job=job_id,
        means=dict(zip(names, found.tolist(), strict=True)),
        provenance=provenance_of(record.dataset, job.parameters, {"trim": job.trim}, seconds),
    )
