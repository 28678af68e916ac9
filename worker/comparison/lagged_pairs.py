"""Compiled loops over pairs of samples: sums by block, from which means, errors and covariances are had."""

import numpy as np

from worker.identification.compiled import compiled


@compiled
def lagged_residuals(instruments, values, increments, runs, lag, stride, before, n_blocks):  # type: ignore[no-untyped-def]
    """By block Σ K_j(n − before) (g_i(n + lag) − g_i(n) − D_i(n)), (n_blocks, J, q), and Σ |K_j|, (n_blocks, J); number of pairs.

    instruments   (n, J)      values, increments   (n, q) of g and of its expected change
    stride        of the pairs: neighbouring ones say the same
    before        samples by which the instrument is earlier
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
def lagged_products(z, runs, lags, strides, n_blocks):  # type: ignore[no-untyped-def]
    """Number of pairs, Σ z_n, Σ z_{n+l} and Σ z_n z_{n+l} for every lag l, by block: (n_blocks, n_lags, 4); z (n,)."""
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
def on_even_nodes(table, first, inverse_step, x):  # type: ignore[no-untyped-def]
    """Linear interpolation of `table` (m, q), given on even nodes, at x (n,); beyond the ends the end's value: (n, q)."""
    out = np.empty((x.shape[0], table.shape[1]))
    last = table.shape[0] - 2
    for k in range(x.shape[0]):
        position = min(max((x[k] - first) * inverse_step, 0.0), last + 1.0)
        cell = min(int(position), last)
        part = position - cell
        for i in range(table.shape[1]):
            out[k, i] = table[cell, i] + part * (table[cell + 1, i] - table[cell, i])
    return out
