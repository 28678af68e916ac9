"""The log-density on panels, (G1): the one integral ψ = ∫2b/a dx that all else stands on."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from worker.generator.numerics.quadrature import NODES, ORDER, TO_LEGENDRE
from worker.generator.process import FloatArray

IndexArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Landscape:
    """ψ = ∫2b/a dx and log a on panels from left to right, equation (G1).

    The density is log π = ψ − log a up to a constant. The shape (..., P) stands for (P,) of one
    model and (m, P) of several models on the same panels.

    base, low, high   (P,) a panel covers base + [low, high] [state]; near a finite end the base is
                      that end, so that distances to it keep all their digits
    exponent          (P,) singular part of ψ is exponent · log|offset|
    order             (P,) singular part of log a is order · log|offset|
    psi, log_a        (..., P, ORDER) regular parts at the Gauss nodes
    tails             log mass beyond the first and the last panel, in the units of π; −inf where
                      none is
    gaps              log resistance from the first and the last panel to an end that is reached;
                      −inf where there is none left
    """

    base: FloatArray
    low: FloatArray
    high: FloatArray
    exponent: FloatArray
    order: FloatArray
    psi: FloatArray
    log_a: FloatArray
    tails: tuple[float, float] = (-np.inf, -np.inf)
    gaps: tuple[float, float] = (-np.inf, -np.inf)

    @cached_property
    def half(self) -> FloatArray:
        """(P,) half widths [state]."""
        return (self.high - self.low) / 2

    @cached_property
    def edges(self) -> FloatArray:
        """(P + 1,) ends of the panels [state]."""
        return np.append(self.base + self.low, self.base[-1] + self.high[-1])

    @cached_property
    def at_nodes(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """x (P, ORDER), ψ and log a (..., P, ORDER) at the Gauss nodes."""
        return self._whole(NODES, self.psi, self.log_a, slice(None))

    def interpolated(
        self, points: FloatArray, matrix: FloatArray, rows: IndexArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return x, ψ and log a of panels at points of [−1, 1]: (..., n_rows, n_points).

        Parameters
        ----------
        points : (n_points,) in [−1, 1]
        matrix : interpolation from the Gauss nodes to the points
        rows : (n_rows,) panels
        """
        return self._whole(
            points, self.psi[..., rows, :] @ matrix.T, self.log_a[..., rows, :] @ matrix.T, rows
        )

    def panel_of(self, x: FloatArray) -> IndexArray:
        """Return (n,) the index of the panel that holds each x."""
        return np.clip(np.searchsorted(self.edges, x, side="right") - 1, 0, len(self.base) - 1)

    def log_density_at(self, x: FloatArray) -> FloatArray:
        """Return log π up to the common constant at x (n,); −inf outside the panels."""
        psi, log_a = self.psi_and_log_a(x)
        return np.where((x >= self.edges[0]) & (x <= self.edges[-1]), psi - log_a, -np.inf)

    def psi_and_log_a(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ψ and log a at points x (n,) inside the panels."""
        rows = self.panel_of(x)
        offset = np.clip(x - self.base[rows], self.low[rows], self.high[rows])
        t = (offset - self.low[rows]) / self.half[rows] - 1
        p = np.polynomial.legendre.legvander(t, ORDER - 1)
        psi, log_a = (
            np.einsum("nk,nk->n", p, table[rows] @ TO_LEGENDRE.T)
            for table in (self.psi, self.log_a)
        )
        logs = self._log_offset(offset[:, None], rows)[:, 0]
        return psi + self.exponent[rows] * logs, log_a + self.order[rows] * logs

    def _whole(
        self, points: FloatArray, psi: FloatArray, log_a: FloatArray, rows: IndexArray | slice
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        offset = self.low[rows][:, None] + self.half[rows][:, None] * (points + 1)
        logs = self._log_offset(offset, rows)
        return (
            self.base[rows][:, None] + offset,
            psi + self.exponent[rows][:, None] * logs,
            log_a + self.order[rows][:, None] * logs,
        )

    def _log_offset(self, offset: FloatArray, rows: IndexArray | slice) -> FloatArray:
        singular = (self.exponent[rows] != 0) | (self.order[rows] != 0)
        return np.log(np.where(singular[:, None], np.abs(offset), 1.0))
