"""A component of drift or diffusion in the data's own units, with its errors."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from worker.identification.data.library import Library
from worker.identification.estimation.components import step_errors
from worker.identification.model_sampling import CoefficientEstimate
from worker.identification.selection.best_subset import Candidate, Curve, raw_root
from worker.identification.selection.support_selection import (
    AlternativeSupport,
    Selected,
    WaldTest,
)

if TYPE_CHECKING:
    from worker.identification.estimation.paper import SparseFit

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class TermFit:
    """A candidate term; errors are None where the estimator gives none.

    probability   probability that the term belongs to the model
    estimates     estimates on all likely supports that have the term
    known         whether the coefficient was given
    bounds        bounds that were given [data's units]
    at_bound      whether the coefficient is at one of them
    """

    name: str
    value: float
    active: bool
    std_error: float | None = None
    robust_std_error: float | None = None
    probability: float | None = None
    estimates: tuple[CoefficientEstimate, ...] = ()
    known: bool = False
    bounds: tuple[float, float] = (-np.inf, np.inf)
    at_bound: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class LikelySupport:
    """A likely support of a component, and the distribution of its coefficients [data's units].

    terms         names of its k terms
    probability   probability that these are the terms
    values        (k,) coefficients
    factor        (k, m) square root F of their covariance F Fᵀ, equation (M36); of components
                  that are drawn together its columns belong to the same random numbers
    bounds        lowest and highest value of each coefficient; None without any
    shift         (k,) shift of `values` by the other sampling rule; None where that does not
                  describe the data
    """

    terms: tuple[str, ...]
    probability: float
    values: Floats
    factor: Floats
    shift: Floats | None
    bounds: tuple[tuple[float, float], ...] | None = None


@dataclass(frozen=True, slots=True)
class PathEntry:
    """A support that was considered, with the supports of its size that fit equally well."""

    support: tuple[str, ...]
    score: float
    coefficients: Mapping[str, float]
    equivalent: tuple[tuple[str, ...], ...] = ()
    penalty: float | None = None
    probability: float | None = None


@dataclass(frozen=True, slots=True)
class ConstraintTest:
    """Test of what was given of a component, equation (M56).

    free        coefficient and standard error of each term that was tested, if it is free beside
                the selected terms [data's units]
    statistic   squared distance of these from what was given, in standard errors
    p_value     probability of a larger statistic if what was given is true
    """

    free: Mapping[str, tuple[float, float]]
    statistic: float
    p_value: float


@dataclass(frozen=True, slots=True)
class ComponentFit:
    """A component of drift or diffusion in the data's units.

    covariance   (k, k) covariance of the coefficients of the k active terms, in their order; None
                 where the estimator gives none
    test         test of known and excluded terms; None without any
    supports     all likely supports, the chosen one first; () where the estimator gives no errors
    joint        group of components that are drawn together; those of a potential share their
                 supports, too
    """

    terms: tuple[TermFit, ...]
    method: str
    path: tuple[PathEntry, ...]
    step_errors: Mapping[str, float] = field(default_factory=dict)
    curve: Curve | None = None
    covariance: tuple[tuple[float, ...], ...] | None = None
    test: ConstraintTest | None = None
    supports: tuple[LikelySupport, ...] = field(default=(), compare=False)
    joint: Literal["potential", "equalities"] | None = None

    def active(self) -> dict[str, float]:
        """Coefficients of the active terms."""
        return {t.name: t.value for t in self.terms if t.active}


def component_of(
    selected: Selected,
    coarse: Floats | None,
    library: Library,
    method: str,
    order: int,
    factor: float,
) -> ComponentFit:
    """Put a component into the data's units.

    coarse   raw coefficients at twice the step, where there are any
    order    order of the sampling rule
    factor   factor from internal units to the data's
    """
    estimate = selected.estimate
    limits = {k: (low, high) for k, low, high in selected.bounds}
    terms = []
    for k, name in enumerate(library.names):
        estimates = tuple(_estimates_of(selected, k, factor))
        probability = min(sum(e.weight for e in estimates), 1.0)
        if k not in estimate.support:
            terms.append(
                TermFit(name, 0.0, active=False, probability=probability, estimates=estimates)
            )
            continue
        i = estimate.support.index(k)
        robust = (
            None
            if estimate.robust_std_error is None
            else float(estimate.robust_std_error[i] * factor)
        )
        value, error = float(estimate.raw[i] * factor), float(estimate.std_error[i] * factor)
        known, at_bound = k in selected.known, k in estimate.at_bound
        # It went through internal units: 0.8 came back as 0.7999999999999999.
        value = float(f"{value:.15g}") if known or at_bound else value
        low, high = limits.get(k, (-np.inf, np.inf))
        terms.append(
            TermFit(
                name,
                value,
                True,
                error,
                robust,
                probability,
                estimates,
                known,
                (low * factor, high * factor),
                at_bound,
            )
        )
    path = tuple(_entry(c, selected, library, factor) for c in selected.path)
    return ComponentFit(
        tuple(terms),
        method,
        path,
        step_errors(selected, coarse, order, library),
        selected.curve,
        tuple(map(tuple, (estimate.covariance * factor**2).tolist())),
        None if selected.test is None else _test_of(selected.test, library, factor),
        tuple(_likely(alternative, selected, library, factor) for alternative in selected.supports),
        None
        if selected.joint is None
        else ("potential" if selected.joint.same_supports else "equalities"),
    )


def _likely(
    alternative: AlternativeSupport, selected: Selected, library: Library, factor: float
) -> LikelySupport:
    estimate, shift = alternative.estimate, alternative.shift
    limits = {k: (low * factor, high * factor) for k, low, high in selected.bounds}
    bounds = tuple(limits.get(k, (-np.inf, np.inf)) for k in estimate.support)
    return LikelySupport(
        _names(library, estimate.support),
        alternative.weight,
        estimate.raw * factor,
        raw_root(estimate, library, joint=selected.joint is not None) * factor,
        None if shift is None else shift.raw * factor,
        bounds if estimate.half_spaces is not None else None,
    )


def _test_of(test: WaldTest, library: Library, factor: float) -> ConstraintTest:
    return ConstraintTest(
        {
            library.names[k]: (float(value * factor), float(error * abs(factor)))
            for k, value, error in zip(test.terms, test.values, test.errors, strict=True)
        },
        test.statistic,
        test.p_value,
    )


def known_velocity(name: str, factor: float = 1.0) -> ComponentFit:
    """Return the drift of a position, which is its velocity: nothing is estimated."""
    return ComponentFit((TermFit(name, factor, active=True),), "known", ())


def _estimates_of(selected: Selected, term: int, factor: float) -> Iterator[CoefficientEstimate]:
    """Yield the estimates of a term's coefficient on all supports that have it [data's units]."""
    for alternative in selected.supports:
        estimate, shift = alternative.estimate, alternative.shift
        if term in estimate.support:
            i = estimate.support.index(term)
            yield CoefficientEstimate(
                alternative.weight,
                float((estimate.raw if estimate.free is None else estimate.free)[i] * factor),
                float(estimate.std_error[i] * abs(factor)),
                0.0 if shift is None else float(shift.raw[i] * factor),
            )


def _entry(candidate: Candidate, selected: Selected, library: Library, factor: float) -> PathEntry:
    names = _names(library, candidate.support)
    weights = {a.estimate.support: a.weight for a in selected.supports}
    return PathEntry(
        support=names,
        score=candidate.score,
        coefficients={
            name: float(v * factor) for name, v in zip(names, candidate.raw, strict=True)
        },
        equivalent=tuple(_names(library, s) for s in candidate.equivalent),
        penalty=candidate.penalty,
        probability=weights.get(candidate.support, 0.0),
    )


def _names(library: Library, support: tuple[int, ...]) -> tuple[str, ...]:
    return tuple(library.names[k] for k in support)


def sparse_component(fit: "SparseFit", library: Library) -> ComponentFit:
    """Make a component of a fit by Algorithm 1."""
    terms = tuple(
        TermFit(name, float(fit.coefficients[k]), k in fit.support)
        for k, name in enumerate(library.names)
    )
    active = {t.name: t.value for t in terms if t.active}
    return ComponentFit(
        terms, "lasso_cv+stlsq", (PathEntry(tuple(active), -float(fit.errors.min()), active),)
    )
