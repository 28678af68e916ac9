"""A time, or the reason for its absence."""

from dataclasses import dataclass

import numpy as np

LOG_LARGEST = float(np.log(np.finfo(float).max))


@dataclass(frozen=True, slots=True)
class Timing:
    """A time, or the reason why there is none.

    value      [time]; None where it is infinite, undefined or too large for a floating number
    reason     why there is no value
    log_value  natural logarithm of the time, also where the time itself overflows; None where it is
               infinite or undefined
    """

    value: float | None
    reason: str | None = None
    log_value: float | None = None

    @classmethod
    def from_log(cls, log_value: float) -> "Timing":
        """Return the time e^log_value, or the statement that it is too large."""
        if log_value < LOG_LARGEST:
            return cls(float(np.exp(log_value)), None, log_value)
        return cls(
            None,
            f"the time, 10^{log_value / np.log(10):.0f}, exceeds the largest floating-point number",
            log_value,
        )
