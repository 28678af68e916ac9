"""Models that are hard to analyse: the right numbers, or a true reason, and no NaN in documents."""

import json
import math
from collections.abc import Iterator
from typing import Any

import pytest

from contract.generator import ModelTerms
from contract.jobs import GeneratorJob
from worker import pipeline
from worker.jobs.generator import describe, in_standard_names
from worker.jobs.parameters import analysis_settings_of, process_of
from worker.validation.plot_data import Picture

Terms = dict[str, float]
Ends = tuple[float | None, float | None]
HALF, UNIT, OPEN = (0.0, None), (0.0, 1.0), (None, None)

LAWFUL: dict[str, tuple[Terms, Terms, Ends, float | None, float | None, list[float]]] = {
    # drift, diffusion, domain, mean, variance, slowest rates: closed forms
    "reflected at the mean": ({"x": -1}, {"1": 1}, HALF, math.pi**-0.5, 0.5 - 1 / math.pi, [2, 4]),
    "Brownian in a box": ({"1": 0}, {"1": 1}, UNIT, 0.5, 1 / 12, [math.pi**2 / 2, 2 * math.pi**2]),
    "CIR below Feller": ({"1": 0.2, "x": -1}, {"x": 1}, HALF, 0.2, 0.1, [1, 2]),
    "CIR at Feller": ({"1": 0.5, "x": -1}, {"x": 1}, HALF, 0.5, 0.25, [1, 2]),
    "CIR above Feller": ({"1": 2, "x": -1}, {"x": 1}, HALF, 2, 1, [1, 2]),
    "Jacobi": ({"1": 0.05, "x": -0.2}, {"x": 0.2, "x^2": -0.2}, UNIT, 0.25, 0.0625, [0.2, 0.6]),
    "infinite variance": ({"x": -1}, {"1": 1, "x^2": 4}, OPEN, 0, None, []),
    "no mean": ({"1": 0}, {"1": 1, "x^2": 1}, OPEN, None, None, []),
    "double zero at the end": ({"1": 1, "x": -1}, {"x^2": 1}, HALF, 1, 1, [1]),
    "units of 1e9": ({"x": -1}, {"1": 1e18}, OPEN, 0, 5e17, [1, 2]),
    "scale of 1e-9": ({"x": -1}, {"1": 1e-18}, OPEN, 0, 5e-19, [1, 2]),
    "noise of 1e-30": ({"x": -1}, {"1": 1e-30}, OPEN, 0, 5e-31, [1, 2]),
    "origin far away": ({"1": 1e6, "x": -1}, {"1": 1e-4}, OPEN, 1e6, 5e-5, [1, 2]),
    "rates of 1e9": ({"x": -1e9}, {"1": 1e9}, OPEN, 0, 0.5, [1e9, 2e9]),
}
LAWLESS: dict[str, tuple[Terms, Terms, Ends, str]] = {
    "explosive": ({"x^3": 1}, {"1": 1}, OPEN, "turns outward at x = 0"),
    "explosive on one side": ({"x^2": 1}, {"1": 1}, OPEN, "x → +∞"),
    "escape": ({"x": -1, "x^4": 0.1}, {"1": 0.5}, OPEN, "turns outward at x = 2.15443"),
    "touching zero": ({"x^2": -1}, {"1": 1}, OPEN, "x → −∞"),
    "Brownian": ({"1": 0}, {"1": 1}, OPEN, "x → −∞ and x → +∞"),
    "drifting": ({"1": 1}, {"1": 1}, OPEN, "x → +∞"),
    "growing geometrically": ({"x": 0.1}, {"x^2": 0.04}, HALF, "x → +∞"),
    "decaying geometrically": ({"x": -0.1}, {"x^2": 0.04}, HALF, "the end x = 0"),
    "CIR without a source": ({"x": -1}, {"x": 1}, HALF, "the end x = 0"),
    "noise vanishing inside": ({"x": -1}, {"x^2": 1}, OPEN, "x = 0"),
    "noise negative far out": ({"x": -1}, {"1": 1, "x^2": -0.1}, OPEN, "x = 3.16228"),
    "double zeros inside": ({"x": -1}, {"1": 1, "x^2": -2, "x^4": 1}, OPEN, "x = -1 and x = 1"),
    "no noise": ({"x": -1}, {"1": 0}, OPEN, "zero everywhere"),
}


def document(drift: Terms, diffusion: Terms, ends: Ends) -> dict[str, Any]:
    domain = {} if ends == OPEN else {"x": ends}
    model = {"drift": {"x": drift}, "diffusion": {"x,x": diffusion}, "domain": domain}
    job = GeneratorJob.model_validate({"kind": "generator", "model": model})
    terms = ModelTerms.model_validate(model)
    analysed = pipeline.analyse_terms(
        process_of(terms), analysis_settings_of(job.analysis), lambda *_: None
    )
    result = describe("job", job, in_standard_names(terms), (analysed, Picture()), 0.1)
    assert not list(not_finite(result.model_dump()))
    generator: dict[str, Any] = json.loads(result.model_dump_json(by_alias=True))["generator"]
    return generator


def not_finite(part: Any) -> Iterator[float]:
    if isinstance(part, float) and not math.isfinite(part):
        yield part
    elif isinstance(part, dict | list | tuple):
        for inner in part.values() if isinstance(part, dict) else part:
            yield from not_finite(inner)


@pytest.mark.parametrize("name", LAWFUL)
def test_closed_forms(name: str) -> None:
    drift, diffusion, ends, mean, variance, rates = LAWFUL[name]
    found = document(drift, diffusion, ends)
    assert found["ergodic"]
    law = found["stationary"]
    width = math.sqrt(variance) if variance else 1.0
    assert law["mean"] == [
        None if mean is None else pytest.approx(mean, rel=1e-12, abs=1e-6 * width)
    ]
    assert law["covariance"] == [[None if variance is None else pytest.approx(variance, rel=1e-6)]]
    assert law["reason"] is not None or variance is not None
    values = [value["re"] for value in found["spectrum"]["eigenvalues"]][: len(rates) or None]
    assert values == pytest.approx(rates, rel=1e-6)
    assert found["spectrum"]["reason"] is not None or len(rates) > 1


@pytest.mark.parametrize("name", LAWLESS)
def test_no_law_and_the_place(name: str) -> None:
    drift, diffusion, ends, place = LAWLESS[name]
    found = document(drift, diffusion, ends)
    assert not found["ergodic"]
    assert place in found["reason"]
    assert found["spectrum"] is None


def test_what_is_not_finite_is_seen() -> None:
    assert len(list(not_finite({"a": [1.0, float("nan")], "b": (float("inf"),)}))) == 2
