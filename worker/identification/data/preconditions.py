"""Preconditions of the data: independent variables, no undeclared angle, finite distinct terms."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from grammar.terms import Binary, Call, Number, Tree, variable_name
from worker.identification.data.compiled import compiled
from worker.identification.data.library import Library
from worker.identification.data.terms import evaluate
from worker.identification.data.trajectories import CHUNK, Floats, Integers, Trajectories
from worker.identification.data.windows import Space
from worker.identification.errors import CollinearVariables, InvalidLibrary, WrappedVariable

LARGEST_STEP_RATIO = 3.0
"""Largest ratio of the rms step over the cut of a circle to the rms of all other steps."""


def check_independent(data: Trajectories) -> None:
    """Raise CollinearVariables where a column is constant or a linear combination of the others."""
    d = data.dimension
    if d == 1:
        return
    sample = np.asarray(data.states[:: max(1, len(data.states) // 100_000)])
    centred = sample - sample.mean(axis=0)
    spread = np.sqrt((centred**2).mean(axis=0))
    constant = [
        variable_name(i) for i in range(d) if not spread[i] > 1e-12 * np.abs(sample[:, i]).max()
    ]
    moving = [i for i in range(d) if variable_name(i) not in constant]
    dependent: list[str] = []
    if moving:
        relative = centred[:, moving] / spread[moving]
        singular = np.linalg.svd(relative, compute_uv=False)
        if singular[-1] < 1e-6 * singular[0]:
            part = np.abs(np.linalg.svd(relative, full_matrices=False)[2][-1])
            dependent = [variable_name(moving[k]) for k in np.flatnonzero(part > 1e-3 * part.max())]
    if constant or dependent:
        what = (
            f"{', '.join(constant)} does not vary"
            if constant
            else f"of {', '.join(dependent)} one is a linear combination of the others"
        )
        raise CollinearVariables(
            f"The {d} state columns are linearly dependent (collinear): {what}. "
            "The equations of such variables are singular.",
            hints=(
                f"Leave {(constant or dependent)[-1]} out: name the other columns in "
                "layout.state_columns and upload again.",
            ),
        )


def check_unwrapped(data: Trajectories, space: Space) -> None:
    """Raise WrappedVariable where a variable without a period wraps around its range.

    Such a variable jumps between the ends of its range, and never half as far. A diffusion that
    crosses its whole range in one step also crosses half of it in many. A wild reading, or a switch
    between two values, does not land where the step would have ended on a circle of this range.
    """
    whole = np.array([scales.high - scales.low for scales in space.scales])
    halfway, jumps = _long_steps(data.states, data.segments, whole)
    for i, (scales, period) in enumerate(zip(space.scales, space.periods, strict=True)):
        jumping = period is None and jumps[i] >= 3 and halfway[i] < 0.2 * jumps[i]
        if jumping and _goes_round_a_circle(data, i, float(whole[i])):
            name, ends = variable_name(i), f"[{scales.low:.5g}, {scales.high:.5g}]"
            declared = f'parameters.periodic {{"{name}": {_likely_period(float(whole[i])):.6g}}}'
            raise WrappedVariable(
                f"Variable {name} jumps {int(jumps[i])} times from one end of its range {ends} "
                "to the other: an angle that wraps, or another periodic coordinate. "
                "A diffusion does not make such jumps.",
                hints=(f"Declare its period, e.g. {declared}, or unwrap it before uploading.",),
            )


def _goes_round_a_circle(data: Trajectories, i: int, whole: float) -> bool:
    """Return whether the long steps of variable i are as short as the others on a circle.

    The circle is as long as the range of the variable.
    """
    over_the_cut, n_cut, others, n_others = 0.0, 0, 0.0, 0
    for start, stop, _ in data.segments:
        for left in range(int(start), int(stop) - 1, CHUNK):
            size = np.abs(np.diff(data.states[left : min(left + CHUNK + 1, int(stop)), i])) / whole
            long = size > 0.75
            over_the_cut, n_cut = (
                over_the_cut + float(np.sum((1 - size[long]) ** 2)),
                n_cut + int(long.sum()),
            )
            others, n_others = (
                others + float(np.sum(size[~long] ** 2)),
                n_others + int((~long).sum()),
            )
    return others > 0 and over_the_cut * n_others <= LARGEST_STEP_RATIO**2 * others * n_cut


@compiled
def _long_steps(states: Floats, segments: Integers, whole: Floats) -> tuple[Integers, Integers]:
    """Count the increments of 0.4 to 0.75, and of over 0.75 times the whole range; each (d,)."""
    d = states.shape[1]
    halfway, jumps = np.zeros(d, np.int64), np.zeros(d, np.int64)
    for s in range(segments.shape[0]):
        for n in range(segments[s, 0], segments[s, 1] - 1):
            for i in range(d):
                size = abs(states[n + 1, i] - states[n, i])
                if size > 0.4 * whole[i]:
                    if size > 0.75 * whole[i]:
                        jumps[i] += 1
                    else:
                        halfway[i] += 1
    return halfway, jumps


def _likely_period(span: float) -> float:
    """Return a usual period that a range of this length fills, else the range."""
    return next(
        (p for p in (360.0, 2 * np.pi, 180.0, np.pi, 24.0, 1.0) if 0.95 * p <= span <= p * 1.001),
        span,
    )


LARGEST_NUMBER = 1e20
"""Number in a term, of which a few in a product, with powers of the state, stay usual numbers."""

LARGEST_VALUE = 1e100
"""Value of a term, of which third powers are still doubles."""

DEPENDENT_BELOW = 1e-7
"""Root mean square of the part of a term that earlier terms leave, below which it is dependent."""

MATERIAL = 1e-6
"""Share of a term below which the part that another term has in it is rounding."""


def check_values(data: Trajectories, library: Library, space: Space) -> None:
    """Raise InvalidLibrary where a term has no value that can be computed with.

    The message names the term and the first such sample.
    """
    uncertain = [k for k in library.other if _may_fail(library.trees[k])]
    if not uncertain:
        return
    for first in range(0, len(data.states), CHUNK):
        states = space.rows(data, slice(first, first + CHUNK))
        internal = (states - np.array(library.origins)) / np.array(library.units)
        arguments = library.raw_arguments(internal)
        for k in uncertain:
            found = evaluate(library.trees[k], arguments)
            bad = ~(np.abs(found) <= LARGEST_VALUE) & np.isfinite(states).all(axis=1)
            if bad.any():
                row = int(np.argmax(bad))
                value = (
                    f"the value {found[row]:.3g}" if np.isfinite(found[row]) else "no finite value"
                )
                where = ", ".join(
                    f"{v} = {x:.6g}" for v, x in zip(library.variables, states[row], strict=True)
                )
                raise InvalidLibrary(
                    f"The term {library.names[k]} has {value} at {where} "
                    f"(sample {first + row + 1}).",
                    hints=(
                        "Remove it from library.extra_terms, or write it so that it is finite, "
                        "and less than 1e100, on all the data, e.g. sqrt(x^2+1) or 1/(1+x^2).",
                    ),
                )


def _may_fail(tree: Tree) -> bool:
    """Return whether the value at some usual argument is too large or not finite."""
    match tree:
        case Number(value):
            return abs(value) > LARGEST_NUMBER
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
        if np.sqrt((rest**2).mean()) < DEPENDENT_BELOW:
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
