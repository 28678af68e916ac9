"""The test of fit of one variable's drift: what the weak equations leave over (method.md §5)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincc

from worker.identification.data.trajectories import Scales
from worker.identification.estimation.fit import Fit
from worker.identification.estimation.problem import Problem
from worker.identification.regression import (
    NormalEquations,
    calibrated,
    noise_covariance,
    solve,
    whitened,
)
from worker.identification.selection.supports import support_basis
from worker.identification.sums.cell_rules import diffusion_systems, drift_system
from worker.identification.sums.kernels import Kernels

Floats = NDArray[np.float64]

WIDE_KERNELS = 8
"""Kernels of the test. More have less power: −tanh(3x), fitted by a cubic to 20 000 samples, is
found at 1 % in 96 of 100 records by 8 kernels, in 80 by 20, in 36 by the largest difference."""

WIDTH_IN_SPACINGS = 1.2
"""Bandwidth of these kernels, in distances of their centres."""

SMOOTHING_IN_SPACINGS = 0.4
"""Bandwidth of the smooth difference. What a fit leaves over changes sign several times: twice as
wide, a difference of 0.25 in −tanh(3x) is 0.11."""

FREE = 0.3
"""Share of a direction's variance that the fit must leave for the direction to be tested."""

WIDER = 1.2
"""Least bandwidth of a sum of the fit's kernels, in theirs."""

SIGNIFICANT = 0.005
"""p-value of the test below which the drift counts as wrong."""

MATERIAL = 0.05
"""Difference of the drift, over the root mean square of the model's, from which it matters."""

FEWEST_BLOCKS = 8
"""Blocks below which their scatter gives no standard error."""

GRID = 200
"""States between the outermost kernels at which the largest difference is searched for."""


@dataclass(frozen=True, slots=True, eq=False)
class Misfit:
    """What the data's drift has beyond the model's, smoothed, with its standard error.

    kernels      the fit's kernels, in internal units
    width        bandwidth of the smoothing, in internal units
    left         (n_kernels,) B − A ĉ, what the weak equations leave over
    covariance   (n_kernels, n_kernels) of `left` where the model is right
    time         (n_kernels,) Σ K_j(X_n) times what the windows are long
    scales       units of the variable
    statistic    Hansen's J
    degrees      its degrees of freedom
    p_value      probability of a larger one where the model is right
    size         root mean square of the model's drift over the data [state/time]
    """

    kernels: Kernels
    width: float
    left: Floats
    covariance: Floats
    time: Floats
    scales: Scales
    statistic: float
    degrees: int
    p_value: float
    size: float

    @property
    def is_material(self) -> bool:
        """Whether the data contradict the drift, by more than a trace of it."""
        return self.p_value <= SIGNIFICANT and abs(self.worst()[3]) >= MATERIAL * self.size

    def at(self, states: Floats) -> tuple[Floats, Floats]:
        """Evaluate at states (n,): smooth estimate less model, and its standard error [state/time].

        Away from the data both are nan.
        """
        y = (np.asarray(states, dtype=np.float64) - self.scales.origin) / self.scales.unit
        weights = _combinations(self.kernels, y, self.width)
        time = weights @ self.time
        near = time > 1e-9 * float(self.time.max())
        with np.errstate(invalid="ignore", divide="ignore"):
            factor = np.where(near, self.scales.unit / self.scales.time / time, np.nan)
        variance = np.einsum("xj,jk,xk->x", weights, self.covariance, weights).clip(min=0)
        return factor * (weights @ self.left), factor * np.sqrt(variance)

    def worst(self) -> tuple[float, float, float, float, float]:
        """Find where the difference is largest in standard errors.

        Returns
        -------
        low, high : region about it of the same sign and at least two standard errors [state]
        at : its place [state]
        difference, std_error : there [state/time]
        """
        centres = self.scales.origin + self.scales.unit * self.kernels.centres
        x = np.linspace(float(centres[0]), float(centres[-1]), GRID)
        difference, error = self.at(x)
        with np.errstate(invalid="ignore", divide="ignore"):
            z = np.nan_to_num(difference / error, posinf=0.0, neginf=0.0)
        top = int(np.argmax(np.abs(z)))
        part = z * np.sign(z[top]) >= min(2.0, 0.7 * abs(float(z[top])))
        first = top - int(np.argmin(np.append(part[top::-1], False))) + 1
        last = top + int(np.argmin(np.append(part[top:], False))) - 1
        return (
            float(x[first]),
            float(x[last]),
            float(x[top]),
            float(difference[top]),
            float(error[top]),
        )


@dataclass(frozen=True, slots=True, eq=False)
class WeakEquations:
    """The drift's equations of one variable, with the covariance of their noise.

    kernels      test functions
    design       (n_kernels, n_functions) A
    response     (n_kernels,) B
    covariance   (n_kernels, n_kernels) V
    normal       the same, whitened
    """

    kernels: Kernels
    design: Floats
    response: Floats
    covariance: Floats
    normal: NormalEquations


def weak_equations(fit: Fit, problem: Problem) -> WeakEquations | None:
    """Set up the drift's equations again; None where there are none on kernels of one variable."""
    kernels, statistics = fit.instruments, fit.statistics
    if statistics is None or fit.variance is None or not isinstance(kernels, Kernels):
        return None
    system = drift_system(fit.rule, statistics, problem.library)
    covariance = noise_covariance(statistics.at_nodes(kernels), fit.variance)
    equations = whitened(system, covariance)
    if fit.rule.overlapping:
        by_model, equations = equations, calibrated(equations)
        covariance = covariance * (by_model.information[0, 0] / equations.information[0, 0])
    return WeakEquations(
        kernels, system.design.sum(axis=0), system.response.sum(axis=0), covariance, equations
    )


def misfit_of(fit: Fit, problem: Problem) -> Misfit | None:
    """Test whether the drift of one variable explains the data; None where nothing is left to test.

    The statistic is Hansen's J on wide kernels: sums of the fit's own, whose weak equations leave
    B − A ĉ with covariance V − A H⁻¹ Aᵀ.
    """
    equations, statistics = weak_equations(fit, problem), fit.statistics
    if equations is None or statistics is None:
        return None
    basis = support_basis(problem.library, fit.drift[0].estimate.support).rows
    solution = solve(equations.normal, basis, robust=False)
    if solution is None:
        return None
    kernels, covariance = equations.kernels, equations.covariance
    design = equations.design @ basis.T
    left = equations.response - design @ solution.values
    remaining = covariance - design @ solution.covariance @ design.T
    wide, spacing = _wide(kernels)
    statistic, degrees = _hansen(wide @ left, wide @ covariance @ wide.T, wide @ remaining @ wide.T)
    if not degrees:
        return None
    functions = problem.library.internal(statistics.nodes)
    drift = functions @ fit.coefficients[0]
    weight = statistics.time.clip(min=0)
    return Misfit(
        kernels,
        max(SMOOTHING_IN_SPACINGS * spacing, WIDER * kernels.bandwidth),
        left,
        remaining,
        sum(fit.rule.drift) * (statistics.at_nodes(kernels) @ statistics.time),
        problem.scales,
        statistic,
        degrees,
        float(gammaincc(degrees / 2, statistic / 2)),
        float(
            np.sqrt(weight @ drift**2 / weight.sum()) * problem.scales.unit / problem.scales.time
        ),
    )


def size_of_noise(fit: Fit, problem: Problem) -> tuple[float, float] | None:
    """Compare the mean square of the increments of one variable with that of the diffusion.

    Both are summed over all kernels; the drift's part is taken off by the sampling rule. The
    estimate weighs states by their noise instead, and agrees where the terms describe the noise.

    Returns
    -------
    ratio, std_error : from the scatter of the blocks; None with several variables, few blocks, or
        measurement noise that is estimated from the same increments
    """
    statistics, kernels = fit.statistics, fit.instruments
    if statistics is None or not isinstance(kernels, Kernels) or fit.noise is not None:
        return None
    systems = diffusion_systems(fit.rule, statistics, problem.library, kernels, fit.coefficients[0])
    measured = systems[0].response.sum(axis=1)
    expected = systems[0].design.sum(axis=1) @ fit.tensor[0, 0]
    if len(measured) < FEWEST_BLOCKS or not expected.sum() > 0:
        return None
    ratio = float(measured.sum() / expected.sum())
    error = float(np.linalg.norm(measured - ratio * expected) / expected.sum())
    return ratio, error


def _hansen(left: Floats, total: Floats, remaining: Floats) -> tuple[float, int]:
    """Compute Hansen's J and its degrees of freedom.

    Parameters
    ----------
    left : (m,) residuals of the equations
    total : (m, m) covariance of the equations' noise
    remaining : (m, m) covariance of `left`, singular along what was fitted
    """
    values, vectors = np.linalg.eigh(total)
    kept = values > 1e-10 * values[-1]
    whitening = (vectors[:, kept] / np.sqrt(values[kept])).T
    shares, directions = np.linalg.eigh(whitening @ remaining @ whitening.T)
    free = shares > FREE
    scores = directions[:, free].T @ (whitening @ left)
    return float(np.sum(scores**2 / shares[free])), int(np.count_nonzero(free))


def _wide(kernels: Kernels) -> tuple[Floats, float]:
    """Return the wide kernels as sums of the fit's (m, n_kernels), and their spacing."""
    m = min(WIDE_KERNELS, len(kernels.centres))
    if kernels.circle is None:
        centres = np.linspace(kernels.centres[0], kernels.centres[-1], m)
        spacing = float(centres[-1] - centres[0]) / max(m - 1, 1)
    else:
        spacing = kernels.circle / m
        centres = kernels.centres[0] + spacing * np.arange(m)
    width = max(WIDTH_IN_SPACINGS * spacing, WIDER * kernels.bandwidth)
    return _combinations(kernels, centres, width), spacing


def _combinations(kernels: Kernels, y: Floats, width: float) -> Floats:
    """Return (n, n_kernels) weights that make of the kernels one of this width at each y (n,).

    A Gaussian is the sum of narrower ones with Gaussian weights.
    """
    distance = y[:, None] - kernels.centres[None, :]
    if kernels.circle is not None:
        distance = distance - kernels.circle * np.round(distance / kernels.circle)
    return np.exp(-0.5 * distance**2 / (width**2 - kernels.bandwidth**2))
