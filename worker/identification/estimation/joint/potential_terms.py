"""Terms of a potential, and the drifts that they give (docs/method.md §17)."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from grammar.terms import Binary, Call, Number, Tree, Variable
from worker.identification.data.library import HIGHEST_DEGREE, Library
from worker.identification.data.terms import candidate_terms, monomial_exponents, parse
from worker.identification.errors import InvalidLibrary

Floats = NDArray[np.float64]
Form = Literal["gradient", "detailed-balance"]
Factors = dict[str, tuple[str, int]]
"""Function `power`, `sin` or `cos` of each variable in a product, and its power or harmonic."""


@dataclass(frozen=True, slots=True, eq=False)
class PotentialTerms:
    """Terms of a potential whose slopes the library of the drift has.

    form       `gradient`: b = −∂U; `detailed-balance`: b = −½ a ∂Φ with a constant a
    library    terms of the potential
    slopes     (d, J, J_U) derivatives ∂/∂y_q of its internal functions, along the drift's
    of_terms   (d, K, K_U) derivatives ∂/∂x_q of its terms, in the drift's terms
    """

    form: Form
    library: Library
    slopes: Floats
    of_terms: Floats


def potential_terms(form: Form, library: Library, named: tuple[str, ...]) -> PotentialTerms:
    """Make the terms of a potential. Raises InvalidLibrary for a term that no potential gives.

    Parameters
    ----------
    form : `gradient` or `detailed-balance`
    library : library of the drift
    named : further terms that were asked for by name
    """
    d, circular = library.dimension, tuple(p is not None for p in library.periods)
    degree = max((k for k in library.degrees if k is not None), default=0)
    harmonics = max((_harmonic(library, k) for k in library.other), default=0)
    names = candidate_terms(library.variables, circular, min(degree + 1, HIGHEST_DEGREE), harmonics)
    kept, columns = [], []
    for name in names:
        if name == "1":
            continue
        factors = _factors(parse(name, library.variables), library)
        if factors is None:
            continue
        column = _slopes_of(factors, library)
        if column is not None:
            kept.append(name)
            columns.append(column)
    for text in named:
        k = library.position(text)
        if not any(column[:, k].any() for column in columns):
            raise InvalidLibrary(
                f"The term {text} is the slope of no term of a potential here, which has "
                "monomials and, of angles, harmonics.",
                hints=("Leave the term out, or constraints.gradient and detailed_balance.",),
            )
    if not kept:
        raise InvalidLibrary("The library has no term that is the slope of a potential.")
    trees = tuple(parse(name, library.variables) for name in kept)
    potential = replace(
        library,
        names=tuple(kept),
        trees=trees,
        exponents=tuple(monomial_exponents(tree, library.variables) for tree in trees),
    )
    of_terms = np.stack(columns, axis=2)
    return PotentialTerms(
        form,
        potential,
        np.stack([_internal_slope(potential, library, q, of_terms[q]) for q in range(d)]),
        of_terms,
    )


def _harmonic(library: Library, k: int) -> int:
    factors = _factors(library.trees[k], library) or {}
    return sum(n for kind, n in factors.values() if kind != "power")


def _factors(tree: Tree, library: Library) -> Factors | None:
    """Read a product of powers and harmonics; None where it is something else."""
    found: Factors = {}
    for factor in _flattened(tree):
        match factor:
            case Variable(name):
                read = name, ("power", 1)
            case Binary("^", Variable(name), Number(n)) if n == int(n) and n > 0:
                read = name, ("power", int(n))
            case Call("sin" | "cos" as function, Variable(name)):
                read = name, (function, 1)
            case Call("sin" | "cos" as function, Binary("*", Number(n), Variable(name))) if (
                n == int(n) and n > 0
            ):
                read = name, (function, int(n))
            case _:
                return None
        name, what = read
        circular = library.periods[library.variables.index(name)] is not None
        if name in found or circular != (what[0] != "power"):
            return None
        found[name] = what
    return found


def _flattened(tree: Tree) -> Iterator[Tree]:
    match tree:
        case Binary("*", left, right):
            yield from _flattened(left)
            yield from _flattened(right)
        case _:
            yield tree


def _slopes_of(factors: Factors, library: Library) -> Floats | None:
    """Return the derivatives of a product in the library's terms (d, K); None if it lacks one."""
    out = np.zeros((library.dimension, library.size))
    for name, (kind, n) in factors.items():
        q = library.variables.index(name)
        others = {v: f for v, f in factors.items() if v != name}
        if kind == "power":
            slope, value = ({name: ("power", n - 1)} if n > 1 else {}), float(n)
        else:
            slope = {name: ("cos" if kind == "sin" else "sin", n)}
            value = (n if kind == "sin" else -n) * np.pi / library.units[q]
        k = _place(others | slope, library)
        if k is None:
            return None
        out[q, k] = value
    return out


def _place(factors: Factors, library: Library) -> int | None:
    if not factors:
        return library.find("1")
    ordered = sorted(factors.items(), key=lambda f: library.variables.index(f[0]))
    powers = [f"{v}^{n}" for v, (kind, n) in ordered if kind == "power"]
    harmonics = [
        f"{kind}({v if n == 1 else f'{n}*{v}'})" for v, (kind, n) in ordered if kind != "power"
    ]
    texts = [t.removesuffix("^1") for t in powers]
    return library.find("*".join([*texts, *harmonics]))


def _internal_slope(potential: Library, library: Library, q: int, of_terms: Floats) -> Floats:
    """Return D with ∂/∂y_q of the potential's internal functions j = Σ_i D_ij g_i; (J, J_U)."""
    place = {e: j for j, e in enumerate(library.internal_exponents)}
    out = np.zeros((library.internal_size, potential.internal_size))
    for j, e in enumerate(potential.internal_exponents):
        unit = np.zeros(e[q] + 1)
        unit[-1] = 1.0
        for m, c in enumerate(chebyshev.chebder(unit) if e[q] else ()):
            if c:
                out[place[(*e[:q], m, *e[q + 1 :])], j] = c
    for j, k in enumerate(potential.other, start=len(potential.internal_exponents)):
        out[:, j] = library.units[q] * (of_terms[:, k] @ library.term_rows)
    return out
