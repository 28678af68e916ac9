"""What the worker can be told from outside (`ITOSCOPE_*`), read once at the composition root."""

from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field
from pydantic_settings import NoDecode

from contract.messages import QUEUES, QueueName
from storage.configuration import Settings
from storage.retention import DAY, Retention


def _listed(given: Any) -> Any:
    return [name.strip() for name in given.split(",")] if isinstance(given, str) else given


class WorkerSettings(Settings):
    """Settings of the worker process."""

    data_dir: Path = Path("data")
    """Folder of datasets and results; the service's."""
    blob_url: Annotated[str, Field(pattern="^s3://[^/]+")] | None = None
    """`s3://bucket/prefix` to keep datasets and results in an object store; the data folder if not set."""
    redis_url: str = "redis://127.0.0.1:6379/0"
    """Job records and queue; the service's."""
    allow_weak_durability: bool = False
    """Accept a Redis that may lose accepted jobs."""
    lease_seconds: Annotated[float, Field(gt=0, le=3600)] = 30.0
    """A job whose worker is silent for this long goes to another."""
    keep_results_days: Annotated[float, Field(ge=0)] = 180.0
    """Results are deleted this long after their job ended; `inf`: never."""
    keep_records_days: Annotated[float, Field(ge=0)] = 365.0
    """Likewise the jobs' records, though not before the results; that there was such a job is known for as long again."""
    queues: Annotated[tuple[QueueName, ...], NoDecode, BeforeValidator(_listed), Field(min_length=1)] = QUEUES
    """Which jobs this worker runs: `small,large`, or only one of them."""
    worker_processes: Annotated[int, Field(ge=1, le=1024)] = 1
    """Jobs that run at the same time."""
    threads: Annotated[int, Field(ge=1, le=1024)] = 1
    """Threads that each job may use for linear algebra and compiled loops."""

    @property
    def retention(self) -> Retention:
        """How long results and records are kept."""
        return Retention(self.keep_results_days * DAY, self.keep_records_days * DAY)
