"""A model's result document: its equations, its coefficients, and its generator's analysis."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from itoscope_client.errors import needed
from itoscope_client.models.estimates import (
    Passage,
    Response,
    Term,
    array_of,
    index_of,
    passage_of,
    response_of,
    terms_of,
)
from itoscope_client.models.numbers import exact, with_error
from itoscope_client.models.process import Process, process_of
from itoscope_client.models.spelling import in_symbols, renamed

Floats = NDArray[np.float64]
Summand = tuple[str, str, str]
"""A summand of an equation: its sign, the size of its coefficient, perhaps with `±`, its term."""


class ModelDocument:
    """The model dX = b(X) dt + σ(X) dW in the Itô sense, a = σσᵀ (twice the physicists' D).

    Of second order it is dx = v dt, dv = F(x, v) dt + σ(x, v) dW, with positions and then their
    velocities for variables.

    Variables have the names that the file gives them, and an angle's terms are functions of its
    value. Standard names (x, y, z) are understood, too.

    document   the service's result document, with what has no property here, by standard names
    """

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document = document
        self.in_symbols: Mapping[str, Any] = in_symbols(document)
        """The document with the file's names in place of x, y, z."""
        self.process: Process = process_of(self.in_symbols)
        self.terms: tuple[Term, ...] = terms_of(self.in_symbols)

    # The equation

    @property
    def job_id(self) -> str:
        """Identifier of the job that found the model."""
        return str(self.document["job"])

    @property
    def source(self) -> dict[str, Any]:
        """Model of another job: this model's job, or its terms if that job found several models.

        A drawn model has no job.
        """
        several = self.document.get("kind") in ("sweep", "comparison")
        if not several and "job" in self.document:
            return {"job": self.job_id}
        model = self.in_symbols["model"]
        terms = {
            function: {
                component: {term["term"]: term["value"] for term in part["terms"] if term["active"]}
                or {"1": 0.0}
                for component, part in model[function].items()
            }
            for function in ("drift", "diffusion")
        }
        known = {name: model[name] for name in ("domain", "periodic") if model.get(name)}
        return {**terms, **known}

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of the variables: the file's, or x, y, z, … where it has none."""
        return self.process.variables

    @property
    def inputs(self) -> Mapping[str, float]:
        """Values of what drives the variables, at which drift and diffusion are evaluated.

        They are those of the analysis; `at` gives a model at others.
        """
        return self.process.inputs

    @property
    def cycle(self) -> Mapping[str, Any] | None:
        """Mean and covariance over a period of the forcing; None without."""
        found: Mapping[str, Any] | None = self._driving.get("cycle")
        return found

    @property
    def responses(self) -> tuple[Response, ...]:
        """Response of each variable to the forcing at each frequency."""
        return tuple(response_of(found) for found in self._driving.get("responses", ()))

    @property
    def passages_by_phase(self) -> tuple[Mapping[str, Any], ...]:
        """First passages of one variable under periodic forcing: `mean_time` at start `times`."""
        return tuple(self._driving.get("passages", ()))

    @property
    def _driving(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.in_symbols["generator"].get("driving") or {}
        return found

    @property
    def order(self) -> int:
        """Order of the dynamics; 2 where the velocities of positions are variables, too."""
        return self.process.order

    @property
    def velocities(self) -> Mapping[str, str]:
        """Velocity of each position; empty for a model of first order."""
        d = self.process.n_positions
        return dict(zip(self.variables[:d], self.variables[d:], strict=False))

    def name_of(self, variable: str) -> str:
        """Return the file's name of a variable, or of a pair such as `x,y`, by either name."""
        symbols = self.document["model"].get("symbols", {})
        return renamed(variable, {k: v for k, v in symbols.items() if k not in self.variables})

    @property
    def equations(self) -> tuple[str, ...]:
        """Equations as text: `b_x = 0.87*x - 0.92*x^3`, `a_xx = 0.26`.

        Of second order they are `dx = v dt`, `dv = (-4.1*x - 1.2*v) dt + sqrt(a_vv) dW`.
        A drift that was restricted to have a potential is followed by it: `U = 0.5*x^2`.
        """
        model = self.in_symbols["model"]
        drift = [f"b_{name} = {part['expression']}" for name, part in model["drift"].items()]
        if self.order == 2:
            noise = [self.noise_of(v) for v in self.velocities.values()]
            drift = [
                line
                for (x, v), kicks in zip(self.velocities.items(), noise, strict=True)
                for line in (
                    f"d{x} = {v} dt",
                    f"d{v} = ({model['drift'][v]['expression']}) dt + {kicks}",
                )
            ]
        if self.coloured_noise is not None:
            x = self.variables[0]
            drift += [
                f"d{x} = f dt + u dt",
                f"f = {self.coloured_noise['drift']['expression']}",
            ]
        if self.potential is not None:
            letter = "U" if self.potential["form"] == "gradient" else "Phi"
            drift.append(f"{letter} = {self.potential['expression']}")
        diffusion = [
            f"a_{index_of(pair)} = {part['expression']}"
            for pair, part in model["diffusion"].items()
            if not self.velocities.keys() & set(pair.split(","))
        ]
        return (*drift, *diffusion)

    @property
    def potential(self) -> Mapping[str, Any] | None:
        """Potential of the drift, if `constraints.gradient` or `detailed_balance` was set.

        It has `form`, `expression`, `terms` and `covariance`.
        """
        found: Mapping[str, Any] | None = self.in_symbols["model"].get("potential")
        return found

    @property
    def coloured_noise(self) -> Mapping[str, Any] | None:
        """Drift f and noise u of dx = f dt + u dt, if `dynamics` was `coloured-noise`.

        It has `drift`, `correlation_time`, `diffusion` and `p_value`.
        """
        found: Mapping[str, Any] | None = self.in_symbols["model"].get("coloured_noise")
        return found

    def noise_of(self, velocity: str) -> str:
        """Write the noise of a velocity in its equation."""
        pair = index_of(f"{velocity},{velocity}")
        return f"sqrt(a_{pair}) dW" if len(self.velocities) == 1 else f"(σ dW)_{velocity}"

    def force(self, x: ArrayLike, v: ArrayLike = 0.0) -> Floats:
        """Return the force F [state/time²] at positions and velocities, which broadcast.

        Of several positions they are (…, d), and so is the force. Raises ValueError for a model of
        first order, which has none.
        """
        if self.order == 1:
            raise ValueError("a model of first order has no force: its drift is drift(x)")
        d = self.process.n_positions
        at, moving = np.broadcast_arrays(*(np.asarray(a, dtype=np.float64) for a in (x, v)))
        if d == 1:
            return self.process.drift_at(np.stack([at, moving], axis=-1))[..., 1]
        return self.process.drift_at(np.concatenate([at, moving], axis=-1))[..., d:]

    def drift(self, x: ArrayLike) -> Floats:
        """Return b [state/time] at states of any shape in one variable, (…, d) in several."""
        return self.process.drift_at(x)

    def diffusion(self, x: ArrayLike) -> Floats:
        """Return a = σσᵀ [state²/time] at states: in the shape of one variable's, or (…, d, d)."""
        return self.process.diffusion_at(x)

    # The coefficients

    @property
    def active_terms(self) -> tuple[Term, ...]:
        """Terms that were kept in the model; that a velocity moves its position is no estimate."""
        return tuple(
            term
            for term in self.terms
            if term.active and (term.function, term.component) not in self._known
        )

    @property
    def _known(self) -> set[tuple[str, str]]:
        """Components that are not estimated: the drift of a position is its velocity."""
        return {("drift", x) for x in self.velocities}

    def sums(self, *, errors: bool = True) -> Iterator[tuple[str, str, list[Summand]]]:
        """Yield letter and component of every equation, with its kept terms.

        errors   whether each coefficient has its standard error
        """
        for function, letter in (("drift", "b"), ("diffusion", "a")):
            for component in self.in_symbols["model"][function]:
                place = (function, component)
                if place in self._known:
                    continue
                own = [t for t in self.active_terms if (t.function, t.component) == place]
                yield letter, component, [_summand(t, n == 0, errors) for n, t in enumerate(own)]

    def candidate(self, component: str, term: str) -> Term:
        """Return a candidate term by its component, `x` or `x,y`, and its own text.

        Both are understood in the file's names and in standard names, an angle's term as a function
        of its value or its phase. Raises KeyError where there is no such term.
        """
        name = self.name_of(component).replace(" ", "")
        for found, standard in zip(self.terms, terms_of(self.document), strict=True):
            if found.component == name and term in (found.term, standard.term):
                return found
        there = ", ".join(t.term for t in self.terms if t.component == name)
        raise KeyError(f"{component} has no term {term}; it has {there or 'none'}")

    def coefficient(self, component: str, term: str) -> float:
        """Return the coefficient of a candidate term, 0 if it was not selected.

        component   variable `x` of the drift, or pair `x,y` of the diffusion
        term        term such as `x^3`

        Raises KeyError where there is no such term.
        """
        # Of NumPy's type, so that a division by a term that is absent is infinite and no error.
        return np.float64(self.candidate(component, term).value)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the kept terms: `b_x: x^3`."""
        return tuple(term.name for term in self.active_terms)

    @property
    def values(self) -> Floats:
        """Coefficients of the kept terms, in the order of `names`."""
        return np.array([term.value for term in self.active_terms])

    @property
    def std_errors(self) -> Floats:
        """Standard errors of `values`; NaN for a model that was given."""
        return np.array(
            [np.nan if term.std_error is None else term.std_error for term in self.active_terms]
        )

    @property
    def intervals(self) -> Floats:
        """Confidence intervals of `values`, (n, 2); NaN for a model that was given."""
        ends = [(None, None) if term.ci is None else term.ci for term in self.active_terms]
        return np.array(ends, dtype=np.float64).reshape(-1, 2)

    def covariance(self, function: str, component: str) -> Floats:
        """Return the covariance matrix (k, k) of the coefficients of a component's kept terms.

        The order is that of `active_terms`; NaN for a model that was given.

        function    `drift` or `diffusion`
        component   variable `x` of the drift, or pair `x,y` of the diffusion

        Raises KeyError where the model has no such component.
        """
        part = self.in_symbols["model"][function][self.name_of(component)]
        n = sum(term["active"] for term in part["terms"])
        found = part.get("covariance")
        return np.full((n, n), np.nan) if found is None else array_of(found)

    def to_frame(self) -> Any:
        """Return every candidate term as a row of a pandas DataFrame. Raises MissingDependency."""
        pandas = needed("pandas", "to_frame()")
        rows = [
            {
                "function": term.function, "component": term.component, "term": term.term,
                "value": term.value, "std_error": term.std_error,
                "ci_low": None if term.ci is None else term.ci[0],
                "ci_high": None if term.ci is None else term.ci[1],
                "z": term.z, "probability": term.probability, "active": term.active,
            }
            for term in self.terms
        ]  # fmt: skip
        frame = pandas.DataFrame(rows)
        numbers = ["value", "std_error", "ci_low", "ci_high", "z"]
        return frame.astype(dict.fromkeys(numbers, float))

    # The generator's analysis

    @property
    def ergodic(self) -> bool | None:
        """Whether a stationary distribution exists; None if only the model was requested."""
        found: bool | None = self.document["generator"]["ergodic"]
        return found

    @property
    def reason(self) -> str | None:
        """Reason why no stationary distribution exists, or why nothing is known about it."""
        reason: str | None = self.document["generator"].get("reason")
        return reason

    @property
    def relaxation_times(self) -> Floats:
        """Relaxation times, slowest first [time]; empty without a stationary distribution."""
        return np.array(
            (self.document["generator"].get("spectrum") or {}).get("relaxation_times", []),
            dtype=np.float64,
        )

    @property
    def relaxation_interval(self) -> tuple[float, float] | None:
        """Confidence interval of the slowest relaxation time [time]; None if missing or open."""
        found = (self.document["generator"].get("spectrum") or {}).get("eigenvalues") or [{}]
        ends = found[0].get("ci")
        return (1 / ends[1], 1 / ends[0]) if ends and None not in ends and min(ends) > 0 else None

    @property
    def rates(self) -> NDArray[np.complex128]:
        """Eigenvalues of −L, slowest first [1/time]; the imaginary part is an angular frequency."""
        found = (self.document["generator"].get("spectrum") or {}).get("eigenvalues", [])
        return np.array(
            [complex(value["re"], value.get("im", 0.0)) for value in found], dtype=np.complex128
        )

    @property
    def passages(self) -> tuple[Passage, ...]:
        """First passages between neighbouring wells, and the requested ones."""
        return tuple(
            passage_of(document) for document in self.in_symbols["generator"].get("passages", ())
        )

    def known_passage(self, start: Any, end: Any) -> Passage | None:
        """Return the first passage in the result, or None.

        Of a position and its velocity, two numbers are positions: from rest until it is crossed.
        """
        numbers = isinstance(start, int | float) and isinstance(end, int | float)
        if numbers and len(self.velocities) == 1:
            ends = (end, None) if start < end else (None, end)
            start, end = (start, 0.0), {self.variables[0]: ends}
        first, last = (
            {self.name_of(name): ends for name, ends in place.items()}
            if isinstance(place, Mapping)
            else place
            for place in (start, end)
        )
        return next(
            (p for p in self.passages if _same(p.start, first) and _same(p.end, last)), None
        )

    @property
    def warnings(self) -> tuple[Mapping[str, Any], ...]:
        """Warnings, each with `code`, `message` and `details`."""
        return tuple(self.document.get("warnings", ()))


def _summand(term: Term, first: bool, errors: bool) -> Summand:
    value, error = abs(term.value), term.std_error if errors else None
    size = with_error(value, error) if error else exact(value, 4)
    return "-" if term.value < 0 else "" if first else "+", size, term.term


def _same(a: Any, b: Any) -> bool:
    """Return whether two places are equal."""
    if isinstance(a, Mapping) or isinstance(b, Mapping):
        return isinstance(a, Mapping) and isinstance(b, Mapping) and _region(a) == _region(b)
    one, other = _point(a), _point(b)
    return len(one) == len(other) and bool(np.allclose(one, other, rtol=1e-9, atol=0.0))


def _point(place: Any) -> Sequence[float]:
    return [float(x) for x in np.atleast_1d(np.asarray(place, dtype=np.float64))]


def _region(place: Mapping[str, Sequence[float | None]]) -> dict[str, tuple[float | None, ...]]:
    """Return a region without the variables that are open on both sides."""
    return {
        name: tuple(ends) for name, ends in place.items() if any(end is not None for end in ends)
    }
