"""What is known of several coefficients: a potential, linear equations, bounds (method.md §17).

The free fit comes first, with its weights and its corrections; it is restricted at the end.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from worker.identification.checks.restriction import Restriction
from worker.identification.estimation.fit import Fit
from worker.identification.estimation.joint.drift import correlations, symmetric_root
from worker.identification.estimation.joint.potential import with_potential
from worker.identification.estimation.problem import Problem
from worker.identification.regression import lower_root
from worker.identification.selection.bounds import BoundsTest, within
from worker.identification.selection.support_selection import (
    AlternativeSupport,
    Joint,
    RuleShift,
    Selected,
)

Floats = NDArray[np.float64]
Key = str
"""Name of a component: `x` or `x,y`."""


def restricted(fit: Fit, problem: Problem) -> Fit:
    """Restrict a fit to what is known of its coefficients, and test that.

    Parameters
    ----------
    fit : free fit
    problem : problem, with what is known
    """
    if problem.form is not None:
        fit = with_potential(fit, problem)
    if problem.equalities:
        fit = _with_equalities(fit, problem)
    return _within_bounds(fit, problem)


def _components(fit: Fit, problem: Problem) -> dict[Key, Selected]:
    names = problem.names
    return {
        **dict(zip(names, fit.drift, strict=True)),
        **{f"{names[p]},{names[q]}": a for (p, q), a in fit.diffusion.items()},
    }


def _with_components(fit: Fit, problem: Problem, found: Mapping[Key, Selected]) -> Fit:
    names = problem.names
    return replace(
        fit,
        drift=tuple(found[name] for name in names),
        diffusion={(p, q): found[f"{names[p]},{names[q]}"] for p, q in fit.diffusion},
    )


def _within_bounds(fit: Fit, problem: Problem) -> Fit:
    """Move estimates inside the bounds of their coefficients, equation (M72)."""
    library, found = problem.library, _components(fit, problem)
    tests = []
    for key, constraint in problem.constraints.items():
        if not constraint.bounds or key not in found:
            continue
        selected = found[key]
        estimate, test = within(selected.estimate, constraint.bounds, library)
        found[key] = replace(
            selected,
            estimate=estimate,
            bounds=constraint.bounds,
            alternatives=tuple(
                replace(a, estimate=within(a.estimate, constraint.bounds, library)[0])
                for a in selected.alternatives
            ),
        )
        if test is not None:
            tests.append(_of_bounds(key, test, problem))
    if not any(c.bounds for c in problem.constraints.values()):
        return fit
    return replace(_with_components(fit, problem, found), restrictions=(*fit.restrictions, *tests))


def _of_bounds(key: Key, test: BoundsTest, problem: Problem) -> Restriction:
    factor, names = problem.unit_of(key), problem.library.names
    free = "; ".join(
        f"{names[k]} is {value * factor:.3g} ± {error * factor:.2g}, beyond {bound * factor:.3g}"
        for k, value, error, bound in zip(
            test.terms, test.values, test.errors, test.nearest, strict=True
        )
    )
    what = "diffusion" if "," in key else "drift"
    return Restriction(
        "bounds", (key,), f"bounds of the {what} {key}", free, test.statistic, None, test.p_value
    )


def _with_equalities(fit: Fit, problem: Problem) -> Fit:
    """Move estimates to where their coefficients obey the equations, equations (M74) and (M75)."""
    library, found = problem.library, _components(fit, problem)
    named = tuple(dict.fromkeys(key for e in problem.equalities for key, _, _ in e.terms))
    of_terms = np.array([[float(v) for v in row] for row in library.coefficient_functionals])
    size = library.internal_size
    # A equation of the data's coefficients, along the internal functions of the components.
    rows = np.zeros((len(problem.equalities), len(named) * size))
    for row, equality in zip(rows, problem.equalities, strict=True):
        for key, k, factor in equality.terms:
            start = named.index(key) * size
            row[start : start + size] += factor * problem.unit_of(key) * of_terms[library.places[k]]
    values = np.array([e.value for e in problem.equalities])
    shared = _shared_covariance(fit, problem, named)

    def moved(supports: Sequence[AlternativeSupport]) -> Projected:
        return _projected(supports, rows, values, shared, of_terms, library.places)

    supports = [found[key].supports[0] for key in named]
    chosen, statistic, away = moved(supports)
    group = Joint(0)
    out = dict(found)
    for i, key in enumerate(named):
        others = []
        for alternative in found[key].alternatives:
            others.append(moved([*supports[:i], alternative, *supports[i + 1 :]])[0][i])
        out[key] = replace(
            found[key],
            estimate=chosen[i].estimate,
            shift=chosen[i].shift,
            alternatives=tuple(others),
            joint=group,
        )
    dof = len(values)
    test = Restriction(
        "equalities",
        named,
        "linear equations among the coefficients",
        "the sums are " + ", ".join(f"{v:.3g}" for v in away) + " away from what is given",
        statistic,
        dof,
        float(chi2.sf(statistic, dof)),
    )
    return replace(_with_components(fit, problem, out), restrictions=(*fit.restrictions, test))


def _shared_covariance(
    fit: Fit, problem: Problem, keys: Sequence[Key]
) -> dict[tuple[int, int], Floats]:
    """Compute what turns the covariances of two drifts into that between them, if not nothing.

    Scores of two variables are correlated as their noise is: Cov(ĉ_p, ĉ_q) = ρ P_p H_p^½ H_q^½ P_q.
    """
    names, shared = problem.names, correlations(fit, problem)
    drifts = [(i, names.index(key)) for i, key in enumerate(keys) if "," not in key]
    roots = {}
    out = {}
    for i, p in drifts:
        for j, q in drifts:
            if i < j and shared[p, q]:
                for v in (p, q):
                    if v not in roots:
                        h = fit.equations.of_drift(v, fit.covariances).information
                        roots[v] = symmetric_root(h)
                out[i, j] = shared[p, q] * roots[p] @ roots[q]
    return out


Projected = tuple[list[AlternativeSupport], float, Floats]
"""Estimates that obey the equations, their squared distance from the free ones, and A ĉ − v."""


def _projected(
    supports: Sequence[AlternativeSupport],
    rows: Floats,
    values: Floats,
    shared: Mapping[tuple[int, int], Floats],
    of_terms: Floats,
    places: Sequence[int],
) -> Projected:
    """Project estimates, and their shifts by the other sampling rule, onto A c = v.

    Parameters
    ----------
    supports : of the components
    rows, values : A (m, n_components · n_functions), v (m,)
    shared : see `_shared_covariance`
    of_terms, places : rows that read raw coefficients off internal ones, row of each term
    """
    estimates = [s.estimate for s in supports]
    size = len(estimates[0].internal)
    parts = [slice(i * size, (i + 1) * size) for i in range(len(estimates))]
    covariance = np.zeros((rows.shape[1],) * 2)
    for part, e in zip(parts, estimates, strict=True):
        covariance[part, part] = e.internal_factor @ e.internal_factor.T
    for (i, j), between in shared.items():
        block = covariance[parts[i], parts[i]] @ between @ covariance[parts[j], parts[j]]
        covariance[parts[i], parts[j]], covariance[parts[j], parts[i]] = block, block.T
    along = covariance @ rows.T
    metric = rows @ along
    size_of = np.sqrt(np.diag(metric).clip(min=np.finfo(float).tiny))
    inverse = np.linalg.pinv(metric / np.outer(size_of, size_of), 1e-10, hermitian=True) / np.outer(
        size_of, size_of
    )
    away = rows @ np.concatenate([e.internal for e in estimates]) - values
    change = -along @ (inverse @ away)
    projection = np.eye(len(along)) - along @ inverse @ rows
    root = projection @ _root(covariance)
    shifted = any(s.shift is not None for s in supports)
    shift = projection @ np.concatenate(
        [np.zeros(size) if s.shift is None else s.shift.internal for s in supports]
    )
    out = []
    for part, support in zip(parts, supports, strict=True):
        e = support.estimate
        on = of_terms[[places[k] for k in e.support]]
        less = on @ (along[part] @ inverse @ along[part].T) @ on.T
        before = np.diag(e.covariance).clip(min=np.finfo(float).tiny)
        after = e.covariance - less
        ratio = np.sqrt((np.diag(after) / before).clip(min=0))
        moved = replace(
            e,
            internal=e.internal + change[part],
            internal_factor=root[part],
            raw=e.raw + on @ change[part],
            std_error=e.std_error * ratio,
            robust_std_error=None if e.robust_std_error is None else e.robust_std_error * ratio,
            covariance=after,
        )
        by_other = RuleShift(on @ shift[part], shift[part]) if shifted else None
        out.append(AlternativeSupport(moved, support.weight, by_other))
    return out, float(away @ inverse @ away), away


def _root(covariance: Floats) -> Floats:
    """Compute the lower triangular root of a covariance that may be singular."""
    norms = np.sqrt(np.diag(covariance))
    safe = np.where(norms > 0, norms, 1.0)
    values, vectors = np.linalg.eigh(covariance / np.outer(safe, safe))
    return lower_root(norms[:, None] * vectors * np.sqrt(values.clip(min=0)))
