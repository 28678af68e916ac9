"""Support of one component: chosen by a criterion, less the terms that depend on the rule.

The criterion says what a term must gain to be kept (docs/method.md §5).
"""

from collections import Counter
from dataclasses import dataclass, replace
from functools import lru_cache
from math import log
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from worker.identification.data.library import Library
from worker.identification.regression import NormalEquations
from worker.identification.selection.best_subset import (
    Candidate,
    Curve,
    Estimate,
    best_of,
    coefficients_on,
    estimate_on,
    searched,
    selection_path,
)
from worker.identification.selection.explosion import NO_ENDS, OpenEnds
from worker.identification.selection.log_likelihood_gains import Level, Support
from worker.identification.selection.model_averaging import support_probabilities
from worker.identification.selection.stlsq import thresholding_path

Floats = NDArray[np.float64]
Method = Literal["bic", "pastis", "lasso_cv", "stlsq", "none"]

P0 = 1e-3
"""Probability that a term is false, as `pastis` takes it."""

Z_THRESHOLD = 4.0
"""Standard errors that give a false alarm of one term in 16 000."""


@dataclass(frozen=True, slots=True)
class Criterion:
    """Method by which terms are kept or dropped.

    z_threshold   standard errors that a coefficient must be away from zero, for `stlsq`
    """

    method: Method = "bic"
    z_threshold: float = Z_THRESHOLD


BIC = Criterion()


def _costs(criterion: Criterion, library: Library, n_increments: int) -> Floats:
    """Compute what each term must add to the log-likelihood, equations (M11) and (M11a); (K,).

    `lasso_cv` and `none` have no such costs and get those of `bic`.
    """
    match criterion.method:
        case "pastis":
            return np.full(library.size, log(library.size / P0))
        case "stlsq":
            return np.full(library.size, criterion.z_threshold**2 / 2)
    return 0.5 * log(n_increments) + _costs_of_choice(library)


@lru_cache(maxsize=64)
def _costs_of_choice(library: Library) -> Floats:
    """Compute what a term must gain for being one of many of its degree: log of their number; (K,).

    Among x^2, x*y, y^2 one fits well by chance more often than x^2 alone. Constant and linear
    terms, which any drift may be expected to have, are exempt. In one variable every degree has one
    term, and all costs are zero.
    """
    if library.dimension == 1:
        return np.zeros(library.size)
    count = Counter(library.degrees)
    return np.array([0.0 if degree in (0, 1) else log(count[degree]) for degree in library.degrees])


FINE_SAMPLING = 0.03
"""Relative disagreement of two sampling rules up to which both describe the data."""


TRACE = 1e-5
"""Share of a noise-free variable's mean square motion that the rule's own error may account for."""


@dataclass(frozen=True, slots=True, eq=False)
class RuleShift:
    """Shift of an estimate by the other sampling rule, where both describe the data.

    raw        (k,) shift of the raw coefficients
    internal   (n_functions,) shift of those along the internal functions
    """

    raw: Floats
    internal: Floats


@dataclass(frozen=True, slots=True, eq=False)
class AlternativeSupport:
    """Other support that may be the right one, with the probability that it is, equation (M35)."""

    estimate: Estimate
    weight: float
    shift: RuleShift | None


@dataclass(frozen=True, slots=True)
class WaldTest:
    """Wald's test of what is known of a component against its free estimate, equation (M56).

    terms       terms that were tested
    values      their raw coefficients if they are free beside the selected terms, internal units
    errors      standard errors of `values`
    statistic   squared distance in standard errors
    p_value     probability of a larger statistic if what is known is true
    """

    terms: Support
    values: tuple[float, ...]
    errors: tuple[float, ...]
    statistic: float
    p_value: float


@dataclass(frozen=True, slots=True)
class Joint:
    """Components whose coefficients are estimated together, and whose models are drawn together.

    number          number of the group, which its components share
    same_supports   whether the components have the same alternatives, in the same order
    """

    number: int
    same_supports: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Selected:
    """Estimate of a component on its support.

    path             the supports that were considered, smallest first
    rule_dependent   terms the criterion wants under this sampling rule only; they are left out
    shift            shift by the other sampling rule; None where it does not describe the data
    curve            curve of the cross-validation, where that chose
    alternatives     supports that fit nearly as well for what their terms cost; the rest of the
                     probability is this one's
    known            terms whose coefficients are known, and have no error
    test             test of known and excluded terms; None without any
    joint            components that are estimated together with this one; None: none
    bounds           terms with their lowest and highest raw coefficient
    """

    estimate: Estimate
    path: tuple[Candidate, ...]
    rule_dependent: Support
    shift: RuleShift | None = None
    curve: Curve | None = None
    alternatives: tuple[AlternativeSupport, ...] = ()
    known: Support = ()
    test: WaldTest | None = None
    joint: Joint | None = None
    bounds: tuple[tuple[int, float, float], ...] = ()

    @property
    def supports(self) -> tuple[AlternativeSupport, ...]:
        """All likely supports with their probabilities, the chosen one first."""
        rest = 1 - sum(alternative.weight for alternative in self.alternatives)
        return AlternativeSupport(self.estimate, rest, self.shift), *self.alternatives


def choose(
    equations: NormalEquations,
    of_other_rule: NormalEquations | None,
    library: Library,
    n_windows: int,
    criterion: Criterion,
    *,
    required: Support = (),
    ends: OpenEnds = NO_ENDS,
    briefly: bool = False,
) -> Selected:
    """Choose the support that the criterion prefers, less the terms that depend on the rule.

    Parameters
    ----------
    equations : normal equations
    of_other_rule : normal equations of the other sampling rule, or None
    library : library of terms
    n_windows : number of windows of the data
    criterion : method of selection
    required : terms that stay whatever they gain
    ends : ends of the line at which a drift may explode
    briefly : whether to return the estimate alone, without alternatives or coefficients of the path

    Raises
    ------
    TooFewSamples : cross-validation has too few blocks
    """
    costs = _costs(criterion, library, n_windows)
    bonus = _bonus(equations) if required else 0.0
    costs[list(required)] = -bonus
    best, path, curve, levels = _chosen(
        equations, library, criterion, costs, ends, coefficients=not briefly
    )
    if required:
        path = _with_required(path, required, bonus)
    if criterion.method == "none":
        return Selected(
            _first_estimate(equations, library, [c.support for c in reversed(path)]), path, ()
        )
    rule_dependent: Support = ()
    if of_other_rule is not None:
        wanted_by_other = _chosen(
            of_other_rule, library, criterion, costs, ends, coefficients=False
        )[0]
        rule_dependent = _rule_dependent_terms(
            equations, of_other_rule, library, best, wanted_by_other
        )
    rule_dependent = tuple(k for k in rule_dependent if k not in required)
    kept = tuple(sorted({*required, *(k for k in best if k not in rule_dependent)}))
    ranked = [kept, *(c.support for c in sorted(path, key=lambda c: -c.score))]
    estimate = _first_estimate(equations, library, ranked)
    if briefly:
        return Selected(estimate, path, rule_dependent)
    shift = _shift(equations, of_other_rule, library, estimate)
    probabilities = support_probabilities(
        equations,
        library,
        levels or searched(equations, library, costs, ends),
        costs,
        _costs_of_choice(library),
        estimate.support,
        rule_dependent,
        ends,
    )
    others = (
        (estimate_on(equations, library, support), weight)
        for support, weight in probabilities.items()
        if support != estimate.support
    )
    alternatives = tuple(
        AlternativeSupport(other, weight, _shift(equations, of_other_rule, library, other))
        for other, weight in others
        if other is not None
    )
    return Selected(estimate, path, rule_dependent, shift, curve, alternatives)


def _bonus(equations: NormalEquations) -> float:
    """Return a gain that no other terms can make up for, which makes a term stay."""
    best = np.linalg.pinv(equations.information, 1e-12, hermitian=True) @ equations.score
    return 1e3 + 2 * abs(float(equations.score @ best))


def _with_required(
    path: tuple[Candidate, ...], required: Support, bonus: float
) -> tuple[Candidate, ...]:
    """Return the supports that have the required terms, without the gain that made these stay."""
    return tuple(
        replace(c, score=c.score - bonus * len(required)) if c.penalty is None else c
        for c in path
        if c.penalty is not None or set(required) <= set(c.support)
    )


def _chosen(
    equations: NormalEquations,
    library: Library,
    criterion: Criterion,
    costs: Floats,
    ends: OpenEnds,
    *,
    coefficients: bool,
) -> tuple[Support, tuple[Candidate, ...], Curve | None, tuple[Level, ...]]:
    """Return the support that the criterion prefers, the path, the curve or None, and all supports.

    The last are the supports that were looked at, by size; none for methods that look at others.

    costs          (K,) cost of each term
    ends           ends of the line at which a drift may explode
    coefficients   whether to compute those along the path, which cost time
    """
    if criterion.method == "lasso_cv":
        # It is not imported at the top: scikit-learn takes longer to import than most jobs to run.
        from worker.identification.selection.lasso_cv import lasso_path

        path, best, curve = lasso_path(equations, library)
        return best, path, curve, ()
    if criterion.method == "stlsq":
        path, best = thresholding_path(equations, library, criterion.z_threshold)
        return best, path, None, ()
    levels = searched(equations, library, costs, ends)
    path = selection_path(levels, equations, library, costs, ends=ends, coefficients=coefficients)
    return best_of(path).support, path, None, levels


def simplest(selected: Selected, equations: NormalEquations, library: Library) -> Selected:
    """Find the fewest terms that explain all but a trace of what every term explains.

    It is for a variable without noise, whose residuals are no measure of chance: there each error
    of the sampling rule is significant.

    Parameters
    ----------
    selected : estimate by the criterion
    equations, library : normal equations, library of terms
    """
    costs = _costs_of_choice(library)
    levels = searched(equations, library, costs)
    path = selection_path(levels, equations, library, costs, coefficients=False)
    enough = max(c.gain for c in path) * (1 - TRACE)
    support = next(c.support for c in path if c.gain >= enough)
    return Selected(
        _first_estimate(equations, library, [support, selected.estimate.support]),
        selected.path,
        (),
        curve=selected.curve,
    )


def _rule_dependent_terms(
    equations: NormalEquations,
    of_other_rule: NormalEquations,
    library: Library,
    best: Support,
    wanted_by_other: Support,
) -> Support:
    """List the terms that the other sampling rule does not want, where both describe the data.

    Simulated paths may be exact Euler steps and measured ones never are; with six million
    increments either rule, applied to the other's data, finds a difference of a tenth of a percent
    significant and gives it a term. Where the rules differ by more than `FINE_SAMPLING`, no path is
    an Euler step and the chosen rule decides alone; so it does where the other rule wants other
    terms in place of these, as {1, x³} for {x, x²}, unless these matter no more than that.
    """
    extra = tuple(k for k in best if k not in wanted_by_other)
    here = estimate_on(equations, library, best) if extra else None
    if here is None or _shift(equations, of_other_rule, library, here) is None:
        return ()
    if not set(wanted_by_other) <= set(best):
        kept = estimate_on(equations, library, tuple(k for k in best if k in wanted_by_other))
        if kept is None or not _agree(equations, kept.internal, here.internal):
            return ()
    return extra


def _shift(
    equations: NormalEquations,
    of_other_rule: NormalEquations | None,
    library: Library,
    here: Estimate,
) -> RuleShift | None:
    """Compute the shift by the other rule; None without one, or where it does not fit the data."""
    there = None if of_other_rule is None else coefficients_on(of_other_rule, library, here.support)
    if there is None:
        return None
    internal, raw = there
    if not _agree(equations, internal, here.internal):
        return None
    return RuleShift(raw - here.raw, internal - here.internal)


def _agree(equations: NormalEquations, one: Floats, other: Floats) -> bool:
    """Check whether two functions differ by less than `FINE_SAMPLING` of the other's size."""
    difference, information = one - other, equations.information
    return bool(
        difference @ information @ difference <= FINE_SAMPLING**2 * (other @ information @ other)
    )


def _first_estimate(
    equations: NormalEquations, library: Library, supports: list[Support]
) -> Estimate:
    """Estimate on the first support whose terms are identifiable; the empty one always is."""
    estimates = (estimate_on(equations, library, support) for support in [*supports, ()])
    return next(estimate for estimate in estimates if estimate is not None)
