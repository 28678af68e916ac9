"""A model shown: as HTML in a notebook, and in plots, with matplotlib where it is installed."""

import re
from html import escape
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from itoscope_client.errors import needed
from itoscope_client.models.document import ModelDocument
from itoscope_client.models.estimates import (
    Term,
    array_of,
    index_of,
)
from itoscope_client.models.numbers import plain, with_error, with_interval
from itoscope_client.models.simulation import density_of

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
    for function, letter in (("drift", "b"), ("diffusion", "a")):
        for component in model.in_symbols["model"][function]:
            place = (function, component)
            own = [term for term in model.active_terms if (term.function, term.component) == place]
            index = escape(index_of(component))
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


POINTS = 300
ARROWS = 21


def figure(model: ModelDocument, data: ArrayLike | None) -> Any:
    """Draw a figure of one variable or two. Raises MissingDependency; ValueError for more."""
    plt = needed("matplotlib.pyplot", "plot()", extra="plot")
    if len(model.variables) > 2:
        raise ValueError(
            "plot() draws one variable or two; "
            "of more, draw sections with drift(x) and diffusion(x)"
        )
    samples = None if data is None else np.asarray(data, dtype=np.float64)
    return _line(plt, model, samples) if len(model.variables) == 1 else _plane(plt, model, samples)


def _line(plt: Any, model: ModelDocument, samples: NDArray[np.float64] | None) -> Any:
    [name] = model.variables
    low, high = _ranges(model, samples)[0]
    x = np.linspace(low, high, POINTS)
    curves = model.document.get("curves") or {}
    drawn, ((drift, diffusion), (density, potential)) = plt.subplots(
        2, 2, figsize=(8, 6), sharex=True, layout="constrained"
    )
    drift.plot(x, model.drift(x))
    drift.axhline(0, linewidth=0.5, color="0.5")
    drift.set_title(f"drift b({name})")
    diffusion.plot(x, model.diffusion(x))
    diffusion.set_ylim(bottom=0)
    diffusion.set_title(f"diffusion a({name})")
    for axes, name_of_curve in ((drift, "drift"), (diffusion, "diffusion")):
        band = array_of((curves.get(name_of_curve) or {}).get("band") or [])
        if len(band):
            axes.fill_between(curves["grid"], band[:, 0], band[:, 1], alpha=0.25, linewidth=0)
    law = density_of(model.document)
    if samples is not None:
        density.hist(samples[np.isfinite(samples)], bins=60, density=True, alpha=0.3, label="data")
    if law is not None:
        density.plot(law[0][0], law[1], label="model")
    density.set_title("stationary density")
    if samples is not None and law is not None:
        density.legend()
    height = model.document["generator"].get("effective_potential")
    if height:
        grid, values = array_of(height["grid"]), array_of(height["values"])
        inside = (grid >= low) & (grid <= high)
        potential.plot(grid[inside], values[inside])
    potential.set_title("effective potential [kT]")
    for axes in (density, potential):
        axes.set_xlabel(name)
    density.set_xlim(low, high)
    return drawn


def _plane(plt: Any, model: ModelDocument, samples: NDArray[np.float64] | None) -> Any:
    drawn, axes = plt.subplots(figsize=(6, 5), layout="constrained")
    (x_low, x_high), (y_low, y_high) = _ranges(model, samples)
    law = density_of(model.document)
    if law is not None:
        (x, y), values = law
        shown = axes.pcolormesh(x, y, values.T, shading="nearest", cmap="Blues")
        drawn.colorbar(shown, ax=axes, label="stationary density")
    if samples is not None:
        axes.plot(samples[:, 0], samples[:, 1], ".", markersize=1, alpha=0.2, color="0.3")
    x_points, y_points = np.linspace(x_low, x_high, ARROWS), np.linspace(y_low, y_high, ARROWS)
    points = np.stack(np.meshgrid(x_points, y_points, indexing="ij"), axis=-1)
    b = model.drift(points)
    axes.quiver(points[..., 0], points[..., 1], b[..., 0], b[..., 1], angles="xy", width=0.003)
    axes.set(xlim=(x_low, x_high), ylim=(y_low, y_high), title="drift")
    axes.set(xlabel=model.variables[0], ylabel=model.variables[1])
    return drawn


def _ranges(model: ModelDocument, samples: NDArray[np.float64] | None) -> list[tuple[float, float]]:
    """Return the range to draw of each variable: the data's, or else the density's."""
    if samples is not None:
        columns = samples.reshape(len(samples), -1)
        ends = zip(np.nanmin(columns, axis=0), np.nanmax(columns, axis=0), strict=True)
        return [(float(low), float(high)) for low, high in ends]
    known = (model.document.get("data") or {}).get("range")
    if known:
        return [(float(low), float(high)) for low, high in known]
    law = density_of(model.document)
    if law is None:
        raise ValueError(
            "where to draw? The result has neither data nor a stationary density: give plot(data)"
        )
    return [(float(axis[0]), float(axis[-1])) for axis in law[0]]
