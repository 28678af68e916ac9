"""Estimated numbers with their errors."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from itoscope_client.models.numbers import with_interval

Floats = NDArray[np.float64]


Ends = tuple[float | None, float | None]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its confidence interval, or None with the reason."""

    value: float | None
    ci: Ends | None = None
    reason: str | None = None

    def __float__(self) -> float:
        return float("nan") if self.value is None else self.value

    def __str__(self) -> str:
        value, interval = self.texts
        return f"{value} ({interval})" if interval else value

    @property
    def texts(self) -> tuple[str, str]:
        """The number and its interval as text, or the reason and nothing."""
        if self.value is None:
            return self.reason or "none", ""
        return with_interval(self.value, self.ci)


@dataclass(frozen=True, slots=True)
class Response:
    """Response of the mean of a variable to the forcing at one frequency."""

    variable: str
    period: float
    """Period of the harmonic [time]."""
    amplitude: Estimate
    """Amplitude of the mean [state]."""
    gain: Estimate
    """Amplitude over that of the force in the drift [time]."""
    lag: Estimate
    """Angle by which the mean lags behind the force [rad]."""


@dataclass(frozen=True, slots=True)
class Passage:
    """First passage from one place to another."""

    start: Any
    end: Any
    mean_time: Estimate
    """Mean first-passage time, exact for the model [time]."""
    kramers: Estimate
    """Mean first-passage time by the Eyring–Kramers formula [time]."""
    document: Mapping[str, Any] = field(repr=False)
    """The result's entry, with standard deviation, quantiles and distribution."""

    @property
    def transitions(self) -> int | None:
        """Number of these passages observed in the data; None where they were not counted."""
        return self.document.get("transitions")

    @property
    def note(self) -> str:
        """Kramers' formula and the number of transitions in the data, where they are known."""
        seen = self.transitions
        said = [] if self.kramers.value is None else [f"Kramers' formula: {self.kramers.texts[0]}"]
        if seen is not None and self.mean_time.value is not None:
            said.append(f"{seen or 'no'} transition{'' if seen < 2 else 's'} in the data")
        return "; ".join(said)

    def __float__(self) -> float:
        return float(self.mean_time)


@dataclass(frozen=True, slots=True)
class Term:
    """A candidate term of the drift, or of the diffusion tensor."""

    function: Literal["drift", "diffusion"]
    component: str
    """Variable of the drift, or pair `x,y` of the diffusion."""
    term: str
    value: float
    active: bool
    std_error: float | None = None
    robust_std_error: float | None = None
    ci: Ends | None = None
    z: float | None = None
    probability: float | None = None
    known: bool = False
    bound: bool = False
    """Whether the coefficient is at a bound that was given."""

    @property
    def name(self) -> str:
        """Name of the term with its component: `b_x: x^3`, `a_xy: 1`."""
        letter = "b" if self.function == "drift" else "a"
        return f"{letter}_{index_of(self.component)}: {self.term}"


def index_of(component: str) -> str:
    """Write a variable, or a pair of them, as an index: `x,y` as xy, longer names as they are."""
    names = component.split(",")
    return "".join(names) if all(len(name) == 1 for name in names) else component


def array_of(value: Any) -> Floats:
    """Read an array of a result: a list with null for a missing number, or numbers in base64."""
    if isinstance(value, dict):
        data = np.frombuffer(base64.b64decode(value["data"]), dtype=np.dtype(value["dtype"]))
        return data.reshape(value["shape"]).astype(np.float64)
    return np.asarray(value, dtype=np.float64)  # None becomes NaN


def estimate_of(document: Mapping[str, Any] | None) -> Estimate:
    """Read an estimate from a document's `{value, ci, reason}`."""
    if document is None:
        return Estimate(None, reason="not in the result")
    ends = document.get("ci")
    return Estimate(
        document.get("value"), None if ends is None else (ends[0], ends[1]), document.get("reason")
    )


def passage_of(document: Mapping[str, Any]) -> Passage:
    """Read a first passage from one of a result's `passages`."""
    mean, kramers = (estimate_of(document.get(name)) for name in ("mean_time", "kramers"))
    return Passage(document["from"], document["to"], mean, kramers, document)


def response_of(document: Mapping[str, Any]) -> Response:
    """Read the response to the forcing at one frequency."""
    return Response(
        document["variable"],
        document["period"],
        *(estimate_of(document[name]) for name in ("amplitude", "gain", "lag")),
    )


def terms_of(document: Mapping[str, Any]) -> tuple[Term, ...]:
    """Read every candidate term of a result document's model, drift first."""
    found: list[Term] = []
    kinds: tuple[Literal["drift", "diffusion"], ...] = ("drift", "diffusion")
    for function in kinds:
        for component, contents in document["model"][function].items():
            found += [
                Term(
                    function, component, term["term"], term["value"], term["active"],
                    term.get("std_error"), term.get("robust_std_error"),
                    None if term.get("ci") is None else tuple(term["ci"]), term.get("z"),
                    term.get("probability"), term.get("known", False), term.get("bound", False),
                )
                for term in contents["terms"]
            ]  # fmt: skip
    return tuple(found)
