"""One pass over the residuals of a fitted model in several variables: their size, shape and memory, by variable."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from worker.identification.checks.markov_tests import (
    PAST_WINDOWS,
    ScoreTests,
    adjusted,
    recent_past,
)
from worker.identification.checks.scalar_residuals import ResidualMoments
from worker.identification.data.library import Library
from worker.identification.data.windows import Space, Stretch
from worker.identification.sums.noise_corrections import MeasurementNoise
from worker.identification.sums.rules import JointRule

Floats = NDArray[np.float64]

DETERMINISTIC = 1e-3
"""Share of the increments' mean square below which residuals are no noise."""

NEARLY_DETERMINISTIC, GROWTH_WITHOUT_NOISE = 0.1, 4.0
"""Over two steps a diffusion's residuals have twice the variance, those of a variable that others drive eight times."""


@dataclass(frozen=True, slots=True, eq=False)
class JointResiduals:
    """By variable.

    moments   of the residuals
    growth    (d,) mean square residual over two steps in one over that over one step
    scores    tests of what the drift leaves out
    """

    moments: tuple[ResidualMoments, ...]
    growth: Floats
    scores: tuple[ScoreTests, ...]

    def noise_free(self) -> tuple[int, ...]:
        """Variables whose increments hold no noise of their own: deterministic, or driven by the others' noise only."""
        found = []
        for p, (moments, growth) in enumerate(zip(self.moments, self.growth, strict=True)):
            share = moments.squares[0] / moments.squares[1] if moments.squares[1] else 0.0
            if share < DETERMINISTIC or (
                share < NEARLY_DETERMINISTIC and growth > GROWTH_WITHOUT_NOISE
            ):
                found.append(p)
        return tuple(found)


def measure_residuals(
    walk: Iterator[Stretch],
    space: Space,
    library: Library,
    rule: JointRule,
    drift: Floats,
    diagonal: Floats,
    noise: MeasurementNoise | None = None,
) -> JointResiduals:
    """Residuals of a model with these internal coefficients.

    drift      (d, n_functions)      diagonal   (d, n_functions) of â_pp
    """
    sums = _Sums(library, space.dimension)
    b_of, a_of = drift, diagonal
    if noise is not None:
        b_of = drift @ noise.correction
    doubled = np.zeros((space.dimension, 2))
    for stretch in walk:
        functions, windows = library.internal(stretch.y), stretch.points[rule.lead :]
        step = stretch.steps[rule.lead :].mean(axis=0)[:, None]
        b = functions @ b_of.T
        design = [w * functions[rows] for rows, w in zip(windows, rule.drift, strict=True)]
        displacement = stretch.displacements(space, rule.lead)
        r = displacement[-1] - step * np.sum(
            [w * b[rows] for rows, w in zip(windows, rule.drift, strict=True)], axis=0
        )
        variance = (functions[windows[0]] @ a_of.T) * step * len(displacement)
        if noise is not None:
            variance = variance + 2 * np.diag(noise.covariance)
        sums.add(
            stretch,
            functions[stretch.points[0]],
            np.sum(design, axis=0) * step,
            r,
            variance,
            displacement[0],
        )
        pairs = np.flatnonzero(stretch.follows[1:])
        both = displacement[-1][pairs] + displacement[-1][pairs + 1]
        ends = b[windows[0, pairs]] + b[windows[-1, pairs + 1]]
        two = both - (step[pairs] + step[pairs + 1]) / 2 * ends
        doubled += np.stack([(r[pairs] ** 2).sum(axis=0), (two**2).sum(axis=0)], axis=1)
    growth = np.divide(
        doubled[:, 1], doubled[:, 0], out=np.ones(len(doubled)), where=doubled[:, 0] > 0
    )
    return JointResiduals(sums.moments(), growth, sums.scores(rule.overlapping))


class _Sums:
    """What one pass adds up; see `ResidualMoments` and `memory.score_tests` for the single sums."""

    def __init__(self, library: Library, d: int) -> None:
        n = self._size = library.internal_size
        extra = 1 + len(PAST_WINDOWS)
        self._powers, self._products, self._squares, self._zeros = (
            np.zeros((d, 5)),
            np.zeros((d, 6)),
            np.zeros((d, 3)),
            np.zeros(d),
        )
        self._correlations = np.zeros((d, 3))
        self._score, self._slope = np.zeros((d, n + extra)), np.zeros((d, n + extra, n))
        self._variance = np.zeros((d, n + extra, n + extra))

    def add(
        self,
        stretch: Stretch,
        instruments: Floats,
        design: Floats,
        r: Floats,
        variance: Floats,
        first: Floats,
    ) -> None:
        """r, variance, first (n, d): residuals, their variance, first displacements."""
        positive = variance > 0
        u = np.where(positive, r, 0.0) / np.sqrt(np.where(positive, variance, 1.0))
        u2 = u * u
        self._powers += np.stack(
            [positive.sum(axis=0), *(v.sum(axis=0) for v in (u, u2, u2 * u, u2 * u2))], axis=1
        )
        count, columns = np.full(r.shape[1], 1.0), []
        for lag in (1, 2):
            first_of = np.flatnonzero(
                np.all([stretch.follows[k : len(r) - lag + k] for k in range(1, lag + 1)], axis=0)
            )
            both = r[first_of] * r[first_of + lag]
            columns += [count * len(first_of), both.sum(axis=0), (both**2).sum(axis=0)]
        self._products += np.stack(columns, axis=1)
        self._squares += np.stack(
            [(r**2).sum(axis=0), (first**2).sum(axis=0), count * len(r)], axis=1
        )
        self._zeros += (first == 0).sum(axis=0)
        self._correlations += np.stack(
            [(r[: len(r) - k] * r[k:]).sum(axis=0) for k in range(3)], axis=1
        )
        y = stretch.y[stretch.points[0]]
        for p in range(r.shape[1]):
            past = recent_past(y[:, p], stretch.follows)
            regressors = np.concatenate([instruments, stretch.elapsed[:, None], past], axis=1)
            weighted = regressors * r[:, p : p + 1]
            self._score[p] += weighted.sum(axis=0)
            self._variance[p] += weighted.T @ weighted
            self._slope[p] += regressors.T @ design

    def moments(self) -> tuple[ResidualMoments, ...]:
        shares = self._zeros / self._squares[:, 2].clip(min=1)
        rows = zip(self._powers, self._products, self._squares, shares, strict=True)
        return tuple(
            ResidualMoments(powers, products, squares, float(zero))
            for powers, products, squares, zero in rows
        )

    def scores(self, overlapping: bool) -> tuple[ScoreTests, ...]:
        out = []
        for score, variance, slope, c in zip(
            self._score, self._variance, self._slope, self._correlations, strict=True
        ):
            inflation = max(1 + 2 * (c[1] + c[2]) / c[0], 0.05) if overlapping and c[0] else 1.0
            size = self._size
            found = [
                adjusted(score, variance * inflation, slope, size, k)
                for k in range(size, len(score))
            ]
            out.append(ScoreTests(found[0], tuple(found[1:])))
        return tuple(out)
