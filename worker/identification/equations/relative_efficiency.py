"""Share of the data's information on the coefficients that passes through the kernels.

Kernels too few, too far apart or too wide smooth away what distinguishes two terms (docs/method.md
§6). V and the kernels' sums say by how much, with no noise of their own.
"""

import numpy as np
from numpy.typing import NDArray

from worker.identification.equations.regression import (
    SMALLEST_EIGENVALUE,
    inverse_square_root,
    noise_covariance,
)
from worker.identification.sums.kernels import Kernels

Floats = NDArray[np.float64]

UNSEEN = 1e-12
"""Share of the largest information below which a direction of the library is not in the data."""

IDENTIFIABLE = 1e-6
"""Share of a direction's information below which kernels do not distinguish it from the others."""


def whitening(kernels_at_nodes: Floats, variance: Floats) -> Floats:
    """Compute V^(−1/2) K; (n_rows, n_nodes).

    kernels_at_nodes   (n_kernels, n_nodes)
    variance           (n_nodes,) quadrature weights of Σ ω Δt
    """
    return (
        inverse_square_root(noise_covariance(kernels_at_nodes, variance), SMALLEST_EIGENVALUE)
        @ kernels_at_nodes
    )


def variance_over_bound(
    whitened: Floats, functions: Floats, time: Floats, variance: Floats
) -> float | None:
    """Compute the coefficients' variance (M9) over the Cramér–Rao bound, equation (M29).

    It is the mean over the library's directions, at least 1 by the inequality of Cauchy and
    Schwarz, and None where some direction does not pass.

    Parameters
    ----------
    whitened : (n_rows, n_nodes) see `whitening`
    functions : (n_nodes, n_functions) internal functions at the nodes
    time, variance : (n_nodes,) quadrature weights of Σ Δt and Σ ω Δt
    """
    root = inverse_root(
        (functions * (time / local_variance(time, variance))[:, None]).T @ functions
    )
    design = whitened @ (functions * time[:, None]) @ root
    efficiencies = np.linalg.eigvalsh(design.T @ design)
    return float((1 / efficiencies).mean()) if efficiencies[0] > IDENTIFIABLE else None


def local_variance(time: Floats, variance: Floats) -> Floats:
    """Compute ω at the nodes; its value is arbitrary where no sample has been."""
    return np.divide(variance, time, out=np.ones_like(time), where=time != 0)


def inverse_root(matrix: Floats) -> Floats:
    """Compute R (n, r) with Rᵀ matrix R = 1, over the directions that are in the data."""
    norms = np.sqrt(np.diag(matrix).clip(min=0))
    norms = np.where(norms > 0, norms, 1.0)
    values, vectors = np.linalg.eigh(matrix / np.outer(norms, norms))
    keep = values > UNSEEN * values[-1]
    return np.asarray(vectors[:, keep] / np.sqrt(values[keep]) / norms[:, None])


def gain_of_narrower(
    kernels: Kernels,
    nodes: Floats,
    functions: Floats,
    time: Floats,
    variance: Floats,
    material: float = 1.0,
) -> float:
    """Compute the variance with these kernels over that with twice as many of half the width.

    It is infinite where only the narrower kernels distinguish all directions.

    Parameters
    ----------
    kernels : equally spaced kernels
    nodes : (n_nodes,) nodes of the cells
    functions : (n_nodes, n_functions) internal functions at the nodes
    time, variance : (n_nodes,) quadrature weights of Σ Δt and Σ ω Δt
    material : ratio up to which an upper bound of it is enough, and returned
    """
    now = variance_over_bound(whitening(kernels.at(nodes), variance), functions, time, variance)
    # No kernels are better than the bound.
    if now is not None and now <= material:
        return now
    spacing = float(kernels.centres[1] - kernels.centres[0])
    between = kernels.centres + spacing / 2
    centres = np.concatenate(
        [kernels.centres, between if kernels.circle is not None else between[:-1]]
    )
    narrower = Kernels(centres, kernels.bandwidth / 2, kernels.circle)
    then = variance_over_bound(whitening(narrower.at(nodes), variance), functions, time, variance)
    if then is None:
        return 1.0
    return float("inf") if now is None else now / then
