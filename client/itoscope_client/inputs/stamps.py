"""Conversion of sample times to numbers."""

from typing import Any

import numpy as np

from itoscope_client.errors import InputError
from itoscope_client.inputs.trajectories import Floats

SECONDS = {
    "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "day": 86_400.0,
    "week": 604_800.0, "month": 86_400.0 * 365.25 / 12, "year": 86_400.0 * 365.25,
}  # fmt: skip


def as_times(times: Any, unit: str | None) -> tuple[Floats, str | None]:
    """Return times as numbers, and their unit.

    Calendar stamps and durations are converted to `unit`, or else to seconds. Raise InputError for
    an unknown unit, and for values that are neither numbers nor stamps.
    """
    array = np.asarray(times)
    if array.dtype.kind == "M":
        array = array - array.reshape(-1)[0]
    if array.dtype.kind == "m":
        unit = unit or "s"
        if unit not in SECONDS:
            raise InputError(
                f"calendar times cannot be converted to {unit!r}: "
                f"give time_unit as one of {', '.join(SECONDS)}"
            )
        return array / np.timedelta64(1, "ns") * (1e-9 / SECONDS[unit]), unit
    if array.dtype.kind not in "fiu":
        raise InputError(f"the times are neither numbers nor calendar stamps (dtype {array.dtype})")
    return array.astype(np.float64), unit
