"""Algorithm 1 of the source paper: stacked rows, LassoCV, least squares, thresholds.

It stays as published so that results can be reproduced and compared. Its bias does not vanish with
more data (docs/method.md §4). Import it where it is used: scikit-learn takes longer to import than
most jobs to run.
"""

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LassoCV
from sklearn.model_selection import GroupKFold

from worker.identification.data.library import Library
from worker.identification.data.trajectories import (
    Scales,
    Trajectories,
    block_edges,
    chunks,
)
from worker.identification.errors import NoDataUnderKernels, TooFewSamples
from worker.identification.sums.cell_rules import window_weights
from worker.identification.sums.kernel_statistics import gather
from worker.identification.sums.kernels import Kernels, make_cells
from worker.identification.sums.rules import EULER

Floats = NDArray[np.float64]

ALPHAS = np.logspace(-8, -0.5, 60)
FOLDS = 5
STLSQ_ITERATIONS = 20


@dataclass(frozen=True, slots=True, eq=False)
class SparseFit:
    """A sparse solution of the stacked system.

    coefficients   (K,) of the raw terms; inactive ones are exactly zero
    support        positions of the active terms
    of_lasso       positions of the terms that the lasso left, before the threshold
    alpha          penalty that cross-validation chose
    alphas         penalties of the path
    errors         mean squared error over the folds of each penalty
    """

    coefficients: Floats
    support: tuple[int, ...]
    of_lasso: tuple[int, ...]
    alpha: float
    alphas: Floats
    errors: Floats


@dataclass(frozen=True, slots=True, eq=False)
class StackedSystem:
    """Regression of Algorithm 1 with R trajectories, M kernels and K terms, in the data's units.

    design         (R, M, K)        A_jk of every trajectory
    increments     (R, M)           B_j [state]
    squares        (R, M)           Q_j [state²]
    time_squared   (R, n_nodes)     quadrature weights of Σ f(X_n) Δt² [time²]
    terms          (n_nodes, K)     terms of the library at the nodes
    kernels        (M, n_nodes)     kernels at the nodes
    """

    design: Floats
    increments: Floats
    squares: Floats
    time_squared: Floats
    terms: Floats
    kernels: Floats

    @property
    def rows(self) -> Floats:
        """Rows of the design, all trajectories; (R·M, K)."""
        return self.design.reshape(-1, self.design.shape[-1])

    @property
    def groups(self) -> NDArray[np.intp]:
        """Number of the trajectory of each row; (R·M,)."""
        return np.repeat(np.arange(len(self.design)), self.design.shape[1])

    def corrected(self, drift: Floats) -> Floats:
        """Return Q_j − Σ K_j b̂² Δt² (M6) of a drift with raw coefficients (K,); (R, M) [state²]."""
        return np.asarray(
            self.squares - (self.time_squared * (self.terms @ drift) ** 2) @ self.kernels.T
        )


@dataclass(frozen=True, slots=True, eq=False)
class PaperModel:
    """Drift and diffusion by Algorithm 1, in the data's units, and the system they solve."""

    drift: SparseFit
    diffusion: SparseFit
    system: StackedSystem


def identify_by_paper(
    data: Trajectories,
    scales: Scales,
    library: Library,
    kernels: Kernels,
    *,
    threshold: float = 0.25,
) -> PaperModel:
    """Run Algorithm 1 (paper alg. main) on one-dimensional trajectories.

    Parameters
    ----------
    data : trajectories
    scales : scales of the variable
    library : terms
    kernels : kernels
    threshold : STLSQ keeps |c| ≥ threshold · max |c|; 0.30 in the paper's multiplicative system

    Raises
    ------
    TooFewSamples : fewer than two trajectories; the folds are over trajectories
    NoDataUnderKernels : a term vanishes in all sums
    """
    if data.n_trajectories < 2:
        raise TooFewSamples(
            "The paper's algorithm cross-validates over trajectories and needs at least two; there "
            "is one.",
            hints=("Use the default estimator (omit the preset), or upload several trajectories.",),
        )
    system = stacked_system(data, scales, library, kernels)
    drift = sparse_fit(system.rows, system.increments.ravel(), system.groups, threshold)
    diffusion = sparse_fit(
        system.rows, system.corrected(drift.coefficients).ravel(), system.groups, threshold
    )
    return PaperModel(drift, diffusion, system)


def stacked_system(
    data: Trajectories, scales: Scales, library: Library, kernels: Kernels
) -> StackedSystem:
    """Take the sums (M3) of each trajectory in one pass: lines 1 to 7 of Algorithm 1.

    Parameters
    ----------
    data : trajectories
    scales : scales of the variable
    library : terms
    kernels : kernels
    """
    walk = chunks(data, scales, block_edges(data, 0, one_per_trajectory=True))
    statistics = gather(
        walk,
        library,
        kernels,
        make_cells(kernels, scales),
        lambda chunk: window_weights(EULER, chunk, library),
    )
    to_raw = library.term_rows.T
    return StackedSystem(
        design=statistics.at_instrument @ to_raw * scales.time,
        increments=statistics.sums[..., 0] * scales.unit,
        squares=statistics.sums[..., 1] * scales.unit**2,
        time_squared=statistics.time_squared * scales.time**2,
        terms=library.internal(statistics.nodes) @ to_raw,
        kernels=statistics.at_nodes(kernels),
    )


def sparse_fit(
    design: Floats, response: Floats, groups: NDArray[np.intp], threshold: float
) -> SparseFit:
    """Run LassoCV on normalised columns, then least squares on its support, then STLSQ.

    Parameters
    ----------
    design : (n_rows, K)
    response : (n_rows,)
    groups : (n_rows,) number of the trajectory of each row
    threshold : STLSQ keeps |c| ≥ threshold · max |c|

    Raises
    ------
    NoDataUnderKernels : a column is zero
    """
    norms = np.linalg.norm(design, axis=0)
    if not (norms > 0).all():
        raise NoDataUnderKernels(
            "No sample lies under the kernels of the paper's preset.",
            hints=(
                "Set kernels.range to the data's range, and kernels.bandwidth to about twice the "
                "spacing of the centres.",
            ),
        )
    folds = GroupKFold(n_splits=min(FOLDS, len(np.unique(groups))))
    with warnings.catch_warnings():
        # Coordinate descent stops short at the smallest penalties; only its support is used.
        warnings.simplefilter("ignore", ConvergenceWarning)
        lasso = LassoCV(
            alphas=ALPHAS, fit_intercept=False, cv=folds.split(design, response, groups)
        )
        lasso.fit(design / norms, response)
    support = np.flatnonzero(lasso.coef_)
    coefficients = _least_squares(design, response, support)
    for _ in range(STLSQ_ITERATIONS):
        kept = (
            np.flatnonzero(np.abs(coefficients) >= threshold * np.abs(coefficients).max())
            if support.size
            else support
        )
        if kept.size == support.size:
            break
        support = kept
        coefficients = _least_squares(design, response, support)
    return SparseFit(
        coefficients=coefficients,
        support=tuple(int(k) for k in support),
        of_lasso=tuple(int(k) for k in np.flatnonzero(lasso.coef_)),
        alpha=float(lasso.alpha_),
        alphas=np.asarray(lasso.alphas_),
        errors=np.asarray(lasso.mse_path_.mean(axis=1)),
    )


def _least_squares(design: Floats, response: Floats, support: NDArray[np.intp]) -> Floats:
    coefficients = np.zeros(design.shape[1])
    if support.size:
        coefficients[support] = np.linalg.lstsq(design[:, support], response, rcond=None)[0]
    return coefficients
