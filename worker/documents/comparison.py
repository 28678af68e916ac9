"""What a comparison found, in sentences: differences first, then what does not differ."""

from collections.abc import Iterator, Mapping, Sequence

from contract.comparison import (
    ComparedComponent,
    ComparedQuantity,
    ComparedTerm,
    ComparisonResult,
)
from contract.results import Estimate
from contract.symbols import Symbols

MOST_QUANTITIES = 8
"""Number of quantities that are named."""


def summary_of(result: ComparisonResult, symbols: Symbols) -> tuple[str, ...]:
    """Say what differs between the groups of a result that has no summary yet.

    symbols   symbol of each variable
    """
    words = _Words(result, symbols)
    return (*words.components(), *words.quantities())


class _Words:
    """Sentences about a result."""

    def __init__(self, result: ComparisonResult, symbols: Symbols) -> None:
        self._result, self._symbols = result, symbols
        self._periods = result.groups[0].model.periodic
        self._level = 1 - result.confidence

    def components(self) -> Iterator[str]:
        """Yield a sentence or two about each component."""
        for name, component in self._result.components.items():
            what = f"The {self._spoken(name.replace(' ', ' of ', 1))}"
            p = p_in_words(component.p_value)
            if not component.degrees:
                if name.startswith("drift"):
                    yield f"{what} has no terms to compare in any group."
                continue
            if not component.differs:
                yield f"{what} does not differ ({p}{self._by_chance(component)})."
                continue
            yield f"{what} differs ({p}){self._by_terms(component)}."
            permuted = component.permuted_p_value
            if permuted is not None and permuted > self._level:
                yield (
                    f"With labels permuted over trajectories {p_in_words(permuted)}: trajectories "
                    "of one group differ among themselves about as much as the groups do."
                )

    def _by_chance(self, component: ComparedComponent) -> str:
        """Say the adjusted p-value where only the number of components makes it large."""
        if component.p_value > self._level:
            return ""
        n = sum(c.degrees > 0 for c in self._result.components.values())
        adjusted = p_in_words(component.adjusted_p_value).removeprefix("p = ")
        return f", adjusted for {n} components {adjusted}"

    def _by_terms(self, component: ComparedComponent) -> str:
        """Say which coefficients differ, and by how much."""
        found = [t for t in component.terms if t.adjusted_p_value <= self._level]
        if not found:
            if len(component.terms) == 1:
                return f": {self._term(component.terms[0])}"
            return "; of no coefficient alone is that certain"
        return ": " + "; ".join(self._term(term) for term in found)

    def _term(self, term: ComparedTerm) -> str:
        parts: list[str] = []
        for ratio, difference in zip(term.ratios, term.differences, strict=True):
            group = ratio.group
            if ratio.value is not None and ratio.value > 0 and _low(ratio) is not None:
                said = f"{_with_interval(ratio, ' times')} that in {self._result.reference}"
            else:
                away = abs(difference.value or 0.0)
                more = "larger" if (difference.value or 0.0) > 0 else "smaller"
                low, high = difference.ci or (None, None)
                ends = sorted(abs(e) for e in (low, high) if e is not None)
                through = low is not None and high is not None and low < 0 < high
                interval = "" if len(ends) < 2 or through else f" [{_n(ends[0])}, {_n(ends[1])}]"
                said = f"{more} by {_n(away)}{interval} than in {self._result.reference}"
            parts.append(f"in {group} is {said}" if not parts else f"in {group} {said}")
        return f"the coefficient of {self._spoken(term.term)} {', '.join(parts)}"

    def quantities(self) -> Iterator[str]:
        """Yield a sentence about each derived quantity that differs, or that none does."""
        compared = self._result.quantities
        if not compared:
            return
        found = [q for q in compared if q.adjusted_p_value <= self._level]
        for quantity in found[:MOST_QUANTITIES]:
            yield self._quantity(quantity)
        if len(found) > MOST_QUANTITIES:
            yield f"{len(found) - MOST_QUANTITIES} further quantities differ."
        if not found:
            least = p_in_words(min(q.adjusted_p_value for q in compared))
            yield (
                f"No {_kinds(compared)} differs (least p adjusted for their number: "
                f"{least.removeprefix('p = ')})."
            )

    def _quantity(self, quantity: ComparedQuantity) -> str:
        reference = quantity.values[0].group
        parts: list[str] = []
        for contrast in quantity.contrasts:
            group = contrast.group
            if quantity.contrast == "ratio":
                said = f"{_with_interval(contrast, ' times')} that in {reference}"
            else:
                value, (low, high) = contrast.value or 0.0, contrast.ci or (None, None)
                ends = "" if low is None or high is None else f" [{_n(low)}, {_n(high)}]"
                said = f"that in {reference} {'+' if value >= 0 else '−'} {_n(abs(value))}{ends}"
            parts.append(f"in {group} is {said}" if not parts else f"in {group} {said}")
        p = p_in_words(quantity.p_value)
        return f"The {quantity.name} {', '.join(parts)} ({p})."

    def _spoken(self, text: str) -> str:
        return self._symbols.sentence(text, self._periods)


def quantity_name(
    quantity: ComparedQuantity, symbols: Symbols, wells: bool, periods: Mapping[str, float]
) -> str:
    """Return the words for a quantity that has none yet.

    wells   whether it is a passage between wells, whose places differ from group to group
    """
    match quantity.quantity:
        case "relaxation-time":
            return "slowest relaxation time"
        case "period":
            return "period of oscillation"
        case "passage-time":
            start, to = _place(quantity.from_), _place(quantity.to)
            where = f"the well near {start} to that near {to}" if wells else f"{start} to {to}"
            return symbols.sentence(f"mean passage time from {where}", periods)
        case "mean-velocity":
            return f"mean velocity of {symbols.sentence(str(quantity.variable), periods)}"
        case _:
            name = symbols.sentence(str(quantity.variable), periods)
            return f"stationary {quantity.quantity} of {name}"


def _kinds(compared: Sequence[ComparedQuantity]) -> str:
    """List the kinds of quantities that were compared: `relaxation time, mean or variance`."""
    kinds = list(dict.fromkeys(q.quantity.replace("-", " ") for q in compared))
    return " or ".join([", ".join(kinds[:-1]), kinds[-1]] if len(kinds) > 1 else kinds)


def _place(place: object) -> str:
    """Write a place of a document in words."""
    match place:
        case dict():
            parts = []
            for name, (low, high) in place.items():
                if low is not None and high is not None:
                    parts.append(f"{_n(low)} < {name} < {_n(high)}")
                elif low is not None or high is not None:
                    sign = ">" if low is not None else "<"
                    parts.append(f"{name} {sign} {_n(low if low is not None else high)}")
            return " and ".join(parts)
        case float() | int():
            return _n(place)
        case tuple():
            return "(" + ", ".join(_n(x) for x in place) + ")"
    return "?"


def p_in_words(p: float) -> str:
    """Write a p-value: `p = 0.03`, `p = 2e-5`."""
    if p < 1e-99:
        return "p < 1e-99"
    text = f"{p:.2g}" if p >= 0.001 else f"{p:.0e}"
    return "p = " + text.replace("e-0", "e-")


def _low(estimate: Estimate) -> float | None:
    return None if estimate.ci is None else estimate.ci[0]


def _with_interval(estimate: Estimate, unit: str) -> str:
    low, high = estimate.ci or (None, None)
    ends = "" if low is None or high is None else f" [{_n(low)}, {_n(high)}]"
    return f"{_n(estimate.value or 0.0)}{unit}{ends}"


def _n(value: float) -> str:
    """Write a number with three digits."""
    text = f"{value:#.3g}".rstrip(".")
    return f"−{text[1:]}" if value < 0 else text
