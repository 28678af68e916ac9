"""Settings of the service (`ITOSCOPE_*`), read once at the composition root."""

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
    """File with the SHA-256 of each API key; `<data dir>/api-keys` by default."""
    max_upload_bytes: Annotated[int, Field(ge=1)] = 200 * MEGABYTE
    """Size of the largest upload."""
    max_upload_numbers: Annotated[int, Field(ge=1)] = 50_000_000
    """Samples times columns of one dataset. Its reader takes 40 bytes for each, and may take 64."""
    max_json_bytes: Annotated[int, Field(ge=1)] = 20 * MEGABYTE
    """Size of the largest JSON body of a job, inline data included."""
    max_job_bytes: Annotated[int, Field(ge=1)] = 256_000
    """Size of the largest job without its inline data."""
    body_idle_seconds: Annotated[float, Field(gt=0)] = 5.0
    """Time after which a request whose body sends nothing more is refused."""
    max_requests_per_minute: Annotated[int, Field(ge=1)] = 60_000
    """Requests of one API key that one service process answers in a minute."""
    max_open_jobs: Annotated[int, Field(ge=1)] = 20_000
    """Jobs of all tenants that may wait or run."""
    max_open_jobs_of_tenant: Annotated[int, Field(ge=1)] = 10_000
    """Jobs of one tenant that may wait or run."""
    max_timeout_seconds: Annotated[float, Field(ge=1, le=86_400)] = 86_400.0
    """Longest `timeout_seconds` that a job may ask for."""
    max_stored_bytes: Annotated[int, Field(ge=1)] = 100_000 * MEGABYTE
    """Total size that the datasets of one tenant may have."""
    min_free_bytes: Annotated[int, Field(ge=0)] = 1_000 * MEGABYTE
    """Space that an upload must leave free on the disk."""
    readers: Annotated[int, Field(ge=1)] = 2
    """Uploads that are read at the same time, each in its own process."""
    worker_silence_seconds: Annotated[float, Field(gt=0)] = 30.0
    """Time without a report from any worker after which the service is not ready."""
    shutdown_seconds: Annotated[int, Field(ge=0)] = 10
    """Time that open requests get to finish when the service is stopped."""

    @property
    def key_file(self) -> Path:
        """File with the hashes of the API keys."""
        return self.api_key_file or self.data_dir / "api-keys"

    @property
    def scratch(self) -> Path:
        """Folder of uploads being read; beside the datasets, so that storing one is a rename."""
        return self.data_dir / "uploads"

    @property
    def on_loopback(self) -> bool:
        """True if only this machine can reach the service."""
        return is_loopback(self.host)


def is_loopback(host: str) -> bool:
    """Return whether a host's name or address is a loopback address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
