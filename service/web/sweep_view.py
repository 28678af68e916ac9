"""The view of a sweep: a table with one row for each set of parameters."""

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from contract.sweep import SweepResult
from service.web.forms import labels
from service.web.numbers import count, with_interval
from service.web.result_view import ResultView, data_in_words
from service.web.sentences import positions_of
from service.web.tables import Table, inverted


def sweep_view(result: SweepResult) -> ResultView:
    """Show the model of each set of parameters."""
    passes = (
        f"{count(result.passes_taken)} passes over the data, {count(result.passes_shared)} saved"
    )
    return ResultView(
        subtitle=f"{data_in_words(result.data)}; {passes}", tables=[sets_of_parameters(result)]
    )


def changes_in_words(parameters: Mapping[str, Any], inside: str = "parameters") -> str:
    """Write a set of parameters with the labels of their fields: `Polynomial degree: 6`."""
    said = []
    for name, value in parameters.items():
        place = f"{inside}/{name}"
        if isinstance(value, Mapping):
            said.append(changes_in_words(value, place))
        else:
            listed = isinstance(value, list | tuple)
            text = ", ".join(map(str, value)) if listed else str(value)
            said.append(f"{labels().get(place, name)}: {text}")
    return "; ".join(said)


def sets_of_parameters(result: SweepResult) -> Table:
    """Tabulate each set's changed parameters, its equations and its slowest relaxation time."""
    rows: list[tuple[str | Markup, ...]] = []
    for item in result.items:
        put = changes_in_words(item.parameters) or "unchanged"
        if item.model is None or item.generator is None:
            rows.append((put, "–", "–", "–", "–" if item.error is None else item.error.detail))
            continue
        # The drift of a position is its velocity.
        known = positions_of(item.model).values()
        drift, diffusion = (
            "; ".join(
                f"{name}: {component.expression}" if len(of) > 1 else component.expression
                for name, component in of.items()
                if name not in known
            )
            for of in (item.model.drift, item.model.diffusion)
        )
        spectrum = item.generator.spectrum
        slowest = "–"
        if spectrum is not None and spectrum.relaxation_times:
            ends = inverted(spectrum.eigenvalues[0].ci) if spectrum.eigenvalues else None
            slowest, interval = with_interval(spectrum.relaxation_times[0], ends)
            slowest += f" ({interval})" if interval else ""
        warnings = ", ".join(notice.code for notice in item.warnings) or "none"
        rows.append((put, drift, diffusion, slowest, warnings))
    headings = ("changed parameters", "drift", "diffusion", "relaxation time", "warnings")
    return Table("sets", "Parameter sets", headings, tuple(rows))
