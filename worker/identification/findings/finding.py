"""A warning about a model, before it becomes a document."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from grammar.terms import variable_name


@dataclass(frozen=True, slots=True)
class Finding:
    """A warning, before it becomes a document."""

    code: str
    message: str
    details: Mapping[str, object] = field(default_factory=dict)


def by_name(values: Sequence[float]) -> object:
    """Return the value of one variable, or the values of several by name."""
    return (
        values[0]
        if len(values) == 1
        else {variable_name(p): value for p, value in enumerate(values)}
    )
