"""Covariances that coefficients have at least, where trajectories differ."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from worker.identification.regression import NormalEquations, at_least
from worker.identification.sums.window_products import Pair

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class ComponentErrors:
    """Covariances of all coefficients of a component; (J, J) each, internal units.

    of_estimate   scatter of scores between trajectories, and between times
    of_terms      covariance of an estimate from inside the trajectories, for the choice of terms
    """

    of_estimate: tuple[Floats, ...]
    of_terms: Floats

    def on(self, equations: NormalEquations) -> NormalEquations:
        """Return equations with these errors at least."""
        return at_least(reduce(at_least, self.of_estimate, equations), self.of_terms, of_terms=True)


@dataclass(frozen=True, slots=True, eq=False)
class LeastErrors:
    """Errors of all components; those without noise of their own have none.

    drift       by variable
    diffusion   by pair of variables
    """

    drift: Mapping[int, ComponentErrors]
    diffusion: Mapping[Pair, ComponentErrors]

    def of_drift(self, p: int, equations: NormalEquations) -> NormalEquations:
        """Return the equations of b_p with these errors."""
        return self.drift[p].on(equations) if p in self.drift else equations

    def of_diffusion(self, pair: Pair, equations: NormalEquations) -> NormalEquations:
        """Return the equations of a component of the tensor with these errors."""
        return self.diffusion[pair].on(equations) if pair in self.diffusion else equations
