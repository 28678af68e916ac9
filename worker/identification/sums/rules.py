"""Sampling rules as tables of weights (docs/method.md §§3, 10, 11).

With D_k = X_k − X_0 the displacements inside a window of equal steps h, a rule is a quadrature of

    D_m  ≈  h Σ_k drift_k b(X_k)                                                            (M21)
    Σ_k moments_k D_k D_kᵀ − h Σ cross_kj (D_k b̂(X_j)ᵀ + b̂(X_j) D_kᵀ)  ≈  h Σ_k diffusion_k a(X_k)
                                                                                            (M22)

because d/ds E[(X_s − x)_p (X_s − x)_q] = E[(X_s − x)_p b_q + (X_s − x)_q b_p + a_pq]. The
instrument K_j stays at a sample before all noise of the window, so the system is linear and its
noise has mean zero. Sums of one variable over cells are in cell_rules.py.
"""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from worker.identification.data.trajectories import Windows

Cross = tuple[int, int]
"""Displacement k and point j of a product D_k b(X_j)."""

RuleName = Literal["euler", "trapezoid", "simpson"]


@dataclass(frozen=True, slots=True, eq=False)
class ScalarNoise:
    """Measurement noise of one variable.

    variance   σ_η², in internal units; −aE/6 on average for samples averaged over an exposure E,
               equation (M25)
    shape      (n_functions,) coefficients of a function of the state, one on average, to which the
               noise's variance is proportional; None for the same everywhere
    known      whether the variance is known, else it is an unknown
    given      whether it was given
    blur       E/6 of a known exposure E: the variance has −a E/6 in it, and a is an unknown
    diffusion  (n_functions,) coefficients of the a that `variance` and `shape` have in them; None
               without blur
    error      standard error of the variance
    shared     correlation of the noise of samples one stride and three apart; rounding errors have
               one where a step is below half a quantum
    """

    variance: float
    shape: NDArray[np.float64] | None = None
    known: bool = False
    given: bool = False
    blur: float = 0.0
    diffusion: NDArray[np.float64] | None = None
    error: float = 0.0
    shared: tuple[float, float] = (0.0, 0.0)


NO_NOISE = ScalarNoise(0.0)


@dataclass(frozen=True, slots=True)
class SamplingRule:
    """Quadrature over a window of samples: the instrument's, if it is earlier, then X_0 … X_m.

    drift, diffusion   m + 1 weights each
    moments            m weights of D_1 … D_m
    cross              weights by displacement and point
    over               steps over which the drift is integrated; None for all m; of one variable
                       only
    lead               samples from the instrument's to X_0
    past               weights of the samples before X_0, latest first, in the mean that is the
                       instrument; the rest is that of X_0 itself; of one variable
    order              power of the step with which the error of the rule goes
    overlapping        whether neighbouring windows share noise, so that residuals are correlated
    lags               number of later windows whose correlations V holds (M8a); 0 where errors come
                       from blocks
    persistent         whether residuals are positively correlated; errors then come from blocks,
                       and none is smaller than without
    noise              measurement noise of one variable that is corrected for
    """

    name: str
    drift: tuple[float, ...]
    diffusion: tuple[float, ...]
    moments: tuple[float, ...]
    cross: tuple[tuple[Cross, float], ...]
    order: int
    over: int | None = None
    lead: int = 0
    past: tuple[float, ...] = ()
    overlapping: bool = False
    lags: int = 0
    persistent: bool = False
    stride: int = 1
    noise: ScalarNoise | None = None

    @property
    def windows(self) -> Windows:
        """Windows that the rule needs."""
        lead = 0 if self.past else self.lead
        return Windows(
            len(self.drift) + lead, self.stride, even=len(self.drift) > 2, past=self.past
        )

    @property
    def errors_from_blocks(self) -> bool:
        """Whether standard errors come from the scatter of the blocks."""
        return self.persistent or (self.overlapping and not self.lags)

    @property
    def own(self) -> float:
        """Weight of X_0 in the instrument of a rule with measurement noise."""
        return 1 - sum(self.past)

    @property
    def of_residuals(self) -> "SamplingRule":
        """Rule whose windows show residuals that share no noise with the instrument."""
        return replace(self, past=(1.0,)) if self.past else self

    @property
    def is_explicit(self) -> bool:
        """Whether drift and diffusion are read at the first point alone, as by Euler's rule."""
        return not any(self.drift[1:])

    @property
    def last(self) -> int:
        """Point up to which the drift is integrated."""
        return self.over or len(self.drift) - 1

    def at_stride(self, stride: int) -> "SamplingRule":
        """Return the rule on every stride-th sample."""
        return replace(self, stride=stride)


EULER = SamplingRule("euler", (1.0, 0.0), (1.0, 0.0), (1.0,), (((1, 0), 0.5),), order=1)
"""Euler's rule; D_p b_q Δt is the paper's correction b_p b_q Δt² without bias, given X_n."""

TRAPEZOID = SamplingRule("trapezoid", (0.5, 0.5), (0.5, 0.5), (1.0,), (((1, 1), 0.5),), order=2)

SIMPSON = SamplingRule(
    "simpson",
    (1 / 3, 4 / 3, 1 / 3),
    (1 / 3, 4 / 3, 1 / 3),
    (0.0, 1.0),
    (((1, 1), 4 / 3), ((2, 2), 1 / 3)),
    order=4,
    overlapping=True,
    lags=1,
)

SCALAR_THROUGH_NOISE = SamplingRule(
    "simpson, corrected for measurement noise",
    (1 / 3, 4 / 3, 1 / 3, 0.0),
    (3 / 8, 9 / 8, 9 / 8, 3 / 8),
    (0.0, 0.0, 1.0),
    (((1, 1), 9 / 8), ((2, 2), 9 / 8), ((3, 3), 3 / 8)),
    order=4,
    over=2,
    lead=1,
    past=(0.0,),
    overlapping=True,
    noise=NO_NOISE,
)
"""Rule of one variable, equations (M17) and (M32), with y₀ itself as the instrument.

The noise's variance is an unknown of another diffusion equation, over one step.
"""

THROUGH_NOISE = SamplingRule(
    "simpson, corrected for measurement noise",
    (1 / 3, 4 / 3, 1 / 3),
    (-1 / 12, 8 / 12, 5 / 12),
    (-1.0, 1.0),
    (((1, 1), 8 / 12), ((2, 2), 5 / 12)),
    order=3,
    lead=1,
    overlapping=True,
    lags=2,
)
"""In D_2 D_2ᵀ − D_1 D_1ᵀ the noise cancels; the integral is over the second step only."""

FIRST_STEP = replace(
    THROUGH_NOISE,
    diffusion=(5 / 12, 8 / 12, -1 / 12),
    moments=(1.0, 0.0),
    cross=(((1, 1), 8 / 12), ((2, 2), -1 / 12)),
)
"""Rule of the first step: D_1 D_1ᵀ less this integral is twice the noise's covariance."""

RULES = {rule.name: rule for rule in (EULER, TRAPEZOID, SIMPSON)}
"""Rules that can be asked for by name."""


def other_rule(rule: SamplingRule) -> SamplingRule | None:
    """Return the other rule that the sums for this one serve, or None."""
    pairs = {EULER.name: TRAPEZOID, TRAPEZOID.name: EULER}
    return pairs[rule.name].at_stride(rule.stride) if rule.name in pairs else None


def crosses_of(rule: SamplingRule) -> tuple[Cross, ...]:
    """List the products D_k b(X_j) that the sums for a rule hold."""
    other = other_rule(rule)
    return tuple(sorted({cross for r in (rule, other) if r is not None for cross, _ in r.cross}))
