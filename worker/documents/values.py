"""A result as one row of the table of a batch: numbers and formulas by the name of their column."""

import json
from collections.abc import Iterator

from contract.results import Component, Estimate, IdentificationResult, Passage, Result

Value = tuple[str, float | str | None]
MOST = 400
"""Most values of a row, of which the job store keeps every one."""


def values_of(result: Result) -> dict[str, float | str | None]:
    """Return the row of an identification; empty for a result that is not one identified model.

    Names of columns are places in the result: `drift.x` is the formula, `drift.x:x^3` the
    coefficient of a selected term and `drift.x:x^3:std_error` its standard error. Intervals are
    columns that end in `:low` and `:high`.
    """
    if not isinstance(result, IdentificationResult):
        return {}
    return dict([*_values(result)][:MOST])


def _values(result: IdentificationResult) -> Iterator[Value]:
    data, generator = result.data, result.generator
    yield from (("n_increments", data.n_increments), ("dt", data.dt), ("duration", data.duration))
    for of, components in (("drift", result.model.drift), ("diffusion", result.model.diffusion)):
        for name, component in components.items():
            yield from _component(f"{of}.{name}", component)
    if generator.spectrum is not None and generator.spectrum.eigenvalues:
        slowest = generator.spectrum.eigenvalues[0]
        if slowest.re > 0:
            low, high = slowest.ci or (None, None)
            yield "relaxation_time", 1 / slowest.re
            yield "relaxation_time:low", 1 / high if high else None
            yield "relaxation_time:high", 1 / low if low and low > 0 else None
    for number, passage in enumerate(generator.passages, start=1):
        yield from _passage(f"passage.{number}", passage)
    yield "warnings", " ".join(dict.fromkeys(warning.code for warning in result.warnings))


def _component(name: str, component: Component) -> Iterator[Value]:
    yield name, component.expression
    for term in component.terms:
        if term.active:
            error = term.robust_std_error if term.std_error is None else term.std_error
            yield f"{name}:{term.term}", term.value
            yield f"{name}:{term.term}:std_error", error


def _passage(name: str, passage: Passage) -> Iterator[Value]:
    for end, place in (("from", passage.from_), ("to", passage.to)):
        plain = isinstance(place, int | float)
        yield f"{name}.{end}", place if plain else json.dumps(place)  # type: ignore[misc]
    yield from _estimate(f"{name}.mean_time", passage.mean_time)


def _estimate(name: str, estimate: Estimate) -> Iterator[Value]:
    low, high = estimate.ci or (None, None)
    yield from ((name, estimate.value), (f"{name}:low", low), (f"{name}:high", high))
