"""Settings from environment variables, or from files of the same names in a folder of secrets."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BeforeValidator, DirectoryPath, Field, IPvAnyNetwork, ValidationError
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict
from pydantic_settings.exceptions import SettingsError

DAY = 86_400.0
PREFIX = "ITOSCOPE_"
_FOLDER = f"{PREFIX}SECRETS_DIR"

NAMES = frozenset({
    "allow_weak_durability", "api_key_file", "blob_url", "body_idle_seconds", "data_dir",
    "fan_out_increments", "host", "job_memory_bytes", "keep_records_days", "keep_results_days",
    "large_job_seconds", "lease_seconds", "max_job_bytes", "max_json_bytes", "max_open_jobs",
    "max_open_jobs_of_tenant", "max_requests_per_minute", "max_stored_bytes", "max_timeout_seconds",
    "max_upload_bytes", "max_upload_numbers", "min_free_bytes", "niceness", "port", "queues",
    "readers", "redis_url", "secrets_dir", "shutdown_seconds", "threads", "webhook_hosts",
    "webhook_networks", "worker_processes", "worker_silence_seconds",
})  # fmt: skip
"""Settings of all processes. Each process meets those of the others in its environment, too."""
OTHER_NAMES = frozenset({"api_key", "compiled_dir", "url"})
"""Variables that are no setting of a process: the client's, and the image's compiled loops."""

_Settings = TypeVar("_Settings", bound="Settings")


@dataclass(frozen=True, slots=True)
class Retention:
    """Seconds from a job's end; infinity keeps for ever.

    results   until the result is deleted
    records   until the record is deleted, too, but not before the result; for the same time again
              the store still knows that the job existed
    """

    results: float = 180 * DAY
    records: float = 365 * DAY


def listed(given: Any) -> Any:
    """Split a setting of several values at its commas."""
    if not isinstance(given, str):
        return given
    return [name.strip() for name in given.split(",") if name.strip()]


class BadSettings(Exception):
    """Setting that makes no sense. The message names the variable, never its value."""


class Settings(BaseSettings):
    """Settings that every process has. A variable takes precedence over a file."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, frozen=True, extra="ignore", use_attribute_docstrings=True
    )

    secrets_dir: DirectoryPath | None = None
    """Folder of files with values, named like variables in lower case: `itoscope_redis_url`."""


class StoreSettings(Settings):
    """Settings that the service and the workers share: where data are kept, and for how long."""

    data_dir: Path = Path("data")
    """Folder of datasets, results and keys."""
    blob_url: Annotated[str, Field(pattern="^s3://[^/]+")] | None = None
    """`s3://bucket/prefix` for datasets and results in an object store; None: the data folder."""
    redis_url: str = "redis://127.0.0.1:6379/0"
    """Redis of the job records and the queue."""
    allow_weak_durability: bool = False
    """Accept a Redis that may lose accepted jobs."""
    keep_results_days: Annotated[float, Field(ge=0)] = 180.0
    """Results are deleted this long after their job ended; `inf`: never."""
    keep_records_days: Annotated[float, Field(ge=0)] = 365.0
    """Records are deleted this long after their job ended, though not before the results.

    For the same time again the service still knows that the job existed.
    """

    webhook_hosts: Annotated[tuple[str, ...], NoDecode, BeforeValidator(listed)] = ()
    """Hosts that may receive webhooks: `hooks.example.org,*.lab.example`, or `*`; empty: none."""
    webhook_networks: Annotated[tuple[IPvAnyNetwork, ...], NoDecode, BeforeValidator(listed)] = ()
    """Private networks that may receive webhooks, also without TLS: `10.1.0.0/16,127.0.0.1`."""

    large_job_seconds: Annotated[float, Field(ge=0)] = 30.0
    """Estimated computing time above which a job goes to the queue `large`."""

    @property
    def retention(self) -> Retention:
        """Times for which results and records are kept."""
        return Retention(self.keep_results_days * DAY, self.keep_records_days * DAY)


def read(kind: type[_Settings]) -> _Settings:
    """Read the settings of one process from its environment.

    Raises BadSettings, also for a variable or a file that has the prefix but is no setting.
    """
    folder = os.environ.get(_FOLDER)
    _refuse_unknown(
        [*os.environ, *(os.listdir(folder) if folder and Path(folder).is_dir() else ())]
    )
    try:
        # A path that is no folder is refused where the setting itself is validated.
        known = folder if folder is not None and Path(folder).is_dir() else None
        return kind(_secrets_dir=known)  # type: ignore[call-arg]
    except ValidationError as error:
        faults = (
            f"{PREFIX}{str(fault['loc'][0]).upper()}: {fault['msg']}" for fault in error.errors()
        )
        raise BadSettings("; ".join(faults)) from None
    except SettingsError as error:
        raise BadSettings(f"{_FOLDER}: {error.__cause__ or error}") from None


def _refuse_unknown(names: Iterable[str]) -> None:
    known = NAMES | OTHER_NAMES
    for name in names:
        plain = name.lower().removeprefix(PREFIX.lower())
        if name.upper().startswith(PREFIX) and plain not in known:
            close = get_close_matches(plain, known, n=1)
            meant = f"; did you mean {PREFIX}{close[0].upper()}?" if close else ""
            raise BadSettings(f"{name}: there is no such setting{meant}")
