"""RFC 9457 problems: what is wrong, where, and what to try."""

from pydantic import Field

from contract.base import Document


class ProblemError(Document):
    """One error and its location."""

    detail: str
    """Explanation of the error, for people."""
    pointer: str | None = None
    """JSON Pointer to the invalid field, e.g. `#/parameters/kernels/count`."""
    code: str | None = None
    """Stable, machine-readable code."""


class Problem(Document):
    """Body of every error response (`application/problem+json`, RFC 9457)."""

    type: str
    """URI of the problem type: `urn:itoscope:problem:<code>`."""
    title: str
    """Title, the same for every problem with this code."""
    status: int = Field(ge=400, le=599)
    """HTTP status of the response."""
    code: str
    """Stable, machine-readable code; see docs/problems.md."""
    detail: str
    """Explanation of this case, for people."""
    instance: str | None = None
    """The request that caused this problem."""
    errors: tuple[ProblemError, ...] = ()
    """Each error and its location."""
    hints: tuple[str, ...] = ()
    """Suggestions for what to try next."""


def problem(
    status: int,
    code: str,
    title: str,
    detail: str,
    *hints: str,
    errors: tuple[ProblemError, ...] = (),
) -> Problem:
    """Build a problem whose type follows from its code."""
    return Problem(
        type=f"urn:itoscope:problem:{code}",
        title=title,
        status=status,
        code=code,
        detail=detail,
        errors=errors,
        hints=hints,
    )
