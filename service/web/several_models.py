"""Tables of several models: two beside each other, or one a row."""

import json
import math

from markupsafe import Markup

from contract.results import Term
from contract.sweep import SweepResult
from service.web import mathml
from service.web.derived import inverted
from service.web.numbers import plain, with_error, with_interval
from service.web.plots.model import Result
from service.web.tables import Table


def both(first: Result, second: Result) -> Table:
    """The coefficients of two models side by side, and how far apart they are in units of their errors."""
    rows: list[tuple[str | Markup, ...]] = []
    one, other = _by_term(first), _by_term(second)
    for of, name in dict.fromkeys((*one, *other)):
        a, b = one.get((of, name)), other.get((of, name))
        apart = "–"
        if a is not None and b is not None and a.std_error and b.std_error:
            apart = plain(abs(a.value - b.value) / math.hypot(a.std_error, b.std_error), 2)
        rows.append((of, mathml.term(name), *("–" if t is None else with_error(t.value, t.std_error) for t in (a, b)), apart))
    return Table("both", "Coefficients", ("of", "term", "A", "B", "difference / error"), tuple(rows))


def _by_term(result: Result) -> dict[tuple[str, str], Term]:
    found = {}
    for kind, components in (("drift", result.model.drift), ("diffusion", result.model.diffusion)):
        for key, component in components.items():
            found.update({(f"{kind} {key}", t.term): t for t in component.terms if t.active})
    return found


def sets_of_parameters(result: SweepResult) -> Table:
    """One row for each set: what it put in place, the equations, the slowest relaxation time."""
    rows: list[tuple[str | Markup, ...]] = []
    for item in result.items:
        put = json.dumps(item.parameters, ensure_ascii=False) if item.parameters else "the job's parameters"
        if item.model is None or item.generator is None:
            rows.append((put, "–", "–", "–", "–" if item.error is None else item.error.detail))
            continue
        drift, diffusion = (
            "; ".join(
                f"{name}: {component.expression}" if len(of) > 1 else component.expression for name, component in of.items()
            )
            for of in (item.model.drift, item.model.diffusion)
        )
        spectrum = item.generator.spectrum
        slowest = "–"
        if spectrum is not None and spectrum.relaxation_times:
            ends = inverted(spectrum.eigenvalues[0].ci) if spectrum.eigenvalues else None
            slowest, interval = with_interval(spectrum.relaxation_times[0], ends)
            slowest += f" ({interval})" if interval else ""
        rows.append((put, drift, diffusion, slowest, ", ".join(notice.code for notice in item.warnings) or "none"))
    return Table("sets", "Sets of parameters", ("in place", "drift", "diffusion", "relaxation time", "warnings"), tuple(rows))
