"""Compiled sums over pairs of samples by block, for means, errors and covariances."""

import numpy as np
from numpy.typing import NDArray

from worker.identification.compiled import compiled

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


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


@compiled
def lagged_products(
    z: Floats, runs: Integers, lags: Integers, strides: Integers, n_blocks: int
) -> Floats:
    """Sum 1, z_n, z_{n+l} and z_n z_{n+l} over pairs of samples, by lag l and block.

    Parameters
    ----------
    z : (n,) values
    runs : (m, 2) first sample and one past the last of each run
    lags : (n_lags,) distances of the two samples [steps]
    strides : (n_lags,) distances of pairs [steps]
    n_blocks : number of blocks

    Returns
    -------
    the sums (n_blocks, n_lags, 4)
    """
    n = z.shape[0]
    sums = np.zeros((n_blocks, lags.shape[0], 4))
    for i in range(lags.shape[0]):
        lag, stride = lags[i], strides[i]
        for r in range(runs.shape[0]):
            for k in range(runs[r, 0], runs[r, 1] - lag, stride):
                block = k * n_blocks // n
                sums[block, i, 0] += 1.0
                sums[block, i, 1] += z[k]
                sums[block, i, 2] += z[k + lag]
                sums[block, i, 3] += z[k] * z[k + lag]
    return sums


@compiled
def on_even_nodes(table: Floats, first: float, inverse_step: float, x: Floats) -> Floats:
    """Interpolate linearly on even nodes; beyond the ends, the end's value holds.

    Parameters
    ----------
    table : (m, q) values on the nodes
    first : first node [state]
    inverse_step : reciprocal distance of nodes [1/state]
    x : (n,) places [state]

    Returns
    -------
    the values (n, q)
    """
    out = np.empty((x.shape[0], table.shape[1]))
    last = table.shape[0] - 2
    for k in range(x.shape[0]):
        position = min(max((x[k] - first) * inverse_step, 0.0), last + 1.0)
        cell = min(int(position), last)
        part = position - cell
        for i in range(table.shape[1]):
            out[k, i] = table[cell, i] + part * (table[cell + 1, i] - table[cell, i])
    return out
