"""Errors of reading: a problem that names the place in the file and says what to try."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the child process starts faster without pydantic
    from contract.problems import ProblemError


class UnreadableData(Exception):
    """The upload cannot be read, or can be read in more than one way."""

    def __init__(
        self,
        detail: str,
        *hints: str,
        code: str = "unreadable-data",
        errors: Sequence["ProblemError"] = (),
        status: int = 422,
    ) -> None:
        """Describe what is wrong (`detail`, `errors`) and what to try (`hints`)."""
        super().__init__(detail)
        self.detail = detail
        self.code = code
        self.errors = tuple(errors)
        self.hints = hints
        self.status = status

    def to_json(self) -> dict[str, Any]:
        """Return the error as JSON, from which `from_json` restores it."""
        return {
            "detail": self.detail,
            "code": self.code,
            "errors": [error.model_dump() for error in self.errors],
            "hints": list(self.hints),
            "status": self.status,
        }

    @classmethod
    def from_json(cls, given: dict[str, Any]) -> "UnreadableData":
        """Restore an error from the JSON that `to_json` returned in another process."""
        from contract.problems import ProblemError

        rest = dict(given)
        errors = [ProblemError(**error) for error in rest.pop("errors")]
        return cls(rest.pop("detail"), *rest.pop("hints"), errors=errors, **rest)


def too_large(detail: str, *hints: str) -> UnreadableData:
    """Make the error for more data than one upload may hold (413)."""
    return UnreadableData(detail, *hints, code="too-large-data", status=413)


def unsupported(detail: str, *hints: str) -> UnreadableData:
    """Make the error for a format that is not read (415)."""
    return UnreadableData(detail, *hints, code="unsupported-media-type", status=415)


def layout_fault(field: str, detail: str, *hints: str, key: str | None = None) -> UnreadableData:
    """Make the error for a layout whose `field`, or a `key` in it, does not fit the file (422)."""
    from contract.problems import ProblemError

    inside = "" if key is None else "/" + key.replace("~", "~0").replace("/", "~1")
    return UnreadableData(
        detail,
        *hints,
        code="layout-mismatch",
        errors=[ProblemError(detail=detail, pointer=f"#/layout/{field}{inside}")],
    )
