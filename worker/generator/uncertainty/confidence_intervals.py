"""Confidence intervals of a report's quantities, over models drawn around the estimate.

The models of one support differ in few coefficients, and almost every quantity is a smooth function
of them: a quadratic one, fitted to few models that are analysed and checked on others, gives what
all the models drawn would. Where it does not, fewer models are analysed one by one.
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
"""Number of models that are analysed one by one where nothing cheaper is right."""
REST = 100
"""Number of models that are analysed one by one of a share without a quadratic function, beside
others with one."""
CHECKED = (0.2, 0.4, 0.6, 0.8)
"""Places of the models on which quadratic functions are checked, by how many of the models are
nearer to the middle."""
WRONG = 0.3
"""Largest error at the checks, in standard deviations of the quantity over the models: as much
as the end of an interval over LOOP models varies by chance."""
ROUNDING = 1e-6
"""Part of a quantity's own size below which differences are rounding errors."""
FLAT = 0.2
"""Spread at a point of a curve, over its largest, below which errors are compared with this part
of the largest."""
CURVES = 1000
"""Number of models over which curves are ranked: each of their points to 0.09 standard
deviations. Numbers are ranked over all."""
LOOKS = 200
"""Number of models whose drift far away is judged."""
RARELY = 0.01
"""Share of models without a stationary distribution above which all are analysed one by one."""


class Draws(Protocol):
    """Models drawn around an estimate.

    coefficients   (n, m) of each model
    centre         (m,) of the estimate
    support        (n,) number of the support that each model has
    """

    @property
    def coefficients(self) -> FloatArray:
        """(n, m) coefficients of each model."""

    @property
    def centre(self) -> FloatArray:
        """(m,) coefficients of the estimate."""

    @property
    def support(self) -> NDArray[np.int64]:
        """(n,) number of the support that each model has."""

    def process_at(self, coefficients: FloatArray) -> DiffusionProcess:
        """Return the model with these coefficients (m,)."""
        ...


def intervals_over(
    models: Sequence[DiffusionProcess], analysis: Analysis, confidence: float
) -> Intervals:
    """Return intervals over these very models, each analysed by itself.

    Parameters
    ----------
    models : processes
    analysis : of the reference, whose quantities have the intervals
    confidence : coverage of each central interval, 0 to 1; times are ranked by their logarithm
    """
    if analysis.perturbed is None or not models:
        return Intervals({})
    layout = Layout(analysis.report)
    near = _PerturbedNumbers.of(analysis, layout)
    found = [near(model) for model in models]
    rows = np.array([row for row, _ in found])
    share = float(
        np.mean(analysis.perturbed.has_distribution(models) & [ergodic for _, ergodic in found])
    )
    return layout.intervals([rows[:, place] for _, place in layout.leaves], confidence, share)


def confidence_intervals(analysis: Analysis, draws: Draws, confidence: float) -> Intervals:
    """Return intervals over all models that are drawn, most of which need not be analysed.

    Parameters
    ----------
    analysis : of the reference, whose quantities have the intervals
    draws : models drawn around the estimate
    confidence : coverage of each central interval, 0 to 1; times are ranked by their logarithm
    """
    count = len(draws.coefficients)
    if analysis.perturbed is None or not count:
        return Intervals({})
    looked = representative(draws, LOOKS)
    some = [draws.process_at(draws.coefficients[k]) for k in looked]
    has_distribution = analysis.perturbed.has_distribution(some)
    # Sets of terms that the estimate does not have may point outward where there are no data.
    own = draws.support[looked] == 0
    share = float(has_distribution[own if own.any() else slice(None)].mean())
    smooth = [
        support
        for support in _large_supports(draws)
        if has_distribution[draws.support[looked] == draws.support[support[0]]].mean() > 1 - RARELY
    ]
    if not smooth:
        return intervals_over(some[:: LOOKS // LOOP], analysis, confidence)
    layout = Layout(analysis.report)
    near = _PerturbedNumbers.of(analysis, layout)
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
            # Each of the other models has the numbers of the next one that was analysed.
            like = np.arange(len(others)) * seen // len(others)
            table[others[others < len(table)]] = rows[like[others < len(table)], place]
    return layout.intervals(values, confidence, share)


def representative(draws: Draws, number: int) -> NDArray[np.int64]:
    """Return models that have each support as often as all draws have: (number,), or all draws.

    Over the first draws, the share without a distribution scattered by 0.02 with the seed, and by
    0.006 over these. The order within a support is random, as every second draw follows the other
    sampling rule.
    """
    shuffled = np.random.default_rng(0).permutation(len(draws.support))
    ordered = shuffled[np.argsort(draws.support[shuffled], kind="stable")]
    number = min(number, len(ordered))
    return np.asarray(ordered[(2 * np.arange(number) + 1) * len(ordered) // (2 * number)])


def _share_of(number: int, part: int, whole: int) -> int:
    return min(part, -(-number * part // whole))


def _large_supports(draws: Draws) -> list[NDArray[np.int64]]:
    """Return the models of each support that is cheaper by a quadratic function than by a loop."""
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
    """Return the estimate, where it has the models' support; else their mean."""
    own = draws.support[models[0]] == 0
    return draws.centre if own else np.asarray(draws.coefficients[models].mean(axis=0))


@dataclass(frozen=True, slots=True, eq=False)
class _PerturbedNumbers:
    """Numbers of models, moved by as much as the perturbed analysis misses the reference itself."""

    analyse: Callable[[DiffusionProcess], tuple[FloatArray, bool]]
    moved: FloatArray

    @classmethod
    def of(cls, analysis: Analysis, layout: Layout) -> "_PerturbedNumbers":
        near = analysis.perturbed
        assert near is not None

        def analyse(process: DiffusionProcess) -> tuple[FloatArray, bool]:
            report = near(process)
            return layout.row(report), report.ergodic

        with np.errstate(invalid="ignore"):
            missed = layout.reference - analyse(analysis.process)[0]
        # A quantity that is not found of the reference itself cannot be compared.
        layout.known &= np.isfinite(missed)
        return cls(analyse, np.where(layout.known, missed, 0.0))

    def __call__(self, process: DiffusionProcess) -> tuple[FloatArray, bool]:
        row, ergodic = self.analyse(process)
        return row + self.moved, ergodic

    def rows(self, draws: Draws, models: NDArray[np.int64]) -> FloatArray:
        """Return (n, M) the numbers of some of the models drawn."""
        return np.array([self(draws.process_at(draws.coefficients[k]))[0] for k in models])


@dataclass(frozen=True, slots=True, eq=False)
class _Surface:
    """Numbers of the models of one support.

    They are quadratic functions of the coefficients where those hold, else of models that were
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
        cls, draws: Draws, models: NDArray[np.int64], near: _PerturbedNumbers, layout: Layout
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
        """Return (n, size) the numbers of a leaf of models (n, m)."""
        found = features(self.directions.steps(models)) @ self.coefficients[:, place]
        holds = self.holds[place]
        if not holds.all():
            found[:, ~holds] = self.rows[np.arange(len(models)) % len(self.rows)][:, place][
                :, ~holds
            ]
        return np.asarray(found)


def _held(leaf: Leaf, error: FloatArray, spread: FloatArray, size: FloatArray) -> NDArray[np.bool_]:
    """Return (size,) whether errors at the checks are small beside the spread over models."""
    known = np.isfinite(leaf.value.ravel())
    if not leaf.kind.whole:
        return np.asarray(error <= WRONG * spread + ROUNDING * size)
    smallest = np.maximum(spread, FLAT * np.max(spread[known]))
    return np.full(
        len(error), bool(np.all(error[known] <= WRONG * smallest[known] + ROUNDING * size[known]))
    )
