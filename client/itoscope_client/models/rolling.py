"""What a window moved along a record found: numbers by window."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from itoscope_client.inputs.optional import needed
from itoscope_client.models.estimates import Estimate, estimate_of

Floats = NDArray[np.float64]


class Rolling:
    """The model of every window, in order of time; its terms are those of the whole record.

    document   the result as the service gave it; whatever has no name here is in it
    """

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document = document
        self._windows: tuple[Mapping[str, Any], ...] = tuple(document["windows"])

    @property
    def job_id(self) -> str:
        """The job that found it."""
        return str(self.document["job"])

    @property
    def begins(self) -> Floats:
        """(n,) where each window begins [time]."""
        return np.array([window["begin"] for window in self._windows], dtype=np.float64)

    @property
    def ends(self) -> Floats:
        """(n,) where each window ends [time]."""
        return np.array([window["end"] for window in self._windows], dtype=np.float64)

    @property
    def times(self) -> Floats:
        """(n,) the middle of each window [time]."""
        return (self.begins + self.ends) / 2

    @property
    def gaps(self) -> tuple[Estimate, ...]:
        """The slowest rate λ₁ of each window, with its interval [1/time]."""
        return tuple(estimate_of(window["gap"]) for window in self._windows)

    @property
    def relaxation_times(self) -> tuple[Estimate, ...]:
        """1/λ₁ of each window [time]."""
        return tuple(estimate_of(window["relaxation_time"]) for window in self._windows)

    def coefficient(self, term: str, of: str = "drift") -> tuple[Floats, Floats]:
        """(n,) values of a term of the drift or the diffusion, and their standard errors; NaN where a window does not tell.

        Raises LookupError where the model has no such term.
        """
        if of not in ("drift", "diffusion"):
            raise LookupError(f"coefficients are of the drift or of the diffusion, not of {of!r}")
        found = [
            next((t for t in window[of] if t["term"] == term), None) for window in self._windows
        ]
        if all(entry is None for entry in found):
            there = (
                ", ".join(entry["term"] for entry in self._windows[0][of])
                if self._windows
                else "none"
            )
            raise LookupError(f"the {of} has no term {term!r}; it has {there}")
        rows = [
            (None, None) if entry is None else (entry["value"], entry["std_error"])
            for entry in found
        ]
        values = np.array(rows, dtype=np.float64)
        return values[:, 0], values[:, 1]

    @property
    def trend(self) -> Mapping[str, Any]:
        """Whether the gap closes: `slope` of log λ₁ with its interval `ci` and `z`, `factor` from first to last, `p_value`."""
        trend: Mapping[str, Any] = self.document["trend"]
        return trend

    @property
    def warnings(self) -> tuple[Mapping[str, Any], ...]:
        """What its reader should know: `code`, `message`, `details`."""
        return tuple(self.document.get("warnings", ()))

    def to_frame(self) -> Any:
        """A window a row of a pandas DataFrame. Raises MissingDependency."""
        pandas = needed("pandas", "to_frame()")
        numbers: dict[str, Any] = {"begin": self.begins, "end": self.ends}
        for name, estimates in (("gap", self.gaps), ("relaxation_time", self.relaxation_times)):
            ends = np.array(
                [(None, None) if e.ci is None else e.ci for e in estimates], dtype=np.float64
            ).reshape(-1, 2)
            numbers[name] = [float(e) for e in estimates]
            numbers[f"{name}_low"], numbers[f"{name}_high"] = ends.T
        for of in ("drift", "diffusion"):
            for entry in self._windows[0][of] if self._windows else ():
                values, errors = self.coefficient(entry["term"], of)
                numbers[f"{of} {entry['term']}"], numbers[f"{of} {entry['term']} std_error"] = (
                    values,
                    errors,
                )
        return pandas.DataFrame(numbers)
