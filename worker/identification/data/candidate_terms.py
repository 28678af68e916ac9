"""Default terms of a library: monomials, harmonics of angles, and products of both."""

from itertools import product

from worker.identification.data.terms import monomial_name
from worker.identification.errors import InvalidLibrary

Exponents = tuple[int, ...]

MOST_TERMS = 250


def candidate_terms(
    variables: tuple[str, ...], circular: tuple[bool, ...], degree: int, harmonics: int
) -> list[str]:
    """List the names of the terms, lowest total degree first.

    The n-th harmonic of an angle counts as degree n. The product of a monomial of degree p and
    harmonics of total h is included where p ≤ degree, h ≤ harmonics and p + h ≤ max(degree,
    harmonics).

    Parameters
    ----------
    variables : names of the d variables
    circular : whether each variable is an angle
    degree : highest total degree of the monomials
    harmonics : highest total number of the harmonics

    Raises
    ------
    InvalidLibrary : there would be more than `MOST_TERMS` terms
    """
    count = _count(circular, degree, harmonics)
    if count > MOST_TERMS:
        raise InvalidLibrary(
            f"Total degree {degree} in {len(variables)} variables has {count} terms; "
            f"the maximum is {MOST_TERMS}.",
            hints=(
                "Lower library.polynomial_degree or library.fourier_harmonics, "
                "or choose fewer columns in layout.state_columns.",
            ),
        )
    found: list[tuple[int, tuple[int, ...], tuple[int, ...]]] = []

    def extend(chosen: tuple[tuple[int, bool], ...], p: int, h: int) -> None:
        """Append every choice for the open variables; (power or harmonic, whether a cosine)."""
        i = len(chosen)
        if i == len(variables):
            found.append(
                (p + h, tuple(-n for n, _ in chosen), tuple(int(cosine) for _, cosine in chosen))
            )
            return
        if circular[i]:
            for n in range(min(harmonics - h, max(degree, harmonics) - p - h) + 1):
                for cosine in (False, True)[: 2 if n else 1]:
                    extend((*chosen, (n, cosine)), p, h + n)
        else:
            for n in range(min(degree - p, max(degree, harmonics) - p - h) + 1):
                extend((*chosen, (n, False)), p + n, h)

    extend((), 0, 0)
    return [
        _name(variables, circular, tuple(-n for n in numbers), cosines)
        for _, numbers, cosines in sorted(found)
    ]


def _name(
    variables: tuple[str, ...],
    circular: tuple[bool, ...],
    numbers: Exponents,
    cosines: tuple[int, ...],
) -> str:
    powers = tuple(0 if circle else n for n, circle in zip(numbers, circular, strict=True))
    factors = [] if not any(powers) else [monomial_name(powers, variables)]
    for variable, circle, n, cosine in zip(variables, circular, numbers, cosines, strict=True):
        if circle and n:
            factors.append(
                f"{'cos' if cosine else 'sin'}({variable if n == 1 else f'{n}*{variable}'})"
            )
    return "*".join(factors) if factors else "1"


def _count(circular: tuple[bool, ...], degree: int, harmonics: int) -> int:
    """Count the terms without making them, by convolving the counts by (p, h) over variables."""
    top = max(degree, harmonics)
    counts = [[0] * (top + 1) for _ in range(top + 1)]
    counts[0][0] = 1
    for circle in circular:
        new = [[0] * (top + 1) for _ in range(top + 1)]
        for p, h in product(range(top + 1), repeat=2):
            for n in range(top - p - h + 1):
                if circle and h + n <= harmonics:
                    new[p][h + n] += counts[p][h] * (2 if n else 1)
                elif not circle and p + n <= degree:
                    new[p + n][h] += counts[p][h]
        counts = new
    return sum(map(sum, counts))
