"""Where settings come from: variables, or files of the same names in a folder, so that a secret need not be a variable."""

import os
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BeforeValidator, DirectoryPath, Field, IPvAnyNetwork, ValidationError
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SecretsSettingsSource,
    SettingsConfigDict,
)
from pydantic_settings.exceptions import SettingsError

from storage.retention import DAY, Retention

PREFIX = "ITOSCOPE_"
_FOLDER = f"{PREFIX}SECRETS_DIR"

_Settings = TypeVar("_Settings", bound="Settings")


def listed(given: Any) -> Any:
    """A setting of several values, which are given with commas between."""
    return (
        [name.strip() for name in given.split(",") if name.strip()]
        if isinstance(given, str)
        else given
    )


class BadSettings(Exception):
    """A setting makes no sense. The message names the variable, never its value."""


class Settings(BaseSettings):
    """What every process can be told. A variable counts more than a file."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, frozen=True, extra="ignore", use_attribute_docstrings=True
    )

    secrets_dir: DirectoryPath | None = None
    """Folder in which a file named like a variable, in lower case, holds its value: `itoscope_redis_url`."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        folder = os.environ.get(_FOLDER)
        # One that is no folder is refused as the setting that it is.
        files = (
            (SecretsSettingsSource(settings_cls, folder),)
            if folder is not None and Path(folder).is_dir()
            else ()
        )
        return init_settings, env_settings, *files


class StoreSettings(Settings):
    """What service and workers are told alike: where things are kept, and for how long."""

    data_dir: Path = Path("data")
    """Folder of datasets, results and keys."""
    blob_url: Annotated[str, Field(pattern="^s3://[^/]+")] | None = None
    """`s3://bucket/prefix` to keep datasets and results in an object store; the data folder if not set."""
    redis_url: str = "redis://127.0.0.1:6379/0"
    """Job records and queue."""
    allow_weak_durability: bool = False
    """Accept a Redis that may lose accepted jobs."""
    keep_results_days: Annotated[float, Field(ge=0)] = 180.0
    """Results are deleted this long after their job ended; `inf`: never."""
    keep_records_days: Annotated[float, Field(ge=0)] = 365.0
    """Likewise the jobs' records, though not before the results; that there was such a job is known for as long again."""

    webhook_hosts: Annotated[tuple[str, ...], NoDecode, BeforeValidator(listed)] = ()
    """Hosts that may be told of a job's end: `hooks.example.org,*.lab.example`, or `*`. None: there are no webhooks."""
    webhook_networks: Annotated[tuple[IPvAnyNetwork, ...], NoDecode, BeforeValidator(listed)] = ()
    """Networks of addresses that are not public and may be told all the same: `10.1.0.0/16,127.0.0.1`. Not by TLS, if need be."""

    @property
    def retention(self) -> Retention:
        """How long results and records are kept."""
        return Retention(self.keep_results_days * DAY, self.keep_records_days * DAY)


def read(kind: type[_Settings]) -> _Settings:
    """The settings of one process, from its environment. Raises BadSettings."""
    try:
        return kind()
    except ValidationError as error:
        faults = (
            f"{PREFIX}{str(fault['loc'][0]).upper()}: {fault['msg']}" for fault in error.errors()
        )
        raise BadSettings("; ".join(faults)) from None
    except SettingsError as error:
        raise BadSettings(f"{_FOLDER}: {error.__cause__ or error}") from None
