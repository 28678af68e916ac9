"""Chapman–Kolmogorov test: the model's prediction over several sampling intervals at once.

It is compared with the data's conditional moments; equations (C2) and (C3).
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from worker.identification.data.compiled import compiled
from worker.validation.conditional_moments import Observable, Prediction
from worker.validation.sample_blocks import EvenSamples, hotelling

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

KERNELS = 5
"""Number of kernels along the predicted variable."""
CENTRES = (0.1, 0.9)
"""Quantiles of the samples at which the first and the last kernel lie."""
PER_BLOCK = 8
"""Shortest block of the record, in lags."""
FEWEST, MOST_BLOCKS = 30, 100
THINNING = 8
"""Number of windows that start within one lag, as neighbours carry the same information."""


@dataclass(frozen=True, slots=True)
class LagTest:
    """Test of one variable at one lag.

    variable            number of the variable
    lag                 [time]
    statistic           χ² of the residuals' moments in the blocks' covariance
    degrees_of_freedom  of χ²
    p_value             of Hotelling's test, which allows for a covariance estimated from few blocks
    mean_difference     largest difference, over the kernels, of the mean later state from its
                        prediction [standard deviations of the state]
    spread_difference   largest difference of the mean square of the later state [variances]
    n_windows           number of pairs of samples
    n_blocks            number of blocks of the record
    """

    variable: int
    lag: float
    statistic: float
    degrees_of_freedom: int
    p_value: float
    mean_difference: float
    spread_difference: float
    n_windows: int
    n_blocks: int


def lag_tests(
    data: EvenSamples, prediction: Prediction, longest: float, first: int
) -> Iterator[LagTest]:
    """Test every variable at lags of first, 2 first, 4 first, … steps, as far as blocks suffice.

    Parameters
    ----------
    data : samples of the record on an even clock
    prediction : conditional moments of the model
    longest : longest lag [time]
    first : shortest lag [steps]
    """
    states = data.states
    covered = prediction.covers(states)
    before = int(any(observable.noise for observable in prediction.observables))
    for variable, observable in enumerate(prediction.observables):
        instruments = instruments_of(prediction.observables, variable, states)
        if covered is not None:
            instruments *= covered[:, None]
        values = observable.values(states[:, variable])
        lag = first
        while lag * data.step <= longest and lag < data.longest:
            stride = max(1, lag // THINNING)
            n_blocks = min(MOST_BLOCKS, len(states) // (PER_BLOCK * (lag + before)))
            if n_blocks < FEWEST:
                break
            increments = prediction.increments(variable, states, lag * data.step)
            sums, weights, count = lagged_residuals(
                instruments, values, increments, data.runs, lag, stride, before, n_blocks
            )
            found = _hotelling_test(sums, weights)
            if found is not None:
                statistic, degrees, p, mean, spread = found
                yield LagTest(
                    variable, lag * data.step, statistic, degrees, p, mean, spread, count, n_blocks
                )
            lag *= 2


@compiled
def lagged_residuals(
    instruments: Floats,
    values: Floats,
    increments: Floats,
    runs: Integers,
    lag: int,
    stride: int,
    before: int,
    n_blocks: int,
) -> tuple[Floats, Floats, int]:
    """Sum Σ K_j(n − before) (g_i(n + lag) − g_i(n) − D_i(n)) over pairs of samples, by block.

    Parameters
    ----------
    instruments : (n, J) instruments K
    values : (n, q) observables g
    increments : (n, q) expected changes D of g
    runs : (m, 2) first sample and one past the last of each run
    lag : distance of the two samples [steps]
    stride : distance of pairs [steps], as neighbouring ones carry the same information
    before : samples by which the instrument is earlier
    n_blocks : number of blocks

    Returns
    -------
    the sums (n_blocks, J, q), Σ |K_j| (n_blocks, J) and the number of pairs
    """
    n, n_instruments, n_values = values.shape[0], instruments.shape[1], values.shape[1]
    sums = np.zeros((n_blocks, n_instruments, n_values))
    weights = np.zeros((n_blocks, n_instruments))
    count = 0
    for r in range(runs.shape[0]):
        for k in range(runs[r, 0] + before, runs[r, 1] - lag, stride):
            block = k * n_blocks // n
            count += 1
            for j in range(n_instruments):
                weights[block, j] += abs(instruments[k - before, j])
            for i in range(n_values):
                residual = values[k + lag, i] - values[k, i] - increments[k, i]
                for j in range(n_instruments):
                    sums[block, j, i] += instruments[k - before, j] * residual
    return sums, weights, count


def instruments_of(observables: tuple[Observable, ...], variable: int, states: Floats) -> Floats:
    """Return (n, J) instruments of a variable at the states (n, d).

    They are Gaussian kernels along the variable (harmonics of an angle), and for each other
    variable the direction in which it lies.
    """
    observable, x = observables[variable], states[:, variable]
    if observable.period is not None:
        phase = 2 * np.pi / observable.period * x
        waves = [wave(k * phase) for k in (1, 2) for wave in (np.cos, np.sin)]
        own = [np.ones_like(phase), *waves]
    else:
        low, high = np.quantile(x[:: max(1, len(x) // 20_000)], CENTRES)
        if not high > low:
            low, high = observable.middle + observable.deviation * np.array([-1.0, 1.0])
        centres, width = np.linspace(low, high, KERNELS), (high - low) / (KERNELS - 1)
        own = [np.exp(-0.5 * ((x - centre) / width) ** 2) for centre in centres]
    for other, beside in enumerate(observables):
        if other == variable:
            continue
        g = beside.values(states[:, other])
        own += [g[:, 0], g[:, 1]] if beside.period is not None else [np.tanh(g[:, 0])]
    return np.ascontiguousarray(np.stack(own, axis=1))


def _hotelling_test(sums: Floats, weights: Floats) -> tuple[float, int, float, float, float] | None:
    """Return χ², degrees of freedom, p-value and both differences; None for too few blocks."""
    # The number of equally heavy blocks with the same information: of kernels in the tails only few
    # blocks contribute.
    effective = weights.sum(axis=0) ** 2 / np.maximum(
        np.sum(weights**2, axis=0), np.finfo(float).tiny
    )
    enough = effective >= FEWEST / 2
    if not enough.any():
        return None
    sums, weights, n_effective = sums[:, enough], weights[:, enough], float(effective[enough].min())
    n_blocks = len(sums)
    moments = sums.reshape(n_blocks, -1)
    total = moments.sum(axis=0)
    scores = moments - moments.mean(axis=0)
    covariance = n_blocks / (n_blocks - 1) * scores.T @ scores
    usable = np.diag(covariance) > 0
    own = int(enough[:KERNELS].sum())
    if not usable.any() or not own:
        return None
    statistic, degrees, p = hotelling(
        total[usable], covariance[np.ix_(usable, usable)], n_effective, 1e-8
    )
    away = sums.sum(axis=0)[:own] / weights.sum(axis=0)[:own, None]
    return statistic, degrees, p, float(np.abs(away[:, 0]).max()), float(np.abs(away[:, 1]).max())
