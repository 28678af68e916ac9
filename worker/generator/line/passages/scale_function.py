"""The resistance ∫2/(aπ) dx between any points of a landscape, to as many digits as it has."""

from dataclasses import replace

import numpy as np

from worker.generator.line.landscape import Landscape
from worker.generator.numerics.quadrature import (
    CUMULATIVE,
    NODES,
    WEIGHTS,
    interpolation,
)
from worker.generator.process import FloatArray

GENTLE = 8.0
"""Change of ψ over a panel up to which exp(−ψ) is a polynomial on it to 1e-5."""


def log_resistance_between(landscape: Landscape, points: FloatArray) -> FloatArray:
    """(n − 1,) log ∫ 2/(aπ) dx from each of the increasing points (n,) inside the panels to the next, up to π's constant; −∞
    between two that are one.

    Sums of positive terms: panels, and parts of panels, on which ψ is a polynomial.
    """
    edges = landscape.edges
    breaks = np.union1d(points, edges[(edges > points[0]) & (edges < points[-1])])
    low, half = breaks[:-1], np.diff(breaks) / 2
    x = low[:, None] + half[:, None] * (NODES + 1)
    psi = landscape.psi_and_log_a(x.ravel())[0].reshape(x.shape)
    bottom = psi.min(axis=1)
    pieces = np.log(2 * half) - bottom + np.log(np.exp(bottom[:, None] - psi) @ WEIGHTS)
    apart = np.diff(points) > 0
    starts = np.searchsorted(breaks, points[:-1][apart])
    result = np.full(len(apart), -np.inf)
    result[apart] = np.logaddexp.reduceat(pieces, starts)
    return result


def log_resistances_of_many(landscape: Landscape, points: FloatArray) -> FloatArray:
    """(m, n − 1) the same for m models on the same panels, none of them singular, between points (n,) that are inside and differ.

    Where ψ changes little over a panel its integral up to each point is a polynomial: one matrix for all models.
    """
    first, last = landscape.panel_of(points[[0, -1]])
    psi = landscape.psi[:, first : last + 1]
    if np.ptp(psi, axis=-1).max() > GENTLE:
        alone = (
            replace(landscape, psi=psi, log_a=log_a)
            for psi, log_a in zip(landscape.psi, landscape.log_a, strict=True)
        )
        return np.array([log_resistance_between(model, points) for model in alone])
    bottom = psi.min(axis=(1, 2), keepdims=True)
    weight = landscape.half[first : last + 1, None] * np.exp(bottom - psi)
    between = np.zeros((len(psi), len(points) - 1))
    edges = landscape.edges
    for panel in range(first, last + 1):
        inside = np.clip(points, edges[panel], edges[panel + 1])
        reached = np.flatnonzero(np.diff(inside) > 0)
        if not len(reached):
            continue
        t = np.clip(
            (inside[reached[0] : reached[-1] + 2] - edges[panel]) / landscape.half[panel] - 1, -1, 1
        )
        # ∫ up to the nodes, and at −1, is a polynomial of degree 12; its differences are integrals between the points.
        pieces = np.diff(_integral_to(t), axis=0)
        between[:, reached[0] : reached[-1] + 1] += weight[:, panel - first] @ pieces.T
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(2 * np.maximum(between, 0)) - bottom[:, 0])


def _integral_to(t: FloatArray) -> FloatArray:
    """(n, ORDER): values at the nodes → integrals from −1 to t (n,)."""
    return np.asarray(interpolation(t) @ CUMULATIVE)
