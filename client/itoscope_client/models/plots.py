"""Plots of a model beside its data, with matplotlib where it is installed."""

from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from itoscope_client.errors import needed
from itoscope_client.models.document import ModelDocument
from itoscope_client.models.estimates import array_of
from itoscope_client.models.simulation import density_of

POINTS = 300
ARROWS = 21
DATA, PALE = "0.35", 0.25
"""Colour of the data, and opacity of a confidence band."""
Panel = Literal["drift", "diffusion", "density", "potential"]
Floats = NDArray[np.float64]
Range = tuple[float, float]


def figure(model: ModelDocument, data: ArrayLike | None, panel: Panel | None, ax: Any) -> Any:
    """Draw a model of one variable or two, and return the figure.

    panel   one of four for one variable; None: all four, or the drift on given axes
    ax      matplotlib's axes to draw on; None: a new figure

    Raises MissingDependency; ValueError for more variables, and for a panel that there is not.
    """
    if len(model.variables) > 2:
        raise ValueError(
            "plot() draws one variable or two; "
            "of more, draw sections with drift(x) and diffusion(x)"
        )
    if panel is not None and (len(model.variables) == 2 or panel not in PANELS):
        there = "one picture" if len(model.variables) == 2 else f"the panels {', '.join(PANELS)}"
        raise ValueError(f"there is no panel {panel!r}: of this model plot() draws {there}")
    samples = None if data is None else np.asarray(data, dtype=np.float64)
    if model.order == 2 and samples is not None and samples.ndim == 1:
        samples = _with_velocities(model, samples)
    if len(model.variables) == 2:
        return _plane(_axes(ax, (6, 5)), model, samples)
    [shown] = _ranges(model, samples)
    if panel is None and ax is None:
        plt = needed("matplotlib.pyplot", "plot()", extra="plot")
        drawn, grid = plt.subplots(2, 2, figsize=(8, 6), sharex=True, layout="constrained")
        for name, axes in zip(PANELS, grid.flat, strict=True):
            PANELS[name](axes, model, samples, shown)
        for axes in grid[0]:
            axes.set_xlabel("")
        return drawn
    axes = _axes(ax, (5, 3.6))
    PANELS[panel or "drift"](axes, model, samples, shown)
    return axes.figure


def _with_velocities(model: ModelDocument, positions: Floats) -> Floats:
    """Add velocities to positions: secants over two of the result's sampling intervals.

    Raises ValueError where the result has no data, and so no sampling interval.
    """
    dt = (model.document.get("data") or {}).get("dt")
    if dt is None:
        raise ValueError(
            "the result has no sampling interval: give plot() positions and velocities"
        )
    return np.column_stack([positions[1:-1], (positions[2:] - positions[:-2]) / (2 * dt)])


def _axes(ax: Any, size: tuple[float, float]) -> Any:
    if ax is not None:
        return ax
    plt = needed("matplotlib.pyplot", "plot()", extra="plot")
    return plt.subplots(figsize=size, layout="constrained")[1]


def _drift(axes: Any, model: ModelDocument, samples: Floats | None, shown: Range) -> None:
    _curve(axes, model, "drift", model.drift, shown)
    axes.axhline(0, linewidth=0.5, color="0.5")


def _diffusion(axes: Any, model: ModelDocument, samples: Floats | None, shown: Range) -> None:
    _curve(axes, model, "diffusion", model.diffusion, shown)
    axes.set_ylim(bottom=0)


def _curve(
    axes: Any, model: ModelDocument, name: str, of: Callable[[ArrayLike], Floats], shown: Range
) -> None:
    """Draw drift or diffusion with its band, and the data's binned increments with their errors."""
    curves = model.document.get("curves") or {}
    x = np.linspace(*shown, POINTS)
    axes.plot(x, of(x), label="model")
    band = array_of((curves.get(name) or {}).get("band") or [])
    if len(band):
        _band(axes, shown, array_of(curves["grid"]), band[:, 0], band[:, 1])
    seen = (model.document.get("observed") or {}).get("kramers_moyal")
    if seen:
        # The means come from increments over a whole sampling interval: they show the data, and
        # lie beside the curve where the interval is coarse.
        axes.errorbar(
            array_of(seen["at"]), array_of(seen[name]), array_of(seen[f"{name}_std_error"]),
            fmt=".", markersize=4, linewidth=0.8, color=DATA, zorder=1, label="data (binned)",
        )  # fmt: skip
        axes.legend()
    [variable] = model.variables
    axes.set_xlim(*shown)
    letter = "b" if name == "drift" else "a"
    axes.set(title=f"{name} {letter}({variable})", xlabel=variable)


def _density(axes: Any, model: ModelDocument, samples: Floats | None, shown: Range) -> None:
    law = density_of(model.document)
    edges, heights = _histogram(model, samples)
    if len(heights):
        axes.stairs(heights, edges, fill=True, alpha=PALE, color=DATA, label="data")
    if law is not None:
        axes.plot(law[0][0], law[1], label="model")
        limits = model.document["generator"]["stationary"]["density"].get("values_ci")
        if limits:
            _band(axes, shown, law[0][0], *map(array_of, limits))
    if len(heights) and law is not None:
        axes.legend()
    axes.set_xlim(*shown)
    axes.set(title="stationary density", xlabel=model.variables[0])


def _histogram(model: ModelDocument, samples: Floats | None) -> tuple[Floats, Floats]:
    """Return edges and heights of a histogram: the given samples', or else the result's."""
    if samples is not None:
        heights, edges = np.histogram(samples[np.isfinite(samples)], bins=60, density=True)
        return edges, heights
    known = (model.document.get("observed") or {}).get("histograms") or {}
    bins: Mapping[str, Any] = next(iter(known.values()), {"edges": (), "counts": ()})
    edges, counts = array_of(bins["edges"]), array_of(bins["counts"])
    return edges, counts / (counts.sum() * np.diff(edges)) if counts.sum() else counts[:0]


def _potential(axes: Any, model: ModelDocument, samples: Floats | None, shown: Range) -> None:
    height = model.document["generator"].get("effective_potential")
    if height:
        grid, values = array_of(height["grid"]), array_of(height["values"])
        inside = (grid >= shown[0]) & (grid <= shown[1])
        axes.plot(grid[inside], values[inside], label="model")
        limits = height.get("values_ci")
        if limits:
            _band(axes, shown, grid, *map(array_of, limits))
    axes.set_xlim(*shown)
    axes.set(title="effective potential [kT]", xlabel=model.variables[0])


def _band(axes: Any, shown: Range, x: Floats, low: Floats, high: Floats) -> None:
    # What lies beyond the plot would still scale its vertical axis.
    inside = (x >= shown[0]) & (x <= shown[1])
    axes.fill_between(x[inside], low[inside], high[inside], alpha=PALE, linewidth=0)


PANELS: Mapping[str, Callable[[Any, ModelDocument, Floats | None, Range], None]] = {
    "drift": _drift, "diffusion": _diffusion, "density": _density, "potential": _potential,
}  # fmt: skip


def _plane(axes: Any, model: ModelDocument, samples: Floats | None) -> Any:
    (x_low, x_high), (y_low, y_high) = _ranges(model, samples)
    law = density_of(model.document)
    if law is not None:
        (x, y), values = law
        shown = axes.pcolormesh(x, y, values.T, shading="nearest", cmap="Blues")
        axes.figure.colorbar(shown, ax=axes, label="stationary density")
    elif samples is None:
        _samples(axes, model)
    if samples is not None:
        axes.plot(samples[:, 0], samples[:, 1], ".", markersize=1, alpha=0.2, color="0.3")
    x_points, y_points = np.linspace(x_low, x_high, ARROWS), np.linspace(y_low, y_high, ARROWS)
    points = np.stack(np.meshgrid(x_points, y_points, indexing="ij"), axis=-1)
    b = model.drift(points)
    axes.quiver(points[..., 0], points[..., 1], b[..., 0], b[..., 1], angles="xy", width=0.003)
    title = "drift" if model.order == 1 else "phase plane"
    axes.set(xlim=(x_low, x_high), ylim=(y_low, y_high), title=title)
    axes.set(xlabel=model.variables[0], ylabel=model.variables[1])
    return axes.figure


def _samples(axes: Any, model: ModelDocument) -> None:
    """Draw the result's histogram of two variables, if there is one."""
    joint = (model.document.get("observed") or {}).get("joint_histogram")
    if joint:
        x, y = map(array_of, joint["edges"])
        axes.pcolormesh(x, y, array_of(joint["counts"]).T, cmap="Greys", alpha=0.6)


def _ranges(model: ModelDocument, samples: Floats | None) -> list[Range]:
    """Return the range to draw of each variable: the data's, or else the density's."""
    if samples is not None:
        columns = samples.reshape(len(samples), -1)
        ends = zip(np.nanmin(columns, axis=0), np.nanmax(columns, axis=0), strict=True)
        return [(float(low), float(high)) for low, high in ends]
    known = (model.document.get("data") or {}).get("range")
    field = model.document.get("drift_field")
    if model.order == 2:
        # Velocities were not recorded, and are beside the data.
        known = field and [(axis[0], axis[-1]) for axis in field["grid"]]
    if known:
        return [(float(low), float(high)) for low, high in known]
    law = density_of(model.document)
    if law is None:
        raise ValueError(
            "where to draw? The result has neither data nor a stationary density: give plot(data)"
        )
    return [(float(axis[0]), float(axis[-1])) for axis in law[0]]
