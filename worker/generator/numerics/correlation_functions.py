"""How long the process remembers: its autocorrelation function and power spectrum, in any number of coordinates."""

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
    """Both functions between times and frequencies that show all of them.

    slowest, fastest   rates of the process [1/time]
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
