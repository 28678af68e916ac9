"""What the values and names of a column say: whole numbers, groups, rise; and how to find it."""

from collections.abc import Sequence

import numpy as np

from service.readers.clock import rises_evenly
from service.readers.errors import layout_fault
from service.readers.names import bare, split_unit, words
from service.readers.options import Layout
from service.readers.table import Column, Flags, Floats, Integers, Table


def locate(given: str, names: Sequence[str | None], field: str) -> int:
    """Find the column that a layout gives by its name, its name without unit, or its number.

    Returns its index in the file. Raises UnreadableData naming the field of the layout where no
    column fits.
    """
    if given in names:
        return names.index(given)
    if given.isdigit() and 1 <= int(given) <= len(names):
        return int(given) - 1
    for form in (lambda name: name.strip().lower(), lambda name: bare(split_unit(name)[0])):
        alike = [j for j, name in enumerate(names) if name and form(name) == form(given)]
        if len(alike) == 1:
            return alike[0]
    numbered = enumerate(names[:20], start=1)
    listed = ", ".join(f"{j} ('{name}')" if name else str(j) for j, name in numbered)
    raise layout_fault(field, f"{field} names '{given[:60]}', but the file has columns {listed}.")


def column_of(given: str, table: Table, field: str) -> Column:
    """Return the column that a layout gives; numbers count the columns of the file."""
    width = max((column.position for column in table.columns), default=0)
    at = {column.position: column for column in table.columns}
    names = [at[j].name if j in at else None for j in range(1, width + 1)]
    position = locate(given, names, field) + 1
    if position not in at:
        raise layout_fault(field, f"{field} names column {position}, which was not read.")
    return at[position]


def located_all(given: str, names: Sequence[str | None]) -> list[int]:
    """Return the indices of one or several columns of identity; commas separate their names."""
    if "," not in given or given in names:
        return [locate(given, names, "id_column")]
    return [locate(part.strip(), names, "id_column") for part in given.split(",")]


def reserved_columns(table: Table, layout: Layout) -> list[Column]:
    """Return the columns that the layout gives as time or state."""
    given = [
        (layout.time_column, "time_column"),
        *((name, "state_columns") for name in layout.state_columns or ()),
    ]
    return [column_of(name, table, field) for name, field in given if name is not None]


def groups_of(column: Column) -> Integers:
    """Return the trajectory of each row: (n,) int64 codes in order of appearance, -1 for none."""
    if column.kind == "text":
        return np.asarray(column.values, dtype=np.int64)
    values = column.numbers() if column.kind == "number" else column.values
    unique, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    order = np.argsort(first, kind="stable")
    if column.kind == "number" and len(unique) and np.isnan(unique[-1]):
        order = order[order != len(unique) - 1]
        rank[-1] = -1
    rank[order] = np.arange(len(order))
    return rank[inverse]


def is_whole(column: Column) -> bool:
    """Return whether a column holds whole numbers, and otherwise nothing but missing values."""
    if column.values.dtype.kind == "i":
        return bool(len(column.values))
    values = column.numbers()
    present = values[~np.isnan(values)]
    return bool(len(present)) and bool(np.all(present == np.floor(present)))


_FULL_TURNS = {
    360.0: words("deg degree degrees ° º"),
    2 * np.pi: words("rad radian radians"),
    1.0: words("turn turns rev revolution revolutions cycle cycles"),
}
"""Units of angles, by the full turn in them."""
_ANGLES = words(
    "angle angles phase phases phi theta psi azimuth heading bearing direction orientation "
    "dihedral torsion yaw winkel richtung"
)


def likely_period(
    name: str | None, unit: str | None, values: Floats, joined: Flags
) -> float | None:
    """Return the full turn of a variable that looks like an angle; None where it does not.

    values   (n,)                                                                       [state]
    joined   (n - 1,) whether a step stays in one segment

    Its values stay within one turn. Beyond that, a unit or a name of angles needs half of the turn
    or a jump by a whole turn; without both, the values must fill the turn and jump by it twice,
    with no step of a middle length.
    """
    bare_name, of_name = split_unit(name) if name else ("", None)
    written = {bare(text) for text in (unit, of_name) if text}
    by_unit = [turn for turn, units in _FULL_TURNS.items() if written & units]
    named = bool(_ANGLES & set(bare(bare_name).split("_")))
    low, high = float(values.min()), float(values.max())
    steps = np.abs(np.diff(values)[joined])
    for turn in by_unit or (2 * np.pi, 360.0):
        slack = 1e-3 * turn
        centred = low >= -turn / 2 - slack and high <= turn / 2 + slack
        if not centred and not (low >= -slack and high <= turn + slack):
            continue
        n_whole = int(np.count_nonzero(steps > 0.75 * turn))
        n_middle = int(np.count_nonzero((steps > 0.25 * turn) & (steps <= 0.75 * turn)))
        if by_unit or named:
            if high - low > turn / 2 or (n_whole and not n_middle):
                return float(turn)
        elif high - low > 0.95 * turn and n_whole > 1 and not n_middle:
            return float(turn)
    return None


def inside(groups: Integers | None, n: int) -> Flags:
    """Flag the steps (n - 1,) that stay in one trajectory."""
    return np.ones(max(n - 1, 0), dtype=bool) if groups is None else np.diff(groups) == 0


def varies(column: Column) -> bool:
    """Return whether a column holds at least two different numbers."""
    values = column.numbers()
    return bool(np.nanmax(values, initial=-np.inf) > np.nanmin(values, initial=np.inf))


def n_falls(column: Column, groups: Integers | None) -> int:
    """Count the steps back inside trajectories."""
    steps = np.diff(column.numbers())
    return int(np.count_nonzero(steps[inside(groups, len(steps) + 1)] < 0))


def rises(column: Column, groups: Integers | None, *, strictly_and_evenly: bool) -> bool:
    """Return whether numbers rise, or stay, inside every trajectory."""
    if column.kind == "text" or len(column.values) < 3:
        return False
    values = column.numbers()
    steps = np.diff(values)[inside(groups, len(values))]
    if not steps.size or not np.all(steps >= 0) or not np.any(steps > 0):
        return False
    return not strictly_and_evenly or rises_evenly(steps, values)
