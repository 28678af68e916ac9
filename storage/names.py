"""Valid names of tenants, jobs, datasets and results, never a path or a part of another key."""

import base64
import re
import secrets
import time

from contract.jobs import SECRET_PREFIX

_TENANT = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}", re.ASCII)
_JOB = re.compile(r"job_[0-9a-v]{26}", re.ASCII)
_BATCH = re.compile(r"batch_[0-9a-v]{26}", re.ASCII)
_DATASET = re.compile(r"ds_[a-z0-9]{1,64}", re.ASCII)
_RESULT = re.compile(r"job_[0-9a-v]{26}-[0-9]{1,9}\.json", re.ASCII)
_PART = re.compile(r"[0-9a-f]{32}(-[0-9]{1,9}-[0-9]{1,9})?\.npz", re.ASCII)
_EVENT = re.compile(r"[0-9]{1,15}-[0-9]{1,15}", re.ASCII)
_DIGITS = "0123456789abcdefghijklmnopqrstuv"


def new_job_id() -> str:
    """Return `job_` and 26 digits in base 32: 48 bits of milliseconds, which sort, 82 random."""
    return f"job_{_new_number()}"


def new_batch_id() -> str:
    """Return `batch_` and 26 digits, as those of a job."""
    return f"batch_{_new_number()}"


def _new_number() -> str:
    number = (time.time_ns() // 1_000_000) << 82 | secrets.randbits(82)
    return "".join(_DIGITS[number >> shift & 31] for shift in range(125, -1, -5))


def new_webhook_secret() -> str:
    """Return a signing secret: 256 random bits, spelled as in Standard Webhooks."""
    return SECRET_PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()


def checked_tenant(tenant: str) -> str:
    """Return the tenant's name, or raise ValueError where no tenant can have it.

    It comes from our own key file, so a bad name is a fault of configuration. Only lower case is
    allowed: two tenants must not share a folder where the file system ignores case.
    """
    if not _TENANT.fullmatch(tenant):
        raise ValueError(
            f"tenant {tenant!r} is not 1 to 63 of a-z, 0-9, '-', '_', "
            "starting with a letter or digit"
        )
    return tenant


def is_job_id(text: str) -> bool:
    """Return whether a job can have this id."""
    return _JOB.fullmatch(text) is not None


def is_batch_id(text: str) -> bool:
    """Return whether a batch can have this id."""
    return _BATCH.fullmatch(text) is not None


def checked_event(text: str) -> str:
    """Return the id of a job's event, or raise ValueError where no event can have it."""
    return _checked(_EVENT, text, "no event has the id")


def is_dataset_id(text: str) -> bool:
    """Return whether a dataset can have this id."""
    return _DATASET.fullmatch(text) is not None


def result_name(job_id: str, attempt: int) -> str:
    """Return the name of the result that this attempt writes. Raise ValueError."""
    return _checked(_RESULT, f"{job_id}-{attempt}.json", "no result can be named")


def is_result_name(text: str) -> bool:
    """Return whether a result can have this name."""
    return _RESULT.fullmatch(text) is not None


def part_name(pass_name: str, number: int | None = None, attempt: int | None = None) -> str:
    """Return the name of a pass's description, or of an attempt's part. Raise ValueError."""
    name = f"{pass_name}.npz" if number is None else f"{pass_name}-{number}-{attempt}.npz"
    return checked_part(name)


def checked_part(name: str) -> str:
    """Return the name of a part, or raise ValueError where no part can have it."""
    return _checked(_PART, name, "no part can be named")


def dataset_place(tenant: str, dataset_id: str) -> str | None:
    """Return the place of a dataset's files; None where no dataset can have this id."""
    return f"datasets/{checked_tenant(tenant)}/{dataset_id}" if is_dataset_id(dataset_id) else None


def result_place(tenant: str, name: str) -> str:
    """Return the place of a result. Raise ValueError."""
    checked = _checked(_RESULT, name, "no result can be named")
    return f"results/{checked_tenant(tenant)}/{checked}"


def parts_place(tenant: str, job_id: str) -> str:
    """Return the prefix of all parts of a job. Raise ValueError."""
    return f"parts/{checked_tenant(tenant)}/{_checked(_JOB, job_id, 'no job has the id')}"


def part_place(tenant: str, job_id: str, name: str) -> str:
    """Return the place of a part. Raise ValueError."""
    return f"{parts_place(tenant, job_id)}/{checked_part(name)}"


def _checked(form: re.Pattern[str], text: str, fault: str) -> str:
    if not form.fullmatch(text):
        raise ValueError(f"{fault} {text!r}")
    return text
