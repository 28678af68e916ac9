"""Drift and diffusion by one sampling rule, with what is needed to judge them; internal units."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grammar.terms import variable_name
from worker.identification.checks.markov_tests import ScoreTests
from worker.identification.checks.scalar_residuals import ResidualMoments
from worker.identification.selection.kernel_choice import KernelChoice
from worker.identification.selection.support_selection import Selected
from worker.identification.sums.instruments import Instruments
from worker.identification.sums.kernel_statistics import KernelStatistics
from worker.identification.sums.kernels import Kernels
from worker.identification.sums.rules import SamplingRule
from worker.identification.sums.window_products import Pair
from worker.identification.sums.window_statistics import Sample

Floats = NDArray[np.float64]

Coarse = tuple[Sequence[Floats | None], Mapping[Pair, Floats | None]]
"""Coefficients of the raw terms on given supports, of the drift by variable and of the diffusion by
pair."""


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """Drift and diffusion by one rule.

    drift       one component a variable
    diffusion   by pair p ≤ q; what is known to be zero has an empty support and no path
    condition   largest of the column-normalised whitened drift designs
    noise       (d, d) covariance of the measurement noise that goes with them; None where the rule
                knows of none
    """

    rule: SamplingRule
    drift: tuple[Selected, ...]
    diffusion: Mapping[Pair, Selected]
    condition: float
    noise: Floats | None = None

    @property
    def coefficients(self) -> Floats:
        """Drift along the internal functions; (d, n_functions)."""
        return np.stack([s.estimate.internal for s in self.drift])

    @property
    def tensor(self) -> Floats:
        """Diffusion along the internal functions; (d, d, n_functions)."""
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

    residuals        of this model, by variable
    raw              residuals of the pairwise fit that decided about noise and rule
    coarse           raw coefficients on the same supports at twice the step
    instruments      that were used            kernel_weights   (n_kernels,) Σ K_j(z_n), in windows
    longest_step     increments over longer steps were left out [time]
    least_step       of samples that were thinned for their persistent residuals, else 0 [time]
    before_thinning  residuals before that, by variable
    scores           tests of what the drift leaves out, by variable; empty where they were not made
    noise_free       variables whose increments hold no noise of their own
    choice           how the kernels were chosen, where they were
    exposure         time over which each sample is an average [sampling intervals]: motion blur,
                     which acts like measurement noise of the variance −aE/6 and was corrected for.
                     Zero where there is none
    statistics       one variable: kernel sums, with `variance` (n_nodes,), quadrature weights of
                     the drift residuals' variance
    sample           several variables: some of the windows
    """

    residuals: tuple[ResidualMoments, ...]
    raw: tuple[ResidualMoments, ...]
    coarse: Coarse
    instruments: Kernels | Instruments
    kernel_weights: Floats
    n_windows: int
    longest_step: float
    least_step: float = 0.0
    before_thinning: tuple[ResidualMoments, ...] = ()
    scores: tuple[ScoreTests, ...] = ()
    noise_free: tuple[int, ...] = ()
    choice: KernelChoice | None = None
    exposure: float = 0.0
    statistics: KernelStatistics | None = None
    variance: Floats | None = None
    sample: Sample | None = None

    @property
    def noise_variances(self) -> Floats:
        """Variances of the measurement noise, zero where none was corrected for; (d,)."""
        return np.zeros(len(self.drift)) if self.noise is None else np.diag(self.noise).clip(min=0)

    def components_at_double_step(self) -> Iterator[tuple[str, Selected, Floats | None]]:
        """Give name, estimate and raw coefficients at twice the step, or None, of every component."""
        if len(self.drift) == 1:
            yield "drift", self.drift[0], self.coarse[0][0]
            yield "diffusion", self.diffusion[0, 0], self.coarse[1].get((0, 0))
            return
        names = [variable_name(p) for p in range(len(self.drift))]
        for name, selected, coarse in zip(names, self.drift, self.coarse[0], strict=True):
            yield f"drift of {name}", selected, coarse
        for (p, q), selected in self.diffusion.items():
            yield f"diffusion {names[p]},{names[q]}", selected, self.coarse[1].get((p, q))
