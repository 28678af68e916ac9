"""Sentences about datasets and results."""

from collections.abc import Iterator
from dataclasses import replace

from contract.base import Interval
from contract.datasets import Dataset
from contract.results import DataSummary, IdentificationResult, Model, ModelResult
from contract.rolling import RollingResult
from service.web.numbers import Units, count, exact, percent

UNEVEN = 1e-3
"""Jitter from which the sampling is called irregular."""


def units_of_dataset(dataset: Dataset) -> Units:
    """Return the units that the upload names."""
    report = dataset.report
    return Units(
        {v.name: v.unit for v in report.variables},
        report.time_unit,
        {v.name: v.label for v in report.variables},
    )


def units_of_result(result: ModelResult) -> Units:
    """Return the units of a result's data; a model given by its terms has none."""
    if not isinstance(result, IdentificationResult):
        return Units(dict.fromkeys(result.model.drift))
    return replace(units_of_data(result.data), positions=positions_of(result.model))


def positions_of(model: Model) -> dict[str, str]:
    """Return the position of each velocity; empty for a model of first order."""
    names = list(model.drift)
    return dict(zip(names[len(names) // 2 :], names, strict=False)) if model.order == 2 else {}


def units_of_data(data: DataSummary) -> Units:
    """Return the units of the data that a result was computed from."""
    variables = {str(v["name"]): v for v in data.variables}
    return Units(
        {name: v.get("unit") for name, v in variables.items()},
        data.time_unit,
        {name: v.get("label") for name, v in variables.items()},
    )


def report_in_words(dataset: Dataset) -> Iterator[str]:
    """Write a dataset's report in sentences."""
    report = dataset.report
    time = f" {report.time_unit}" if report.time_unit else ""
    one = report.n_trajectories == 1
    names = ", ".join(
        v.name if v.column in (None, v.name) else f"{v.name} ({v.column})" for v in report.variables
    )
    tracks = "one trajectory" if one else f"{count(report.n_trajectories)} trajectories"
    duration = f"total duration {exact(report.duration)}{time}"
    yield f"{count(report.n_samples)} samples of {names} in {tracks}, {duration}."
    clock = {
        "time_column": "from the time column",
        "given": "as specified",
        "assumed": "assumed, because it was not specified",
    }
    how = (
        "regular" if report.dt.jitter < UNEVEN else f"irregular, jitter {percent(report.dt.jitter)}"
    )
    yield f"Sampling interval {exact(report.dt.median)}{time}, {how} ({clock[report.dt.source]})."
    if report.dt.max > 1.01 * report.dt.min:
        yield f"Time steps range from {exact(report.dt.min)} to {exact(report.dt.max)}{time}."
    if not one:
        shortest, longest = count(report.lengths.min), count(report.lengths.max)
        yield f"Trajectories have between {shortest} and {longest} samples."
    if report.n_gaps:
        gaps = "gaps" if report.n_gaps > 1 else "gap"
        yield f"{count(report.n_gaps)} {gaps}, across which no increment is taken."
    if report.n_missing:
        yield f"{count(report.n_missing)} samples with missing values were dropped."
    if report.n_duplicate_times:
        yield f"{count(report.n_duplicate_times)} samples with repeated times were dropped."
    for variable, (low, high) in zip(report.variables, report.range, strict=True):
        unit = f" {variable.unit}" if variable.unit else ""
        yield f"{variable.name} ranges from {exact(low)} to {exact(high)}{unit}."


def heading_of(code: str) -> str:
    """Write a code such as `coarse-sampling` as the heading `Coarse sampling`."""
    return code.replace("-", " ").replace("_", " ").capitalize()


def without_distribution(reason: str | None) -> str:
    """Write the reason for a missing stationary distribution as a sentence after these words."""
    said = (reason or "").removeprefix("no stationary distribution: ").rstrip(".")
    return f"{said[:1].upper()}{said[1:]}." if said else ""


def transitions(number: int) -> str:
    """Write a number of transitions: `no transition`, `1 transition`, `12 transitions`."""
    return f"{count(number) if number else 'no'} transition{'' if number < 2 else 's'}"


def trend(result: RollingResult) -> str:
    """Write whether the spectral gap closes, and whether the noise's correlation time changes."""
    of_noise = result.correlation_time_trend
    if of_noise is None:
        return _of_gap(result)
    grows, falls = (
        "The noise's correlation time grows over time: the noise remembers longer.",
        "The noise's correlation time falls over time: the noise remembers shorter.",
    )
    said = {1: grows, -1: falls, 0: "The noise's correlation time shows no significant trend."}
    known = of_noise.slope is not None
    return f"{_of_gap(result)} {said[_sign(of_noise.ci)]}" if known else _of_gap(result)


def _sign(ci: Interval | None) -> int:
    """Return the sign that an interval leaves, 0 where it leaves both."""
    low, high = ci or (None, None)
    return int(low is not None and low > 0) - int(high is not None and high < 0)


def _of_gap(result: RollingResult) -> str:
    found = result.trend
    if found.slope is None or found.ci is None:
        return (
            f"There is no trend of the spectral gap: {found.reason or 'there are too few windows'}."
        )
    return {
        -1: "The spectral gap closes over time: relaxation becomes slower, as it does before a "
        "transition.",
        1: "The spectral gap opens over time: relaxation becomes faster.",
        0: "The spectral gap shows no significant trend.",
    }[_sign(found.ci)]
