"""The model that a job found: its result document, simulation, plots and first passages."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from itoscope_client.errors import NoModel
from itoscope_client.models import display, draws, exports, latex, plots
from itoscope_client.models.document import Floats, ModelDocument
from itoscope_client.models.draws import Draws, Evaluation
from itoscope_client.models.estimates import Passage
from itoscope_client.models.numbers import with_interval
from itoscope_client.models.process import process_of
from itoscope_client.models.simulation import draw, simulated

Ask = Callable[["Model", Any, Any], Passage]


class Model(ModelDocument):
    """The model dX = b(X) dt + σ(X) dW in the Itô sense, a = σσᵀ (twice the physicists' D).

    Of second order it is dx = v dt, dv = F(x, v) dt + σ(x, v) dW.

    document   the service's result document, with what has no property here
    ask        function that computes a first passage that the result lacks
    """

    def __init__(self, document: Mapping[str, Any], *, ask: Ask | None = None) -> None:
        super().__init__(document)
        self._ask = ask

    def at(self, inputs: Mapping[str, float] | None = None, t: float | None = None) -> "Model":
        """Return the model with its inputs at other values, whose drift and diffusion are theirs.

        What the service derived remains that of `model.inputs`.

        inputs   value by word of the input: {"Light": 1.5}
        t        time at which the forcing is evaluated; default: periodic forcing has its mean, 0

        Raises ValueError for an input that the model does not have.
        """
        given = {self.name_of(name): float(value) for name, value in (inputs or {}).items()}
        unknown = sorted(set(given) - set(self.inputs))
        if unknown:
            known = ", ".join(self.inputs) or "none"
            raise ValueError(f"the model has no input {unknown[0]}; its inputs are: {known}")
        if t is not None:
            given["t"] = float(t)
        made = Model(self.document, ask=self._ask)
        made.process = process_of(made.in_symbols, {**self.inputs, **given})
        return made

    def passage(self, start: Any, end: Any) -> Passage:
        """Return the first passage from `start` to `end`, from the result or else from the service.

        In one variable both are numbers; in two each is a point `[x, y]` or a region
        `{"x": (0.8, None)}`. With an `AsyncClient` use `await client.passage(model, start, end)`.
        Raises LookupError where the result lacks it and there is no client to ask.
        """
        known = self.known_passage(start, end)
        if known is not None:
            return known
        if self._ask is None:
            there = ", ".join(f"{p.start} → {p.end}" for p in self.passages) or "none"
            ask = f"ask the service: client.passage(model, {start}, {end})"
            raise LookupError(f"the result has no passage {start} → {end} (it has: {there}); {ask}")
        return self._ask(self, start, end)

    def simulate(
        self,
        duration: float | None = None,
        *,
        dt: float | None = None,
        n_steps: int | None = None,
        n_paths: int | None = None,
        start: ArrayLike | None = None,
        substeps: int = 10,
        seed: int | None = None,
        velocities: bool = False,
    ) -> tuple[Floats, Floats]:
        """Simulate paths; return times (n + 1,) and states.

        The states are (n + 1,), with `n_paths` (n_paths, n + 1), in several variables (…, d). Equal
        seeds give equal paths. Of a model of second order they are the positions.

        duration   length of the paths [time]; give it or `n_steps`
        dt         sampling interval [time]; default: the data's
        n_steps    number of samples after the first
        n_paths    number of paths; default: one, without its axis
        start      initial state, or one for each path; default: stationarily distributed. Of second
                   order: positions and velocities, or positions alone, from rest
        substeps   steps per sample, by Milstein's scheme or in several variables Euler–Maruyama's
        seed       seed of the random numbers
        velocities of second order: whether the states are positions and velocities, (…, 2d)

        Raises SimulationError where a path leaves the states that the model describes.
        """
        dt = dt if dt is not None else (self.document.get("data") or {}).get("dt")
        if dt is None or (duration is None) == (n_steps is None):
            missing = (
                "duration or n_steps" if dt is not None else "dt, the interval between samples"
            )
            raise ValueError(f"give {missing}")
        steps = n_steps if n_steps is not None else round(float(duration or 0.0) / dt)
        rng = np.random.default_rng(seed)
        count, d = n_paths or 1, len(self.variables)
        if start is None:
            first = draw(self.document, count, rng)
        else:
            first = np.array(np.broadcast_to(self._states(start), (count, d)))
        paths = simulated(self.process, first, dt=dt, n_steps=steps, substeps=substeps, rng=rng)
        times: Floats = dt * np.arange(steps + 1, dtype=np.float64)
        positions = self.process.n_positions
        if positions and not velocities:
            paths = paths[..., :positions]
        shown: Floats = paths[..., 0] if paths.shape[-1] == 1 else paths
        return times, shown if n_paths is not None else shown[0]

    def draws(self, count: int = 500, *, seed: int = 0) -> Draws["Model"]:
        """Draw models from the distribution that the confidence intervals of coefficients have.

        Each has a likely set of terms, with coefficients from their covariance. The service's
        `GET /v1/jobs/{id}/draws` gives the same models for the same count and seed.

        count   number of models, at most 2 000
        seed    seed of the random numbers

        Raises NoDraws where the coefficients have no errors: the model was given, or is the
        paper's. Raises ValueError for a count or a seed that is out of range.
        """
        return draws.draw(self, Model, count, seed)

    def evaluate(
        self,
        function: Callable[["Model"], Any],
        confidence: float = 0.95,
        *,
        count: int = 1_000,
        seed: int = 0,
    ) -> Evaluation:
        """Evaluate any function of the model with its confidence interval, over drawn models.

        function     function of a model that returns a number or an array, such as
                     `lambda m: -1 / m.coefficient("x", "x")` or `lambda m: m.drift(0.5)`
        confidence   probability of the interval
        count, seed  as of `draws`

        Raises NoDraws, and ValueError where the function has no value.
        """
        found = self.draws(count, seed=seed)
        return draws.evaluate(function, self, found, confidence)

    def plot(
        self, data: ArrayLike | None = None, *, panel: plots.Panel | None = None, ax: Any = None
    ) -> Any:
        """Plot the model beside its data, and return matplotlib's figure.

        In one variable it has four panels with confidence bands: drift and diffusion with the
        data's binned increments, stationary density with the data's histogram, and effective
        potential. In the plane it shows density and drift, of a position and its velocity the
        phase plane.

        data    samples, (n,) or (n, d): their range, and their histogram; default: the result's
        panel   one of `drift`, `diffusion`, `density` and `potential` alone; one variable only
        ax      axes to draw on, in one variable by default the drift; default: a new figure

        Raises MissingDependency where matplotlib is not installed.
        """
        return plots.figure(self, data, panel, ax)

    def to_latex(self, *, errors: bool = True) -> str:
        """Return the equations as LaTeX, an `aligned` environment for use in mathematics mode.

        errors   whether each coefficient has its standard error
        """
        return latex.equations(self, errors=errors)

    def export(self, language: exports.Format) -> str:
        """Return drift and diffusion as source text of another program.

        Each file defines functions of the state that give b and a of this model to rounding:
        `python` (NumPy), `julia` (StochasticDiffEq), `stan` and `c`; `sympy` defines matrices of
        expressions, `latex` the equations without errors. Variables have the file's names, or x, y,
        z, … where the language has another use for one of these. Raises ValueError for another
        language.
        """
        return exports.exported(self, language)

    def to_json(self, path: str | Path | None = None) -> str:
        """Return the result document as JSON, and write it to a file if a path is given."""
        text = json.dumps(self.document, ensure_ascii=False, allow_nan=False)
        if path is not None:
            Path(path).write_text(text, encoding="utf-8")
        return text

    @classmethod
    def from_json(cls, source: str | Path | Mapping[str, Any]) -> "Model":
        """Read a model from `to_json`'s text, its file, or a result document. Raises ValueError."""
        if isinstance(source, Mapping):
            document: Any = source
        else:
            text = str(source)
            document = json.loads(
                text if text.lstrip().startswith("{") else Path(source).read_text(encoding="utf-8")
            )
        if not isinstance(document, Mapping) or not {"model", "generator"} <= document.keys():
            raise ValueError(
                "this is not the result of a job: it has no model with its generator's analysis"
            )
        return cls(document)

    def __repr__(self) -> str:
        times = self.relaxation_times
        slowest = (
            f"; relaxation time {with_interval(float(times[0]), self.relaxation_interval)[0]}"
            if len(times)
            else ""
        )
        return f"<Model {'; '.join(self.equations)}{slowest}>"

    def _repr_html_(self) -> str:
        return display.page(self)

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.to_latex()}$"

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy in another process has no client to ask for a passage that the result lacks.
        return Model, (self.document,)

    def _states(self, start: ArrayLike) -> Floats:
        states, d = np.asarray(start, dtype=np.float64), self.process.n_positions
        if d == 1 and not states.ndim:
            states = states[None]
        if d and states.shape[-1] == d:
            return np.concatenate([states, np.zeros_like(states)], axis=-1)
        return states[..., None] if len(self.variables) == 1 else states


def model_of(document: Mapping[str, Any], *, ask: Ask | None = None) -> Model:
    """Read the model in a result. Raises NoModel for a kind of job that has none."""
    if "model" not in document:
        job, kind = document.get("job"), document.get("kind")
        raise NoModel(
            f"{job} is of the kind {kind}, whose result is not one model; "
            f"read it with client.result_document({job!r})"
        )
    return Model(document, ask=ask)
