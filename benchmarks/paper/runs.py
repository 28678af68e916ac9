"""Simulation of a paper's system for one seed, with both estimators' fits; all items use it."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.bound import paper_parameters
from benchmarks.recovery import DT, SYSTEMS, Floats, Limits, limits_of, paths_of
from contract.identification import IdentificationParameters
from worker import pipeline
from worker.identification.data.library import Library, make_library
from worker.identification.data.trajectories import (
    Scales,
    Trajectories,
    from_arrays,
    measure_scales,
)
from worker.identification.estimation.paper import PaperModel, identify_by_paper
from worker.identification.identified_model import IdentifiedModel
from worker.identification.sums.kernels import make_kernels
from worker.jobs.parameters import settings_of

NAMES = {
    "ornstein-uhlenbeck": "Ornstein–Uhlenbeck",
    "double-well": "double well",
    "multiplicative": "multiplicative",
}
TERMS = ("1", "x", "x^2", "x^3", "x^4")
ESTIMATORS = ("paper", "default")

Terms = tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class Model:
    """Drift and diffusion by their terms."""

    drift: Terms
    diffusion: Terms

    def value(self, component: str, term: str) -> float:
        """Return a coefficient."""
        return float(dict(getattr(self, component)).get(term, 0.0))

    def function(self, component: str, x: Floats) -> Floats:
        """Return b or a at states (n,)."""
        return np.asarray(
            sum(v * x ** TERMS.index(term) for term, v in getattr(self, component)), dtype=float
        ) + np.zeros_like(x)


def model_of(drift: dict[str, float], diffusion: dict[str, float]) -> Model:
    """Return the model of these terms."""
    return Model(tuple(drift.items()), tuple(diffusion.items()))


TRUTH = {name: model_of(dict(s.drift), dict(s.diffusion)) for name, s in SYSTEMS.items()}

PUBLISHED = {
    "ornstein-uhlenbeck": model_of({"x": -0.963}, {"1": 0.490}),
    "double-well": model_of({"x": 0.968, "x^3": -0.968}, {"1": 0.250}),
    "multiplicative": model_of({"x": -1.918}, {"1": 0.250, "x^2": 0.252}),
}
"""Models of table tab:coefficients."""


@dataclass(frozen=True, eq=False)
class Run:
    """One seed of one system, with paths (R, N + 1) [state]; all else is computed on demand."""

    name: str
    seed: int
    paths: Floats

    @cached_property
    def data(self) -> Trajectories:
        """Paths as trajectories."""
        return from_arrays(list(self.paths), DT)

    @cached_property
    def scales(self) -> Scales:
        """Scales of the data."""
        return measure_scales(self.data)

    @cached_property
    def library(self) -> Library:
        """Default library."""
        return make_library((self.scales,))

    @cached_property
    def limits(self) -> Limits:
        """Smallest possible errors on these paths."""
        return limits_of(self.name, self.paths)

    @cached_property
    def by_paper(self) -> tuple[PaperModel, float]:
        """Algorithm 1 with the paper's settings for this system, and its CPU time [s]."""
        begun = time.process_time()
        chosen = paper_parameters(self.name)
        assert isinstance(chosen.kernels.count, int)
        kernels = make_kernels(
            self.scales,
            count=chosen.kernels.count,
            bandwidth=float(chosen.kernels.bandwidth),
            centre_range=chosen.kernels.range if chosen.kernels.range != "auto" else None,
        )
        model = identify_by_paper(
            self.data, self.scales, self.library, kernels, threshold=chosen.selection.threshold
        )
        return model, time.process_time() - begun

    @property
    def paper(self) -> PaperModel:
        """Model by Algorithm 1."""
        return self.by_paper[0]

    @cached_property
    def by_default(self) -> tuple[IdentifiedModel, float]:
        """Identification of a job with its defaults, and its CPU time [s]."""
        begun = time.process_time()
        answer = by_default(self.data)
        return answer, time.process_time() - begun

    @cached_property
    def models(self) -> dict[str, Model]:
        """Models by estimator."""
        answer = self.by_default[0]
        paper = self.paper
        return {
            "paper": model_of(
                *(
                    {TERMS[k]: float(fit.coefficients[k]) for k in fit.support}
                    for fit in (paper.drift, paper.diffusion)
                )
            ),
            "default": model_of(answer.drift["x"].active(), answer.diffusion["x,x"].active()),
        }


def run_of(name: str, seed: int, n_trajectories: int, duration: float) -> Run:
    """Simulate a run."""
    return Run(name, seed, paths_of(name, n_trajectories, seed, duration))


def by_default(data: Trajectories, **parameters: object) -> IdentifiedModel:
    """Identify as a job does."""
    with threadpool_limits(1):
        answer = pipeline.identify(
            data, settings_of(IdentificationParameters.model_validate(parameters)), lambda *_: None
        )
    return answer


def least_squares(design: Floats, response: Floats, terms: Sequence[int] | None = None) -> Floats:
    """Return coefficients (K,), zero outside `terms`, by plain least squares on (n, K)."""
    chosen = list(range(design.shape[1])) if terms is None else list(terms)
    coefficients = np.zeros(design.shape[1])
    coefficients[chosen] = np.linalg.lstsq(design[:, chosen], response, rcond=None)[0]
    return coefficients
