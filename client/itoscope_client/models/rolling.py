"""The models of windows along a record."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from itoscope_client.errors import needed
from itoscope_client.models.estimates import Estimate, estimate_of
from itoscope_client.models.spelling import in_symbols, renamed

Floats = NDArray[np.float64]


class Rolling:
    """The models of all windows in order of time, with the terms of the whole record.

    document   the service's result document, with what has no property here
    """

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document = document
        described = (document.get("data") or {}).get("variables") or ()
        self._symbols = {v["name"]: v["symbol"] for v in described if v.get("symbol")}
        self._windows: tuple[Mapping[str, Any], ...] = tuple(in_symbols(document)["windows"])

    def __repr__(self) -> str:
        return f"<Rolling {in_words(self)}>"

    @property
    def job_id(self) -> str:
        """Identifier of the job that found the models."""
        return str(self.document["job"])

    @property
    def begins(self) -> Floats:
        """Begin of each window, (n,) [time]."""
        return np.array([window["begin"] for window in self._windows], dtype=np.float64)

    @property
    def ends(self) -> Floats:
        """End of each window, (n,) [time]."""
        return np.array([window["end"] for window in self._windows], dtype=np.float64)

    @property
    def times(self) -> Floats:
        """Middle of each window, (n,) [time]."""
        return (self.begins + self.ends) / 2

    @property
    def gaps(self) -> tuple[Estimate, ...]:
        """Slowest rate λ₁ of each window with its confidence interval [1/time]."""
        return tuple(estimate_of(window["gap"]) for window in self._windows)

    @property
    def relaxation_times(self) -> tuple[Estimate, ...]:
        """Relaxation time 1/λ₁ of each window with its confidence interval [time]."""
        return tuple(estimate_of(window["relaxation_time"]) for window in self._windows)

    @property
    def correlation_times(self) -> tuple[Estimate, ...]:
        """Correlation time τ of the noise of each window with its confidence interval [time].

        Empty unless `parameters.dynamics` was `coloured-noise`.
        """
        found = (window.get("correlation_time") for window in self._windows)
        return tuple(estimate_of(time) for time in found if time is not None)

    def coefficient(self, term: str, of: str = "drift") -> tuple[Floats, Floats]:
        """Return a term's values in drift or diffusion, (n,), and their standard errors, (n,).

        Both are NaN where a window does not determine them. Raises LookupError for an unknown term.
        """
        if of not in ("drift", "diffusion"):
            raise LookupError(f"coefficients are of the drift or of the diffusion, not of {of!r}")
        name = renamed(term, self._symbols)
        found = [
            next((t for t in window[of] if t["term"] == name), None) for window in self._windows
        ]
        if all(entry is None for entry in found):
            known = [entry["term"] for entry in self._windows[0][of]] if self._windows else ["none"]
            there = ", ".join(known)
            raise LookupError(f"the {of} has no term {term!r}; it has {there}")
        rows = [
            (None, None) if entry is None else (entry["value"], entry["std_error"])
            for entry in found
        ]
        values = np.array(rows, dtype=np.float64)
        return values[:, 0], values[:, 1]

    @property
    def trend(self) -> Mapping[str, Any]:
        """Trend of the spectral gap.

        It has the `slope` of log λ₁ with its interval `ci` and `z`, the `factor` between the first
        window and the last, and a `p_value`.
        """
        trend: Mapping[str, Any] = self.document["trend"]
        return trend

    @property
    def correlation_time_trend(self) -> Mapping[str, Any] | None:
        """Trend of the noise's correlation time, as `trend`; None unless it was asked for."""
        trend: Mapping[str, Any] | None = self.document.get("correlation_time_trend")
        return trend

    @property
    def warnings(self) -> tuple[Mapping[str, Any], ...]:
        """Warnings, each with `code`, `message` and `details`."""
        return tuple(self.document.get("warnings", ()))

    def to_frame(self) -> Any:
        """Return every window as a row of a pandas DataFrame. Raises MissingDependency."""
        pandas = needed("pandas", "to_frame()")
        numbers: dict[str, Any] = {"begin": self.begins, "end": self.ends}
        for name, estimates in (
            ("gap", self.gaps),
            ("relaxation_time", self.relaxation_times),
            ("correlation_time", self.correlation_times),
        ):
            if not estimates:
                continue
            ends = np.array(
                [(None, None) if e.ci is None else e.ci for e in estimates], dtype=np.float64
            ).reshape(-1, 2)
            numbers[name] = [float(e) for e in estimates]
            numbers[f"{name}_low"], numbers[f"{name}_high"] = ends.T
        for of in ("drift", "diffusion"):
            for entry in self._windows[0][of] if self._windows else ():
                values, errors = self.coefficient(entry["term"], of)
                numbers[f"{of} {entry['term']}"] = values
                numbers[f"{of} {entry['term']} std_error"] = errors
        return pandas.DataFrame(numbers)


def in_words(rolling: Rolling) -> str:
    """Write number and time of the windows, and how the spectral gap changes."""
    if not rolling.gaps:
        return "no windows"
    first, last = rolling.gaps[0], rolling.gaps[-1]
    span = f"t = {rolling.begins[0]:.4g} to {rolling.ends[-1]:.4g}"
    factor = estimate_of(rolling.trend.get("factor"))
    changed = "" if factor.value is None else f"; trend: a factor of {factor}"
    said = f"{len(rolling.gaps)} windows, {span}; spectral gap {first} to {last}{changed}"
    times = rolling.correlation_times
    if not times:
        return said
    factor = estimate_of((rolling.correlation_time_trend or {}).get("factor"))
    changed = "" if factor.value is None else f"; trend: a factor of {factor}"
    return f"{said}; correlation time of the noise {times[0]} to {times[-1]}{changed}"
