"""The distribution of a first-passage time: its density, distribution function and quantiles."""

from collections.abc import Callable

import numpy as np

from worker.generator.line.finite_volumes import Cells, cut_into_cells
from worker.generator.line.landscape import Landscape
from worker.generator.line.passages.transform import Chain
from worker.generator.numerics.laplace_inversion import MOST_POINTS, contour, points_for
from worker.generator.process import FloatArray, read_only
from worker.generator.quantities.outcomes import (
    NO_WAY,
    RARE_START,
    TOO_SHORT,
    TOO_STEEP_ON_THE_WAY,
    Reason,
)
from worker.generator.quantities.passages import PROBABILITIES, Passage, PassageCurve, Timing

TAIL = 1e-3
"""Probability before the first and after the last time that is given."""
LOWEST, HIGHEST, PER_DECADE, N_TIMES, N_BETWEEN = 1e-4, 1e4, 5, 80, 8
"""First times: from this part of the mean, or a single step, up to so many means; then between
two."""
N_CURVE = 34
"""Number of times at equal steps of probability, as many at equal distances, and as many at
equal ratios."""
NARROW = 0.5
"""Standard deviation, in means, below which a distribution from a rare state is a Fourier
series."""
WINDOW = 30.0
"""Length, in standard deviations, of the stretch of time that a narrow distribution is a Fourier
series on."""
N_BLOCK, N_WAVES, SMALLEST_WAVE = 64, 4096, 1e-9
"""Terms by which the series grows, their largest number, and the size of the last at which it
ends."""

PER_DISTANCE, FEWEST_PARTS, MOST_PARTS = 32, 8, 512
"""Cells over the distance of a passage, and cells of a panel."""
RISE, MOST_RISE = 0.5, 2000.0
"""Change of ψ over a cell on the way, and over the whole way beyond which it is not kept to."""
MOST_EDGES = 6_000
"""Number of edges of a chain that is still followed."""
RESOLVED = 0.03
"""Change of the density with the cells, relative to its peak, up to which it can be extrapolated
to a thousandth."""

Law = Callable[[FloatArray], FloatArray]
"""Function of times (k,) that gives density and distribution function there, (2, k)."""
COARSER = 4
"""Length of the cells, in those of the distribution itself, where a level of twice this length
goes with them."""
STEPS = 12
SETTLED = 3e-3
"""Step in the logarithm of a time after which the next would be its square, about."""

Quantiles = tuple[float, ...]


def passage_cells(landscape: Landscape, low: float, high: float, coarser: int = 1) -> Cells:
    """Return cells that resolve a passage between two states, or cells 2 or 4 times as long.

    A short passage is over before the process has been far. Far from both points cells may be
    longer.

    Parameters
    ----------
    landscape : panels
    low, high : edges of panels [state]
    coarser : 1, 2 or 4
    """
    edges, width = landscape.edges, 2 * landscape.half
    away = np.maximum(np.maximum(low - edges[1:], edges[:-1] - high), high - low)
    wanted = np.maximum(PER_DISTANCE * width / away, rise_on_the_way(landscape, low, high) / RISE)
    parts = 2 ** np.ceil(np.log2(np.clip(wanted, FEWEST_PARTS, MOST_PARTS))).astype(np.int64)
    return cut_into_cells(landscape, parts // coarser)


def rise_on_the_way(landscape: Landscape, low: float, high: float) -> FloatArray:
    """Return (P,) about how much ψ changes over each panel between `low` and `high`; 0 elsewhere.

    It is 0 everywhere where ψ changes by more in all than could be followed.

    Parameters
    ----------
    landscape : panels
    low, high : edges of panels [state]
    """
    _, psi, _ = landscape.at_nodes
    middle = (landscape.edges[:-1] + landscape.edges[1:]) / 2
    rise = np.where((middle > low) & (middle < high), np.ptp(psi, axis=1), 0.0)
    return rise if rise.sum() < MOST_RISE else np.zeros(rise.shape)


def passage_curve(
    cells: Cells, chain_of: Callable[[Cells], Chain], mean: Timing, deviation: Timing | None
) -> PassageCurve | Reason:
    """Return the curve, equation (G29), to a thousandth of its peak.

    Parameters
    ----------
    cells : an even number of cells
    chain_of : the passage on these cells, and on their pairs
    mean : mean first-passage time
    deviation : standard deviation, needed where the process comes from a very rare state only
    """
    if mean.value is None or not mean.value > 0:
        return mean.reason or NO_WAY
    chains = chain_of(cells), chain_of(cells.halved())
    if len(chains[0].ahead) > MOST_EDGES:
        return TOO_STEEP_ON_THE_WAY
    points = points_for(chains[0].log_amplification)
    if (
        points is None
        and deviation is not None
        and deviation.value is not None
        and deviation.value < NARROW * mean.value
    ):
        fine, coarse = (_narrow(chain, mean.value, deviation.value) for chain in chains)
        first_look = (
            mean.value + deviation.value * np.linspace(-WINDOW / 2, WINDOW / 2, N_TIMES)[1:-1]
        )
        first_look = first_look[first_look > 0]
    else:
        fine, coarse = (relaxing_law(chain, points or MOST_POINTS) for chain in chains)
        soonest = min(
            LOWEST * mean.value,
            1 / float(chains[0].ahead[chains[0].start] + chains[0].back[chains[0].start]),
        )
        decades = np.log10(HIGHEST * mean.value) - np.log10(soonest)
        first_look = np.geomspace(soonest, HIGHEST * mean.value, int(PER_DECADE * decades) + 2)
    times = _times(fine, first_look)
    if times is None:
        return TOO_STEEP_ON_THE_WAY
    law, rougher = fine(times), coarse(times)
    if np.max(np.abs(law - rougher)[0]) > RESOLVED * np.max(law[0]):
        return TOO_SHORT
    if (
        abs(law[1, 0] - TAIL) > TAIL
        or abs(law[1, -1] - (1 - TAIL)) > TAIL
        or np.any(np.diff(law[1]) < -TAIL / 10)
    ):
        return (None if deviation is None else deviation.reason) or RARE_START
    # The error goes with the square of the cells' length.
    density, cumulative = (4 * law - rougher) / 3
    return PassageCurve(
        read_only(times), read_only(np.maximum(density, 0)), read_only(np.clip(cumulative, 0, 1))
    )


def _times(law: Law, look: FloatArray) -> FloatArray | None:
    """Return times between the quantiles TAIL and 1 − TAIL, or None where the law is no number.

    A third of them is at equal steps of probability, a third of time, and a third of its logarithm.
    """
    levels = np.linspace(TAIL, 1 - TAIL, N_CURVE)
    for _ in range(2):
        over = np.maximum.accumulate(law(look)[1])
        if not np.isfinite(over[-1]):
            return None
        equal = np.exp(np.interp(levels, over, np.log(look)))
        # Between its neighbours each of the outermost is not yet known well.
        outer = np.concatenate([_between(look, over, TAIL), _between(look, over, 1 - TAIL)])
        look = np.union1d(equal, outer)
    over = np.maximum.accumulate(law(look)[1])
    equal = np.exp(np.interp(levels, over, np.log(look)))
    first, last = equal[0], equal[-1]
    return np.unique(
        np.concatenate(
            [
                equal,
                np.linspace(first, last, N_CURVE)[1:-1],
                np.geomspace(first, last, N_CURVE)[1:-1],
            ]
        )
    )


def _between(look: FloatArray, over: FloatArray, probability: float) -> FloatArray:
    after = int(np.clip(np.searchsorted(over, probability), 1, len(over) - 1))
    return np.geomspace(look[after - 1], look[after], N_BETWEEN)


def relaxing_law(chain: Chain, points: int) -> Law:
    """Return the distribution by Talbot's contour.

    It is a sum of decaying exponentials whose weights are not too large.
    """
    nodes, weights = contour(points)

    def law(times: FloatArray) -> FloatArray:
        s = nodes / times[:, None]
        values = chain.transform(s.ravel()).reshape(s.shape)
        return np.array([np.imag(values @ weights) / times, np.imag(values @ (weights / nodes))])

    return law


def _narrow(chain: Chain, mean: float, deviation: float) -> Law:
    """Return the distribution by a Fourier series on a stretch of time that holds all of it."""
    window = WINDOW * deviation
    begin = mean - window / 2
    values = np.zeros(0, np.complex128)
    while not (len(values) and abs(values[-1]) < SMALLEST_WAVE) and len(values) < N_WAVES:
        k = len(values) + 1 + np.arange(N_BLOCK)
        values = np.append(
            values, chain.transform(np.asarray(2j * np.pi * k / window, dtype=np.complex128))
        )
    rate = 2j * np.pi * (1 + np.arange(len(values))) / window
    values = values * np.exp(rate * begin)

    def law(times: FloatArray) -> FloatArray:
        waves = np.exp((times - begin)[:, None] * rate)
        density = (1 + 2 * np.real(waves @ values)) / window
        cumulative = ((times - begin) + 2 * np.real((waves - 1) @ (values / rate))) / window
        return np.array([density, cumulative])

    return law


def quantiles_on_the_line(cells: Cells, passage: Passage, mean: Timing) -> Quantiles:
    """Return the times by which the passage of a model is over with each of `PROBABILITIES` [time].

    There are none where the other model has none, or the passage is not inside the cells.

    Parameters
    ----------
    cells : an even number of cells that resolve the passage
    passage : the passage of a model near it
    mean : mean time of the model's passage; where it is infinite, so are the quantiles
    """
    low, high = sorted((passage.start, passage.to))
    if not cells.edges[0] <= low < high <= cells.edges[-1]:
        return ()
    return _quantiles(
        cells, lambda level: Chain.along(level, passage.start, passage.to), passage, mean
    )


def quantiles_round(landscape: Landscape, at: float, passage: Passage, mean: Timing) -> Quantiles:
    """Return the quantiles on a circle that is cut open at the goal.

    Parameters
    ----------
    landscape : one turn; the passage is over where either end of it is reached
    at : start [state]
    passage : the passage of a model near it
    mean : mean time of the model's passage
    """
    low, high = landscape.edges[[0, -1]]
    nearest = low if at - low < high - at else high
    cells = passage_cells(landscape, min(nearest, at), max(nearest, at), coarser=COARSER)
    return _quantiles(cells, lambda level: Chain.out_of(level, level.edge_at(at)), passage, mean)


def _quantiles(
    cells: Cells, chain_of: Callable[[Cells], Chain], passage: Passage, mean: Timing
) -> Quantiles:
    known = passage.mean_time.log_value
    if not passage.quantiles or known is None or len(cells.edges) > MOST_EDGES:
        return ()
    if mean.log_value is None:
        return (np.inf,) * len(passage.quantiles)
    coarse = _on_chain(chain_of(cells.halved()), np.log(passage.quantiles) + mean.log_value - known)
    fine = _on_chain(chain_of(cells), coarse)
    # The error goes with the square of the cells' length.
    return tuple(np.exp((4 * fine - coarse) / 3).tolist())


def _on_chain(chain: Chain, log_times: FloatArray) -> FloatArray:
    """Return (k,) log quantiles, from a guess of them; nan where they are not found."""
    points = points_for(chain.log_amplification)
    if points is None or not np.isfinite(log_times).all():
        return np.full(log_times.shape, np.nan)
    law = relaxing_law(chain, points)
    for _ in range(STEPS):
        times = np.exp(log_times)
        density, over = law(times)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = np.clip((PROBABILITIES - over) / (density * times), -1.0, 1.0)
        log_times = log_times + step
        if np.max(np.abs(step)) < SETTLED:
            return log_times
    return np.full(log_times.shape, np.nan)
