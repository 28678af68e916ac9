"""State variables: which of the columns beside time and identity describe the system."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from service.readers.cells import LOOKS_GROUPED
from service.readers.errors import UnreadableData, layout_fault
from service.readers.evidence import column_of, groups_of, is_whole, varies
from service.readers.names import (
    axis_of,
    bare,
    is_error,
    is_frame,
    is_identity,
    is_row_number,
    is_spot_property,
    is_time,
    may_be_state,
    replicate_word,
    split_unit,
    words,
)
from service.readers.options import Layout, Limits, Notes
from service.readers.roles import Clocked, rises_along
from service.readers.table import Column, Flags

_PRICES = (
    words("open eröffn eröffnung eröffnungskurs apertura ouv ouverture"),
    words("high hoch tageshoch máximo plus_haut"),
    words("low tief tagestief mínimo plus_bas"),
)
_CLOSING = (
    "close", "price", "last", "settle", "close/last", "adj_close",
    "schluss", "schlusskurs", "zuletzt", "cierre", "último", "dernier", "clôture",
)  # fmt: skip
"""Names of the closing price, the usual ones first."""
_SPARSE = 0.5
"""Share of the steps that a column may cost by its missing values before it is left out."""
_NEARLY_THE_SAME = 0.99
"""Correlation from which two columns that also stay within a step of each other are one.

Opening, highest, lowest and closing prices correlate by 0.995 to 0.998 and lie within 0.6 to 1.0
rms steps of each other.
"""
_EXACTLY_THE_SAME = 1e-5
"""Residual, in steps, below which columns are multiples: the identification names and refuses
them."""
_FEWEST_REPLICATES = 3


@dataclass(slots=True)
class _Left:
    """Columns still in question, and the sentences about the ones that are out."""

    columns: list[Column]
    notes: Notes

    def drop(self, columns: Sequence[Column], reason: str, role: str = "ignored") -> None:
        """Leave columns out and say so."""
        if columns:
            self.notes.place(role, reason, *columns)
            titles = ", ".join(column.title for column in columns)
            verb = "is" if len(columns) == 1 else "are"
            was = "was" if len(columns) == 1 else "were"
            self.notes.assume(f"{titles} {verb} {reason} and {was} ignored")
            self.columns = [column for column in self.columns if column not in columns]

    def drop_with_warning(self, column: Column, reason: str) -> None:
        """Leave out a column that the user may have meant, with a warning."""
        self.notes.warn(
            "ignored-column",
            f"{column.title} {reason} It was left out; name it in state_columns to keep it.",
            column=column.key,
        )
        self.notes.place("ignored", reason.rstrip("."), column)
        self.columns = [other for other in self.columns if other is not column]


def state_columns(found: Clocked, layout: Layout, limits: Limits, notes: Notes) -> list[Column]:
    """Choose the columns of the state, as given or by names and values.

    Raises UnreadableData where no column remains.
    """
    if layout.state_columns is not None:
        chosen = [column_of(x, found.table, "state_columns") for x in layout.state_columns]
        for column in chosen:
            if column.kind != "number":
                raise layout_fault("state_columns", f"{column.title} does not hold numbers.")
        return chosen
    others = [column for column in found.table.columns if column not in found.taken]
    numeric = [column for column in others if column.kind == "number"]
    left = _Left(numeric, notes)
    left.drop(
        [column for column in numeric if _is_other_clock(column, found)],
        "a count or date of the rows" if len(numeric) == 1 else "counts or dates of the rows",
    )
    copies = [column for column in left.columns if _is_copy(column, found)]
    if len(copies) < len(left.columns):
        left.drop(copies, "the same as the time or the identity")
    _without_words([column for column in others if column.kind != "number"], notes)
    if not left.columns:
        raise _nothing_left(found, others)
    if layout.axes == "tn":
        return left.columns
    _without_properties(left, found)
    _without_empty(left, found)
    if len(left.columns) > limits.state_columns:
        raise UnreadableData(
            f"The table has {len(left.columns)} state columns; at most {limits.state_columns} are "
            "read.",
            "Name the columns with state_columns.",
            "If rows are trajectories, set orientation=rows; if columns are, set axes=tn.",
        )
    _without_copies(left)
    return _by_axis(left.columns)


def replicates(states: Sequence[Column], found: Clocked, layout: Layout) -> bool:
    """Return whether every state column is a trajectory of one variable: `cell 1`, `cell 2`, …."""
    if layout.axes == "tn":
        return True
    if layout.state_columns is not None or layout.orientation is not None or found.identity:
        return False
    found_words = {replicate_word(column.name) for column in states}
    return len(states) >= _FEWEST_REPLICATES and len(found_words) == 1 and None not in found_words


def _without_words(texts: Sequence[Column], notes: Notes) -> None:
    for column in texts:
        if column.kind == "stamp" or len(column.labels) > 1:
            notes.warn(
                "ignored-column",
                f"{column.title} does not hold numbers and was ignored.{_grouped(column)}",
            )
            notes.place("ignored", "does not hold numbers", column)
        else:
            notes.assume(f"{column.title} holds the same text in every row and was ignored")
            notes.place("ignored", "holds the same text in every row", column)


def _nothing_left(found: Clocked, others: Sequence[Column]) -> UnreadableData:
    titles = ", ".join(column.title for column in found.table.columns)
    return UnreadableData(
        f"No column remains for the state: {titles or 'there is none'}."
        + "".join(_grouped(column) for column in others),
        "A table needs at least one column of numbers besides time and identity.",
        "Choose it with state_columns.",
    )


def _grouped(column: Column) -> str:
    """Return a question for words like `1,234`, which are grouped digits or have three decimals."""
    labels = [label for label in column.labels if label]
    if not labels or not all(map(LOOKS_GROUPED.match, labels[:1000])):
        return ""
    return (
        f" Is the mark in '{labels[0]}' a thousands separator or a decimal mark? "
        "Write numbers without thousands separators."
    )


def _is_other_clock(column: Column, found: Clocked) -> bool:
    """Return whether a column counts, numbers or dates the rows beside the chosen clock."""
    if not found.taken or not found.table.named:
        return False
    if not column.name:
        # A table that was sorted keeps the numbers of its rows.
        return is_whole(column) and _is_unique(column)
    if is_time(column.name):
        return not _is_temperature(column)
    if is_frame(column.name):
        return is_whole(column) and varies(column) and rises_along(column, found.groups)
    numbered = is_row_number(column.name) or is_identity(column.name)
    if not numbered or not is_whole(column):
        return False
    unique = _is_unique(column)
    constant = not varies(column)
    # Short names (N, n, i) belong to states, too, which go up and down.
    long = len(bare(column.name)) > 2 and unique
    return constant or long or rises_along(column, found.groups)


def _is_copy(column: Column, found: Clocked) -> bool:
    """Return whether a column repeats a column of time or identity number by number."""
    taken = [other for other in found.taken if other.kind == "number" and varies(other)]
    return any(np.array_equal(column.numbers(), other.numbers()) for other in taken)


def _is_unique(column: Column) -> bool:
    groups = groups_of(column)
    return int(groups.max(initial=-1)) + 1 == int(np.count_nonzero(groups >= 0))


def _is_temperature(column: Column) -> bool:
    """Return whether a column called T, which is not the time, is a state: it also falls."""
    falls = bool(np.any(np.diff(column.numbers()) < 0))
    return falls and split_unit(column.name or "")[0].strip() == "T"


def _without_properties(left: _Left, found: Clocked) -> None:
    """Leave out errors, measures of quality, properties of spots, and all prices but the last."""
    names = {column: bare(split_unit(column.name)[0]) for column in left.columns if column.name}
    last = [column for word in _CLOSING for column, name in names.items() if name == word]
    if last and all(not spellings.isdisjoint(names.values()) for spellings in _PRICES):
        closing = last[0]
        keep = [column for column in left.columns if column is closing]
        out = [column for column in left.columns if column not in keep]
        left.notes.warn(
            "ignored-column",
            f"{', '.join(column.title for column in out)}: opening, highest, lowest and closing "
            f"price and what is derived from them are nearly the same series; {closing.title} "
            "alone was read. Choose others with state_columns.",
        )
        left.notes.place("ignored", f"nearly the same series as {closing.title}", *out)
        left.columns = keep
        return
    errors = [column for column in left.columns if column.name and is_error(column.name)]
    if len(errors) < len(left.columns):
        left.drop(errors, "an error or a measure of quality, not a state", role="error")
    axes = [column for column in left.columns if axis_of(column.name) is not None]
    properties = [
        column
        for column in left.columns
        if column.name and column not in axes and is_spot_property(column.name)
    ]
    sure = [column for column in properties if not may_be_state(column.name or "")]
    tracked = bool(found.identity) or found.counted
    of_animals = any(bare(column.name or "").startswith("location") for column in axes)
    several = len(sure) > 2 or (tracked and (bool(sure) or len(properties) > 2))
    if axes and (errors or of_animals or several):
        left.drop(properties, "a property of the spot, not its position")


def _without_empty(left: _Left, found: Clocked) -> None:
    """Leave out columns without numbers, with one number, or with few, unless all are such."""
    several = len(left.columns) > 1
    empty = [column for column in left.columns if bool(np.isnan(column.numbers()).all())]
    if several and len(empty) < len(left.columns):
        left.drop(empty, "empty")
    joined = _joined(found)
    while len(left.columns) > 1:
        present = {column: _present(column) for column in left.columns}
        worst = min(left.columns, key=lambda column: int(present[column].sum()))
        rest = [present[column] for column in left.columns if column is not worst]
        without: Flags = np.logical_and.reduce(rest)
        n_without, n_with = _n_steps(without, joined), _n_steps(without & present[worst], joined)
        if n_with >= (1 - _SPARSE) * n_without:
            break
        share = float(np.mean(~present[worst]))
        left.drop_with_warning(
            worst,
            f"has no value in {100 * share:.3g} % of the rows: with it {n_with} of {n_without} "
            "steps would be left.",
        )
    constant = [column for column in left.columns if not varies(column)]
    if len(constant) < len(left.columns):
        for column in constant:
            value = float(np.nanmin(column.numbers()))
            left.notes.warn(
                "constant-column",
                f"{column.title} is constant: every sample is {value:.6g}. It was left out.",
                column=column.key,
            )
            left.notes.place("ignored", f"is constant: every sample is {value:.6g}", column)
        left.columns = [column for column in left.columns if column not in constant]


def _joined(found: Clocked) -> Flags:
    n = len(found.table)
    if found.groups is None:
        return np.ones(max(n - 1, 0), dtype=bool)
    groups = found.groups[np.argsort(found.groups, kind="stable")]
    return np.asarray(np.diff(groups) == 0)


def _present(column: Column) -> Flags:
    return np.asarray(~np.isnan(column.numbers()))


def _n_steps(present: Flags, joined: Flags) -> int:
    return int(np.count_nonzero(present[1:] & present[:-1] & joined))


def _without_copies(left: _Left) -> None:
    """Leave out columns that stay within a step of a multiple of a column before them."""
    kept: list[Column] = []
    for column in list(left.columns):
        twin = next((other for other in kept if _nearly_the_same(other, column)), None)
        if twin is None:
            kept.append(column)
            continue
        left.drop_with_warning(
            column,
            f"is nearly the same as {twin.title}: after the best linear fit they differ by less "
            "than one step, so that together they are one variable measured twice.",
        )


def _nearly_the_same(first: Column, second: Column) -> bool:
    x, y = first.numbers(), second.numbers()
    both = np.isfinite(x) & np.isfinite(y)
    x, y = x[both], y[both]
    if len(x) < 20:
        return False
    x, y = x - x.mean(), y - y.mean()
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        correlation = float(x @ y / np.sqrt((x @ x) * (y @ y)))
        step = float(np.std(np.diff(y)))  # without the mean step of a common trend
        apart = float(np.sqrt(max(0.0, 1 - correlation**2)) * np.std(y))
    if not abs(correlation) >= _NEARLY_THE_SAME:
        return False
    copied = bool(np.array_equal(x, y))
    return copied or _EXACTLY_THE_SAME * step < apart <= step


def _by_axis(columns: Sequence[Column]) -> list[Column]:
    """Sort the coordinates among their places, so that a column called y is the variable y."""
    axes = [axis_of(column.name) for column in columns]
    places = [j for j, axis in enumerate(axes) if axis is not None]
    found = [axes[j] for j in places]
    if len(set(found)) != len(found):
        return list(columns)
    sorted_columns = list(columns)
    in_order = sorted(places, key=lambda j: axes[j] or 0)
    for place, j in zip(places, in_order, strict=True):
        sorted_columns[place] = columns[j]
    return sorted_columns
