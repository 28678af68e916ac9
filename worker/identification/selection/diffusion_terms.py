"""Terms that the diffusion may have: all, or monomials up to a degree (0 for additive noise)."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from worker.identification.data.library import Library
from worker.identification.regression import NormalEquations, on
from worker.identification.selection.best_subset import Candidate, Estimate, estimate_on
from worker.identification.selection.log_likelihood_gains import Support
from worker.identification.selection.support_selection import Criterion, RuleShift, Selected, choose

Positions = NDArray[np.int_]


def choose_up_to(
    degree: int | None,
    equations: NormalEquations,
    of_other_rule: NormalEquations | None,
    library: Library,
    n_windows: int,
    criterion: Criterion,
    *,
    briefly: bool = False,
) -> Selected:
    """Choose the support among the monomials of at most this total degree.

    Parameters
    ----------
    degree : highest total degree; None for all terms
    equations : normal equations in all internal functions, or in `functions_of` those monomials
        only
    of_other_rule : normal equations of the other sampling rule, or None
    library : library of all terms
    n_windows : number of windows of the data
    criterion : method of selection
    briefly : whether to return the estimate alone
    """
    if degree is None:
        return choose(equations, of_other_rule, library, n_windows, criterion, briefly=briefly)
    terms = terms_up_to(degree, library)[0]
    return choose_among(
        terms, equations, of_other_rule, library, n_windows, criterion, briefly=briefly
    )


def choose_among(
    terms: tuple[int, ...],
    equations: NormalEquations,
    of_other_rule: NormalEquations | None,
    library: Library,
    n_windows: int,
    criterion: Criterion,
    *,
    briefly: bool = False,
) -> Selected:
    """Choose the support among some monomials.

    Parameters
    ----------
    terms : positions of the monomials in the library
    equations, of_other_rule, library, n_windows, criterion, briefly : see `choose_up_to`
    """
    part = part_of(terms, library)
    functions = functions_of(part, library)
    of_part = [None if e is None else _on(e, functions) for e in (equations, of_other_rule)]
    assert of_part[0] is not None
    found = choose(of_part[0], of_part[1], part, n_windows, criterion, briefly=briefly)
    return Selected(
        _estimate_in(library, found.estimate, terms, functions),
        tuple(_candidate_in(c, terms) for c in found.path),
        tuple(terms[k] for k in found.rule_dependent),
        _shift_in(library, found.shift, functions),
        found.curve,
        tuple(
            replace(
                alternative,
                estimate=_estimate_in(library, alternative.estimate, terms, functions),
                shift=_shift_in(library, alternative.shift, functions),
            )
            for alternative in found.alternatives
        ),
    )


def estimate_up_to(
    degree: int | None, equations: NormalEquations, library: Library, support: Support
) -> Estimate | None:
    """Estimate coefficients on a support of the library, for equations as in `choose_up_to`.

    Parameters
    ----------
    degree : highest total degree; None for all terms
    equations : normal equations
    library : library of all terms
    support : positions of the terms in the library
    """
    if degree is None:
        return estimate_on(equations, library, support)
    terms, part = terms_up_to(degree, library)
    functions = functions_of(part, library)
    found = estimate_on(_on(equations, functions), part, tuple(terms.index(k) for k in support))
    return None if found is None else _estimate_in(library, found, terms, functions)


def terms_up_to(degree: int, library: Library) -> tuple[tuple[int, ...], Library]:
    """Find the monomials of at most this total degree, and the library of just these."""
    terms = tuple(k for k, d in enumerate(library.degrees) if d is not None and d <= degree)
    return terms, part_of(terms, library)


def part_of(terms: tuple[int, ...], library: Library) -> Library:
    """Make the library of some terms."""
    return replace(
        library,
        names=tuple(library.names[k] for k in terms),
        trees=tuple(library.trees[k] for k in terms),
        exponents=tuple(library.exponents[k] for k in terms),
    )


def functions_of(part: Library, library: Library) -> Positions:
    """Find the positions of a part's internal functions among those of the library."""
    return np.array([library.internal_exponents.index(e) for e in part.internal_exponents])


def _on(equations: NormalEquations, functions: Positions) -> NormalEquations:
    """Restrict the equations to the span of some of the internal functions."""
    if len(equations.score) == len(functions):
        return equations
    return on(equations, functions)


def _candidate_in(c: Candidate, terms: tuple[int, ...]) -> Candidate:
    equivalent = tuple(tuple(terms[k] for k in support) for support in c.equivalent)
    return replace(c, support=tuple(terms[k] for k in c.support), equivalent=equivalent)


def _shift_in(library: Library, shift: RuleShift | None, functions: Positions) -> RuleShift | None:
    if shift is None:
        return None
    internal = np.zeros(library.internal_size)
    internal[functions] = shift.internal
    return replace(shift, internal=internal)


def _estimate_in(
    library: Library, e: Estimate, terms: tuple[int, ...], functions: Positions
) -> Estimate:
    internal, factor = np.zeros(library.internal_size), np.zeros((library.internal_size,) * 2)
    internal[functions] = e.internal
    factor[np.ix_(functions, functions)] = e.internal_factor
    return replace(
        e, support=tuple(terms[k] for k in e.support), internal=internal, internal_factor=factor
    )
