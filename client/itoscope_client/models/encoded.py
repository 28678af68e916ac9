"""Arrays as results spell them: lists, null for a number that is not there, or base64 of many numbers."""

import base64
from typing import Any

import numpy as np
from numpy.typing import NDArray


def array_of(value: Any) -> NDArray[np.float64]:
    """As double precision, NaN for null."""
    if isinstance(value, dict):
        data = np.frombuffer(base64.b64decode(value["data"]), dtype=np.dtype(value["dtype"]))
        return data.reshape(value["shape"]).astype(np.float64)
    return np.asarray(value, dtype=np.float64)  # None becomes NaN
