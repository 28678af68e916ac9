"""One pass over the residuals of a fitted model in several variables: their size, shape and memory, by variable."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from worker.identification.checks.markov_tests import (
    PAST_WINDOWS,
    ScoreTests,
    adjusted,
    recent_past,
)
from worker.identification.checks.scalar_residuals import MomentSums, Residuals
from worker.identification.data.library import Library
from worker.identification.data.windows import Space, Stretch
from worker.identification.sums.measurement_noise import MeasurementNoise
from worker.identification.sums.rules import SamplingRule

Floats = NDArray[np.float64]


def measure_residuals(
    walk: Iterator[Stretch],
    space: Space,
    library: Library,
    rule: SamplingRule,
    drift: Floats,
    diagonal: Floats,
    noise: MeasurementNoise | None = None,
) -> Residuals:
    """Residuals of a model with these internal coefficients.

    drift      (d, n_functions)      diagonal   (d, n_functions) of â_pp
    """
    moments = [MomentSums() for _ in range(space.dimension)]
    scores = [_ScoreSums(library) for _ in range(space.dimension)]
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
        instruments, of_window, y = (
            functions[stretch.points[0]],
            np.sum(design, axis=0) * step,
            stretch.y[stretch.points[0]],
        )
        for p, (residual, expected) in enumerate(
            zip(np.ascontiguousarray(r.T), variance.T, strict=True)
        ):
            positive = expected > 0
            u = residual[positive] / np.sqrt(expected[positive])
            moments[p].add(
                residual, u, np.ascontiguousarray(displacement[0][:, p]), stretch.follows
            )
            scores[p].add(stretch, y[:, p], instruments, of_window, residual)
        pairs = np.flatnonzero(stretch.follows[1:])
        both = displacement[-1][pairs] + displacement[-1][pairs + 1]
        ends = b[windows[0, pairs]] + b[windows[-1, pairs + 1]]
        two = both - (step[pairs] + step[pairs + 1]) / 2 * ends
        doubled += np.stack([(r[pairs] ** 2).sum(axis=0), (two**2).sum(axis=0)], axis=1)
    growth = np.divide(
        doubled[:, 1], doubled[:, 0], out=np.ones(len(doubled)), where=doubled[:, 0] > 0
    )
    found = tuple(m.moments() for m in moments)
    return Residuals(found, growth, tuple(s.tests(rule.overlapping) for s in scores))


class _ScoreSums:
    """What one pass adds up for the score tests of one variable; see `memory.score_tests`."""

    def __init__(self, library: Library) -> None:
        n = self._size = library.internal_size
        extra = 1 + len(PAST_WINDOWS)
        self._correlations, self._score = np.zeros(3), np.zeros(n + extra)
        self._slope, self._variance = np.zeros((n + extra, n)), np.zeros((n + extra, n + extra))

    def add(
        self, stretch: Stretch, y: Floats, instruments: Floats, design: Floats, r: Floats
    ) -> None:
        """y, r (n,): states at the windows' first samples, residuals; instruments, design (n, n_functions)."""
        self._correlations += [float(r[: len(r) - k] @ r[k:]) for k in range(3)]
        regressors = np.concatenate(
            [instruments, stretch.elapsed[:, None], recent_past(y, stretch.follows)], axis=1
        )
        weighted = regressors * r[:, None]
        self._score += weighted.sum(axis=0)
        self._variance += weighted.T @ weighted
        self._slope += regressors.T @ design

    def tests(self, overlapping: bool) -> ScoreTests:
        """Of all windows so far."""
        c, size = self._correlations, self._size
        inflation = max(1 + 2 * (c[1] + c[2]) / c[0], 0.05) if overlapping and c[0] else 1.0
        variance = self._variance * inflation
        found = [
            adjusted(self._score, variance, self._slope, size, k)
            for k in range(size, len(self._score))
        ]
        return ScoreTests(found[0], tuple(found[1:]))
