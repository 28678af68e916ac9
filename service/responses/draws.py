"""Models drawn around a result's estimate, as JSON and as a NumPy archive."""

import io
import json

from contract.base import Document
from service.errors import Refusal

MOST = 2_000
"""Largest number of models of one request."""


class DrawnTerms(Document):
    """Coefficients of one component in every model that was drawn."""

    terms: tuple[str, ...]
    """All terms that occur in a likely set."""
    coefficients: tuple[tuple[float, ...], ...]
    """A row for each model, in the order of `terms` and the units of the data; 0 where the model
    lacks the term."""


class Draws(Document):
    """Models drawn around the estimate, from the distribution that its intervals have."""

    count: int
    """Number of models."""
    seed: int
    """Seed of the random numbers; equal seeds give equal models."""
    drift: dict[str, DrawnTerms]
    """Drift, by variable."""
    diffusion: dict[str, DrawnTerms]
    """Diffusion, by pair of variables."""


def drawn(body: bytes, count: int, seed: int, *, packed: bool) -> bytes:
    """Draw models of a stored result; JSON, or packed an archive for `numpy.load`.

    The archive holds `drift.x.coefficients` and `drift.x.terms` of every component. Raises Refusal
    (no-draws) for a result whose coefficients have no distribution.
    """
    # NumPy is imported only here, so that a service without such requests does not load it.
    import numpy as np

    from service.responses.sampling import NoDraws, drawn_components

    document = json.loads(body)
    try:
        components = drawn_components(document, count, seed)
    except NoDraws as error:
        raise Refusal(
            "no-draws",
            f"No models can be drawn: {error}.",
            "Use the job of the kind identification that found the model from data.",
        ) from error
    if packed:
        file = io.BytesIO()
        arrays = {}
        for c in components:
            place = f"{c.function}.{c.component}"
            arrays[f"{place}.coefficients"] = c.coefficients
            arrays[f"{place}.terms"] = np.array(c.terms, dtype=str)
        np.savez_compressed(file, allow_pickle=False, **arrays)
        return file.getvalue()
    parts: dict[str, dict[str, DrawnTerms]] = {"drift": {}, "diffusion": {}}
    for c in components:
        rows = tuple(map(tuple, c.coefficients.tolist()))
        parts[c.function][c.component] = DrawnTerms(terms=c.terms, coefficients=rows)
    return Draws(count=count, seed=seed, **parts).model_dump_json().encode()
