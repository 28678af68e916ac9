"""The view of one result of any kind, on the page and in the report."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from contract.base import Interval
from contract.results import DataSummary, Notice
from service.web.numbers import count, exact, with_interval
from service.web.plots.plot import PlotGroup
from service.web.tables import Table


@dataclass(frozen=True, slots=True)
class Figure:
    """A number of the headline.

    interval   confidence interval as text; empty if there is none
    note       text beside the number
    """

    label: str
    value: str
    unit: str = ""
    interval: str = ""
    note: str = ""

    @classmethod
    def of(
        cls, label: str, value: float | None, ci: Interval | None, unit: str | None, note: str = ""
    ) -> "Figure":
        """Write a value with the digits that its confidence interval allows."""
        text, interval = with_interval(value, ci)
        return cls(label, text, unit or "", interval, note)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultView:
    """Parts of a result's page in the order in which they are shown; empty ones are left out.

    subtitle   data or model that the result was computed from
    sentence   main result in words
    figures    main results in numbers
    groups     plots, the most important group first
    template   template that arranges the parts
    more       further values for the template
    """

    subtitle: str
    sentence: str = ""
    figures: Sequence[Figure] = ()
    warnings: Sequence[Notice] = ()
    groups: Sequence[PlotGroup] = ()
    tables: Sequence[Table] = ()
    template: str = "overview.html"
    more: Mapping[str, Any] = field(default_factory=dict)


def data_in_words(data: DataSummary) -> str:
    """Write the numbers of increments and trajectories, the sampling interval and the duration."""
    time = f" {data.time_unit}" if data.time_unit else ""
    n = data.n_trajectories
    tracks = "one trajectory" if n == 1 else f"{count(n)} trajectories"
    clock = f"Δt = {exact(data.dt)}{time}, {exact(data.duration)}{time} in all"
    return f"{count(data.n_increments)} increments in {tracks}, {clock}"
