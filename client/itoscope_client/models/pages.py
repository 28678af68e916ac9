"""The model as HTML for a notebook: equations with errors, times, warnings.

Text from outside is escaped.
"""

import re
from html import escape

from itoscope_client.models.document import ModelDocument
from itoscope_client.models.estimates import Term
from itoscope_client.models.rounding import interval, rounded, with_error

_POWER = re.compile(r"\^(-?\w+(?:\.\d+)?)")
_CELL = "style='text-align:left;padding:2px 12px 2px 0'"


def page(model: ModelDocument) -> str:
    """Write a model as a `<div>` without script or style sheet."""
    parts = [
        "<div>",
        "<p><i>d</i>X = <i>b</i> <i>dt</i> + <i>σ</i> <i>dW</i>,"
        "&ensp;<i>a</i> = <i>σσ</i>ᵀ (Itô)</p>",
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


def _equations(model: ModelDocument) -> list[str]:
    lines = []
    for function, letter in (("drift", "b"), ("diffusion", "a")):
        for component in model.document["model"][function]:
            place = (function, component)
            own = [term for term in model.active_terms if (term.function, term.component) == place]
            index = escape(component.replace(",", ""))
            index = "" if len(model.variables) == 1 else f"<sub>{index}</sub>"
            lines.append(f"<i>{letter}</i>{index} = {' + '.join(map(_summand, own)) or '0'}")
    return lines


def _summand(term: Term) -> str:
    coefficient = with_error(term.value, term.std_error)
    if "±" in coefficient or term.value < 0:
        coefficient = f"({coefficient})"
    return coefficient if term.term == "1" else f"{coefficient} {symbol(term.term)}"


def symbol(text: str) -> str:
    """Write a term's text with its powers raised: `x^2*y` → x<sup>2</sup> y."""
    return _POWER.sub(r"<sup>\1</sup>", escape(text)).replace("*", "&thinsp;")


def _times(model: ModelDocument) -> str:
    unit = (model.document.get("data") or {}).get("time_unit")
    rows: list[tuple[str, str, str]] = []
    spectrum = model.document["generator"].get("spectrum") or {}
    if len(model.relaxation_times):
        ci = model.relaxation_interval
        rows.append(("relaxation time", rounded(model.relaxation_times[0], ci), interval(ci)))
        period = spectrum["eigenvalues"][0].get("period")
        if period is not None:
            rows.append(("period", rounded(period), ""))
    for passage in model.passages:
        time = passage.mean_time
        start, end = passage.start, passage.end
        if time.value is not None and isinstance(start, float) and isinstance(end, float):
            name = f"mean time {start:.3g} → {end:.3g}"
            rows.append((name, rounded(time.value, time.ci), interval(time.ci)))
    if not rows:
        if model.ergodic is not False:
            return ""
        return f"<p>No stationary distribution: {escape(missing_distribution_reason(model))}</p>"
    body = "".join(
        f"<tr>{''.join(f'<td {_CELL}>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows
    )
    note = f"<caption {_CELL}>[{escape(unit)}]</caption>" if unit else ""
    return f"<table>{note}{body}</table>"
