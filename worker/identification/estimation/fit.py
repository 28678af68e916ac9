"""Drift and diffusion by one sampling rule, with what is needed to judge them; internal units."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grammar.terms import variable_name
from worker.identification.checks.markov_tests import ScoreTests
from worker.identification.checks.residuals import ResidualMoments
from worker.identification.checks.restriction import Restriction
from worker.identification.checks.trajectory_tests import TrajectoryTests
from worker.identification.data.library import Library
from worker.identification.estimation.joint.potential_terms import Form
from worker.identification.selection.kernel_scores import KernelChoice
from worker.identification.selection.support_selection import Selected
from worker.identification.sums.instruments import Instruments
from worker.identification.sums.kernel_statistics import KernelStatistics
from worker.identification.sums.kernels import Kernels
from worker.identification.sums.rules import SamplingRule, ScalarNoise
from worker.identification.sums.window_products import Pair
from worker.identification.sums.window_statistics import Sample

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Potential:
    """Potential of the drift.

    form       `gradient` or `detailed-balance`
    library    its terms
    selected   its estimate
    factor     factor from internal units to the data's
    """

    form: Form
    library: Library
    selected: Selected
    factor: float


Coarse = tuple[Sequence[Floats | None], Mapping[Pair, Floats | None]]
"""Raw coefficients on given supports: the drift's by variable, the diffusion's by pair."""


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """Drift and diffusion by one rule.

    drift       components by variable
    diffusion   components by pair p ≤ q; one known to be zero has an empty support and no path
    condition   largest condition number of the column-normalised whitened drift designs
    noise       (d, d) covariance of the measurement noise; None where the rule has none
    noise_error standard error of the variance of one variable's measurement noise
    """

    rule: SamplingRule
    drift: tuple[Selected, ...]
    diffusion: Mapping[Pair, Selected]
    condition: float
    noise: Floats | None = None
    noise_error: float = 0.0

    @property
    def coefficients(self) -> Floats:
        """Coefficients of the drift along the internal functions; (d, n_functions)."""
        return np.stack([s.estimate.internal for s in self.drift])

    @property
    def tensor(self) -> Floats:
        """Coefficients of the diffusion along the internal functions; (d, d, n_functions)."""
        d = len(self.drift)
        return np.stack(
            [
                np.stack([self.diffusion[min(p, q), max(p, q)].estimate.internal for q in range(d)])
                for p in range(d)
            ]
        )


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Fit(Solution):
    """A solution with what is needed to judge it.

    residuals        residuals of this model, by variable
    raw              residuals of the pairwise fit that decided about noise and rule
    coarse           raw coefficients on the same supports at twice the step
    instruments      instruments that were used
    kernel_weights   (n_kernels,) Σ K_j(z_n), in windows
    n_windows        number of windows
    longest_step     step beyond which increments were left out [time]
    least_step       least step of a record thinned for its persistent residuals, else 0 [time]
    informative      whether the sampling interval depends on the state; no rule was then chosen
                     that takes only windows of equal steps
    before_thinning  residuals before the thinning, by variable
    scores           tests of what the drift leaves out, by variable; empty where not made
    noise_free       variables whose increments hold no noise of their own
    choice           choice of the kernels, where there was one
    not_excluded     variance up to which noise of one variable is not excluded, internal units; 0
                     where it was corrected for, or its estimate is below zero
    exposure         time over which each sample is an average (motion blur) [sampling intervals]; 0
                     without. It acts like measurement noise of variance −aE/6, and is corrected for
    statistics       kernel sums of one variable
    variance         (n_nodes,) quadrature weights of the variance of its drift residuals
    sample           some of the windows of several variables
    coarse_step      whether the trapezoid's own error exceeded the statistical one; it is removed
    trajectories     tests whether trajectories differ, by variable; empty where there is one
    given_noise      whether measurement noise or exposure were given, and not estimated
    restrictions     tests of what was given of several coefficients
    potential        potential of the drift, where it was restricted to have one
    equations        equations of all components, of type `components.Equations`
    covariances      covariances of their noise
    """

    residuals: tuple[ResidualMoments, ...]
    raw: tuple[ResidualMoments, ...]
    coarse: Coarse
    instruments: Kernels | Instruments
    kernel_weights: Floats
    n_windows: int
    longest_step: float
    least_step: float = 0.0
    informative: bool = False
    before_thinning: tuple[ResidualMoments, ...] = ()
    scores: tuple[ScoreTests, ...] = ()
    noise_free: tuple[int, ...] = ()
    choice: KernelChoice | None = None
    not_excluded: float = 0.0
    exposure: float = 0.0
    statistics: KernelStatistics | None = None
    variance: Floats | None = None
    sample: Sample | None = None
    coarse_step: bool = False
    trajectories: tuple[TrajectoryTests, ...] = ()
    given_noise: bool = False
    restrictions: tuple[Restriction, ...] = ()
    potential: Potential | None = None
    equations: Any = None
    covariances: Any = None

    @property
    def noise_variances(self) -> Floats:
        """Variances of the measurement noise, zero where none was corrected for; (d,)."""
        return np.zeros(len(self.drift)) if self.noise is None else np.diag(self.noise).clip(min=0)

    @property
    def rounding(self) -> ScalarNoise | None:
        """Rounding that was corrected for as measurement noise of a known variance, or None."""
        noise = self.rule.noise
        return noise if noise is not None and noise.known and not noise.given else None

    def components_at_double_step(self) -> Iterator[tuple[str, Selected, Floats | None]]:
        """Yield each component's name, estimate, and raw coefficients at twice the step or None."""
        if len(self.drift) == 1:
            yield "drift", self.drift[0], self.coarse[0][0]
            yield "diffusion", self.diffusion[0, 0], self.coarse[1].get((0, 0))
            return
        names = [variable_name(p) for p in range(len(self.drift))]
        for name, selected, coarse in zip(names, self.drift, self.coarse[0], strict=True):
            yield f"drift of {name}", selected, coarse
        for (p, q), selected in self.diffusion.items():
            yield f"diffusion {names[p]},{names[q]}", selected, self.coarse[1].get((p, q))
