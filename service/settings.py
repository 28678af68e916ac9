"""What the service can be told from outside (`ITOSCOPE_*`), read once at the composition root."""

import ipaddress
from pathlib import Path
from typing import Annotated

from pydantic import Field

from storage.configuration import StoreSettings

MEGABYTE = 1_000_000


class ServiceSettings(StoreSettings):
    """Settings of the HTTP process."""

    host: str = "127.0.0.1"
    """Address to listen on. Any other than a loopback address needs API keys."""
    port: Annotated[int, Field(ge=0, le=65_535)] = 8000
    """Port to listen on; 0 takes any free one."""
    api_key_file: Path | None = None
    """SHA-256 of each API key; `<data dir>/api-keys` by default."""
    max_upload_bytes: Annotated[int, Field(ge=1)] = 200 * MEGABYTE
    """Largest upload."""
    max_upload_numbers: Annotated[int, Field(ge=1)] = 50_000_000
    """Samples times columns of one dataset. The process that reads them takes 40 bytes for each, and may take 64."""
    max_json_bytes: Annotated[int, Field(ge=1)] = 20 * MEGABYTE
    """Largest JSON body of a job, inline data included."""
    max_job_bytes: Annotated[int, Field(ge=1)] = 256_000
    """Largest job without its inline data."""
    body_idle_seconds: Annotated[float, Field(gt=0)] = 5.0
    """A request body that sends nothing for this long is given up."""
    max_requests_per_minute: Annotated[int, Field(ge=1)] = 60_000
    """Requests of one API key that one service process answers in a minute."""
    max_open_jobs: Annotated[int, Field(ge=1)] = 20_000
    """Jobs of all tenants that may wait or run."""
    max_open_jobs_of_tenant: Annotated[int, Field(ge=1)] = 10_000
    """Jobs of one tenant that may wait or run."""
    large_job_seconds: Annotated[float, Field(ge=0)] = 30.0
    """A job that will take longer than this, as far as can be told, goes to the queue `large`."""
    max_stored_bytes: Annotated[int, Field(ge=1)] = 100_000 * MEGABYTE
    """What the datasets of one tenant may take."""
    min_free_bytes: Annotated[int, Field(ge=0)] = 1_000 * MEGABYTE
    """No upload is taken that would leave less than this free on the disk."""
    readers: Annotated[int, Field(ge=1)] = 2
    """Uploads that are read at the same time, each in its own process."""
    worker_silence_seconds: Annotated[float, Field(gt=0)] = 30.0
    """The service is not ready when no worker has been heard of for this long."""
    shutdown_seconds: Annotated[int, Field(ge=0)] = 10
    """Open requests get this long to finish when the service is stopped."""

    @property
    def key_file(self) -> Path:
        """Where the hashes of the API keys are."""
        return self.api_key_file or self.data_dir / "api-keys"

    @property
    def scratch(self) -> Path:
        """Where uploads wait while they are read; beside the datasets, so that keeping one is a rename."""
        return self.data_dir / "uploads"

    @property
    def on_loopback(self) -> bool:
        """Whether only this machine can reach the service."""
        return is_loopback(self.host)


def is_loopback(host: str) -> bool:
    """Whether a host's name or address stands for this very machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
