"""Fit of a linear force in several coordinates by the exact likelihood.

It takes the closed form's place where that selects nothing but linear terms.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worker.identification.data.library import Library
from worker.identification.regression import NormalEquations
from worker.identification.second_order.estimator import SecondOrderFit, SecondOrderProblem
from worker.identification.second_order.linear.filter import pairs_of
from worker.identification.second_order.linear.frame import (
    LINEAR,
    Linear,
    LinearFrame,
    Parameters,
    linear_frame,
    most_likely,
    without_noise,
)
from worker.identification.second_order.polishing import ROUNDS
from worker.identification.second_order.scoring import scored
from worker.identification.second_order.windows import Kicks
from worker.identification.selection.constraints import choose_under
from worker.identification.selection.support_selection import Selected
from worker.identification.selection.supports import Support

Floats = NDArray[np.float64]


class LinearChoice(NamedTuple):
    """Terms that were chosen, the equations of the forces, and the maximum along the terms.

    diffusion   components by pair of velocities
    """

    force: tuple[Selected, ...]
    diffusion: dict[tuple[int, int], Selected]
    equations: tuple[NormalEquations, ...]
    maximum: Linear

    @property
    def supports(self) -> tuple[Support, ...]:
        """Terms of all forces and pairs."""
        return tuple(s.estimate.support for s in (*self.force, *self.diffusion.values()))

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """Pairs of a that are not zero; a velocity's own never is."""
        return tuple(
            pair for pair, s in self.diffusion.items() if s.estimate.support or pair[0] == pair[1]
        )

    @property
    def condition(self) -> float:
        """Largest condition number of the designs."""
        return max(e.condition for e in self.equations)


def polish_linear(problem: SecondOrderProblem, found: SecondOrderFit) -> SecondOrderFit:
    """Choose and estimate the terms of a linear force again by its likelihood.

    The closed form's fit is returned as it is where it has other terms, where the likelihood has no
    maximum nearby, and where the record was smoothed: the likelihood is that of sampled paths.

    Parameters
    ----------
    problem : problem for which `linear_frame.may_fit_linear`
    found : fit by the closed form
    """
    degrees = problem.library.degrees
    force = {degrees[k] for s in found.force for k in s.estimate.support}
    diffusion = {degrees[k] for s in found.diffusion.values() for k in s.estimate.support}
    if found.kicks.smoothed or not force <= {0, 1} or not diffusion <= {0}:
        return found
    problem.tell("maximising the likelihood of the positions")
    frame = linear_frame(problem)
    start = Parameters(
        np.stack([s.estimate.internal[frame.functions] for s in found.force]),
        found.kicks.diffusion,
        found.kicks.noise,
    )
    noisy = () if problem.noise == "none" else range(frame.d)
    best = most_likely(frame, frame.all_terms(noisy), [start])
    chosen = None if best is None else chosen_from(frame, without_noise(frame, best))
    if chosen is None:
        return found
    at = frame.parameters(chosen.maximum)
    kicks = Kicks(at.tensor, at.noise)
    internal = np.stack([s.estimate.internal for s in chosen.force])
    return replace(
        found,
        force=tuple(
            _with_others(s, closed, problem.library)
            for s, closed in zip(chosen.force, found.force, strict=True)
        ),
        diffusion=chosen.diffusion,
        kicks=kicks,
        residuals=problem.sums(found.shape, kicks, internal)[1],
        condition=chosen.condition,
        equations=chosen.equations,
    )


def chosen_from(frame: LinearFrame, best: Linear) -> LinearChoice | None:
    """Choose the terms, and maximise the likelihood along them; None where it has no maximum.

    Parameters
    ----------
    frame : record
    best : maximum along all terms
    """
    chosen, reached = _choice(frame, best, None), None
    for _ in range(ROUNDS):
        best = _on_supports(frame, chosen)
        if not best.converged:
            break
        before, chosen = chosen.supports, _choice(frame, best, chosen)
        reached = chosen
        if chosen.supports == before:
            break
    return reached


def _choice(frame: LinearFrame, best: Linear, before: LinearChoice | None) -> LinearChoice:
    """Choose the terms by the likelihood's derivatives along all functions.

    Other components are uncertain along the terms that were chosen before.
    """
    problem, d, width, pairs = frame.problem, frame.d, frame.width, pairs_of(frame.d)
    library, n = problem.library, problem.data.n_increments
    whole = frame.at(frame.all_terms(frame.noisy(best.terms)), best)
    unit, first = np.eye(whole.terms.size), d * width
    uncertain: dict[int | tuple[int, int], Floats] = {}
    for c in range(d):
        own = unit[c * width : (c + 1) * width]
        support = None if before is None else before.force[c].estimate.support
        uncertain[c] = own if support is None else frame.rows(support) @ own
    for pair in pairs if before is None else before.pairs:
        uncertain[pair] = unit[[first + pairs.index(pair)]]

    def equations(of: int | tuple[int, int], kept: Sequence[int]) -> NormalEquations:
        others = [rows for key, rows in uncertain.items() if key != of]
        nuisance = np.concatenate([*others, unit[first + len(pairs) :]])
        return frame.equations(whole, kept, nuisance)

    forces = tuple(equations(c, range(c * width, (c + 1) * width)) for c in range(d))
    of_pairs = {pair: equations(pair, [first + i]) for i, pair in enumerate(pairs)}
    return LinearChoice(
        tuple(
            choose_under(
                replace(problem.of_force(c), degree=LINEAR), e, None, library, n, problem.selection
            )
            for c, e in enumerate(forces)
        ),
        {
            pair: choose_under(
                replace(problem.of_diffusion(*pair), degree=0),
                e,
                None,
                library,
                n,
                problem.selection,
            )
            for pair, e in of_pairs.items()
        },
        forces,
        best,
    )


def _on_supports(frame: LinearFrame, chosen: LinearChoice) -> Linear:
    """Maximise the likelihood along the chosen terms; noise that is not significant is left out."""
    rows = [frame.rows(s.estimate.support) for s in chosen.force]
    terms = frame.terms(rows, chosen.pairs, frame.noisy(chosen.maximum.terms))
    near = frame.parameters(chosen.maximum)
    force = np.stack([s.estimate.internal[frame.functions] for s in chosen.force])
    best = scored(frame.record, terms, frame.along(terms, near._replace(force=force)))
    return without_noise(frame, best) if best.converged else best


def _with_others(selected: Selected, closed: Selected, library: Library) -> Selected:
    """Add the closed form's alternatives that are not linear, with their probabilities."""
    others = tuple(
        a
        for a in closed.alternatives
        if not {library.degrees[k] for k in a.estimate.support} <= {0, 1}
    )
    rest = 1 - sum(a.weight for a in others)
    own = tuple(replace(a, weight=a.weight * rest) for a in selected.alternatives)
    return replace(selected, alternatives=(*own, *others))
