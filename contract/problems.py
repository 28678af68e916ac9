"""RFC 9457 problems: what is wrong, where, and what to try."""

from pydantic import Field

from contract.base import Document


class ProblemError(Document):
    """One fault at one place."""

    detail: str
    """For people."""
    pointer: str | None = None
    """JSON Pointer to the field at fault, e.g. `#/parameters/kernels/count`."""
    code: str | None = None
    """Stable and machine-readable."""


class Problem(Document):
    """The body of every answer that is not a success (`application/problem+json`)."""

    type: str
    """`urn:itoscope:problem:<code>`."""
    title: str
    """The same for every problem of this code."""
    status: int = Field(ge=400, le=599)
    """Of the answer (HTTP)."""
    code: str
    """Stable and machine-readable; see docs/problems.md."""
    detail: str
    """What is wrong here."""
    instance: str | None = None
    """The request this problem answers."""
    errors: tuple[ProblemError, ...] = ()
    """Each fault and its place."""
    hints: tuple[str, ...] = ()
    """What to try next."""


def problem(
    status: int, code: str, title: str, detail: str, *, errors: tuple[ProblemError, ...] = (), hints: tuple[str, ...] = ()
) -> Problem:
    """A problem whose type follows from its code."""
    return Problem(
        type=f"urn:itoscope:problem:{code}", title=title, status=status, code=code, detail=detail, errors=errors, hints=hints
    )
