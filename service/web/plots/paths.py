"""The record, and beside it a path that the page simulates from the model."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from contract.datasets import DatasetPreview
from contract.results import Component, IdentificationResult, ModelResult
from grammar.terms import Binary, Call, NotATerm, Number, Tree, Variable, parse
from service.web.numbers import Units
from service.web.plots.plot import Axis, Plot

MOST_VARIABLES = 3
MOST_STEPS = 400_000
"""Most steps of a simulation: about 0.1 s in a browser."""
USUAL_STEPS = 40_000
FINEST = 10
"""Most steps per sampling interval."""
SHOWN = 600
"""Points of a path that is not simulated beside a record."""
RELAXATIONS = 20.0
"""Length of such a path in relaxation times."""
FINE = 0.02
"""Its step in fastest relaxation times, at most."""


def path_plots(
    result: ModelResult,
    units: Units,
    preview: DatasetPreview | None = None,
    record_of: Callable[[str], Plot] | None = None,
) -> Iterator[Plot]:
    """Draw each variable of the record against time, and of a path of the model like it.

    preview     of the record, if there still is one
    record_of   plots a variable of it
    """
    simulation = _simulation(result, preview)
    names = list(result.model.drift)
    recorded = result.recorded if isinstance(result, IdentificationResult) else ()
    positions = recorded or names[: len(names) // result.model.order]
    for k, name in enumerate(positions[:MOST_VARIABLES]):
        across = Axis("time", units.time)
        up = Axis(units.label(name), units.of_variable(name))
        record = None if record_of is None else record_of(name)
        if record is not None and isinstance(result, IdentificationResult):
            low, high = _ranges(result)[name]
            margin = 0.1 * (high - low) or 1.0
            # The same for both, so that they can be compared.
            up = replace(up, range=(low - margin, high + margin))
            title = f"Record: {units.label(name)}"
            yield replace(record, name=f"record-{name}", title=title, y=up, wide=False)
        if simulation is not None:
            path: dict[str, Any] = {"kind": "line", "name": "simulated path", "style": "second"}
            path |= {"x": [], "y": [], "dashed": False, "thin": True}
            path["simulation"] = {**simulation, "shown": k}
            title = f"Simulated path of the model: {units.label(name)}"
            noise = simulation["noise"][k] > 0
            note = "The same model with other random numbers gives another path."
            note += " It has the measurement noise that was found." if noise else ""
            if record is not None:
                note = f"Of the record's length and sampling. {note}"
            yield Plot(f"simulated-{name}", title, across, up, [path], f"{title}.", note)


def _simulation(result: ModelResult, preview: DatasetPreview | None) -> dict[str, Any] | None:
    """Return what static/plots/simulation.js needs to simulate; None where nothing can be."""
    names = list(result.model.drift)
    try:
        drift = [_sum(component) for component in result.model.drift.values()]
        diffusion = [
            [*(names.index(name) for name in pair.split(",")), _sum(component)]
            for pair, component in result.model.diffusion.items()
        ]
    except (NotATerm, ValueError):
        return None
    made: dict[str, Any] = {
        "names": names,
        "positions": len(names) // 2 if result.model.order == 2 else 0,
        "drift": drift,
        "diffusion": diffusion,
        "bounds": [list(result.model.domain.get(name, (None, None))) for name in names],
        "noise": [0.0] * len(names),
        "scales": [1.0] * len(names),
        "seed": 1,
    }
    if preview is not None and isinstance(result, IdentificationResult):
        return made | _like_the_record(result, preview, names)
    alone = _alone(result)
    return None if alone is None else made | alone


def _like_the_record(
    result: IdentificationResult, preview: DatasetPreview, names: Sequence[str]
) -> dict[str, Any]:
    step = result.data.dt
    stretches, steps = [], 0
    for stretch in preview.stretches:
        begin = stretch.times[0]
        bins = len(stretch.times)
        duration = (stretch.times[-1] - begin) * (bins / (bins - 1) if bins > 1 else 1.0)
        count = min(round(duration / step), MOST_STEPS - steps)
        if count < 1:
            continue
        first = stretch.first or stretch.low
        # Where velocities were not recorded, a path begins at rest.
        start = [first[name][0] if name in first else 0.0 for name in names]
        stretches.append({"begin": begin, "steps": count, "bins": min(bins, count), "start": start})
        steps += count
    mean = result.diagnostics.measurement_noise_variance or 0.0
    variances = result.diagnostics.measurement_noise_variances
    seen = _ranges(result)
    noise = [max(variances.get(name, mean), 0.0) if name in seen else 0.0 for name in names]
    finer = min(max(USUAL_STEPS // max(steps, 1), 1), FINEST)
    found = {"stretches": stretches, "step": step, "finer": finer, "noise": noise}
    known = {} if result.observed is None else result.observed.histograms
    drawn = {name: (bins.edges[0], bins.edges[-1]) for name, bins in known.items()}
    ends = [seen.get(name) or drawn.get(name, (0.0, 1.0)) for name in names]
    return found | {"scales": [high - low or 1.0 for low, high in ends]}


def _ranges(result: IdentificationResult) -> dict[str, tuple[float, float]]:
    """Return the smallest and largest value of each recorded variable [state]."""
    names = (str(variable["name"]) for variable in result.data.variables)
    return dict(zip(names, result.data.range, strict=True))


def _alone(result: ModelResult) -> dict[str, Any] | None:
    """Return a path of a model without a record: as long as its slowest relaxation asks for."""
    spectrum, stationary = result.generator.spectrum, result.generator.stationary
    if spectrum is None or stationary is None or not spectrum.relaxation_times:
        return None
    start = next((list(p.at) for p in result.generator.fixed_points if p.stable), None)
    if start is None:
        start = [value or 0.0 for value in stationary.mean]
    slowest, fastest = max(spectrum.relaxation_times), min(spectrum.relaxation_times)
    duration = RELAXATIONS * slowest
    steps = min(max(math.ceil(duration / (FINE * fastest)), SHOWN), MOST_STEPS)
    stretch = {"begin": 0.0, "steps": steps, "bins": SHOWN, "start": start}
    scales = [4 * math.sqrt(row[k] or 0.0) or 1.0 for k, row in enumerate(stationary.covariance)]
    return {"stretches": [stretch], "step": duration / steps, "finer": 1, "scales": scales}


def _sum(component: Component) -> Any:
    """Write the selected terms of a component as one tree of lists."""
    total: Any = 0.0
    for term in component.terms:
        if term.active and term.value:
            product = ["*", term.value, _listed(parse(term.term))]
            total = product if total == 0.0 else ["+", total, product]
    return total


def _listed(tree: Tree) -> Any:
    match tree:
        case Number(value):
            return value
        case Variable(name):
            return name
        case Call(function, argument):
            return [function, _listed(argument)]
        case Binary(operator, left, right):
            return [operator, _listed(left), _listed(right)]
