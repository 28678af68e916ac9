"""One component in several groups: its terms, and which coefficients the groups share.

Each group's estimate on common terms is normal with its covariance, so that every model of the
groups together, with terms absent, shared or separate, is generalised least squares on these.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

Floats = NDArray[np.float64]
Sharing = Literal["absent", "shared", "separate"]

EXHAUSTIVE_UP_TO = 6
"""Number of terms up to which all 3^k models are tried; beyond it one term is changed at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class GroupEstimate:
    """Estimate of a component in one group.

    values       (J,) coefficients along functions that all groups have in common
    factor       (J, r) square root of their covariance
    increments   number of increments
    """

    values: Floats
    factor: Floats
    increments: int


@dataclass(frozen=True, slots=True, eq=False)
class EqualityTest:
    """Test that coefficients are equal in all groups; statistic ~ χ²(degrees), equation (M58)."""

    statistic: float
    degrees: int

    @property
    def p_value(self) -> float:
        """Probability of a larger statistic if they are equal."""
        return float(chi2.sf(self.statistic, self.degrees)) if self.degrees else 1.0


@dataclass(frozen=True, slots=True, eq=False)
class JointComponent:
    """A component in all groups.

    sharing      whether each term is absent, shared or separate, by the criterion
    values       (G, k) coefficients of the k terms that are present, each group by itself
    covariance   (G, k, k) their covariances
    joint        (G, k) coefficients of the joint model, in which shared ones are equal
    joint_errors (G, k) their standard errors
    equality     test that all coefficients are equal
    by_term      test of each present term, that its coefficient is equal in all groups
    """

    sharing: tuple[Sharing, ...]
    values: Floats
    covariance: Floats
    joint: Floats
    joint_errors: Floats
    equality: EqualityTest
    by_term: tuple[EqualityTest, ...]

    @property
    def present(self) -> tuple[int, ...]:
        """Positions of the terms that are present."""
        return tuple(k for k, sharing in enumerate(self.sharing) if sharing != "absent")


def joint_component(
    terms: Floats, groups: Sequence[GroupEstimate], kept: Sequence[int] = ()
) -> JointComponent:
    """Select terms and shared coefficients of a component, and test their equality.

    A parameter must gain ½ log(number of increments of all groups), as in (M11).

    Parameters
    ----------
    terms : (k, J) candidate terms along the common functions
    groups : estimates on these terms, two or more
    kept : positions of terms that must be present
    """
    whitened = _Whitened(terms, groups)
    cost = 0.5 * np.log(sum(group.increments for group in groups))
    sharing = _best(whitened, cost, set(kept))
    present = tuple(k for k, s in enumerate(sharing) if s != "absent")
    values, covariance = whitened.solved(_only(sharing, "separate"))
    joint, joint_covariance = whitened.solved(sharing)
    free = whitened.misfit(_only(sharing, "separate"))

    def test(equal: tuple[int, ...]) -> EqualityTest:
        restricted: tuple[Sharing, ...] = tuple(
            "absent" if s == "absent" else "shared" if k in equal else "separate"
            for k, s in enumerate(sharing)
        )
        degrees = len(equal) * (len(groups) - 1)
        return EqualityTest(max(whitened.misfit(restricted) - free, 0.0), degrees)

    return JointComponent(
        sharing,
        values,
        covariance,
        joint,
        np.sqrt(np.diagonal(joint_covariance, axis1=1, axis2=2)),
        test(present),
        tuple(test((k,)) for k in present),
    )


class _Whitened:
    """Estimates of all groups as least squares with unit noise.

    n_terms, n_groups   numbers of candidate terms and of groups
    """

    def __init__(self, terms: Floats, groups: Sequence[GroupEstimate]) -> None:
        # An orthonormal basis of the terms' span: raw terms far from the origin are nearly alike.
        basis = np.linalg.svd(terms, full_matrices=False)[2]
        self._designs: list[Floats] = []
        self._responses: list[Floats] = []
        for group in groups:
            root = np.asarray(np.linalg.qr((basis @ group.factor).T, mode="r"))
            self._designs.append(np.linalg.solve(root.T, basis @ terms.T))
            self._responses.append(np.linalg.solve(root.T, basis @ group.values))
        self.n_terms, self.n_groups = len(terms), len(groups)

    def misfit(self, sharing: Sequence[Sharing]) -> float:
        """Return χ² of the best coefficients."""
        design, response = self._stacked(sharing), np.concatenate(self._responses)
        if not design.shape[1]:
            return float(response @ response)
        left = response - design @ np.linalg.lstsq(design, response)[0]
        return float(left @ left)

    def solved(self, sharing: Sequence[Sharing]) -> tuple[Floats, Floats]:
        """Return coefficients (G, k) of the present terms, and their covariances (G, k, k)."""
        design, response = self._stacked(sharing), np.concatenate(self._responses)
        inverse = np.linalg.pinv(design)
        rows = self._rows(sharing)
        values = inverse @ response
        covariance = inverse @ inverse.T
        return values[rows], np.stack([covariance[np.ix_(row, row)] for row in rows])

    def _rows(self, sharing: Sequence[Sharing]) -> NDArray[np.int_]:
        """Return the number of the parameter of each group and present term; (G, k)."""
        rows, n = [], 0
        for s in sharing:
            if s == "shared":
                rows.append([n] * self.n_groups)
                n += 1
            elif s == "separate":
                rows.append(list(range(n, n + self.n_groups)))
                n += self.n_groups
        return np.array(rows, dtype=np.int_).reshape(-1, self.n_groups).T

    def _stacked(self, sharing: Sequence[Sharing]) -> Floats:
        present = [k for k, s in enumerate(sharing) if s != "absent"]
        rows = self._rows(sharing)
        size = int(rows.max(initial=-1)) + 1
        stacked = []
        for design, row in zip(self._designs, rows, strict=True):
            part = np.zeros((len(design), size))
            part[:, row] = design[:, present]
            stacked.append(part)
        return np.concatenate(stacked)


def _only(sharing: Sequence[Sharing], other: Sharing) -> tuple[Sharing, ...]:
    return tuple("absent" if s == "absent" else other for s in sharing)


def _best(whitened: _Whitened, cost: float, kept: set[int]) -> tuple[Sharing, ...]:
    """Return the model with the largest likelihood less the costs of its parameters."""
    k = whitened.n_terms
    parameters = {"absent": 0, "shared": 1, "separate": whitened.n_groups}

    def score(sharing: tuple[Sharing, ...]) -> float:
        return -0.5 * whitened.misfit(sharing) - cost * sum(parameters[s] for s in sharing)

    allowed: list[tuple[Sharing, ...]] = [
        ("shared", "separate") if j in kept else ("absent", "shared", "separate") for j in range(k)
    ]
    if k <= EXHAUSTIVE_UP_TO:
        return max(product(*allowed), key=score)
    free: Sharing = "separate"
    best = (free,) * k
    while True:
        better = max(_neighbours(best, allowed), key=score)
        if score(better) <= score(best):
            return best
        best = better


def _neighbours(
    sharing: tuple[Sharing, ...], allowed: Sequence[tuple[Sharing, ...]]
) -> Iterator[tuple[Sharing, ...]]:
    for k, others in enumerate(allowed):
        for other in others:
            if other != sharing[k]:
                yield (*sharing[:k], other, *sharing[k + 1 :])
