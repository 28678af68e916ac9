"""What was assumed, and what the user should know, collected while reading."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Notes:
    """Sentences in the order in which they came up."""

    assumptions: list[str] = field(default_factory=list)
    warnings: list[dict[str, Any]] = field(default_factory=list)
    dt_in_file: tuple[float, str | None, str] | None = None
    """Sampling interval that the file itself names outside its columns, its unit, and the words that name it."""
    orientation: str | None = None
    """How the axes were understood, as a value of Layout.orientation."""
    n_missing: int = 0
    n_duplicate_times: int = 0
    n_gaps: int = 0

    def assume(self, sentence: str) -> None:
        """Note an inference, once."""
        if sentence not in self.assumptions:
            self.assumptions.append(sentence)

    def warn(self, code: str, message: str, **details: Any) -> None:
        """Note something that may change the answer, in a sentence with what to try."""
        self.warnings.append({"code": code, "message": message, "details": details})
