"""Algorithm 1 of the source paper, to the letter: stacked rows, LassoCV, least squares, thresholds on raw coefficients.

Kept so that published results can be reproduced and compared. Its bias does not vanish with more data (docs/method.md §4).
"""

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LassoCV
from sklearn.model_selection import GroupKFold

from worker.identification.cells import make_cells
from worker.identification.errors import NoDataUnderKernels, TooFewSamples
from worker.identification.kernels import Kernels
from worker.identification.library import Library
from worker.identification.sampling import Euler
from worker.identification.statistics import KernelStatistics, gather
from worker.identification.trajectories import Scales, Trajectories, block_edges, chunks

Floats = NDArray[np.float64]

ALPHAS = np.logspace(-8, -0.5, 60)
FOLDS = 5
STLSQ_ITERATIONS = 20


@dataclass(frozen=True, slots=True, eq=False)
class SparseFit:
    """A sparse solution of the stacked system.

    coefficients   (K,) of the raw terms; inactive ones are exactly zero
    support        positions of the active terms
    alpha          the penalty that cross-validation chose
    alphas, errors   the path: penalties and mean squared error over the folds
    """

    coefficients: Floats
    support: tuple[int, ...]
    alpha: float
    alphas: Floats
    errors: Floats


@dataclass(frozen=True, slots=True, eq=False)
class PaperModel:
    """Drift and diffusion by Algorithm 1, in the data's units."""

    drift: SparseFit
    diffusion: SparseFit
    n_increments: int


def identify_by_paper(
    data: Trajectories, scales: Scales, library: Library, kernels: Kernels, *, threshold: float = 0.25
) -> PaperModel:
    """Algorithm 1 (paper alg. main) on one-dimensional trajectories.

    threshold   STLSQ keeps |c| ≥ threshold · max |c| (0.25; the paper takes 0.30 for its multiplicative system)

    Raises TooFewSamples with fewer than two trajectories (the folds are over trajectories), NoDataUnderKernels.
    """
    if data.n_trajectories < 2:
        raise TooFewSamples(
            "The paper's algorithm cross-validates over trajectories and needs at least two; there is one.",
            hints=("Use the default estimator (leave out the preset), or upload several trajectories.",),
        )
    walk = chunks(data, scales, block_edges(data, 0, one_per_trajectory=True))
    euler = Euler()
    cells = make_cells(kernels, scales)
    statistics = gather(walk, library, kernels, cells, lambda chunk: euler.weights(chunk, library))
    to_raw = np.array([[float(v) for v in row] for row in library.change_of_basis]).T
    design = statistics.at_instrument @ to_raw * scales.time
    n_trajectories, n_kernels, n_terms = design.shape
    groups = np.repeat(np.arange(n_trajectories), n_kernels)
    stacked = design.reshape(-1, n_terms)

    drift = _sparse_fit(stacked, statistics.sums[..., 0].ravel() * scales.unit, groups, threshold)
    corrected = _corrected_variation(statistics, library, kernels, scales, to_raw @ drift.coefficients)
    diffusion = _sparse_fit(stacked, corrected.ravel(), groups, threshold)
    return PaperModel(drift, diffusion, statistics.n_windows)


def _corrected_variation(
    statistics: KernelStatistics, library: Library, kernels: Kernels, scales: Scales, internal_drift: Floats
) -> Floats:
    """Q_j − Σ K_j b̂² Δt², equation (M6); (n_trajectories, n_kernels) [state²]."""
    squared = (library.internal(statistics.nodes) @ internal_drift) ** 2
    correction = (statistics.time_squared * squared) @ kernels.at(statistics.nodes).T
    return np.asarray(statistics.sums[..., 1] * scales.unit**2 - correction * scales.time**2)


def _sparse_fit(design: Floats, response: Floats, groups: NDArray[np.intp], threshold: float) -> SparseFit:
    """LassoCV on normalised columns, then least squares on its support, then STLSQ."""
    norms = np.linalg.norm(design, axis=0)
    if not (norms > 0).all():
        raise NoDataUnderKernels(
            "No sample lies under the kernels of the paper's preset.",
            hints=("Set kernels.range to the data's range, and kernels.bandwidth to about twice the spacing of the centres.",),
        )
    folds = GroupKFold(n_splits=min(FOLDS, len(np.unique(groups))))
    with warnings.catch_warnings():
        # At the smallest penalties coordinate descent stops short; only the support is taken from it.
        warnings.simplefilter("ignore", ConvergenceWarning)
        lasso = LassoCV(alphas=ALPHAS, fit_intercept=False, cv=folds.split(design, response, groups))
        lasso.fit(design / norms, response)
    support = np.flatnonzero(lasso.coef_)
    coefficients = _least_squares(design, response, support)
    for _ in range(STLSQ_ITERATIONS):
        kept = np.flatnonzero(np.abs(coefficients) >= threshold * np.abs(coefficients).max()) if support.size else support
        if kept.size == support.size:
            break
        support = kept
        coefficients = _least_squares(design, response, support)
    return SparseFit(
        coefficients=coefficients,
        support=tuple(int(k) for k in support),
        alpha=float(lasso.alpha_),
        alphas=np.asarray(lasso.alphas_),
        errors=np.asarray(lasso.mse_path_.mean(axis=1)),
    )


def _least_squares(design: Floats, response: Floats, support: NDArray[np.intp]) -> Floats:
    coefficients = np.zeros(design.shape[1])
    if support.size:
        coefficients[support] = np.linalg.lstsq(design[:, support], response, rcond=None)[0]
    return coefficients
