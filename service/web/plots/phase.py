"""Plots of a position and its velocity at rest: force, friction and diffusion by position."""

from collections.abc import Iterator

import numpy as np

from contract.curves import Curve
from contract.results import ModelResult
from service.web.numbers import Units, plain
from service.web.plots.model import interval, padded
from service.web.plots.plot import Axis, Layers, Plot, array, numbers


def section_plots(result: ModelResult, units: Units) -> Iterator[Plot]:
    """Draw force, friction and diffusion of the velocity on the line where it is zero."""
    curves = result.curves
    if curves is None or curves.friction is None:
        return
    x, v = result.model.drift
    grid = numbers(curves.grid)
    across = Axis(units.label(x), units.of_variable(x), (float(grid[0]), float(grid[-1])))
    for name, title, letter, unit, curve in (
        ("drift", "Force at rest", f"F({x}, 0)", units.drift(v), curves.drift),
        ("friction", "Friction at rest", f"−∂F/∂{v}", units.rate(), curves.friction),
        ("diffusion", "Diffusion at rest", f"a({x}, 0)", units.diffusion(v, v), curves.diffusion),
    ):
        layers, shown = Layers(), _shown(curve)
        if curve.band:
            interval(layers, result, grid, array(curve.band).T)
        layers.rule(y=0.0)
        layers.line(f"model {letter}", grid, curve.values)
        values = numbers(curve.values)
        summary = (
            f"{title}, {letter}, where {v} = 0: for {x} from {plain(grid[0], 3)} to "
            f"{plain(grid[-1], 3)}, with values from {plain(values[0], 3)} to "
            f"{plain(values[-1], 3)}."
        )
        up = Axis(letter, unit, shown)
        driven = name == "friction" and bool(np.nanmin(values) < 0)
        note = "Where the friction is negative, the motion is driven." if driven else ""
        yield Plot(name, f"{title} {letter}", across, up, layers.made, summary, note)


def _shown(curve: Curve) -> tuple[float, float]:
    """Return the range of a curve, its band, and zero."""
    every = np.concatenate([numbers(curve.values), numbers(curve.band or (0.0,)), [0.0]])
    seen = every[np.isfinite(every)]
    return padded(float(seen.min()), float(seen.max()))
