"""The form by which a dataset is read again: its columns with their roles, and the other fields."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from contract.datasets import Column, DatasetReport, Layout
from service.web.forms import Field, layout_fields

ARRANGEMENTS = {
    "td": "One row per sample",
    "tn": "One column per trajectory",
    "nt": "One row per trajectory",
}
"""Arrangements of a table, by the value of `axes` that says so."""
_ROLES = {
    "state": "state",
    "time": "time",
    "identity": "trajectory id",
    "error": "error (not used)",
    "ignored": "ignored",
}


@dataclass(slots=True)
class ColumnChoice:
    """A column of the file with the roles that it may have.

    place   position of the variable among x, y, z, … that the column became; None for others
    """

    column: Column
    roles: Mapping[str, str]
    place: int | None


@dataclass
class LayoutForm:
    """Values of the template columns.html."""

    columns: Sequence[ColumnChoice]
    fields: Sequence[Field]
    arrangement: str | None
    arrangements: Mapping[str, str]


def layout_form(report: DatasetReport) -> LayoutForm:
    """Return the columns and fields, filled in as the dataset was read."""
    order = list(report.layout.state_columns or ())
    columns = [
        ColumnChoice(c, _roles_of(c), order.index(c.key) if c.key in order else None)
        for c in report.columns
    ]
    arrangement = _arrangement(report)
    others = ("time_column", "id_column", "state_columns", "ignored_columns", "orientation")
    usual = report.layout.gap_factor == Layout().gap_factor
    hidden = (*(("axes",) if arrangement else ()), *(("gap_factor",) if usual else ()))
    fields = layout_fields(*others, *hidden)
    values = {
        "dt": report.layout.dt if report.dt.source == "given" else None,
        "time_unit": report.time_unit,
        "state_unit": report.layout.state_unit,
        "axes": report.layout.axes,
        "gap_factor": report.layout.gap_factor,
    }
    filled = [
        replace(field, prefix="r", value="" if value is None else str(value))
        for field in fields
        for value in (values[field.path],)
    ]
    return LayoutForm(columns, filled, arrangement, ARRANGEMENTS)


def _roles_of(column: Column) -> dict[str, str]:
    """Return the roles that a column may have; only numbers can be a state."""
    possible = ["state", "time", "identity", "ignored"]
    if column.type == "text":
        possible = ["identity", "ignored"]
    elif column.type == "time stamp":
        possible = ["time", "identity", "ignored"]
    return {
        role: words for role, words in _ROLES.items() if role in possible or role == column.role
    }


def _arrangement(report: DatasetReport) -> str | None:
    """Return the arrangement in which a table was read; None for what is no table."""
    if report.layout.orientation == "rows":
        return "nt"
    if not report.columns:
        return None
    states = sum(column.role == "state" for column in report.columns)
    return "tn" if states > len(report.variables) else "td"
