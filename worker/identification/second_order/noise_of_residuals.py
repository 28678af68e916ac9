"""What measurement noise adds to products of residuals: by D, and by the integral of the force.

A residual r = D − ∫wF ds of samples y_i = ξ_i + η_i contains Σ_i (∂r/∂y_i) η_i. The samples enter D
at three places, and the integral of the fitted force at all of the window
(docs/method.md §16, equation S6).
"""

import numpy as np
from numpy.typing import NDArray

from worker.identification.data.library import Library
from worker.identification.second_order.windows import Piece

Floats = NDArray[np.float64]

STEP = 1e-4
"""Internal step of the central differences that a force's slopes are taken by."""


def noise_of_residuals(
    piece: Piece, half: int, noise: Floats, library: Library, force: Floats, units: Floats
) -> Floats:
    """Compute what noise adds to r_p r_q in each window; (n, d, d).

    With the force's slopes X = ∂F/∂ξ and V = ∂F/∂(dξ/dτ) before the window it is

        δ_pq s_p² (1/h₊² + 1/h₋² + (1/h₊ + 1/h₋)²) + g (s_p² X_qp + s_q² X_pq)
        + Σ_k s_k² (X_pk X_qk (h₋ + h₊) Δ/3 + V_pk V_qk b)

    where g = (1/h₊ + 1/h₋) Δ (1 − 1/4m) is minus what D and ∫wξ ds share of a sample, and
    b = (1/h₊ + 1/h₋) Δ (1 − 3/4m) what ∫w dξ by parts has of all of them; Δ is the sampling
    interval and m half a window.

    Parameters
    ----------
    piece : windows
    half : m
    noise : (d,) variances of the samples
    library : terms
    force : (d, J) coefficients of the force
    units : (d,) unit of each velocity in internal positions per sampling interval
    """
    n, d = len(piece.steps), len(noise)
    out = np.zeros((n, d, d))
    if not noise.any():
        return out
    behind, ahead = 1 / piece.steps.T
    own = ahead**2 + behind**2 + (ahead + behind) ** 2
    out += own[:, None, None] * np.diag(noise)
    if not force.any():
        return out
    slopes = _slopes(piece.states, library, force)
    of_position, of_velocity = slopes[:, :, :d], slopes[:, :, d:] / units
    length = piece.steps.sum(axis=1)
    both = (ahead + behind) * length / (2 * half)
    shared = of_position * noise
    out += (both * (1 - 1 / (4 * half)))[:, None, None] * (shared + shared.transpose(0, 2, 1))
    for rates, weight in (
        (of_position, length**2 / (6 * half)),
        (of_velocity, both * (1 - 3 / (4 * half))),
    ):
        out += weight[:, None, None] * ((rates * noise) @ rates.transpose(0, 2, 1))
    return out


def _slopes(states: Floats, library: Library, force: Floats) -> Floats:
    """Compute the slopes of the force in each variable of the library; (n, d, 2d)."""
    columns = []
    for i in range(states.shape[1]):
        shift = np.zeros(states.shape[1])
        shift[i] = STEP
        change = library.internal(states + shift) - library.internal(states - shift)
        columns.append(change @ force.T / (2 * STEP))
    return np.stack(columns, axis=2)
