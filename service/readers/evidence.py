"""What the values and names of a column say: its kind, its faults, and how to find it."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from grammar.terms import variable_name
from service.readers.clock import rises_evenly
from service.readers.errors import layout_fault
from service.readers.names import bare, split_unit, words
from service.readers.options import Layout, Notes
from service.readers.table import Column, Flags, Floats, Integers, Record, Table, Variable


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


# --- values that are no samples --------------------------------------------------------------

_CONVENTIONAL = (8888.0, 32767.0, 32768.0, 2147483647.0, 2147483648.0)
_ENORMOUS = 1e20
"""Size from which a repeated, isolated value is a fill value (netCDF's is 9.97e36)."""
_APART = 5.0
"""Distance of a code from all other values, in units of their range."""
_LEAP = 20.0
"""Distance of a code from the values before and after it, in units of the longest other step."""


def without_missing_codes(states: Floats, variables: Sequence[Variable], notes: Notes) -> Floats:
    """Return the states (n, d) with NaN for every missing-value code, and warn of each code.

    Codes are −999, 9999.0, 1e30, the largest numbers of 16 and 32 bits, and the like.

    A value is a code where it is a customary one, is the smallest or largest of its column, and
    lies apart from all other values by more than five times their range, or, in a record with a
    trend, from the values before and after it by more than twenty times the longest other step.
    """
    out = states
    for j, variable in enumerate(variables):
        column = out[:, j]
        for _ in range(4):
            code = _code_in(column)
            if code is None:
                break
            where = column == code
            column = np.where(where, np.nan, column)
            out = np.column_stack([out[:, :j], column, out[:, j + 1 :]])
            name = f" of {variable.column}" if variable.column else ""
            notes.warn(
                "missing-code",
                f"{int(where.sum())} values{name} are exactly {code:g}, far from all others: they "
                "were treated as codes for missing values. Write NaN for missing values.",
                value=code,
                count=int(where.sum()),
            )
    return out


def _code_in(column: Floats) -> float | None:
    finite = column[np.isfinite(column)]
    if finite.size < 10:
        return None
    for code in (float(finite.min()), float(finite.max())):
        others = finite[finite != code]
        if others.size < finite.size / 2 or not _is_customary(code, finite.size - others.size):
            continue
        low, high = float(others.min()), float(others.max())
        distance = min(abs(code - low), abs(code - high))
        if high > low and (distance > _APART * (high - low) or _leaps(finite, code, others)):
            return code
    return None


def _leaps(values: Floats, code: float, others: Floats) -> bool:
    """Return whether every step to and from a code is far longer than all other steps."""
    coded = values == code
    at_code = coded[1:] != coded[:-1]
    steps = np.abs(np.diff(values))
    between = np.abs(np.diff(others))
    return bool(steps[at_code].min() > _LEAP * between.max())


def _is_customary(value: float, count: int) -> bool:
    digits = f"{abs(value):.10g}".replace(".", "").rstrip("0")
    nines = len(digits) >= 2 and set(digits) == {"9"} and abs(value) >= 9
    return nines or abs(value) in _CONVENTIONAL or (abs(value) >= _ENORMOUS and count > 1)


_LONG_RUN = 10
"""Samples of one value from which a sensor may be stuck."""
_OUTLASTS = 5
"""Ratio of the run of a stuck sensor to the longest other run of one value."""
_MOST_STUCK = 5
_FEWEST_RUNS = 30


def without_stuck_values(record: Record, notes: Notes) -> Record:
    """Return the record with NaN where a sensor was stuck, and warn of each column.

    A sensor was stuck where one value between the extremes lasts ten samples or more, and more
    than five times as long as every other run of one value; there are at most five such runs. A
    resting process, a coarse scale, or a held value has many runs that are nearly as long.
    """
    order = np.arange(len(record.states))
    if record.trajectory is not None:
        order = np.argsort(record.trajectory, kind="stable")
    states = record.states
    for j, variable in enumerate(record.variables):
        column = states[order, j]
        same = column[1:] == column[:-1]
        if record.trajectory is not None:
            same &= np.diff(record.trajectory[order]) == 0
        first = np.flatnonzero(np.concatenate(([True], ~same)))
        runs = np.diff(first, append=len(column))
        inside = (column[first] > np.nanmin(column)) & (column[first] < np.nanmax(column))
        ranked = np.argsort(runs, kind="stable")[::-1][: _MOST_STUCK + 1]
        lengths = runs[ranked]
        outlast = np.flatnonzero(lengths[:-1] > _OUTLASTS * lengths[1:])
        if len(runs) < _FEWEST_RUNS or not outlast.size:
            continue
        stuck = ranked[: int(outlast[-1]) + 1]
        if runs[stuck].min() < _LONG_RUN or not inside[stuck].all():
            continue
        lost = np.zeros(len(column), dtype=bool)
        for run in stuck:
            lost[first[run] + 1 : first[run] + runs[run]] = True
        if states is record.states:
            states = states.copy()
        states[order[lost], j] = np.nan
        longest = int(stuck[0])
        notes.warn(
            "stuck-values",
            f"{_title_of(variable, j)} holds one value, {column[first[longest]]:.6g}, over "
            f"{runs[longest]} samples from {record.place(int(order[first[longest]]))} on, while it "
            f"changes within {int(lengths[len(stuck)])} samples elsewhere: the sensor was taken as "
            f"stuck, and {int(lost.sum())} samples were left out.",
            samples=int(lost.sum()),
        )
    return replace(record, states=states)


_SPIKE = 5.0
"""Length of both steps of a glitch, in units of the longest other step."""


def warn_of_glitches(record: Record, notes: Notes) -> None:
    """Warn of a single sample far from the one before and the one after, which agree.

    Both steps are more than five times as long as every other step of the record.
    """
    order = np.arange(len(record.states))
    if record.trajectory is not None:
        order = np.argsort(record.trajectory, kind="stable")
    for j, variable in enumerate(record.variables):
        place = order[np.isfinite(record.states[order, j])]
        column = record.states[place, j]
        if len(column) < _FEWEST_RUNS:
            continue
        steps = np.diff(column)
        one = int(np.argmax(np.minimum(np.abs(steps[:-1]), np.abs(steps[1:]))))
        rest = float(np.abs(np.delete(steps, (one, one + 1))).max())
        up, down = float(steps[one]), float(steps[one + 1])
        if rest > 0 and up * down < 0 and min(abs(up), abs(down)) > _SPIKE * rest:
            notes.warn(
                "glitch",
                f"{record.place(int(place[one + 1])).capitalize()}: {_title_of(variable, j)} "
                f"jumps to {column[one + 1]:.6g} in a single sample and back, farther than "
                f"{_SPIKE:g} times any other step. If this is an error of the measurement, write "
                "NaN there.",
                variable=variable_name(j),
            )


def _title_of(variable: Variable, j: int) -> str:
    return f"'{variable.column}'" if variable.column else f"variable {variable_name(j)}"
