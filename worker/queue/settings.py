"""The worker's settings (`ITOSCOPE_*`), read once at the composition root."""

from typing import Annotated

from pydantic import BeforeValidator, Field
from pydantic_settings import NoDecode

from contract.messages import QUEUES, QueueName
from storage.configuration import StoreSettings, listed


class WorkerSettings(StoreSettings):
    """Settings of the worker process."""

    lease_seconds: Annotated[float, Field(gt=0, le=3600)] = 30.0
    """A job whose worker is silent for this long goes to another."""
    fan_out_increments: Annotated[float, Field(gt=0)] = 2e7
    """A pass over more increments than this is shared among the workers; `inf`: never."""
    job_memory_bytes: Annotated[float, Field(ge=5e8)] = 3e9
    """Memory of a process for a job [bytes], with its libraries and without its dataset.

    The smallest job needs 4e8; `inf`: no limit.
    """
    queues: Annotated[
        tuple[QueueName, ...], NoDecode, BeforeValidator(listed), Field(min_length=1)
    ] = QUEUES
    """Queues whose jobs this worker runs: `small,large`, or only one of them."""
    worker_processes: Annotated[int, Field(ge=1, le=1024)] = 1
    """Jobs that run at the same time."""
    niceness: Annotated[int, Field(ge=0, le=19)] = 10
    """Niceness of the computing processes, which lets the service and the store go first."""
    threads: Annotated[int, Field(ge=1, le=1024)] = 1
    """Threads that each job may use for linear algebra and compiled loops."""
