"""Settings that `standalone` reads from the environment."""

from pathlib import Path

from pydantic import Field

from storage.configuration import Settings


class StandaloneSettings(Settings):
    """Settings of the supervisor, which hands them on to the service and the worker, resolved."""

    host: str = "127.0.0.1"
    """Address the service listens on."""
    port: int = Field(default=8000, ge=1, le=65535)
    data_dir: Path = Path("data")
    """Folder of datasets, results, the embedded server's log of writes, and logs."""
    redis_url: str | None = None
    """Redis or Valkey server to be used instead of an embedded one."""
    api_key_file: Path | None = None
    """The service's key file, where it is not `<data dir>/api-keys`."""
