"""A model shown as HTML in a notebook."""

import re
from collections.abc import Sequence
from html import escape

from itoscope_client.models.document import ModelDocument, Summand
from itoscope_client.models.estimates import index_of
from itoscope_client.models.numbers import plain, with_interval
from itoscope_client.models.terms import as_factor

_POWER = re.compile(r"\^(-?\w+(?:\.\d+)?)")
_CELL = "style='text-align:left;padding:2px 12px 2px 0'"


def page(model: ModelDocument) -> str:
    """Write a model as a `<div>` without script or style sheet."""
    parts = [
        "<div>",
        "<p><i>d</i>X = <i>b</i> <i>dt</i> + <i>σ</i> <i>dW</i>,"
        "&ensp;<i>a</i> = <i>σσ</i>ᵀ (Itô)</p>"
        if model.order == 1
        else "<p><i>a</i> = <i>σσ</i>ᵀ (Itô)</p>",
    ]
    parts += [f"<p style='font-size:1.15em'>{line}</p>" for line in _equations(model)]
    parts.append(_times(model))
    for warning in model.warnings:
        message, code = (escape(str(warning.get(name, ""))) for name in ("message", "code"))
        parts.append(f"<p>⚠ {message} <code>{code}</code></p>")
    return "".join([*parts, "</div>"])


def missing_distribution_reason(model: ModelDocument) -> str:
    """Return why no stationary distribution exists, without the words that introduce the reason."""
    return (model.reason or "no reason was given").removeprefix("no stationary distribution: ")


def relaxation_rows(model: ModelDocument) -> list[tuple[str, str, str]]:
    """Write the slowest relaxation time with its interval, and its period, where they exist."""
    if not len(model.relaxation_times):
        return []
    ci = model.relaxation_interval
    rows = [("relaxation time", *with_interval(float(model.relaxation_times[0]), ci))]
    period = model.document["generator"]["spectrum"]["eigenvalues"][0].get("period")
    return rows if period is None else [*rows, ("period", plain(period), "")]


def _equations(model: ModelDocument) -> list[str]:
    lines = []
    positions = {v: x for x, v in model.velocities.items()}
    for letter, component, summands in model.sums():
        if letter == "b" and component in positions:
            x, v, kicks = (
                escape(text)
                for text in (positions[component], component, model.noise_of(component))
            )
            lines += [
                f"<i>d</i>{x} = {v} <i>dt</i>",
                f"<i>d</i>{v} = ({_sum(summands)}) <i>dt</i> + {kicks}",
            ]
            continue
        index = escape(index_of(component))
        index = "" if len(model.variables) == 1 else f"<sub>{index}</sub>"
        lines.append(f"<i>{letter}</i>{index} = {_sum(summands)}")
    return lines


def _sum(summands: Sequence[Summand]) -> str:
    """Write terms with the signs between them: `(0.87 ± 0.09) x − (0.92 ± 0.08) x³`."""
    text = ""
    for sign, size, term in summands:
        coefficient = f"({size})" if "±" in size and size[0] != "(" else size
        text += f" {sign} " if text else sign
        text += coefficient if term == "1" else f"{coefficient} {symbol(as_factor(term))}"
    return text.replace("-", "−") or "0"


def symbol(text: str) -> str:
    """Write a term's text with its powers raised: `x^2*y` → x<sup>2</sup> y."""
    return _POWER.sub(r"<sup>\1</sup>", escape(text)).replace("*", "&thinsp;")


def _times(model: ModelDocument) -> str:
    unit = (model.document.get("data") or {}).get("time_unit")
    rows: list[tuple[str, ...]] = [*relaxation_rows(model)]
    for passage in model.passages:
        time = passage.mean_time
        start, end = passage.start, passage.end
        if time.value is not None and isinstance(start, float) and isinstance(end, float):
            name = f"mean time {plain(start, 3)} → {plain(end, 3)}"
            rows.append((name, *time.texts, passage.note))
    if not rows:
        if model.ergodic is not False:
            return ""
        return f"<p>No stationary distribution: {escape(missing_distribution_reason(model))}</p>"
    body = "".join(
        f"<tr>{''.join(f'<td {_CELL}>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows
    )
    note = f"<caption {_CELL}>[{escape(unit)}]</caption>" if unit else ""
    return f"<table>{note}{body}</table>"
