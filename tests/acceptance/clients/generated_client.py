"""Run a job with the client that openapi-python-client made of openapi.json.

    python client.py ADDRESS FILE

Every module of the package `generated` is imported. The terms of the drift are printed.
"""

import importlib
import pkgutil
import sys
from io import BytesIO
from pathlib import Path

import generated
from generated.api.datasets import upload_dataset
from generated.api.jobs import get_job, get_job_result, submit_job
from generated.models import (
    IdentificationJob,
    IdentificationResult,
    JobRecord,
    UploadDatasetFilesBody,
)
from generated.types import File

for module in pkgutil.walk_packages(generated.__path__, "generated."):
    importlib.import_module(module.name)

address, file = sys.argv[1], Path(sys.argv[2])
with generated.Client(address, timeout=60, raise_on_unexpected_status=True) as client:
    body = UploadDatasetFilesBody(file=File(BytesIO(file.read_bytes()), file.name))
    dataset = upload_dataset.sync(client=client, body=body)
    request = IdentificationJob(kind="identification", dataset=dataset.id)
    job = submit_job.sync(client=client, body=request)
    assert isinstance(job, JobRecord), job
    while job.state.value in ("queued", "running"):
        job = get_job.sync(job.id, client=client, prefer="wait=60")
    result = get_job_result.sync(job.id, client=client)
    assert isinstance(result, IdentificationResult)
    for term in result.model.drift.additional_properties["x"].terms:
        if term.active:
            print(term.term, term.value)
