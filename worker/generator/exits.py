"""Leaving an interval: at which end, and when."""

import numpy as np

from worker.generator.cells import Cells


def log_exit_time(cells: Cells, at: int) -> float:
    """Log of the mean time to leave the cells at either end, from edge number `at`, equation (G19)."""
    resistance = np.append(-np.inf, np.logaddexp.accumulate(cells.log_resistance))
    remaining = np.append(np.logaddexp.accumulate(cells.log_resistance[::-1])[::-1], -np.inf)
    left = np.logaddexp(resistance[:-1] + cells.log_mass, cells.log_resistance + cells.log_right)[:at]
    right = np.logaddexp(remaining[1:] + cells.log_mass, cells.log_resistance + cells.log_left)[at:]
    below, above = np.logaddexp.reduce(left), np.logaddexp.reduce(right)
    return float(np.logaddexp(remaining[at] + below, resistance[at] + above) - resistance[-1])
