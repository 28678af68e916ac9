"""Central intervals of every quantity of a report over other models, by one walk over its tree."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cache, cached_property
from typing import Any, get_type_hints

import numpy as np
from numpy.typing import NDArray

from worker.generator.process import FloatArray
from worker.generator.quantities.kinds import FINITE_TIME, NUMBER, Kind, numbers_of
from worker.generator.quantities.passages import Timing

Range = tuple[float, float]
Band = tuple[FloatArray, FloatArray]
"""Lower and upper ends of central intervals, on a grid."""
Path = tuple[str | int, ...]
"""Names of fields and numbers of items from a report's root to one of its leaves."""

FEWEST = 20
"""Models below which no interval is given."""


@dataclass(frozen=True, slots=True, eq=False)
class Intervals:
    """Central intervals over models, in a tree of the report's own shape; empty without models.

    ends           path → lower and upper ends, each of the leaf's own shape; nan where the
                   reference has no number, or too few models have one. They are the models' own
                   percentiles, widened to the reference where all models of other supports lie on
                   one side of it: an interval always holds its estimate.
    ergodic_share  share of the models that have a stationary distribution; None without models
    """

    ends: Mapping[Path, Band]
    ergodic_share: float | None = None

    def range(self, *path: str | int) -> Range | None:
        """Return the interval of a number; the path may end with a place in an array or tuple."""
        found = self._at(path)
        return None if found is None or np.isnan(found[0]) else (float(found[0]), float(found[1]))

    def ranges(self, *path: str | int) -> tuple[Range | None, ...]:
        """Return the intervals of numbers in a row; none where the leaf has none at all."""
        found = self.ends.get(path)
        return () if found is None else tuple(self.range(*path, i) for i in range(len(found[0])))

    def band(self, *path: str | int) -> Band | None:
        """Return the ends of a curve; the path may end with its row."""
        found = self._at(path)
        return None if found is None or np.isnan(found[0]).all() else found

    def _at(self, path: Path) -> Band | None:
        for depth in range(len(path), 0, -1):
            if path[:depth] in self.ends:
                place: tuple[Any, ...] = path[depth:]
                low, high = (np.asarray(end[place]) for end in self.ends[path[:depth]])
                return low, high
        return None


@dataclass(frozen=True, slots=True, eq=False)
class Leaf:
    """One quantity of a report: a number or an array, by its path, with how it is ranked.

    value   in the numbers that are ranked
    given   as it is reported
    """

    path: Path
    kind: Kind
    value: FloatArray
    given: FloatArray

    @classmethod
    def of(cls, path: Path, kind: Kind, given: FloatArray) -> "Leaf":
        """Make a leaf of a number or an array as the report has it."""
        return cls(path, kind, kind.forward(given), kind.shown(given))


def leaves(node: Any, path: Path = ()) -> Iterator[Leaf]:
    """Yield all quantities of a report that are ranked over models."""
    for name, kind in _kinds_of(type(node)):  # type: ignore[arg-type]
        value, here = getattr(node, name), (*path, name)
        if value is None:
            continue
        if kind is not None:
            yield from _of_kind(here, kind, value)
        elif is_dataclass(value):
            yield from leaves(value, here)
        elif isinstance(value, tuple):
            for number, item in enumerate(value):
                if is_dataclass(item):
                    yield from leaves(item, (*here, number))


@cache
def _kinds_of(of: type) -> tuple[tuple[str, Kind | None], ...]:
    """Return the fields of a value, with the kinds of those that are ranked."""
    hints = get_type_hints(of, include_extras=True)
    found = ((place.name, getattr(hints[place.name], "__metadata__", ())) for place in fields(of))
    return tuple(
        (name, next((note for note in notes if isinstance(note, Kind)), None))
        for name, notes in found
    )


def _of_kind(path: Path, kind: Kind, value: Any) -> Iterator[Leaf]:
    if isinstance(value, tuple) and value and isinstance(value[0], Timing):
        for number, item in enumerate(value):
            yield from _of_kind((*path, number), kind, item)
    elif isinstance(value, Timing):
        if value.log_value is None and value.value is not None and kind is FINITE_TIME:
            yield Leaf.of(path, NUMBER, np.array(value.value))
        else:
            known = np.array(kind.absent if value.log_value is None else value.log_value)
            yield Leaf(path, kind, known, np.array(np.inf if value.value is None else value.value))
    elif isinstance(value, tuple) and value and isinstance(value[0], tuple):
        yield Leaf.of(path, kind, np.array([numbers_of(row) for row in value]))
    else:
        array = (
            numbers_of(value) if isinstance(value, tuple) and None in value else np.asarray(value)
        )
        if not np.iscomplexobj(array):
            yield Leaf.of(path, kind, array.astype(float))
            return
        # The real part of a complex number is a rate, which has the kind; the imaginary part is a
        # number, if there is one.
        yield Leaf.of((*path, "re"), kind, array.real)
        yield Leaf.of((*path, "im"), NUMBER, np.where(array.imag != 0, array.imag, np.nan))


class Layout:
    """Leaves of a reference in one vector, and the same of reports that are like it."""

    def __init__(self, reference: Any) -> None:
        found = [
            leaf for leaf in leaves(reference) if leaf.value.size and np.isfinite(leaf.value).any()
        ]
        stops = np.cumsum([leaf.value.size for leaf in found])
        self.leaves: tuple[tuple[Leaf, slice], ...] = tuple(
            (leaf, slice(int(stop) - leaf.value.size, int(stop)))
            for leaf, stop in zip(found, stops, strict=True)
        )
        self.reference = (
            np.concatenate([leaf.value.ravel() for leaf in found]) if found else np.zeros(0)
        )

    @cached_property
    def known(self) -> NDArray[np.bool_]:
        """(M,) where the reference has a number."""
        return np.asarray(np.isfinite(self.reference))

    def size_of(self, leaf: Leaf) -> FloatArray:
        """Return (size,) the scales of a leaf that rounding errors are compared with."""
        value = np.abs(leaf.value.ravel())
        if leaf.kind.unit is None:
            return (
                np.full(value.shape, np.max(value, where=np.isfinite(value), initial=0.0))
                if leaf.kind.whole
                else value
            )
        return np.full(value.shape, self._state if leaf.kind.unit == "state" else 1.0)

    @cached_property
    def sizes(self) -> FloatArray:
        """(M,) the scales that rounding errors are compared with."""
        return np.concatenate([np.zeros(0), *(self.size_of(leaf) for leaf, _ in self.leaves)])

    def sampled(self, points: int) -> NDArray[np.int64]:
        """Return the places of all numbers, and of so many points of each curve."""
        found = [np.zeros(0, np.int64)]
        for leaf, place in self.leaves:
            known = place.start + np.flatnonzero(self.known[place])
            every = max(1, -(-len(known) // points)) if leaf.kind.whole else 1
            found.append(known[every // 2 :: every])
        return np.concatenate(found)

    @cached_property
    def _state(self) -> float:
        """Largest standard deviation of the distribution, or distance of fixed points [state]."""
        found = {leaf.path: leaf.value for leaf, _ in self.leaves}
        variances = found.get(("stationary", "covariance"), np.full((1, 1), -np.inf))
        places = np.array(
            [
                value
                for path, value in found.items()
                if path[0] == "fixed_points" and path[-1] == "at"
            ]
        )
        spread = float(np.ptp(places, axis=0).max()) if len(places) else 0.0
        # Variances are kept by their logarithm.
        return max(float(np.exp(np.nanmax(np.diag(variances), initial=-np.inf) / 2)), spread)

    def row(self, report: Any) -> FloatArray:
        """Return (M,) the numbers of a report; nan where it has none."""
        row = np.full(self.reference.shape, np.nan)
        if report is None:
            return row
        found = {leaf.path: leaf for leaf in leaves(report)}
        for leaf, place in self.leaves:
            value = found.get(leaf.path)
            if (
                value is not None
                and value.kind is leaf.kind
                and value.value.shape == leaf.value.shape
            ):
                row[place] = value.value.ravel()
        return row

    def intervals(
        self, values: Sequence[FloatArray], confidence: float, share: float | None
    ) -> Intervals:
        """Return the intervals from the numbers (n, size) of n models of each leaf.

        Parameters
        ----------
        values : (n, size) of each leaf
        confidence : coverage of each central interval, 0 to 1
        share : share of the models that have a stationary distribution
        """
        ends: dict[Path, Band] = {}
        for (leaf, place), rows in zip(self.leaves, values, strict=True):
            known = self.known[place].reshape(leaf.value.shape)
            ends[leaf.path] = _ends(
                leaf, rows.reshape(len(rows), *leaf.value.shape), known, confidence
            )
        return Intervals(ends, share)


def _ends(leaf: Leaf, values: FloatArray, known: NDArray[np.bool_], confidence: float) -> Band:
    if leaf.kind.monotone:
        low, high = (leaf.kind.back(end) for end in central_ends(values, confidence))
    else:
        low, high = central_ends(leaf.kind.back(values), confidence)
    # The minimum with nan is nan: where there is no interval, there is none.
    return (
        np.where(known, np.minimum(low, leaf.given), np.nan),
        np.where(known, np.maximum(high, leaf.given), np.nan),
    )


def central_ends(values: FloatArray, confidence: float) -> Band:
    """Return the ends of the intervals that hold the middle `confidence` of the values (n, …).

    They are nan where fewer than half of the models, or than `FEWEST`, have a value.
    """
    ordered = np.sort(values, axis=0)
    counts = len(values) - np.isnan(values).sum(axis=0)
    enough = counts >= max(FEWEST, len(values) / 2)
    # Order statistics, not interpolation: an infinite time must not turn its neighbour into nan.
    low, high = (
        np.take_along_axis(
            ordered, np.rint((np.maximum(counts, 1) - 1) * share).astype(int)[None], axis=0
        )[0]
        for share in ((1 - confidence) / 2, (1 + confidence) / 2)
    )
    return np.where(enough, low, np.nan), np.where(enough, high, np.nan)
