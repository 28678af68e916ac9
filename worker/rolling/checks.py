"""Checks of a record and of its windows, by the functions that check an identification."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from worker.identification.checks.markov_tests import ScoreSums, ScoreTests, standardised
from worker.identification.estimation.fit import Fit
from worker.identification.estimation.noise_correction import NoiseHandling
from worker.identification.estimation.problem import Problem
from worker.identification.findings.finding import Finding
from worker.identification.findings.fit import findings
from worker.identification.findings.residuals import gain_of_drift, left_out
from worker.identification.identified_model import score_sums_of
from worker.identification.selection.best_subset import Estimate
from worker.rolling.window_models import WindowFit
from worker.rolling.windows import MovingWindows

ENOUGH = 500
"""Fewest increments of a window that is tested; so many have the tests' normal distribution."""


def checks_of(
    problem: Problem,
    identified: Fit,
    windows: MovingWindows,
    fits: Sequence[WindowFit],
    noise: NoiseHandling,
) -> Iterator[Finding]:
    """Yield the warnings about a record, then those about windows that share no sample.

    A drift or a noise that changes from window to window is what windows are for. So the record's
    tests of what lies in the past are those of a model with coefficients of its own in every
    window, equation (M53), and only a moving level counts as a trend. Changes within a window are
    said of the window.

    Parameters
    ----------
    problem : data, library and kernels of the whole time series
    identified : fit to the whole time series
    windows : windows
    fits : fit of each window
    noise : treatment of measurement noise
    """
    starts = (windows.times[1:-1] - windows.times[0]) / problem.scales.time

    def piece(elapsed: NDArray[np.float64]) -> NDArray[np.int64]:
        return np.searchsorted(starts, elapsed, side="right")

    sums = score_sums_of(problem, identified, piece, len(windows.times) - 1)
    parts = {i: sums.part(windows.pieces(i)) for i in windows.disjoint() if fits[i].diffusion}
    trend = float(standardised(sums.moments())[0])
    apart = sum((part.moments() for part in parts.values()), np.zeros((0, 2)) if not parts else 0)
    scores = ScoreTests(trend, tuple(standardised(np.asarray(apart))[1:].tolist()))
    of_record = list(findings(replace(identified, scores=(scores,)), problem, noise))
    yield from of_record
    gain, whole = gain_of_drift(identified, 0), _increments(sums)
    within: dict[str, list[tuple[int, Finding]]] = {}
    tested = {i: part for i, part in parts.items() if _increments(part) >= ENOUGH}
    for i, part in tested.items():
        own = fits[i].diffusion
        assert isinstance(own, Estimate)
        tests = part.tests(identified.tensor[0, 0], own.internal)
        for finding in left_out(tests, gain * _increments(part) / whole):
            within.setdefault(finding.code, []).append((i, finding))
    said = {finding.code for finding in of_record}
    for code, found in within.items():
        if code not in said:
            finding = found[0][1]
            begins = [windows.span(i)[0] for i, _ in found]
            yield Finding(
                finding.code,
                f"In {len(found)} of {len(tested)} windows that share no sample (the first begins "
                f"at {begins[0]:g}): {finding.message} Shorter windows follow faster changes.",
                {"begins": begins, "tested": len(tested), **finding.details},
            )


def _increments(sums: ScoreSums) -> float:
    """Return the time in the windows that were read [sampling intervals]."""
    return float(sums.drift.slope[:, 0, 0].sum())
