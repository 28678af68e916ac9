"""The form by which a dataset is read again: its columns with their roles, and the other fields."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from contract.datasets import Column, DatasetReport, Layout, Variable
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
    "group": "group",
    "input": "input",
    "error": "error of a state",
    "ignored": "ignored",
}


@dataclass(frozen=True, slots=True)
class Word:
    """Name or unit of a state column, as its input shows it.

    path       place of the value in the layout, as a JSON Pointer without `#/`
    value      text at first
    inferred   text that stands for what the file says, and is not sent
    hint       what a blank input means
    """

    path: str
    value: str = ""
    inferred: str = ""
    hint: str = ""


@dataclass(slots=True)
class ColumnChoice:
    """A column of the file with the roles that it may have.

    place   position of the variable among x, y, z, … that the column became; None for others
    words   name and unit of its variable; empty where it can be no state
    """

    column: Column
    roles: Mapping[str, str]
    place: int | None
    words: Sequence[Word]


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
    arrangement = _arrangement(report)
    if arrangement == "tn":
        order = [column.key for column in report.columns if column.role == "state"][:1]
    columns = [_choice(column, order, report) for column in report.columns]
    others = (
        "time_column",
        "id_column",
        "state_columns",
        "ignored_columns",
        "orientation",
        "group_column",
        "input_columns",
        "error_columns",
    )
    usual = report.layout.gap_factor == Layout().gap_factor
    hidden = (*(("axes",) if arrangement else ()), *(("gap_factor",) if usual else ()))
    fields = layout_fields(*others, *hidden, "state_unit", "state_names")
    layout = report.layout
    values = {
        "group_column": layout.group_column,
        "input_columns": ", ".join(layout.input_columns or ()) or None,
        "error_columns": ", ".join(layout.error_columns or ()) or None,
        "dt": report.layout.dt if report.dt.source == "given" else None,
        "time_unit": report.time_unit,
        "axes": report.layout.axes,
        "gap_factor": report.layout.gap_factor,
    }
    filled = [
        replace(field, prefix="r", value="" if value is None else str(value))
        for field in fields
        for value in (values[field.path],)
    ]
    if not columns:
        filled += _by_number(report)
    return LayoutForm(columns, filled, arrangement, ARRANGEMENTS)


def _choice(column: Column, order: Sequence[str], report: DatasetReport) -> ColumnChoice:
    place = order.index(column.key) if column.key in order else None
    variable = None if place is None else report.variables[place]
    roles = _roles_of(column)
    words = _words(column.key, variable, column.unit, report.layout) if "state" in roles else ()
    return ColumnChoice(column, roles, place, words)


def _words(
    key: str, variable: Variable | None, unit_in_file: str | None, layout: Layout
) -> tuple[Word, Word]:
    """Return name and unit of a column, or of a variable without one, as it was read."""
    name = "" if variable is None else variable.symbol
    units = layout.state_unit
    unit = (units or {}).get(key) if not isinstance(units, str) else variable and units
    inside = key.replace("~", "~0").replace("/", "~1")
    return (
        Word(
            f"state_names/{inside}",
            name,
            inferred="" if key in (layout.state_names or {}) else name,
            hint=name or "as in the file",
        ),
        Word(
            f"state_unit/{inside}",
            unit or unit_in_file or "",
            inferred="" if unit else unit_in_file or "",
            hint=unit_in_file or "none",
        ),
    )


def _by_number(report: DatasetReport) -> Iterator[Field]:
    """Yield fields for the names and units of variables without columns, by their numbers."""
    for number, variable in enumerate(report.variables, start=1):
        name, unit = _words(str(number), variable, None, report.layout)
        for word, said in ((name, "Name"), (unit, "Unit")):
            yield Field(
                path=word.path,
                label=f"{said} of {variable.name}",
                description="",
                kind="text",
                default=word.inferred,
                value=word.value,
                prefix="r",
            )


def _roles_of(column: Column) -> dict[str, str]:
    """Return the roles that a column may have; only numbers can be a state."""
    possible = ["state", "time", "identity", "group", "input", "error", "ignored"]
    if column.type == "text":
        possible = ["identity", "group", "ignored"]
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
