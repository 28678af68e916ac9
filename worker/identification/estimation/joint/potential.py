"""A drift that has a potential: its terms are chosen for all components at once (method.md §17)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from worker.identification.checks.restriction import Restriction
from worker.identification.estimation.fit import Fit, Potential
from worker.identification.estimation.joint.drift import correlations, joint_drift_equations
from worker.identification.estimation.joint.potential_terms import PotentialTerms
from worker.identification.estimation.problem import Problem
from worker.identification.regression import NormalEquations
from worker.identification.selection.best_subset import Candidate, Estimate
from worker.identification.selection.log_likelihood_gains import Support
from worker.identification.selection.support_selection import (
    AlternativeSupport,
    Joint,
    RuleShift,
    Selected,
    choose,
)
from worker.identification.sums.rules import SamplingRule, other_rule

Floats = NDArray[np.float64]


def with_potential(fit: Fit, problem: Problem) -> Fit:
    """Replace the drift by that of a potential, equation (M76), and test it, equation (M77).

    Parameters
    ----------
    fit : free fit, whose weights are kept
    problem : problem with the terms of the potential
    """
    terms = problem.form
    assert terms is not None, "there is a potential"
    equations, d = fit.equations, len(fit.drift)
    shared = correlations(fit, problem)
    mixing = _mixing(fit, problem, terms)
    internal = [np.tensordot(mixing[p], terms.slopes, 1) for p in range(d)]
    # Coefficients of terms are those of x, and not of its internal coordinate.
    raw = [np.tensordot(mixing[p] * problem.space.units, terms.of_terms, 1) for p in range(d)]

    def of_drift(rule: SamplingRule | None) -> list[NormalEquations]:
        return [equations.of_drift(p, fit.covariances, rule) for p in range(d)]

    found = of_drift(None)
    other = other_rule(equations.rule)
    selected = choose(
        joint_drift_equations(found, shared, internal),
        None if other is None else joint_drift_equations(of_drift(other), shared, internal),
        terms.library,
        equations.n_windows,
        problem.selection,
    )
    drift = tuple(_component(selected, internal[p], raw[p]) for p in range(d))
    gradient = terms.form == "gradient"
    return replace(
        fit,
        drift=drift,
        coarse=((None,) * d, fit.coarse[1]),
        restrictions=(*fit.restrictions, _test(problem, drift, found, shared, internal, terms)),
        potential=Potential(
            terms.form, terms.library, selected, 1 / problem.space.time if gradient else 1.0
        ),
    )


def _mixing(fit: Fit, problem: Problem, terms: PotentialTerms) -> Floats:
    """Return M of b_p = Σ_q M_pq ∂/∂y_q of the potential, internal units; (d, d)."""
    if terms.form == "gradient":
        return -np.diag(1 / problem.space.units**2)
    constant = problem.library.internal(np.zeros((1, len(fit.drift))))[0]
    return np.asarray(-0.5 * fit.tensor @ constant)


def _component(selected: Selected, internal: Floats, raw: Floats) -> Selected:
    """Return the drift of one variable.

    Parameters
    ----------
    selected : the potential
    internal : (J, J_U) the drift's internal coefficients from the potential's
    raw : (K, K_U) those of its terms
    """

    def support(of_potential: Support) -> Support:
        return tuple(np.flatnonzero(raw[:, list(of_potential)].any(axis=1)).tolist())

    def matrix(of_potential: Support) -> Floats:
        return raw[np.ix_(support(of_potential), of_potential)]

    def estimate(e: Estimate) -> Estimate:
        change = matrix(e.support)
        scale = np.sqrt(np.diag(e.covariance).clip(min=np.finfo(float).tiny))

        def error(of_potential: Floats) -> Floats:
            ratio = of_potential / scale
            of_terms = change @ (e.covariance * np.outer(ratio, ratio)) @ change.T
            return np.asarray(np.sqrt(np.diag(of_terms).clip(min=0)))

        robust = e.robust_std_error
        return Estimate(
            support(e.support),
            internal @ e.internal,
            internal @ e.internal_factor,
            change @ e.raw,
            error(e.std_error),
            None if robust is None else error(robust),
            change @ e.covariance @ change.T,
        )

    def shift(s: RuleShift | None, of_potential: Support) -> RuleShift | None:
        return s and RuleShift(matrix(of_potential) @ s.raw, internal @ s.internal)

    def candidate(c: Candidate) -> Candidate:
        values = matrix(c.support) @ c.raw if len(c.raw) == len(c.support) else c.raw
        return replace(
            c,
            support=support(c.support),
            raw=values,
            equivalent=tuple(support(other) for other in c.equivalent),
        )

    chosen = selected.estimate
    return Selected(
        estimate(chosen),
        tuple(candidate(c) for c in selected.path),
        support(selected.rule_dependent),
        shift(selected.shift, chosen.support),
        selected.curve,
        tuple(
            AlternativeSupport(estimate(a.estimate), a.weight, shift(a.shift, a.estimate.support))
            for a in selected.alternatives
        ),
        joint=Joint(-1, same_supports=True),
    )


def _test(
    problem: Problem,
    drift: Sequence[Selected],
    equations: Sequence[NormalEquations],
    shared: Floats,
    internal: Sequence[Floats],
    terms: PotentialTerms,
) -> Restriction:
    """Test a potential against free drifts with all terms up to the degree of those chosen."""
    library = problem.library
    chosen = [library.degrees[k] or 0 for s in drift for k in s.estimate.support]
    degree = max([1, *chosen])
    free = np.array(
        [
            *(j for j, e in enumerate(library.internal_exponents) if sum(e) <= degree),
            *range(len(library.internal_exponents), library.internal_size),
        ]
    )
    d, size = len(drift), len(free)
    inside = np.zeros(library.internal_size, dtype=bool)
    inside[free] = True
    columns = np.flatnonzero(
        [
            not any(m[~inside, j].any() for m in internal) and any(m[:, j].any() for m in internal)
            for j in range(terms.library.internal_size)
        ]
    )
    select = np.eye(library.internal_size)[:, free]
    whole = joint_drift_equations(
        equations,
        shared,
        [np.kron(np.eye(d)[p], select) for p in range(d)],
    )
    span = np.concatenate([m[np.ix_(free, columns)] for m in internal]).T
    gain, rank = _gain(whole, np.eye(d * size))
    of_potential, rank_of_potential = _gain(whole, span)
    statistic, dof = max(gain - of_potential, 0.0), rank - rank_of_potential
    return Restriction(
        terms.form,
        library.variables,
        "potential of the drift",
        f"a potential explains {of_potential / gain:.0%} of the free drift"
        if gain > 0
        else "the drift is zero",
        statistic,
        dof,
        float(chi2.sf(statistic, dof)) if dof else 1.0,
    )


def _gain(equations: NormalEquations, span: Floats) -> tuple[float, int]:
    """Return twice the log-likelihood in the span of rows above that of nothing, and its rank."""
    information: Any = span @ equations.information @ span.T
    norms = np.sqrt(np.diag(information).clip(min=np.finfo(float).tiny))
    values, vectors = np.linalg.eigh(information / np.outer(norms, norms))
    kept = values > 1e-11 * values[-1]
    along = vectors[:, kept].T @ (span @ equations.score / norms)
    return float(np.sum(along**2 / values[kept])), int(kept.sum())
