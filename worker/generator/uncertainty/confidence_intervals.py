"""Confidence intervals of a report's quantities, over models drawn around the estimate.

The models of one support differ in few coefficients, and almost every quantity is a smooth function
of them: a quadratic one, fitted to few models that are analysed and checked on others, gives what
all the models drawn would. Where it does not, fewer models are analysed one by one.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from worker.generator.analysis import Analysis
from worker.generator.process import DiffusionProcess, FloatArray
from worker.generator.uncertainty.intervals import Intervals, Layout, Leaf, Path, central_ends
from worker.generator.uncertainty.response_surface import (
    Directions,
    design,
    design_size,
    features,
    quadratic,
    regression,
)

LOOP = 60
"""Most models that are analysed of those, or for those numbers, that have no quadratic function."""
MANY = 200
"""The same of processes in closed form, of 3 ms each. In six variables intervals of covariances are
0.74, 0.88 and 0.96 of those over 400 models with 60, 120 and 200."""
FIRST = 30
"""Number of models of all that are drawn, of which those without a quadratic function are analysed
first."""
FEW, STAYS = 0.2, 0.08
"""Share of the quantities of which an end moves, by more than this part of an interval's width,
when twice as many models are analysed, up to which these are enough."""
POINTS = 20
"""Number of points of a curve that are looked at for this."""
GOLDEN = (np.sqrt(5) - 1) / 2
CHECKED = (0.2, 0.4, 0.6, 0.8)
"""Places of the models on which quadratic functions are checked, by how many of the models are
nearer to the middle."""
WRONG = 0.3
"""Largest error at the checks, in standard deviations of the quantity over the models: as much
as the end of an interval over a hundred models varies by chance."""
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
"""Share of a support's models without a stationary distribution above which it has no quadratic
function, and its numbers come from the regression."""


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
    has_distribution = analysis.perturbed.has_distribution(
        [draws.process_at(draws.coefficients[k]) for k in looked]
    )
    # Sets of terms that the estimate does not have may point outward where there are no data.
    own = draws.support[looked] == 0
    share = float(has_distribution[own if own.any() else slice(None)].mean())
    layout = Layout(analysis.report)
    near = _PerturbedNumbers.of(analysis, layout)
    surfaces = [
        _Surface.fitted(draws, support, near, layout)
        for support in _large_supports(draws)
        if has_distribution[draws.support[looked] == draws.support[support[0]]].mean() > 1 - RARELY
    ]
    found = _Numbers(draws, tuple(surfaces), ())
    for sample in _samples(draws, surfaces, len(layout.reference)):
        found = _with_sample(
            found, sample, near, layout, confidence, MANY if analysis.closed_form else LOOP
        )
    values: dict[Path, FloatArray] = {}
    for whole, models in ((False, count), (True, min(count, CURVES))):
        leaves = [(leaf, place) for leaf, place in layout.leaves if leaf.kind.whole is whole]
        columns = np.concatenate([np.zeros(0, int), *(np.r_[place] for _, place in leaves)])
        stops = np.cumsum([leaf.value.size for leaf, _ in leaves])[:-1]
        tables = np.split(found.of(np.arange(models), columns), stops, axis=1)
        values |= {leaf.path: table for (leaf, _), table in zip(leaves, tables, strict=False)}
    return layout.intervals([values[leaf.path] for leaf, _ in layout.leaves], confidence, share)


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
    supports, counts = np.unique(draws.support, return_counts=True)
    for support, count in zip(supports, counts, strict=True):
        # Most of ten thousand supports have one model, too few for a function of one direction.
        if _share_of(LOOP, int(count), len(draws.support)) <= design_size(1) + len(CHECKED):
            continue
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
            return layout.row(report), bool(report.ergodic)

        with np.errstate(invalid="ignore"):
            missed = layout.reference - analyse(analysis.process)[0]
        # A quantity that is not found of the reference itself cannot be compared.
        layout.known &= np.isfinite(missed)
        return cls(analyse, np.where(layout.known, missed, 0.0))

    def __call__(self, process: DiffusionProcess) -> tuple[FloatArray, bool]:
        row, ergodic = self.analyse(process)
        return row + self.moved, ergodic

    def rows(self, draws: Draws, models: FloatArray) -> FloatArray:
        """Return (n, M) the numbers of models with coefficients (n, m)."""
        return np.array([self(draws.process_at(c))[0] for c in models]).reshape(
            len(models), len(self.moved)
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Surface:
    """Numbers of the models of one support, as quadratic functions of the coefficients.

    A regression on what they miss of the models that were analysed is added: the highest density
    that any model has at a point is then right to 3e-4, as it must be where most have nearly it.

    models        (n,) the models of the support
    coefficients  (design_size, M) of the quadratic functions
    holds         (M,) whether each of them does
    analysed      (k, m) coefficients of the models that were analysed
    rows          (k, M) their numbers
    """

    models: NDArray[np.int64]
    directions: Directions
    coefficients: FloatArray
    holds: NDArray[np.bool_]
    analysed: FloatArray
    rows: FloatArray

    @classmethod
    def fitted(
        cls, draws: Draws, models: NDArray[np.int64], near: "_PerturbedNumbers", layout: Layout
    ) -> "_Surface":
        own = draws.coefficients[models]
        directions = Directions.of(own, _centre(draws, models))
        steps = directions.steps(own[:LOOKS])
        checks = np.argsort(np.linalg.norm(steps, axis=1), kind="stable")[
            [int(share * len(steps)) for share in CHECKED]
        ]
        analysed = np.concatenate([directions.at(design(directions.count)), own[checks]])
        rows = near.rows(draws, analysed)
        coefficients = quadratic(rows[: -len(checks)], directions.count)
        expected = features(steps) @ coefficients
        error = np.abs(rows[-len(checks) :] - expected[checks]).max(axis=0)
        spread = expected.std(axis=0)
        holds = np.full(len(layout.reference), True)
        for leaf, place in layout.leaves:
            holds[place] = (
                _held(leaf, error[place], spread[place], layout.size_of(leaf))
                | ~layout.known[place]
            )
        return cls(models, directions, coefficients, holds, analysed, rows)

    @property
    def columns(self) -> NDArray[np.bool_]:
        """(M,) the numbers that are known by it, or that no model has."""
        return self.holds

    def values(self, models: FloatArray, columns: NDArray[np.int64]) -> FloatArray:
        """Return (n, size) some numbers of models (n, m)."""
        known, steps = self.directions.steps(self.analysed), self.directions.steps(models)
        # A function that is nowhere known adds nothing.
        coefficients = np.nan_to_num(self.coefficients[:, columns], posinf=0.0, neginf=0.0)
        missed = self.rows[:, columns] - features(known) @ coefficients
        added = regression(known, missed, steps, scattered=False)
        return np.asarray(features(steps) @ coefficients + added)


@dataclass(frozen=True, slots=True, eq=False)
class _Sample:
    """Some numbers of some models, by a regression on few of them.

    models      (n,) the models, in the order of their analysis
    columns     (M,) which of their numbers
    directions  in which the models differ
    analysed    (k, m) coefficients of the models that were analysed
    rows        (k, M) their numbers
    surface     functions to which the models are added; None where there are none
    """

    models: NDArray[np.int64]
    columns: NDArray[np.bool_]
    directions: Directions
    analysed: FloatArray
    rows: FloatArray
    surface: _Surface | None = None

    def values(self, models: FloatArray, columns: NDArray[np.int64]) -> FloatArray:
        """Return (n, size) some numbers of models (n, m)."""
        if self.surface is not None:
            more = replace(self.surface, analysed=self.analysed, rows=self.rows)
            return more.values(models, columns)
        return regression(
            self.directions.steps(self.analysed),
            self.rows[:, columns],
            self.directions.steps(models),
            # With fewer directions than models a regression may know all of them; scattering made
            # intervals of one variable 15 % wider and held no more.
            scattered=self.directions.count > len(self.analysed),
        )


def _samples(draws: Draws, surfaces: Sequence[_Surface], size: int) -> Iterator[_Sample]:
    """Yield the models and numbers that have no surface, with nothing but the surfaces' models."""
    for surface in surfaces:
        if not surface.holds.all():
            yield _Sample(
                _in_order(draws, surface.models),
                ~surface.holds,
                surface.directions,
                surface.analysed,
                surface.rows,
                surface,
            )
    rest = np.setdiff1d(
        np.arange(len(draws.support)),
        np.concatenate([np.zeros(0, int), *(surface.models for surface in surfaces)]),
    )
    if len(rest):
        yield _Sample(
            _in_order(draws, rest),
            np.full(size, True),
            Directions.of(draws.coefficients[rest], draws.centre),
            np.concatenate([np.zeros((0, len(draws.centre))), *(s.analysed for s in surfaces)]),
            np.concatenate([np.zeros((0, size)), *(s.rows for s in surfaces)]),
        )


def _in_order(draws: Draws, models: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the models so that the first, however many, have each support as often as all."""
    models = models[np.argsort(draws.support[models], kind="stable")]
    # Multiples of the golden ratio are even over an interval, at any number of them.
    return models[np.argsort(np.arange(len(models)) * GOLDEN % 1)]


@dataclass(frozen=True, slots=True, eq=False)
class _Numbers:
    """Numbers of all models that are drawn, by surfaces or else by samples."""

    draws: Draws
    surfaces: tuple[_Surface, ...]
    samples: tuple[_Sample, ...]

    def of(self, models: NDArray[np.int64], columns: NDArray[np.int64]) -> FloatArray:
        """Return (n, size) some numbers of some models."""
        found = np.full((len(models), len(columns)), np.nan)
        place = np.full(len(self.draws.support), -1)
        place[models] = np.arange(len(models))
        parts: tuple[_Surface | _Sample, ...] = (*self.surfaces, *self.samples)
        for part in parts:
            here = place[part.models]
            here = here[here >= 0]
            has = part.columns[columns]
            if len(here) and has.any():
                found[np.ix_(here, has)] = part.values(
                    self.draws.coefficients[models[here]], columns[has]
                )
        return found


def _with_sample(
    numbers: _Numbers,
    sample: _Sample,
    near: "_PerturbedNumbers",
    layout: Layout,
    confidence: float,
    at_most: int,
) -> _Numbers:
    """Return the numbers with a sample of as many models as the ends of intervals need.

    It is doubled until the ends of most quantities stay, or `at_most` are analysed.
    """
    draws = numbers.draws
    judged = layout.sampled(POINTS)
    judged = judged[sample.columns[judged]]
    some = np.arange(min(len(draws.support), CURVES))
    seen, most = 0, min(len(sample.models), at_most)
    own = 0 if sample.surface is None else len(sample.rows)
    number = 0 if own else _share_of(FIRST, len(sample.models), len(draws.support))
    ends = np.full((2, len(judged)), np.nan)
    while True:
        more = draws.coefficients[sample.models[seen:number]]
        sample = replace(
            sample,
            analysed=np.concatenate([sample.analysed, more]),
            rows=np.concatenate([sample.rows, near.rows(draws, more)]),
        )
        found = replace(numbers, samples=(*numbers.samples, sample))
        before, ends = ends, np.array(central_ends(found.of(some, judged), confidence))
        if number == most or _moved(before, ends, layout.sizes[judged]).mean() <= FEW:
            return found
        seen, number = number, min(most, 2 * number + own)


def _moved(before: FloatArray, ends: FloatArray, size: FloatArray) -> NDArray[np.bool_]:
    """Return (n,) whether either of two ends (2, n) has moved."""
    with np.errstate(invalid="ignore"):
        moved = np.abs(ends - before) > STAYS * (ends[1] - ends[0]) + ROUNDING * size
    return np.asarray(np.any(moved | (np.isnan(ends) != np.isnan(before)), axis=0))


def _held(leaf: Leaf, error: FloatArray, spread: FloatArray, size: FloatArray) -> NDArray[np.bool_]:
    """Return (size,) whether errors at the checks are small beside the spread over models."""
    known = np.isfinite(leaf.value.ravel())
    if not leaf.kind.whole:
        return np.asarray(error <= WRONG * spread + ROUNDING * size)
    smallest = np.maximum(spread, FLAT * np.max(spread[known]))
    return np.full(
        len(error), bool(np.all(error[known] <= WRONG * smallest[known] + ROUNDING * size[known]))
    )
