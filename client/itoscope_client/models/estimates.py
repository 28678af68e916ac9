"""Numbers with their errors."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from itoscope_client.models.rounding import interval, rounded

Ends = tuple[float | None, float | None]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number, None where there is none, with its confidence interval and, then, the reason."""

    value: float | None
    ci: Ends | None = None
    reason: str | None = None

    def __float__(self) -> float:
        return float("nan") if self.value is None else self.value

    def __str__(self) -> str:
        if self.value is None:
            return self.reason or "none"
        return f"{rounded(self.value, self.ci)}{f' {interval(self.ci)}' if self.ci else ''}"


@dataclass(frozen=True, slots=True)
class Passage:
    """First passage from one place to another."""

    start: Any
    end: Any
    mean_time: Estimate
    """Exact for the model [time]."""
    kramers: Estimate
    """By the Eyring–Kramers formula [time]."""
    document: Mapping[str, Any]
    """As in the result, with standard deviation, quantiles and law."""

    def __float__(self) -> float:
        return float(self.mean_time)


@dataclass(frozen=True, slots=True)
class Term:
    """A candidate term of the drift, or of the diffusion tensor."""

    function: Literal["drift", "diffusion"]
    component: str
    """The variable, or the pair `x,y`."""
    term: str
    value: float
    active: bool
    std_error: float | None = None
    robust_std_error: float | None = None
    ci: Ends | None = None
    z: float | None = None

    @property
    def name(self) -> str:
        """`b_x: x^3`, `a_xy: 1`."""
        return f"{'b' if self.function == 'drift' else 'a'}_{self.component.replace(',', '')}: {self.term}"


def estimate_of(document: Mapping[str, Any] | None) -> Estimate:
    """Of a document's `{value, ci, reason}`."""
    if document is None:
        return Estimate(None, reason="not in the result")
    ends = document.get("ci")
    return Estimate(
        document.get("value"), None if ends is None else (ends[0], ends[1]), document.get("reason")
    )


def passage_of(document: Mapping[str, Any]) -> Passage:
    """Of one of a result's `passages`."""
    return Passage(
        document["from"],
        document["to"],
        estimate_of(document.get("mean_time")),
        estimate_of(document.get("kramers")),
        document,
    )


def terms_of(document: Mapping[str, Any]) -> tuple[Term, ...]:
    """Every candidate of a result document's model, drift first."""
    found: list[Term] = []
    kinds: tuple[Literal["drift", "diffusion"], ...] = ("drift", "diffusion")
    for function in kinds:
        for component, contents in document["model"][function].items():
            found += [
                Term(
                    function, component, term["term"], term["value"], term["active"], term.get("std_error"),
                    term.get("robust_std_error"), None if term.get("ci") is None else tuple(term["ci"]), term.get("z"),
                )
                for term in contents["terms"]
            ]  # fmt: skip
    return tuple(found)
