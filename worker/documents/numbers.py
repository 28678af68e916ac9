"""JSON's own numbers: finite, or null."""

import math
from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    """JSON's own types, with numbers that are not finite as null."""
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, float | np.floating):
        return number(value)
    return int(value) if isinstance(value, np.integer) else value


def number(value: float | np.floating[Any]) -> float | None:
    """The number, or null where it is not finite."""
    return float(value) if math.isfinite(value) else None
