"""Autocorrelation and power spectrum on the line, from all modes of the chain of the cells."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from worker.generator.line.domain.boundaries import TOLERANCE
from worker.generator.line.finite_volumes import Cells, cut_into_cells
from worker.generator.line.landscape import Landscape
from worker.generator.line.panels import MAX_RISE
from worker.generator.line.spectrum import PHASE, coarse_rates, parts_for
from worker.generator.line.stationary import log_total_mass
from worker.generator.numerics.correlation_functions import correlations_of
from worker.generator.numerics.laplace_inversion import ComplexArray, from_transform
from worker.generator.numerics.quadrature import CUMULATIVE, WEIGHTS
from worker.generator.process import FloatArray
from worker.generator.quantities.boundary import End
from worker.generator.quantities.correlations import Correlations
from worker.generator.quantities.outcomes import HEAVY_TAIL, NO_VARIANCE, Outcome, Reason
from worker.generator.quantities.passages import Timing
from worker.generator.quantities.spectrum import Spectrum
from worker.generator.quantities.stationary import StationaryDistribution

RESOLVED_RATES = 5
"""Number of rates for which cells are as fine as the spectrum's: faster modes hardly appear in
x."""
NEGLIGIBLE = 1e-10
"""Share of probability and variance on either side that is left out."""
RADIANS = 6.0
"""Phase of an eigenfunction, far from the mean, over a doubling of the distance.

The process takes its time to come back from there."""
HELD = 1e-4
"""Relative error of the variance on the cells up to which they hold the tails."""
LARGEST_LOG = 690.0


@dataclass(frozen=True, slots=True, eq=False)
class Network:
    """Edges of the cells as capacities with resistances between them.

    x            (n,) the edges, about their mean and over their standard deviation
    mass         (n,) share of the probability that belongs to each edge
    resistance   (n − 1,) between neighbouring edges [time]
    variance     of the edges [state²]
    """

    x: FloatArray
    mass: FloatArray
    resistance: FloatArray
    variance: float

    @classmethod
    def of(cls, cells: Cells) -> "Network":
        """Return the network of the cells."""
        node_mass = cells.log_node_mass
        total = np.logaddexp.reduce(node_mass)
        mass = np.exp(node_mass - total)
        x = cells.edges - mass @ cells.edges
        variance = float(mass @ x**2)
        resistance = np.exp(np.minimum(cells.log_resistance + total, LARGEST_LOG))
        return cls(x / np.sqrt(variance), mass, resistance, variance)

    def transform(self, s: ComplexArray) -> ComplexArray:
        """Return ∫_0^∞ e^(−st) C(t) dt at s (k,) off the negative axis, equation (G30)."""
        # Elimination from left to right. Every sum is one of numbers whose angles differ by less
        # than that of s: nothing cancels, and the slowest rate keeps its digits beside the fastest.
        admittance = s * self.mass[0]
        source = np.full(s.shape, self.mass[0] * self.x[0], np.complex128)
        total = np.zeros(s.shape, np.complex128)
        for r, mass, x in zip(self.resistance, self.mass[1:], self.x[1:], strict=True):
            passed = 1 / (1 + r * admittance)
            total += source * source * (r * passed)
            admittance = admittance * passed + s * mass
            source = source * passed + mass * x
        return np.asarray(total + source * source / admittance)


@dataclass(frozen=True, slots=True, eq=False)
class LineCorrelations:
    """`CorrelationFunctions` from two levels of cells.

    variance   of the stationary distribution [state²]
    """

    fine: Network
    coarse: Network
    variance: float

    def autocorrelation(self, lags: FloatArray) -> FloatArray:
        """Return C at lags (n,), to 1e-5: (1, n)."""
        lags = np.abs(np.asarray(lags, dtype=np.float64))
        found, later = np.ones(lags.shape), lags > 0
        found[later] = self._both(lambda chain: from_transform(chain.transform, lags[later]))
        return found[None]

    def power_spectrum(self, frequencies: FloatArray) -> FloatArray:
        """Return S at frequencies (n,) [1/time]: (1, n) [state²·time]."""
        s = np.asarray(2j * np.pi * frequencies, dtype=np.complex128)
        return np.asarray(
            4 * self.variance * self._both(lambda chain: chain.transform(s).real)[None]
        )

    def _both(self, of: Callable[[Network], FloatArray]) -> FloatArray:
        # The error goes with the square of the cells' length.
        return (4 * of(self.fine) - of(self.coarse)) / 3


def correlations_on_the_line(
    landscape: Landscape,
    inhabited: Landscape,
    ends: tuple[End, End],
    law: StationaryDistribution,
    spectrum: Spectrum,
    n_lags: int,
    n_frequencies: int,
) -> Correlations | Reason:
    """Return autocorrelation, power spectrum and integrated time of a model with a distribution.

    Parameters
    ----------
    landscape : panels that hold all of the distribution
    inhabited : its part that holds all but tails that fall like a power
    ends : lower and upper end, classified
    law : stationary distribution
    spectrum : relaxation rates
    n_lags, n_frequencies : how many of each are given
    """
    mean, variance = law.mean[0], law.covariance[0][0]
    if mean is None or variance is None:
        return NO_VARIANCE
    log_total = log_total_mass(landscape)
    decay = _initial_decay(landscape, log_total, variance)
    fastest = max(
        min(coarse_rates(inhabited, RESOLVED_RATES)[-1], min(end.threshold for end in ends)), decay
    )
    parts, rows = mesh_of_curves(
        landscape, fastest, np.asarray(log_total), np.asarray(mean), np.asarray(variance)
    )
    cells = cut_into_cells(landscape, 2 * parts, rows)
    fine, coarse = Network.of(cells), Network.of(cells.halved())
    if abs((4 * fine.variance - coarse.variance) / 3 - variance) > HELD * variance:
        return HEAVY_TAIL
    time = integrated_time(landscape, ends, log_total, mean, variance)
    slowest = (
        float(spectrum.eigenvalues[0].real)
        if len(spectrum.eigenvalues)
        else min(decay, 1 / (time.value or np.inf) or decay)
    )
    return correlations_of(
        LineCorrelations(fine, coarse, variance),
        (time,),
        slowest=slowest,
        fastest=fastest,
        n_lags=n_lags,
        n_frequencies=n_frequencies,
    )


def mesh_of_curves(
    landscape: Landscape,
    fastest: float,
    log_total: FloatArray,
    mean: FloatArray,
    variance: FloatArray,
    phase: float = PHASE,
) -> tuple[NDArray[np.int64], slice]:
    """Return the cells per panel, and the panels that hold nearly all probability and variance.

    Parameters
    ----------
    landscape : of (...) models on one set of panels, which get what each of them needs
    fastest : rate whose eigenfunction turns by `phase` radians over a cell at most [1/time]
    log_total : (...) log ∫π
    mean, variance : (...) of the stationary distribution [state], [state²]
    phase : largest phase over a cell [radian]
    """
    x, psi, log_a = landscape.at_nodes
    log_total, mean, variance = (moment[..., None, None] for moment in (log_total, mean, variance))
    weight = landscape.half[:, None] * WEIGHTS * np.exp(psi - log_a - log_total)
    share = _most((weight * (1 + (x - mean) ** 2 / variance)).sum(axis=-1))
    matters = (np.cumsum(share) > NEGLIGIBLE) & (np.cumsum(share[::-1])[::-1] > NEGLIGIBLE)
    first, last = np.flatnonzero(matters)[[0, -1]]
    rows = slice(int(first), int(last) + 1)
    distance = np.maximum(
        np.abs(landscape.edges[:-1] - mean[..., 0]), np.abs(landscape.edges[1:] - mean[..., 0])
    )
    uniform = (landscape.half[:, None] * np.exp(-0.5 * log_a)) @ WEIGHTS
    turned = np.minimum(np.sqrt(2 * fastest) * uniform, RADIANS * 2 * landscape.half / distance)
    return parts_for(_most(turned)[rows], phase), rows


def _most(of_panels: FloatArray) -> FloatArray:
    """Return (P,) the largest of the models' values on each panel."""
    return np.asarray(of_panels.reshape(-1, of_panels.shape[-1]).max(axis=0))


def _initial_decay(landscape: Landscape, log_total: float, variance: float) -> float:
    """Return the rate ⟨a⟩/(2 variance) at which C begins to fall [1/time]."""
    _, psi, _ = landscape.at_nodes
    return float(
        np.sum(landscape.half[:, None] * WEIGHTS * np.exp(psi - log_total)) / (2 * variance)
    )


def integrated_time(
    landscape: Landscape, ends: tuple[End, End], log_total: float, mean: float, variance: float
) -> Timing:
    """Return ∫_0^∞ C dt = ∫ r N² dx / variance, equation (G31), to 1e-9.

    Here r = 2/(aπ) and N(x) = ∫_{−∞}^x (z − mean) π dz.

    Parameters
    ----------
    landscape : panels that hold all of the distribution
    ends : lower and upper end, classified
    log_total : log ∫π
    mean, variance : of the stationary distribution [state], [state²]
    """
    for end in ends:
        power = _power_of_tail(end)
        if power is not None and power > -1 - TOLERANCE:
            why = (
                "correlations decay too slowly for their integral: excursions towards "
                f"{end.place} are too long"
            )
            return Timing(None, Reason(Outcome.INFINITE, why))
    low, high = (_moment_of_tail(landscape, ends[side], side, log_total, mean) for side in (0, 1))
    inside = _log_rise(
        landscape, _smooth(landscape), np.asarray(log_total), np.asarray(mean), (low, high)
    )
    beyond = [
        _rise_of_tail(landscape, ends[side], side, log_total, mean, (low, high)[side])
        for side in (0, 1)
    ]
    return Timing.from_log(float(np.logaddexp.reduce([float(inside), *beyond]) - np.log(variance)))


def _smooth(landscape: Landscape) -> NDArray[np.bool_]:
    """Return (P,) the panels that count.

    Polynomials follow neither r nor N on a steep panel; it lies e^−NEAR below a top and above a
    bottom, so that r N² is nothing there.
    """
    return np.asarray(np.ptp(landscape.psi, axis=-1) <= MAX_RISE)


def _log_rise(
    landscape: Landscape,
    counted: NDArray[np.bool_],
    log_total: FloatArray,
    mean: FloatArray,
    tails: tuple[float, float],
) -> FloatArray:
    """Return (...) log ∫ r N² over the panels; `tails` are ∫ (z − mean) π beyond them."""
    x, psi, log_a = landscape.at_nodes
    half = landscape.half[:, None]
    log_total, mean = log_total[..., None, None], mean[..., None, None]
    moment = (x - mean) * np.exp(psi - log_a - log_total)
    inside, whole = half * (moment @ CUMULATIVE.T), half[:, 0] * (moment @ WEIGHTS)
    # Each integral, taken from its own side, is a sum without a change of sign.
    from_left = (tails[0] + np.cumsum(whole, axis=-1) - whole)[..., None] + inside
    from_right = (tails[1] + np.cumsum(whole[..., ::-1], axis=-1)[..., ::-1] - whole)[..., None] + (
        whole[..., None] - inside
    )
    flow = np.abs(np.where(x < mean, from_left, from_right))
    with np.errstate(divide="ignore"):
        log_rise = np.log(2) + log_total - psi + 2 * np.log(flow)
        top = np.maximum(log_rise.max(axis=-1), -1e300)
        pieces = top + np.log(half[:, 0] * (np.exp(log_rise - top[..., None]) @ WEIGHTS))
    return np.asarray(np.logaddexp.reduce(np.where(counted, pieces, -np.inf), axis=-1))


def _power_of_tail(end: End) -> float | None:
    """Return the power of r N² in |o| at an open end with π ~ |o|^power and a ~ |o|^growth.

    None where the density falls faster than any power.
    """
    if end.power is None or end.growth is None or np.isfinite(end.at):
        return None
    return end.power + 4 - end.growth


def _moment_of_tail(
    landscape: Landscape, end: End, side: int, log_total: float, mean: float
) -> float:
    """Return ∫ (z − mean) π beyond the last panel."""
    if np.isinf(landscape.tails[side]) or end.power is None:
        return 0.0
    share = (end.power + 1) / (end.power + 2) if np.isinf(end.at) else 1.0
    return float(
        np.exp(landscape.tails[side] - log_total) * (landscape.edges[-side] - mean) * share
    )


def _rise_of_tail(
    landscape: Landscape, end: End, side: int, log_total: float, mean: float, moment: float
) -> float:
    """Return log ∫ r N² beyond the last panel."""
    power = _power_of_tail(end)
    if power is None or moment == 0:
        return -np.inf
    edge: FloatArray = landscape.edges[[-side]]
    log_r = np.log(2) + log_total - float(landscape.psi_and_log_a(edge)[0][0])
    return float(log_r + 2 * np.log(abs(moment)) + np.log(abs(edge[0] - mean) / abs(power + 1)))
