"""Periodically forced linear processes, dX = (A(t) X + c(t)) dt + σ(t) dW of period T.

Mean and covariance follow linear equations, which are solved by the fourth-order Magnus expansion:
it is exact for constant A and stable for any, however fast a relaxation is beside the period.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import expm

from worker.generator.process import FloatArray

NODES = (0.5 - np.sqrt(3) / 6, 0.5 + np.sqrt(3) / 6)
"""Gauss nodes of a step, at which the matrices are needed."""


@dataclass(frozen=True, slots=True, eq=False)
class Cycle:
    """Periodic mean and covariance, equation (M69).

    mean         (n_steps, d) at the beginning of each step [state]
    covariance   (n_steps, d, d) [state²]
    multipliers  (d,) Floquet multipliers: factors by which deviations change in a period
    """

    mean: FloatArray
    covariance: FloatArray
    multipliers: NDArray[np.complex128]


def step_times(period: float, n_steps: int) -> FloatArray:
    """Return the times of the Gauss nodes of all steps of a period; (n_steps, 2)."""
    step = period / n_steps
    return np.asarray(step * (np.arange(n_steps)[:, None] + np.array(NODES)))


def multipliers_of(period: float, jacobian: FloatArray) -> NDArray[np.complex128]:
    """Return the Floquet multipliers, the largest first; A at the nodes is (n_steps, 2, d, d)."""
    values = np.linalg.eigvals(_product(_propagators(period / len(jacobian), jacobian)))
    return values[np.argsort(-np.abs(values))].astype(np.complex128)


def cycle_mean(period: float, jacobian: FloatArray, push: FloatArray) -> FloatArray:
    """Compute the periodic mean at the beginning of each step; (n_steps, d).

    Parameters
    ----------
    period : T [time]
    jacobian : (n_steps, 2, d, d) A at the nodes of each step [1/time]
    push : (n_steps, 2, d) c there [state/time]
    """
    d = push.shape[-1]
    whole = np.zeros((*jacobian.shape[:-2], d + 1, d + 1))
    whole[..., :d, :d], whole[..., :d, d] = jacobian, push
    return _periodic(period, whole)


def forced_cycle(
    period: float, jacobian: FloatArray, push: FloatArray, noise: FloatArray
) -> Cycle | None:
    """Compute mean and covariance over a period; None where deviations do not decay.

    Parameters
    ----------
    period : T [time]
    jacobian : (n_steps, 2, d, d) A at the nodes of each step [1/time]
    push : (n_steps, 2, d) c there [state/time]
    noise : (n_steps, 2, d, d) a = σσᵀ there [state²/time]
    """
    multipliers, d = multipliers_of(period, jacobian), push.shape[-1]
    if not np.abs(multipliers[0]) < 1:
        return None
    eye = np.eye(d)
    whole = np.zeros((*jacobian.shape[:-2], d * d + 1, d * d + 1))
    whole[..., : d * d, : d * d] = np.einsum("...ij,kl->...ikjl", jacobian, eye).reshape(
        *jacobian.shape[:-2], d * d, d * d
    ) + np.einsum("ij,...kl->...ikjl", eye, jacobian).reshape(*jacobian.shape[:-2], d * d, d * d)
    whole[..., : d * d, d * d] = noise.reshape(*noise.shape[:-2], d * d)
    covariance = _periodic(period, whole).reshape(-1, d, d)
    covariance = (covariance + covariance.transpose(0, 2, 1)) / 2
    return Cycle(cycle_mean(period, jacobian, push), covariance, multipliers)


def _propagators(step: float, matrices: FloatArray) -> FloatArray:
    """Propagate over each step; matrices at the nodes (n, 2, k, k) → (n, k, k)."""
    first, second = matrices[:, 0], matrices[:, 1]
    exponent = step / 2 * (first + second)
    exponent += np.sqrt(3) / 12 * step**2 * (second @ first - first @ second)
    return np.asarray(expm(exponent))


def _product(propagators: FloatArray) -> FloatArray:
    out = np.eye(propagators.shape[-1])
    for propagator in propagators:
        out = propagator @ out
    return out


def _periodic(period: float, matrices: FloatArray) -> FloatArray:
    """Solve z′ = M z + m for the z of period T; the last column of the matrices is m."""
    steps = _propagators(period / len(matrices), matrices)
    whole = _product(steps)
    k = len(whole) - 1
    state = np.append(np.linalg.solve(np.eye(k) - whole[:k, :k], whole[:k, k]), 1.0)
    out = np.empty((len(steps), k))
    for number, propagator in enumerate(steps):
        out[number] = state[:k]
        state = propagator @ state
    return out


def response(
    jacobian: FloatArray, force: NDArray[np.complex128], frequency: float
) -> NDArray[np.complex128]:
    """Return the response X = (iω − A)⁻¹ β to the force Re β e^{iωt}, equation (M68); (…, d).

    Parameters
    ----------
    jacobian : (…, d, d) A [1/time]
    force : (…, d) β [state/time]
    frequency : ω [1/time]
    """
    d = jacobian.shape[-1]
    return np.asarray(
        np.linalg.solve(1j * frequency * np.eye(d) - jacobian, force[..., None])[..., 0]
    )
