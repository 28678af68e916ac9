"""Result documents as small as they can be."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np


def component(terms: Mapping[str, float], error: float | None = None) -> dict[str, Any]:
    """Its terms, each with the same error; the library's others are not there."""
    listed = [
        {
            "term": term, "value": value, "active": value != 0,
            "std_error": error, "robust_std_error": error,
            "ci": None if error is None else [value - 2 * error, value + 2 * error],
            "z": None if error is None else value / error,
        }
        for term, value in terms.items()
    ]  # fmt: skip
    return {
        "expression": " + ".join(f"{value}*{term}" for term, value in terms.items()),
        "terms": listed,
        "covariance": None if error is None else (error**2 * np.eye(len(listed))).tolist(),
    }


def result(
    drift: Mapping[str, Mapping[str, float]],
    diffusion: Mapping[str, Mapping[str, float]],
    *,
    error: float | None = None,
    domain: Mapping[str, Sequence[float | None]] | None = None,
    **generator: Any,
) -> dict[str, Any]:
    """A result of a model with these coefficients."""
    return {
        "schema_version": "1.0", "job": "job_x", "kind": "generator",
        "model": {
            "drift": {name: component(terms, error) for name, terms in drift.items()},
            "diffusion": {pair: component(terms, error) for pair, terms in diffusion.items()},
            "domain": dict(domain or {}),
        },
        "generator": {"ergodic": True, "reason": None, **generator},
        "warnings": [], "provenance": {"parameters": {}},
    }  # fmt: skip


def normal(mean: float, variance: float) -> dict[str, Any]:
    """A stationary law on its grid."""
    x = np.linspace(mean - 5 * variance**0.5, mean + 5 * variance**0.5, 201)
    values = np.exp(-((x - mean) ** 2) / (2 * variance)) / (2 * np.pi * variance) ** 0.5
    return {"density": {"grid": [x.tolist()], "values": values.tolist()}}
