"""How uncertain an answer is: intervals of its quantities over models drawn around the estimate.

The models of one support differ in few coefficients, and almost every quantity is a smooth function of them: a quadratic one,
fitted to few models that are analysed and checked on others, says what all the models drawn would. Where it does not, fewer
models are analysed one by one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from worker.generator.analysis import Analysis
from worker.generator.process import DiffusionProcess, FloatArray
from worker.generator.uncertainty.intervals import Intervals, Layout, Leaf
from worker.generator.uncertainty.response_surface import (
    Directions,
    design,
    design_size,
    features,
    quadratic,
)

LOOP = 100
"""Models that are analysed one by one where nothing cheaper is right."""
REST = 100
"""The same, of a share of the models for which no quadratic function is fitted, beside others for which one is."""
CHECKED = (0.2, 0.4, 0.6, 0.8)
"""Models on which quadratic functions are checked: how many of the models are nearer to the middle than they."""
WRONG = 0.3
"""Largest error on these, in standard deviations of the quantity over the models: as much as the end of an interval over LOOP
models varies by chance."""
ROUNDING = 1e-6
"""Part of a quantity's own size below which differences are rounding errors."""
FLAT = 0.2
"""Spread at a point of a curve, over the largest on it, below which errors there are compared with this part of the largest."""
CURVES = 1000
"""Models over which curves are ranked: each of their points to 0.09 standard deviations. Numbers are ranked over all."""
LOOKS = 200
"""Models of which it is seen what their drift does far away."""
RARELY = 0.01
"""Share of models without a stationary law above which all are analysed one by one."""


class Draws(Protocol):
    """Models drawn around an estimate.

    coefficients   (n, m) of each model
    centre         (m,) of the estimate
    support        (n,) number of the support that each model has
    """

    @property
    def coefficients(self) -> FloatArray: ...

    @property
    def centre(self) -> FloatArray: ...

    @property
    def support(self) -> NDArray[np.int64]: ...

    def process_at(self, coefficients: FloatArray) -> DiffusionProcess:
        """The model with these coefficients (m,)."""
        ...


def intervals_over(
    models: Sequence[DiffusionProcess], analysis: Analysis, confidence: float
) -> Intervals:
    """Intervals over these very models, each analysed by itself.

    confidence   coverage of each central interval, 0 to 1; times are ranked by their logarithm
    """
    if analysis.near is None or not models:
        return Intervals({})
    layout = Layout(analysis.report)
    near = _Near.of(analysis, layout)
    found = [near(model) for model in models]
    rows = np.array([row for row, _ in found])
    share = float(np.mean(analysis.near.lawful(models) & [ergodic for _, ergodic in found]))
    return layout.intervals([rows[:, place] for _, place in layout.leaves], confidence, share)


def confidence_intervals(analysis: Analysis, draws: Draws, confidence: float) -> Intervals:
    """Intervals of the analysis' quantities over all models that are drawn, most of which need not be analysed.

    confidence   coverage of each central interval, 0 to 1; times are ranked by their logarithm
    """
    count = len(draws.coefficients)
    if analysis.near is None or not count:
        return Intervals({})
    some = [draws.process_at(c) for c in draws.coefficients[:LOOKS]]
    lawful = analysis.near.lawful(some)
    share = float(lawful.mean())
    smooth = [
        support
        for support in _large_supports(draws)
        if lawful[support[support < len(lawful)]].mean() > 1 - RARELY
    ]
    if not smooth:
        return intervals_over(some[:LOOP], analysis, confidence)
    layout = Layout(analysis.report)
    near = _Near.of(analysis, layout)
    values = [
        np.full(
            (min(count, CURVES if leaf.kind.whole else count), place.stop - place.start), np.nan
        )
        for leaf, place in layout.leaves
    ]
    rest = np.full(count, True)
    for support in smooth:
        rest[support] = False
        surface = _Surface.fitted(draws, support, near, layout)
        for table, (_, place) in zip(values, layout.leaves, strict=True):
            here = support[support < len(table)]
            table[here] = surface.values(draws.coefficients[here], place)
    others = np.flatnonzero(rest)
    if len(others):
        # In the order of their supports, so that each of these is seen as often as it should be.
        others = others[np.argsort(draws.support[others], kind="stable")]
        seen = _share_of(REST, len(others), count)
        rows = near.rows(draws, others[(2 * np.arange(seen) + 1) * len(others) // (2 * seen)])
        for table, (_, place) in zip(values, layout.leaves, strict=True):
            # Each of the others has the numbers of the one next to it that was analysed.
            like = np.arange(len(others)) * seen // len(others)
            table[others[others < len(table)]] = rows[like[others < len(table)], place]
    return layout.intervals(values, confidence, share)


def _share_of(number: int, part: int, whole: int) -> int:
    return min(part, -(-number * part // whole))


def _large_supports(draws: Draws) -> list[NDArray[np.int64]]:
    """The models of each support for which a quadratic function takes fewer models than its share of a loop."""
    found = []
    for support in np.unique(draws.support):
        models = np.flatnonzero(draws.support == support)
        directions = Directions.of(draws.coefficients[models], _centre(draws, models))
        if directions.count and design_size(directions.count) + len(CHECKED) < _share_of(
            LOOP, len(models), len(draws.support)
        ):
            found.append(models)
    return found


def _centre(draws: Draws, models: NDArray[np.int64]) -> FloatArray:
    """The estimate, where it has the models' support; else their mean."""
    own = draws.support[models[0]] == 0
    return draws.centre if own else np.asarray(draws.coefficients[models].mean(axis=0))


@dataclass(frozen=True, slots=True, eq=False)
class _Near:
    """Analyses models as vectors of numbers, moved by as much as the analysis near the reference misses the reference itself."""

    analyse: Callable[[DiffusionProcess], tuple[FloatArray, bool]]
    moved: FloatArray

    @classmethod
    def of(cls, analysis: Analysis, layout: Layout) -> "_Near":
        near = analysis.near
        assert near is not None

        def analyse(process: DiffusionProcess) -> tuple[FloatArray, bool]:
            report = near(process)
            return layout.row(report), report.ergodic

        with np.errstate(invalid="ignore"):
            missed = layout.reference - analyse(analysis.process)[0]
        # What is not even found of the reference itself is not there to be compared.
        layout.known &= np.isfinite(missed)
        return cls(analyse, np.where(layout.known, missed, 0.0))

    def __call__(self, process: DiffusionProcess) -> tuple[FloatArray, bool]:
        row, ergodic = self.analyse(process)
        return row + self.moved, ergodic

    def rows(self, draws: Draws, models: NDArray[np.int64]) -> FloatArray:
        """(n, M) of some of the models drawn."""
        return np.array([self(draws.process_at(draws.coefficients[k]))[0] for k in models])


@dataclass(frozen=True, slots=True, eq=False)
class _Surface:
    """The numbers of models of one support: quadratic functions of their coefficients where those hold, else of models that were
    analysed one by one.

    coefficients  (design_size, M) of the quadratic functions
    holds         (M,) whether each of them does
    rows          (n, M) the numbers of the models that were analysed; empty where all hold
    """

    directions: Directions
    coefficients: FloatArray
    holds: NDArray[np.bool_]
    rows: FloatArray

    @classmethod
    def fitted(
        cls, draws: Draws, models: NDArray[np.int64], near: _Near, layout: Layout
    ) -> "_Surface":
        own = draws.coefficients[models]
        directions = Directions.of(own, _centre(draws, models))
        nodes = [near(draws.process_at(c))[0] for c in directions.at(design(directions.count))]
        coefficients = quadratic(np.array(nodes), directions.count)
        steps = directions.steps(own[:LOOKS])
        expected = features(steps) @ coefficients
        holds = np.full(len(layout.reference), True)
        checks = np.argsort(np.linalg.norm(steps, axis=1), kind="stable")[
            [int(share * len(steps)) for share in CHECKED]
        ]
        error = np.abs(near.rows(draws, models[checks]) - expected[checks]).max(axis=0)
        spread = expected.std(axis=0)
        for leaf, place in layout.leaves:
            holds[place] = (
                _held(leaf, error[place], spread[place], layout.size_of(leaf))
                | ~layout.known[place]
            )
        one_by_one = 0 if holds.all() else _share_of(LOOP, len(models), len(draws.support))
        return cls(directions, coefficients, holds, near.rows(draws, models[:one_by_one]))

    def values(self, models: FloatArray, place: slice) -> FloatArray:
        """(n, size) the numbers of a leaf of models (n, m)."""
        found = features(self.directions.steps(models)) @ self.coefficients[:, place]
        holds = self.holds[place]
        if not holds.all():
            found[:, ~holds] = self.rows[np.arange(len(models)) % len(self.rows)][:, place][
                :, ~holds
            ]
        return np.asarray(found)


def _held(leaf: Leaf, error: FloatArray, spread: FloatArray, size: FloatArray) -> NDArray[np.bool_]:
    """(size,) whether the errors at the checks are small beside the spread over the models."""
    known = np.isfinite(leaf.value.ravel())
    if not leaf.kind.whole:
        return np.asarray(error <= WRONG * spread + ROUNDING * size)
    smallest = np.maximum(spread, FLAT * np.max(spread[known]))
    return np.full(
        len(error), bool(np.all(error[known] <= WRONG * smallest[known] + ROUNDING * size[known]))
    )
