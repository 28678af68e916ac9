"""Assumptions and warnings that the readers collect for the report."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Notes:
    """Assumptions, warnings and counts, in the order in which they arose."""

    assumptions: list[str] = field(default_factory=list)
    warnings: list[dict[str, Any]] = field(default_factory=list)
    dt_in_file: tuple[float, str | None, str] | None = None
    """Sampling interval that the file names outside its columns, its unit, and the words that name
    it."""
    orientation: str | None = None
    """Orientation that was inferred, as a value of Layout.orientation."""
    n_missing: int = 0
    n_duplicate_times: int = 0
    n_gaps: int = 0

    def assume(self, sentence: str) -> None:
        """Add an assumption, unless it is there already."""
        if sentence not in self.assumptions:
            self.assumptions.append(sentence)

    def warn(self, code: str, message: str, **details: Any) -> None:
        """Add a warning of something that may change the result; the message says what to try."""
        self.warnings.append({"code": code, "message": message, "details": details})
