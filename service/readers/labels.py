"""Names and units that the layout gives to the state variables."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from service.readers.errors import UnreadableData, layout_fault
from service.readers.options import NONE, Layout
from service.readers.table import Variable

Place = Callable[[str, str], int]
"""Function (key in the layout, field of the layout) → index of the variable.

It raises UnreadableData where there is no such variable.
"""


def labelled(
    variables: Sequence[Variable], place: Place, layout: Layout
) -> tuple[tuple[Variable, ...], dict[str, Any]]:
    """Return variables under their names and units in the layout, and these fields as resolved.

    Raises UnreadableData where the layout names what is not one variable.
    """
    names = _by_index("state_names", layout.state_names or {}, place)
    unit = layout.state_unit
    if isinstance(unit, dict):
        units = _by_index("state_unit", unit, place)
    else:
        units = {} if unit is None else dict.fromkeys(range(len(variables)), unit)
    found = tuple(
        replace(
            variable,
            unit=variable.unit if j not in units else units[j] if units[j] != NONE else None,
            symbol=names.get(j),
        )
        for j, variable in enumerate(variables)
    )
    resolved = {
        "state_unit": {variables[j].key: units[j] for j in units}
        if isinstance(unit, dict)
        else unit,
        "state_names": {variables[j].key: names[j] for j in names} or None,
    }
    return found, resolved


def labelled_by_number(
    variables: Sequence[Variable], layout: Layout
) -> tuple[tuple[Variable, ...], dict[str, Any]]:
    """Return variables without columns, which the layout calls by their numbers, as `labelled`."""
    count = len(variables)

    def place(key: str, field: str) -> int:
        if key.isdecimal() and 1 <= int(key) <= count:
            return int(key) - 1
        there = f"variables 1 to {count}" if count > 1 else "variable 1"
        raise layout_fault(
            field,
            f"{field} names '{key[:60]}', but the data have no columns.",
            f"Call the variables by their numbers: {there}.",
            key=key,
        )

    numbered = [replace(variable, key=str(j)) for j, variable in enumerate(variables, start=1)]
    return labelled(numbered, place, layout)


def _by_index(field: str, given: Mapping[str, str], place: Place) -> dict[int, str]:
    keys: dict[int, str] = {}
    for key in given:
        try:
            j = place(key, field)
        except UnreadableData as error:
            raise layout_fault(field, error.detail, *error.hints, key=key) from None
        if j in keys:
            detail = f"{field} gives one variable twice, as '{keys[j][:60]}' and '{key[:60]}'."
            raise layout_fault(field, detail, "Leave one of them out.", key=key)
        keys[j] = key
    return {j: given[key] for j, key in keys.items()}
