"""Plots of two or more variables: maps of densities and committors, and marginal densities."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from contract.curves import DriftField, JointBins
from contract.results import Committor, IdentificationResult, ModelResult, Stationary
from service.web.numbers import Units, plain
from service.web.plots.dynamics import place
from service.web.plots.model import confidence_of, histogram, observed_of
from service.web.plots.plot import Axis, Floats, Layers, Plot, array, numbers

FEW_COMMITTORS = 4
SECANTS = "Velocities of the data are secants over two sampling intervals."


def plane_plots(result: ModelResult, units: Units, variables: Sequence[str]) -> Iterator[Plot]:
    """Draw maps of two variables, and the marginals of any number of variables.

    The maps show the density with the drift, with the current, and of the data, and the committors.
    """
    if len(variables) == 2:
        yield from _maps(result, units, variables)
    yield from _marginals(result, units, variables)


def _maps(result: ModelResult, units: Units, variables: Sequence[str]) -> Iterator[Plot]:
    stationary, field = result.generator.stationary, result.drift_field
    observed = observed_of(result)
    joint = None if observed is None else observed.joint_histogram
    grid: Sequence[Any] = field.grid if field is not None else ()
    if field is None and stationary is not None and len(stationary.density.grid) == 2:
        grid = stationary.density.grid
    if not grid:
        return
    x, y = (
        Axis(units.label(v), units.of_variable(v), _ends(g))
        for v, g in zip(variables, grid, strict=True)
    )
    axes = (x, y)
    points = _fixed_points(result)
    with_density = stationary is not None and len(stationary.density.grid) == 2
    title = "Density and drift" if with_density else "Drift"
    layers = Layers()
    _heat(layers, stationary, with_interval=True)
    if result.model.order == 2:
        title = f"Phase plane: {title.lower()}"
        if joint is not None and not with_density:
            title += " and data"
            _samples(layers, joint)
            joint = None
    _drift(layers, field)
    layers.marks("fixed points", *points)
    summary = (
        f"Map of {variables[0]} and {variables[1]}: stationary density of the model, with arrows "
        "for its drift."
    )
    summary += _highest(stationary, result) if with_density and stationary is not None else ""
    for p in result.generator.fixed_points:
        summary += f" A{' stable' if p.stable else 'n unstable'} fixed point is at {place(p.at)}."
    note = "" if joint is not None or observed is None else _about_velocities(result)
    yield Plot("density-and-drift", title, *axes, layers.made, summary, note, square=True)
    if joint is not None:
        layers = Layers()
        _samples(layers, joint)
        said = f"Two-dimensional histogram of the samples of {variables[0]} and {variables[1]}."
        note = _about_velocities(result)
        title = "Density of the data"
        yield Plot("density-of-data", title, *axes, layers.made, said, note, square=True)
    if stationary is not None and stationary.current is not None and with_density:
        yield _current(stationary, axes, units)
    known = [committor for committor in result.generator.committors if len(committor.grid) == 2]
    for number, committor in enumerate(known[:FEW_COMMITTORS], start=1):
        yield _committor(number, committor, result, axes, points)


def _about_velocities(result: ModelResult) -> str:
    """Say what velocities of the data are that were not recorded."""
    recorded = isinstance(result, IdentificationResult) and len(result.recorded)
    return SECANTS if recorded and recorded < len(result.model.drift) else ""


def _heat(layers: Layers, stationary: Stationary | None, *, with_interval: bool = False) -> None:
    if stationary is None or len(stationary.density.grid) != 2:
        return
    density = stationary.density
    ends = density.values_ci if with_interval else None
    _map(layers, "stationary density of the model", density.grid, density.values, ends)


def _map(layers: Layers, name: str, grid: Sequence[Any], values: Any, ends: Any) -> None:
    """Add values on a grid of two variables, with the `ends` of their confidence intervals."""
    first, second = (numbers(g) for g in grid)
    interval = None if ends is None else (_coarse(array(ends[0])), _coarse(array(ends[1])))
    layers.heat(name, _cells(first), _cells(second), _coarse(array(values)), interval)


def _samples(layers: Layers, joint: JointBins) -> None:
    counts = np.array(joint.counts, dtype=float)
    first, second = map(_ends, joint.edges)
    layers.heat("samples", first, second, counts, smooth=False)


def _highest(stationary: Stationary, result: ModelResult) -> str:
    """Describe the maximum of the density, with its confidence interval."""
    values = array(stationary.density.values)
    at = np.unravel_index(np.nanargmax(values), values.shape)
    point = tuple(numbers(g)[k] for g, k in zip(stationary.density.grid, at, strict=True))
    said = f" Its maximum is at {place(point)}"
    if stationary.density.values_ci is None:
        return f"{said}: {plain(values[at], 3)}."
    low, high = (plain(array(end)[at], 3) for end in stationary.density.values_ci)
    level = confidence_of(result)
    return f"{said}: {plain(values[at], 3)}, {level} confidence interval {low} to {high}."


def _committor(
    number: int,
    committor: Committor,
    result: ModelResult,
    axes: tuple[Axis, Axis],
    points: tuple[list[float], list[float], list[str]],
) -> Plot:
    layers, ends = Layers(), committor.values_ci
    there, back = place(committor.to), place(committor.from_)
    _map(layers, "committor", committor.grid, committor.values, ends)
    layers.marks("fixed points", *points)
    summary = f"Probability that the process reaches {there} before {back}, by starting state."
    note = ""
    if ends is not None:
        widest = float(np.nanmax(array(ends[1]) - array(ends[0])))
        note = (
            f"The {confidence_of(result)} confidence interval is at most {plain(widest, 2)} wide."
        )
    title = f"Committor: {there} before {back}"
    return Plot(f"committor-{number}", title, *axes, layers.made, summary, note, square=True)


def _drift(layers: Layers, field: DriftField | None) -> None:
    if field is None:
        return
    x, y = np.meshgrid(np.array(field.grid[0]), np.array(field.grid[1]), indexing="ij")
    values = np.array(field.values, dtype=float)
    layers.arrows("drift", x, y, values[..., 0], values[..., 1])


def _current(stationary: Stationary, axes: tuple[Axis, Axis], units: Units) -> Plot:
    first, second = (numbers(g) for g in stationary.density.grid)
    current = array(stationary.current)
    every = [np.unique(np.linspace(0, len(g) - 1, 18).round().astype(int)) for g in (first, second)]
    x, y = np.meshgrid(first[every[0]], second[every[1]], indexing="ij")
    taken = current[np.ix_(every[0], every[1])]
    layers = Layers()
    _heat(layers, stationary)
    layers.arrows("probability current", x, y, taken[..., 0], taken[..., 1])
    summary = "Stationary probability current of the model, drawn over its density."
    if stationary.circulation is not None:
        turns = "counter-clockwise" if stationary.circulation > 0 else "clockwise"
        summary += (
            f" It circulates {turns}, with a circulation (area per unit time) of "
            f"{plain(stationary.circulation, 3)}."
        )
    if stationary.entropy_production is not None:
        production, unit = plain(stationary.entropy_production, 3), units.rate() or "per unit time"
        summary += f" Entropy production: {production} {unit}."
    note = summary.split(". ", 1)[-1]
    return Plot("current", "Probability current", *axes, layers.made, summary, note, square=True)


def _fixed_points(result: ModelResult) -> tuple[list[float], list[float], list[str]]:
    found = [p for p in result.generator.fixed_points if len(p.at) == 2]
    return (
        [p.at[0] for p in found],
        [p.at[1] for p in found],
        ["stable" if p.stable else "unstable" for p in found],
    )


def _marginals(result: ModelResult, units: Units, variables: Sequence[str]) -> Iterator[Plot]:
    for k, name in enumerate(variables):
        layers = Layers()
        histogram(layers, result, name)
        _marginal(layers, result, k)
        if layers.made:
            said = f"Stationary density of {name}: model, if known, and data."
            across = Axis(units.label(name), units.of_variable(name))
            up = Axis("density", units.density(name))
            title = f"Stationary density of {name}"
            seen = layers.made[0]["kind"] == "bars" and name in units.positions
            note = _about_velocities(result) if seen else ""
            yield Plot(f"density-{name}", title, across, up, layers.made, said, note)


def _marginal(layers: Layers, result: ModelResult, k: int) -> None:
    stationary, simulated = result.generator.stationary, result.generator.simulated
    if stationary is not None and len(stationary.density.grid) == 2:
        grids = [numbers(g) for g in stationary.density.grid]
        across = np.nansum(array(stationary.density.values), axis=1 - k) * (
            grids[1 - k][1] - grids[1 - k][0]
        )
        layers.line("model", grids[k], across)
    elif simulated is not None and k < len(simulated.marginals):
        marginal = simulated.marginals[k]
        edges = np.array(marginal.edges)
        layers.line("model (simulated paths)", (edges[1:] + edges[:-1]) / 2, marginal.density)
    elif stationary is not None and k < len(stationary.covariance):
        mean, variance = stationary.mean[k], stationary.covariance[k][k]
        if mean is not None and variance:
            x = mean + np.sqrt(variance) * np.linspace(-4, 4, 121)
            gaussian = np.exp(-((x - mean) ** 2) / 2 / variance) / np.sqrt(2 * np.pi * variance)
            layers.line("linearised model (Gaussian)", x, gaussian)


def _ends(grid: Any) -> tuple[float, float]:
    points = numbers(grid)
    return float(points[0]), float(points[-1])


def _cells(points: Floats) -> tuple[float, float]:
    """Return the ends of the cells around the first and the last point."""
    half = (points[-1] - points[0]) / (len(points) - 1) / 2 if len(points) > 1 else 0.5
    return float(points[0] - half), float(points[-1] + half)


def _coarse(values: Floats, most: int = 120) -> Floats:
    """Take every k-th row and column, so that a map has at most `most` of each."""
    step = [-(-n // most) for n in values.shape]
    return values[:: step[0], :: step[1]]
