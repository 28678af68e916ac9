"""What may name a tenant, a job, a dataset or a result. Nothing here can be a path, or part of another key."""

import base64
import re
import secrets
import time

from contract.webhooks import SECRET_PREFIX

_TENANT = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}", re.ASCII)
_JOB = re.compile(r"job_[0-9a-v]{26}", re.ASCII)
_DATASET = re.compile(r"ds_[a-z0-9]{1,64}", re.ASCII)
_RESULT = re.compile(r"job_[0-9a-v]{26}-[0-9]{1,9}\.json", re.ASCII)
_PART = re.compile(r"[0-9a-f]{32}(-[0-9]{1,9}-[0-9]{1,9})?\.npz", re.ASCII)
_EVENT = re.compile(r"[0-9]{1,15}-[0-9]{1,15}", re.ASCII)
_DIGITS = "0123456789abcdefghijklmnopqrstuv"


def new_job_id() -> str:
    """`job_` and 26 digits in base 32: 48 bits of milliseconds, so that ids sort by age, and 82 random bits."""
    number = (time.time_ns() // 1_000_000) << 82 | secrets.randbits(82)
    return "job_" + "".join(_DIGITS[number >> shift & 31] for shift in range(125, -1, -5))


def new_webhook_secret() -> str:
    """What webhooks are signed with: 256 random bits, as Standard Webhooks spells them."""
    return SECRET_PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()


def checked_tenant(tenant: str) -> str:
    """The tenant itself. It comes from our own key file, so a bad one is a fault of configuration.

    Lower case only: two tenants must not share a folder where the file system ignores case. Raises ValueError.
    """
    if not _TENANT.fullmatch(tenant):
        raise ValueError(
            f"tenant {tenant!r} is not 1 to 63 of a-z, 0-9, '-', '_', starting with a letter or digit"
        )
    return tenant


def is_job_id(text: str) -> bool:
    """Whether a job can have this id."""
    return _JOB.fullmatch(text) is not None


def checked_event(text: str) -> str:
    """The id itself, of a change to a job. Raises ValueError where no change can have it."""
    if not _EVENT.fullmatch(text):
        raise ValueError(f"no event has the id {text!r}")
    return text


def is_dataset_id(text: str) -> bool:
    """Whether a dataset can have this id."""
    return _DATASET.fullmatch(text) is not None


def result_name(job_id: str, attempt: int) -> str:
    """Name of the result that this attempt writes. Raises ValueError."""
    name = f"{job_id}-{attempt}.json"
    if not is_result_name(name):
        raise ValueError(f"no result can be named {name!r}")
    return name


def is_result_name(text: str) -> bool:
    """Whether a result can have this name."""
    return _RESULT.fullmatch(text) is not None


def part_name(pass_name: str, number: int | None = None, attempt: int | None = None) -> str:
    """Name of the description of a pass, or of the part that this attempt at a shard writes. Raises ValueError."""
    name = f"{pass_name}.npz" if number is None else f"{pass_name}-{number}-{attempt}.npz"
    if not is_part_name(name):
        raise ValueError(f"no part can be named {name!r}")
    return name


def is_part_name(text: str) -> bool:
    """Whether a part can have this name."""
    return _PART.fullmatch(text) is not None


def parts_place(tenant: str, job_id: str) -> str:
    """Where the parts of a job are. Raises ValueError."""
    if not is_job_id(job_id):
        raise ValueError(f"no job has the id {job_id!r}")
    return f"parts/{checked_tenant(tenant)}/{job_id}"
