"""Evaluation of autocorrelation functions and power spectra on grids that show all of them."""

import numpy as np

from worker.generator.process import read_only
from worker.generator.quantities.correlations import (
    ABOVE,
    BELOW,
    SPAN,
    CorrelationFunctions,
    Correlations,
)
from worker.generator.quantities.passages import Timing


def correlations_of(
    functions: CorrelationFunctions,
    integrated_times: tuple[Timing, ...],
    *,
    slowest: float,
    fastest: float,
    n_lags: int,
    n_frequencies: int,
) -> Correlations:
    """Evaluate both functions at lags and frequencies that cover all rates of the process.

    Parameters
    ----------
    functions : functions of the process
    integrated_times : ∫ C dt of each coordinate [time]
    slowest, fastest : rates of the process [1/time]
    n_lags, n_frequencies : numbers of points
    """
    lags = np.linspace(0.0, SPAN / slowest, n_lags)
    frequencies = np.geomspace(slowest / BELOW, max(fastest, slowest) * ABOVE, n_frequencies) / (
        2 * np.pi
    )
    return Correlations(
        read_only(lags),
        read_only(functions.autocorrelation(lags)),
        read_only(frequencies),
        read_only(functions.power_spectrum(frequencies)),
        integrated_times,
        functions,
    )
