"""Algorithm 1 of the source paper in plain NumPy, with the whole kernel matrix of each trajectory.

It is the reference of the product's `paper` preset, and the clock for its speed.
"""

import warnings

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LassoCV
from sklearn.model_selection import GroupKFold

Floats = NDArray[np.float64]


def algorithm1(
    trajectories: Floats,
    dt: float,
    centres: Floats,
    h: float,
    *,
    degree: int = 4,
    threshold: float = 0.25,
) -> tuple[Floats, Floats]:
    """Return drift and diffusion coefficients of 1, …, x^degree from paths (R, N + 1) [state]."""
    A, B, Q, correction = [], [], [], []
    for X in trajectories:
        x, dX = X[:-1], np.diff(X)
        Theta = np.stack([x**k for k in range(degree + 1)])
        K = np.exp(-((x[None, :] - centres[:, None]) ** 2) / (2 * h**2))
        A.append(K @ Theta.T * dt)
        B.append(K @ dX)
        Q.append(K @ dX**2)
    A_stack, B_stack, Q_stack = np.concatenate(A), np.concatenate(B), np.concatenate(Q)
    groups = np.repeat(np.arange(len(trajectories)), len(centres))
    c = sparse_regression(A_stack, B_stack, groups, threshold)
    for X in trajectories:
        x = X[:-1]
        K = np.exp(-((x[None, :] - centres[:, None]) ** 2) / (2 * h**2))
        b = np.polynomial.polynomial.polyval(x, c)
        correction.append(K @ (b**2 * dt**2))
    d = sparse_regression(A_stack, Q_stack - np.concatenate(correction), groups, threshold)
    return c, d


def sparse_regression(A: Floats, y: Floats, groups: NDArray[np.int64], threshold: float) -> Floats:
    """Regress by LassoCV over 60 penalties and STLSQ.

    Columns are normalised, folds grouped by trajectory, and coefficients refitted by least squares.
    """
    norms = np.linalg.norm(A, axis=0)
    splits = GroupKFold(min(5, len(np.unique(groups)))).split(A, y, groups)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        lasso = LassoCV(alphas=np.logspace(-8, -0.5, 60), fit_intercept=False, cv=splits).fit(
            A / norms, y
        )
    active = lasso.coef_ != 0
    c = np.zeros(A.shape[1])
    for _ in range(21):
        c[:] = 0
        c[active] = np.linalg.lstsq(A[:, active], y, rcond=None)[0]
        kept = active & (np.abs(c) >= threshold * np.abs(c).max())
        if (kept == active).all():
            break
        active = kept
    return c
