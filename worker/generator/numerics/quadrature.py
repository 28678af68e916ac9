"""Gauss–Legendre integration and interpolation on the reference panel [−1, 1]."""

from functools import cache

import numpy as np
from numpy.polynomial.legendre import legder, leggauss, legval, legvander

from worker.generator.process import FloatArray, read_only

ORDER = 12
"""Nodes of a panel: degrees up to 11 are represented, and degrees up to 23 integrated, exactly."""


def _to_legendre(nodes: FloatArray, weights: FloatArray) -> FloatArray:
    degrees = np.arange(len(nodes))
    return (degrees[:, None] + 0.5) * legvander(nodes, len(nodes) - 1).T * weights


@cache
def rule(order: int) -> tuple[FloatArray, FloatArray]:
    """Return the Gauss weights (order,) and the matrix of integrals (order, order).

    The matrix maps values at the Gauss nodes to integrals from −1 to each node.
    """
    nodes, weights = leggauss(order)
    # ∫_{-1}^t P_k = (P_{k+1}(t) − P_{k−1}(t)) / (2k + 1), and t + 1 for k = 0.
    p, k = legvander(nodes, order), np.arange(1, order)
    antiderivatives = np.column_stack([nodes + 1, (p[:, 2:] - p[:, :-2]) / (2 * k + 1)])
    return read_only(weights), read_only(antiderivatives @ _to_legendre(nodes, weights))


@cache
def at_edges(order: int) -> tuple[FloatArray, FloatArray]:
    """Return matrices that map values at the Gauss nodes to the ends −1 and 1, and to derivatives.

    The first is (2, order); the second, (order, order), gives derivatives at the nodes.
    """
    nodes, weights = leggauss(order)
    coefficients = _to_legendre(nodes, weights)
    edges = legvander(np.array([-1.0, 1.0]), order - 1) @ coefficients
    return read_only(edges), read_only(legval(nodes, legder(np.eye(order))).T @ coefficients)


NODES, _ = leggauss(ORDER)
WEIGHTS, CUMULATIVE = rule(ORDER)
TO_LEGENDRE = read_only(_to_legendre(NODES, WEIGHTS))
"""Matrix (ORDER, ORDER) from values at the nodes to Legendre coefficients."""
DERIVATIVE = read_only(legval(NODES, legder(np.eye(ORDER))).T @ TO_LEGENDRE)
"""Matrix (ORDER, ORDER) from values at the nodes to derivatives at the nodes."""


def interpolation(points: FloatArray) -> FloatArray:
    """Return the matrix (n_points, ORDER) from values at the nodes to values at `points`."""
    return np.asarray(legvander(points, ORDER - 1) @ TO_LEGENDRE)


@cache
def subdivision(parts: int, order: int) -> tuple[FloatArray, FloatArray]:
    """Return Gauss nodes (parts · order,) of equal parts of [−1, 1], and interpolation to them."""
    nodes, _ = leggauss(order)
    centres = (2 * np.arange(parts) + 1) / parts - 1
    points = (centres[:, None] + nodes / parts).ravel()
    return read_only(points), read_only(interpolation(points))
