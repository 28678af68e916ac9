"""Terms that a component may have, must have, and has at a known value (docs/method.md §17)."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from worker.identification.data.library import Library
from worker.identification.regression import NormalEquations, on, without_part
from worker.identification.selection.best_subset import Candidate, Estimate, estimate_on
from worker.identification.selection.explosion import NO_ENDS, OpenEnds
from worker.identification.selection.log_likelihood_gains import Support
from worker.identification.selection.support_selection import (
    AlternativeSupport,
    Criterion,
    RuleShift,
    Selected,
    WaldTest,
    choose,
    simplest,
)

Floats = NDArray[np.float64]
Positions = NDArray[np.int_]


@dataclass(frozen=True, slots=True)
class Constraint:
    """Knowledge about the terms of one component. Terms are positions in the library.

    degree      highest total degree of its terms, which then are monomials; None: any term
    candidates  terms that may be selected besides the required ones; None: all others
    required    terms that stay whatever they gain
    excluded    terms that are not considered
    known       terms at a value, each with its raw coefficient in internal units
    bounds      terms with the lowest and highest raw coefficient, internal units
    """

    degree: int | None = None
    candidates: Support | None = None
    required: Support = ()
    excluded: Support = ()
    known: tuple[tuple[int, float], ...] = ()
    bounds: tuple[tuple[int, float, float], ...] = ()

    @property
    def names_terms(self) -> bool:
        """Whether single terms are required, excluded or known."""
        limited = self.candidates is not None
        return bool(limited or self.required or self.excluded or self.known)

    def terms(self, library: Library) -> Support:
        """Return the terms whose coefficients are free."""
        held = {*self.excluded, *(k for k, _ in self.known)}
        named = None if self.candidates is None else {*self.candidates, *self.required}
        return tuple(
            k
            for k in terms_up_to(self.degree, library)
            if k not in held and (named is None or k in named)
        )


FREE = Constraint()
CONSTANT = Constraint(degree=0)


def choose_under(
    constraint: Constraint,
    equations: NormalEquations,
    of_other_rule: NormalEquations | None,
    library: Library,
    n_windows: int,
    criterion: Criterion,
    *,
    ends: OpenEnds = NO_ENDS,
    briefly: bool = False,
) -> Selected:
    """Choose the support of a component of which something is known.

    What known terms do is taken out of the equations, and the other terms are chosen and estimated
    as if these were alone. Known and excluded terms are tested against the data by Wald's test,
    equation (M56), unless it is done briefly.

    Parameters
    ----------
    constraint : what is known
    equations : normal equations in all internal functions, or in those of the constraint's degree
        or of its free terms
    of_other_rule : normal equations of the other sampling rule, or None
    library : library of all terms
    n_windows : number of windows of the data
    criterion : method of selection
    ends : ends of the line at which a drift may explode
    briefly : whether to return the estimate alone
    """
    part = _Part(constraint, library)
    if not part.terms:
        found = Selected(_no_terms(part.library), (Candidate((), 0.0, 0.0, np.zeros(0)),), ())
    else:
        found = choose(
            part.equations(equations),
            None if of_other_rule is None else part.equations(of_other_rule),
            part.library,
            n_windows,
            criterion,
            required=part.positions(constraint.required),
            ends=ends,
            briefly=briefly,
        )
    selected = part.selected(found)
    return selected if briefly else replace(selected, test=_test(part, equations, selected))


def simplest_under(
    constraint: Constraint, selected: Selected, equations: NormalEquations, library: Library
) -> Selected:
    """Find the fewest free terms that explain a variable without noise; see `simplest`.

    Parameters
    ----------
    constraint : what is known
    selected : estimate by the criterion
    equations, library : normal equations, library of all terms
    """
    if not constraint.names_terms:
        return simplest(selected, equations, library)
    part = _Part(constraint, library)
    if not part.terms:
        return selected
    inside = _inside(selected, part)
    found = simplest(inside, part.equations(equations), part.library)
    return replace(part.selected(found), path=selected.path, test=selected.test)


def estimate_under(
    constraint: Constraint, equations: NormalEquations, library: Library, support: Support
) -> Estimate | None:
    """Estimate the coefficients on a support; known terms keep their values.

    Returns None where the data do not distinguish its terms.

    Parameters
    ----------
    constraint : what is known
    equations : normal equations, as in `choose_under`
    library : library of all terms
    support : positions of the terms in the library
    """
    part = _Part(constraint, library)
    if not part.terms:
        return part.estimate(_no_terms(part.library))
    found = estimate_on(part.equations(equations), part.library, part.positions(support))
    return None if found is None else part.estimate(found)


def terms_up_to(degree: int | None, library: Library) -> Support:
    """Return the monomials of at most this total degree; None: all terms."""
    if degree is None:
        return tuple(range(library.size))
    return tuple(k for k, d in enumerate(library.degrees) if d is not None and d <= degree)


def functions_up_to(degree: int | None, library: Library) -> Positions:
    """Return the positions of the internal functions of `terms_up_to`."""
    return _functions_of(terms_up_to(degree, library), library)


def _functions_of(terms: Support, library: Library) -> Positions:
    place = {e: j for j, e in enumerate(library.internal_exponents)}
    part = _library_of(terms, library)
    own = [library.places[k] for k in terms if library.exponents[k] is None]
    return np.array([*(place[e] for e in part.internal_exponents), *own], dtype=np.int_)


def _library_of(terms: Support, library: Library) -> Library:
    return replace(
        library,
        names=tuple(library.names[k] for k in terms),
        trees=tuple(library.trees[k] for k in terms),
        exponents=tuple(library.exponents[k] for k in terms),
    )


class _Part:
    """The free terms of a component, as a library of their own.

    whole       library of all terms
    terms       positions of the free terms in it
    library     library of the free terms
    functions   positions of its internal functions among those of all
    known       (J,) what is known along the internal functions of all
    """

    def __init__(self, constraint: Constraint, library: Library) -> None:
        self.constraint, self.whole = constraint, library
        self.terms = constraint.terms(library)
        self.free = len(self.terms) == library.size
        self.library = library if self.free else _library_of(self.terms, library)
        self.functions = _functions_of(self.terms, library)
        self.known = np.zeros(library.internal_size)
        for k, value in constraint.known:
            self.known += value * library.term_rows[k]

    def equations(self, equations: NormalEquations) -> NormalEquations:
        """Take out what is known, and leave the functions of the free terms."""
        if self.free:
            return equations
        given = self.given(equations)
        if self.constraint.known:
            equations = without_part(equations, self.known[given])
        if len(given) == len(self.functions):
            return equations
        place = {int(j): i for i, j in enumerate(given)}
        return on(equations, np.array([place[int(j)] for j in self.functions], dtype=np.int_))

    def given(self, equations: NormalEquations) -> Positions:
        """Return the internal functions that equations are in."""
        size = len(equations.score)
        if size == self.whole.internal_size:
            return np.arange(size)
        if size == len(self.functions):
            return self.functions
        return functions_up_to(self.constraint.degree, self.whole)

    def positions(self, support: Support) -> Support:
        """Return the positions of terms of the whole in the part; others are left out."""
        return tuple(self.terms.index(k) for k in support if k in self.terms)

    def selected(self, found: Selected) -> Selected:
        """Put a component of the part into the whole, with what is known."""
        if self.free:
            return found
        return replace(
            found,
            estimate=self.estimate(found.estimate),
            path=tuple(self._candidate(c) for c in found.path),
            rule_dependent=self._support(found.rule_dependent),
            known=tuple(k for k, _ in self.constraint.known),
            shift=self._shift(found.shift, found.estimate),
            alternatives=tuple(
                AlternativeSupport(
                    self.estimate(a.estimate), a.weight, self._shift(a.shift, a.estimate)
                )
                for a in found.alternatives
            ),
        )

    def estimate(self, e: Estimate) -> Estimate:
        """Put an estimate of the part into the whole, with what is known; that has no error."""
        if self.free:
            return e
        size = self.whole.internal_size
        internal, factor = self.known.copy(), np.zeros((size, size))
        internal[self.functions] += e.internal
        factor[np.ix_(self.functions, self.functions)] = e.internal_factor
        free = self._support(e.support)
        support = tuple(sorted((*free, *(k for k, _ in self.constraint.known))))
        rows = [support.index(k) for k in free]
        known = dict(self.constraint.known)

        def among(values: Floats) -> Floats:
            out = np.zeros(len(support))
            out[rows] = values
            return out

        covariance = np.zeros((len(support),) * 2)
        covariance[np.ix_(rows, rows)] = e.covariance
        robust = e.robust_std_error
        return Estimate(
            support,
            internal,
            factor,
            among(e.raw) + np.array([known.get(k, 0.0) for k in support]),
            among(e.std_error),
            None if robust is None else among(robust),
            covariance,
        )

    def _support(self, support: Support) -> Support:
        return tuple(self.terms[k] for k in support)

    def _candidate(self, c: Candidate) -> Candidate:
        free = self._support(c.support)
        known = dict(self.constraint.known)
        support = tuple(sorted((*free, *known)))
        values = known | dict(zip(free, c.raw.tolist(), strict=False))
        return replace(
            c,
            support=support,
            raw=np.array([values[k] for k in support]) if len(c.raw) == len(free) else c.raw,
            equivalent=tuple(
                tuple(sorted((*self._support(other), *known))) for other in c.equivalent
            ),
        )

    def _shift(self, shift: RuleShift | None, e: Estimate) -> RuleShift | None:
        if shift is None:
            return None
        internal = np.zeros(self.whole.internal_size)
        internal[self.functions] = shift.internal
        values = dict(zip(self._support(e.support), shift.raw.tolist(), strict=True))
        support = sorted((*values, *(k for k, _ in self.constraint.known)))
        return RuleShift(np.array([values.get(k, 0.0) for k in support]), internal)


def _inside(selected: Selected, part: _Part) -> Selected:
    """Return a component's support in the part; `simplest` reads nothing else of it."""
    support = part.positions(selected.estimate.support)
    return replace(selected, estimate=replace(_no_terms(part.library), support=support))


def _no_terms(library: Library) -> Estimate:
    n = library.internal_size
    return Estimate(
        (), np.zeros(n), np.zeros((n, n)), np.zeros(0), np.zeros(0), None, np.zeros((0, 0))
    )


def _test(part: _Part, equations: NormalEquations, selected: Selected) -> WaldTest | None:
    """Test known and excluded terms beside the selected ones; None where that cannot be told."""
    constraint = part.constraint
    known = dict(constraint.known)
    within = set(terms_up_to(constraint.degree, part.whole))
    tested = sorted(within & {*known, *constraint.excluded})
    if not tested:
        return None
    free = replace(FREE, degree=constraint.degree)
    support = tuple(sorted({*tested, *selected.estimate.support}))
    found = estimate_under(free, equations, part.whole, support)
    if found is None:
        return None
    rows = [found.support.index(k) for k in tested]
    away = found.raw[rows] - np.array([known.get(k, 0.0) for k in tested])
    covariance = found.covariance[np.ix_(rows, rows)]
    size = np.sqrt(np.diag(covariance).clip(min=0))
    if not (size > 0).all():
        return None
    z = away / size
    statistic = float(z @ np.linalg.pinv(covariance / np.outer(size, size), hermitian=True) @ z)
    return WaldTest(
        tuple(tested),
        tuple(found.raw[rows].tolist()),
        tuple(size.tolist()),
        statistic,
        float(chi2.sf(statistic, len(tested))),
    )
