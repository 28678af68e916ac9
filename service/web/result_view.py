"""The view of one result, of whatever kind, on the page and in the report."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from contract.results import DataSummary, Notice
from service.web.headline import Figure
from service.web.numbers import count, exact
from service.web.plots.plot import Plot
from service.web.tables import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultView:
    """Pieces of a result's page in the order in which they are shown; empty ones are left out.

    subtitle   what the result was computed from
    sentence   the answer in words
    figures    the answer in numbers
    template   the template that lays the pieces out
    more       what that template asks for besides
    """

    subtitle: str
    sentence: str = ""
    figures: Sequence[Figure] = ()
    warnings: Sequence[Notice] = ()
    plots_heading: str = "Plots"
    plots: Sequence[Plot] = ()
    tables: Sequence[Table] = ()
    template: str = "overview.html"
    more: Mapping[str, Any] = field(default_factory=dict)


def words_of_data(data: DataSummary) -> str:
    """Say how many increments and trajectories there are, and the sampling interval and duration."""
    time = f" {data.time_unit}" if data.time_unit else ""
    tracks = (
        "one trajectory"
        if data.n_trajectories == 1
        else f"{count(data.n_trajectories)} trajectories"
    )
    return f"{count(data.n_increments)} increments in {tracks}, Δt = {exact(data.dt)}{time}, {exact(data.duration)}{time} in all"
