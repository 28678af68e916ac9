"""Labels of groups permuted over trajectories: a test that rests on no formula of an error.

Under one model for all, any trajectory could be in any group. So the statistic of the groups as
they are is compared with that of groups whose trajectories are drawn anew. Trajectories that differ
among themselves widen what is drawn, which the errors of a fit to all of them may leave out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import lgamma

import numpy as np
from numpy.typing import NDArray

from worker.identification.checks.trajectory_pairs import local_variance, walk_pairs
from worker.identification.data.library import Library
from worker.identification.data.trajectories import PAIRS, Trajectories
from worker.identification.data.windows import Space

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Component = tuple[int, ...]
"""Variable of a drift (p,), or pair of variables of a diffusion (p, q)."""

FEWEST_ARRANGEMENTS = 20
"""Number of ways to put trajectories into groups from which a p-value of 0.05 is possible."""

MOST_PERMUTATIONS = 999
MOST_DRAWN = 5_000_000
"""Number of labels that are drawn at most."""

ALIKE = 1.01
"""Ratio of two sampling intervals up to which trajectories are exchangeable."""


@dataclass(frozen=True, slots=True)
class Permutations:
    """Test by permuted labels.

    n_permutations   number of permutations
    p_values         by component: share of arrangements, with the given one, whose statistic is as
                     large as that of the given one
    reason           why there is none; empty where there is
    """

    n_permutations: int
    p_values: Mapping[str, float]
    reason: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """Scores of one component, by trajectory.

    score        (n, k) Σ w f Δx of the drift, Σ w f r r of the diffusion, with increments r
                 less their drift
    information  (n, k, k) what the scores grow by with the coefficients
    """

    score: Floats
    information: Floats

    def centred(self) -> Floats:
        """Scores less those of the coefficients of all trajectories together."""
        total = self.information.sum(axis=0)
        common = np.linalg.lstsq(total, self.score.sum(axis=0))[0]
        return np.asarray(self.score - self.information @ common)


def permute_labels(
    groups: Sequence[Trajectories],
    space: Space,
    library: Library,
    components: Mapping[str, tuple[Component, Floats]],
    diagonal: Floats,
    drifts: Floats,
    seed: int,
) -> Permutations:
    """Test every component by permuted labels.

    Parameters
    ----------
    groups : trajectories of each group
    space : internal units of all
    library : terms
    components : variables of each component, and its terms along the internal functions (k, J)
    diagonal : (d, J) internal coefficients of a fitted a_pp, by which increments are weighted
    drifts : (n_groups, d, J) internal coefficients of each group's fitted drift
    seed : seed of the permutations
    """
    sizes = [data.n_trajectories for data in groups]
    if arrangements(sizes) < FEWEST_ARRANGEMENTS:
        ways = round(arrangements(sizes))
        said = f"{ways} way{'s' if ways > 1 else ''}"
        return Permutations(
            0,
            {},
            f"Labels are not permuted: {sum(sizes)} trajectories can be put into these groups in "
            f"only {said}, and {FEWEST_ARRANGEMENTS} are needed.",
        )
    steps = [float(np.median(_some_steps(data))) for data in groups]
    if max(steps) > ALIKE * min(steps):
        return Permutations(
            0,
            {},
            "Labels are not permuted: the groups have different sampling intervals, so their "
            "trajectories cannot change places.",
        )
    labels = np.repeat(np.arange(len(sizes)), sizes)
    n = min(MOST_PERMUTATIONS, max(MOST_DRAWN // len(labels), 99))
    scores = _scores(groups, space, library, components, diagonal, drifts)
    generator = np.random.default_rng(seed)
    drawn = [labels, *(generator.permutation(labels) for _ in range(n))]
    p_values = {}
    for key, found in scores.items():
        centred = found.centred()
        statistics = [_statistic(centred, found.information, one, len(sizes)) for one in drawn]
        as_large = np.asarray(statistics) >= statistics[0] * (1 - 1e-9)
        p_values[key] = float(as_large.mean())
    return Permutations(n, p_values)


def arrangements(sizes: Sequence[int]) -> float:
    """Count the ways to put trajectories into groups of these sizes."""
    logarithm = lgamma(sum(sizes) + 1) - sum(lgamma(size + 1) for size in sizes)
    return float(np.exp(min(logarithm, 700.0)))


def _some_steps(data: Trajectories) -> Floats:
    """Return the steps at the beginning of each of the first thousand segments."""
    starts = data.segments[:1000, 0]
    ends = np.minimum(starts + 11, data.segments[:1000, 1])
    return np.concatenate([np.diff(data.times[a:b]) for a, b in zip(starts, ends, strict=True)])


def _statistic(centred: Floats, information: Floats, labels: Integers, n_groups: int) -> float:
    """Return Σ over groups of U' J⁻¹ U, where U and J are the sums of scores and information."""
    total = 0.0
    for group in range(n_groups):
        inside = labels == group
        u, j = centred[inside].sum(axis=0), information[inside].sum(axis=0)
        total += float(u @ np.linalg.lstsq((j + j.T) / 2, u)[0])
    return total


def _scores(
    groups: Sequence[Trajectories],
    space: Space,
    library: Library,
    components: Mapping[str, tuple[Component, Floats]],
    diagonal: Floats,
    drifts: Floats,
) -> dict[str, Scores]:
    """Sum the scores of every component over each trajectory, in one pass."""
    sizes = [data.n_trajectories for data in groups]
    sums = {
        key: (np.zeros((sum(sizes), len(terms))), np.zeros((sum(sizes), len(terms), len(terms))))
        for key, (_, terms) in components.items()
    }
    for first, data, drift in zip(np.cumsum([0, *sizes]), groups, drifts, strict=False):
        for pairs in walk_pairs(data, space, library, PAIRS):
            starts = np.flatnonzero(np.diff(pairs.trajectory, prepend=-1))
            rows = first + pairs.trajectory[starts]
            # Increments less their drift: that of dX = −kX dt shortens their squares by kΔt, and
            # groups whose rates differ looked as if their diffusions did.
            noise = (
                pairs.increment - (pairs.before + pairs.after) / 2 @ drift.T * (pairs.step[:, None])
            )
            variances = [local_variance(pairs.before, a) for a in diagonal]
            for key, (variables, terms) in components.items():
                before = pairs.before @ terms.T
                # The function after the increment only carries the drift along: the one before is
                # independent of the increment's noise.
                mean = (before + pairs.after @ terms.T) / 2
                p, q = variables[0], variables[-1]
                moved = pairs.increment[:, p]
                if len(variables) == 1:
                    weight = 1 / variances[p]
                else:
                    moved = noise[:, p] * noise[:, q]
                    weight = 1 / (variances[p] * variances[q] * pairs.step)
                weighted = before * weight[:, None]
                products = weighted[:, :, None] * (mean * pairs.step[:, None])[:, None, :]
                score, information = sums[key]
                np.add.at(score, rows, np.add.reduceat(weighted * moved[:, None], starts))
                np.add.at(information, rows, np.add.reduceat(products, starts))
    return {key: Scores(*found) for key, found in sums.items()}
