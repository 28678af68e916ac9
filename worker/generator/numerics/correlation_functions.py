"""Evaluation of autocorrelation functions and power spectra on grids that show all of them."""

import numpy as np

from worker.generator.process import read_only
from worker.generator.quantities.correlations import ABOVE, BELOW, SPAN, Correlations, Memory
from worker.generator.quantities.passage_time import Timing


def memory_of(
    correlations: Correlations,
    integrated_times: tuple[Timing, ...],
    *,
    slowest: float,
    fastest: float,
    n_lags: int,
    n_frequencies: int,
) -> Memory:
    """Evaluate both functions at lags and frequencies that cover all rates of the process.

    Parameters
    ----------
    correlations : functions of the process
    integrated_times : ∫ C dt of each coordinate [time]
    slowest, fastest : rates of the process [1/time]
    n_lags, n_frequencies : numbers of points
    """
    lags = np.linspace(0.0, SPAN / slowest, n_lags)
    frequencies = np.geomspace(slowest / BELOW, max(fastest, slowest) * ABOVE, n_frequencies) / (
        2 * np.pi
    )
    return Memory(
        read_only(lags),
        read_only(correlations.autocorrelation(lags)),
        read_only(frequencies),
        read_only(correlations.power_spectrum(frequencies)),
        integrated_times,
        correlations,
    )
