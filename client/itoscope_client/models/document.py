"""The document of a model, read: what it is, its coefficients, and what its generator says."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from itoscope_client.inputs.optional import needed
from itoscope_client.models.estimates import Passage, Term, passage_of, terms_of
from itoscope_client.models.process import Process, process_of

Floats = NDArray[np.float64]


class ModelDocument:
    """dX = b(X) dt + σ(X) dW in the Itô sense, with a = σσᵀ (twice the physicists' D), and what its generator says.

    document   the result as the service gave it; whatever has no name here is in it
    """

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document = document
        self.process: Process = process_of(document)
        self.terms: tuple[Term, ...] = terms_of(document)

    # What it is

    @property
    def job_id(self) -> str:
        """The job that found it."""
        return str(self.document["job"])

    @property
    def source(self) -> dict[str, Any]:
        """What the service knows it by: its job's id, or, where that job found several models, its terms."""
        if self.document.get("kind") != "sweep":
            return {"job": self.job_id}
        parameters = self.document["provenance"]["parameters"]
        terms = {
            function: {
                component: {term["term"]: term["value"] for term in part["terms"] if term["active"]}
                or {"1": 0.0}
                for component, part in self.document["model"][function].items()
            }
            for function in ("drift", "diffusion")
        }
        return {
            **terms,
            **{name: parameters[name] for name in ("domain", "periodic") if parameters.get(name)},
        }

    @property
    def variables(self) -> tuple[str, ...]:
        """x, y, z, …"""
        return self.process.variables

    @property
    def equations(self) -> tuple[str, ...]:
        """`b_x = 0.87*x - 0.92*x^3`, `a_xx = 0.26`, as text."""
        model = self.document["model"]
        drift = [f"b_{name} = {part['expression']}" for name, part in model["drift"].items()]
        return (
            *drift,
            *(
                f"a_{pair.replace(',', '')} = {part['expression']}"
                for pair, part in model["diffusion"].items()
            ),
        )

    def drift(self, x: ArrayLike) -> Floats:
        """b at states: of one variable any shape, of several (…, d) → the same shape [state/time]."""
        return self.process.drift_at(x)

    def diffusion(self, x: ArrayLike) -> Floats:
        """a = σσᵀ at states: of one variable any shape → the same; of several (…, d) → (…, d, d) [state²/time]."""
        return self.process.diffusion_at(x)

    # Its coefficients

    @property
    def active_terms(self) -> tuple[Term, ...]:
        """The terms that were kept."""
        return tuple(term for term in self.terms if term.active)

    @property
    def names(self) -> tuple[str, ...]:
        """Of the kept terms: `b_x: x^3`."""
        return tuple(term.name for term in self.active_terms)

    @property
    def values(self) -> Floats:
        """Coefficients of the kept terms, in the order of `names`."""
        return np.array([term.value for term in self.active_terms])

    @property
    def std_errors(self) -> Floats:
        """Their standard errors; NaN for a model that was given."""
        return np.array(
            [np.nan if term.std_error is None else term.std_error for term in self.active_terms]
        )

    @property
    def intervals(self) -> Floats:
        """Their confidence intervals, (n, 2); NaN likewise."""
        ends = [(None, None) if term.ci is None else term.ci for term in self.active_terms]
        return np.array(ends, dtype=np.float64).reshape(-1, 2)

    def to_frame(self) -> Any:
        """Every candidate term as a row of a pandas DataFrame. Raises MissingDependency."""
        pandas = needed("pandas", "to_frame()")
        rows = [
            {
                "function": term.function, "component": term.component, "term": term.term, "value": term.value,
                "std_error": term.std_error, "ci_low": None if term.ci is None else term.ci[0],
                "ci_high": None if term.ci is None else term.ci[1], "z": term.z, "active": term.active,
            }
            for term in self.terms
        ]  # fmt: skip
        frame = pandas.DataFrame(rows)
        numbers = ["value", "std_error", "ci_low", "ci_high", "z"]
        return frame.astype(dict.fromkeys(numbers, float))

    # What its generator says

    @property
    def ergodic(self) -> bool | None:
        """Whether it has a stationary law; None where the model alone was asked for."""
        found: bool | None = self.document["generator"]["ergodic"]
        return found

    @property
    def reason(self) -> str | None:
        """Why it has none, or why nothing is known about it."""
        reason: str | None = self.document["generator"].get("reason")
        return reason

    @property
    def relaxation_times(self) -> Floats:
        """Slowest first [time]; empty where there is no stationary law."""
        return np.array(
            (self.document["generator"].get("spectrum") or {}).get("relaxation_times", []),
            dtype=np.float64,
        )

    @property
    def relaxation_interval(self) -> tuple[float, float] | None:
        """Confidence interval of the slowest relaxation time [time]; None where there is none, or it is open."""
        found = (self.document["generator"].get("spectrum") or {}).get("eigenvalues") or [{}]
        ends = found[0].get("ci")
        return (1 / ends[1], 1 / ends[0]) if ends and None not in ends and min(ends) > 0 else None

    @property
    def rates(self) -> NDArray[np.complex128]:
        """Eigenvalues of −L, slowest first [1/time]; the imaginary part turns."""
        found = (self.document["generator"].get("spectrum") or {}).get("eigenvalues", [])
        return np.array(
            [complex(value["re"], value.get("im", 0.0)) for value in found], dtype=np.complex128
        )

    @property
    def passages(self) -> tuple[Passage, ...]:
        """First passages between neighbouring wells, and those that were asked for."""
        return tuple(
            passage_of(document) for document in self.document["generator"].get("passages", ())
        )

    def known_passage(self, start: Any, end: Any) -> Passage | None:
        """The passage in the result, if it is there."""
        return next((p for p in self.passages if _same(p.start, start) and _same(p.end, end)), None)

    @property
    def warnings(self) -> tuple[Mapping[str, Any], ...]:
        """What its reader should know: `code`, `message`, `details`."""
        return tuple(self.document.get("warnings", ()))


def _same(a: Any, b: Any) -> bool:
    """Whether two places are one."""
    if isinstance(a, Mapping) or isinstance(b, Mapping):
        return isinstance(a, Mapping) and isinstance(b, Mapping) and _region(a) == _region(b)
    one, other = _point(a), _point(b)
    return len(one) == len(other) and bool(np.allclose(one, other, rtol=1e-9, atol=0.0))


def _point(place: Any) -> Sequence[float]:
    return [float(x) for x in np.atleast_1d(np.asarray(place, dtype=np.float64))]


def _region(place: Mapping[str, Sequence[float | None]]) -> dict[str, tuple[float | None, ...]]:
    """Without the variables that are open on both sides."""
    return {
        name: tuple(ends) for name, ends in place.items() if any(end is not None for end in ends)
    }
