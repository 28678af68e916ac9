"""Checks of terms that are not monomials: finite on all the data, and independent of the others."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grammar.terms import Binary, Call, Number, Tree
from worker.identification.data.library import Library
from worker.identification.data.terms import evaluate
from worker.identification.data.trajectories import CHUNK, Trajectories
from worker.identification.errors import InvalidLibrary

Floats = NDArray[np.float64]

SAME = 1e-7
"""Root mean square of the part of a term that earlier terms leave, below which it is dependent."""

MATERIAL = 1e-6
"""Share of a term below which the part that another term has in it is rounding."""


def check_values(data: Trajectories, library: Library) -> None:
    """Raise InvalidLibrary where a term has no finite value, naming it and the first sample."""
    uncertain = [k for k in library.other if _may_fail(library.trees[k])]
    if not uncertain:
        return
    for first in range(0, len(data.states), CHUNK):
        states = np.asarray(data.states[first : first + CHUNK], dtype=np.float64)
        internal = (states - np.array(library.origins)) / np.array(library.units)
        arguments = library.raw_arguments(internal)
        for k in uncertain:
            bad = ~np.isfinite(evaluate(library.trees[k], arguments)) & np.isfinite(states).all(
                axis=1
            )
            if bad.any():
                row = int(np.argmax(bad))
                where = ", ".join(
                    f"{v} = {x:.6g}" for v, x in zip(library.variables, states[row], strict=True)
                )
                raise InvalidLibrary(
                    f"The term {library.names[k]} has no finite value at {where} "
                    f"(sample {first + row + 1}).",
                    hints=(
                        "Remove it from library.extra_terms, or write it so that it is finite on "
                        "all the data, e.g. sqrt(x^2+1) or 1/(1+x^2).",
                    ),
                )


def _may_fail(tree: Tree) -> bool:
    """Return whether the value at some finite argument is not finite."""
    match tree:
        case Call(function, argument):
            return function in ("log", "sqrt", "exp") or _may_fail(argument)
        case Binary("/", left, Number(value)):
            return value == 0 or _may_fail(left)
        case Binary("^", base, Number(exponent)) if exponent == int(exponent) and exponent >= 0:
            return _may_fail(base)
        case Binary("/" | "^"):
            return True
        case Binary(_, left, right):
            return _may_fail(left) or _may_fail(right)
    return False


@dataclass(frozen=True, slots=True)
class Dependence:
    """Term that on the data is a combination of the terms `of` before it in the library."""

    term: str
    of: tuple[str, ...]


def dependences(library: Library, y: Floats) -> Iterator[Dependence]:
    """Find the terms that earlier terms make up on a sample of internal states (n, d).

    Monomials are not tested: they never depend on each other exactly, and where they nearly do,
    selection judges them through the exact change of basis.
    """
    functions = library.internal(y)
    n_polynomials = functions.shape[1] - len(library.other)
    norms = np.sqrt((functions**2).mean(axis=0))
    columns = np.asarray(functions / np.where(norms > 0, norms, 1))
    names = [*library.names]
    for j, k in enumerate(library.other, start=n_polynomials):
        parts, *_ = np.linalg.lstsq(columns[:, :j], columns[:, j], rcond=1e-13)
        rest = columns[:, j] - columns[:, :j] @ parts
        if np.sqrt((rest**2).mean()) < SAME:
            involved = np.abs(parts) > MATERIAL
            others = [
                names[m]
                for i, m in enumerate(library.other, start=n_polynomials)
                if i < j and involved[i]
            ]
            yield Dependence(
                names[k],
                (
                    *_monomials(library, np.asarray(parts[:n_polynomials]), norms[:n_polynomials]),
                    *others,
                ),
            )


def _monomials(library: Library, parts: Floats, norms: Floats) -> list[str]:
    """Name the monomials in Σ parts · g, for functions g of these norms."""
    monomials = [k for k, e in enumerate(library.exponents) if e is not None]
    rows = np.array([[float(v) for v in library.change_of_basis[k]] for k in monomials]).reshape(
        len(monomials), -1
    )
    basis = rows[:, : len(parts)] * norms
    scales = np.linalg.norm(basis, axis=1)
    raw, *_ = np.linalg.lstsq((basis / scales[:, None]).T, parts, rcond=1e-13)
    return [
        library.names[k] for k, value in zip(monomials, raw, strict=True) if abs(value) > MATERIAL
    ]
