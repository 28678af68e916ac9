"""Documents of analyses in one variable: curves, committors, exits, memory, ends; old documents."""

import json

import numpy as np
import pytest

from contract import results
from contract.generator import AnalysisParameters, ModelTerms
from contract.jobs import GeneratorJob
from worker.documents.generator import analysis_of
from worker.generator.analysis import analysis
from worker.generator.uncertainty.confidence_intervals import intervals_over
from worker.identification.symbolic_process import SymbolicProcess, from_terms
from worker.jobs.generator import describe, in_standard_names
from worker.jobs.parameters import analysis_settings_of, process_of
from worker.pipeline import analyse_terms
from worker.validation.plot_data import Picture

DOUBLE_WELL = {"drift": {"x": {"x": 1.0, "x^3": -1.0}}, "diffusion": {"x,x": {"1": 0.25}}}


def written(model: dict[str, object], **analysis: object) -> str:
    terms, wanted = ModelTerms.model_validate(model), AnalysisParameters.model_validate(analysis)
    job = GeneratorJob(kind="generator", model=terms, analysis=wanted)
    analysed = analyse_terms(
        process_of(terms), analysis_settings_of(wanted), lambda fraction, stage, message: None
    )
    return describe(
        "job_1", job, in_standard_names(terms), (analysed, Picture()), 0.1
    ).model_dump_json(by_alias=True)


def document(model: dict[str, object], **analysis: object) -> results.GeneratorAnalysis:
    return results.GeneratorResult.model_validate_json(written(model, **analysis)).generator


def test_double_well_has_curves_of_everything_and_stays_small() -> None:
    asked = {
        "committors": [
            {"from": -1, "to": 1},
            {"from": {"x": [None, -1]}, "to": {"x": [0.5, None]}},
        ],
        "exits": [{"from": 0, "low": -1, "high": 1}],
        "lags": 50,
        "frequencies": 60,
    }
    text = written(DOUBLE_WELL, **asked)
    assert len(text) < 100_000
    found = results.GeneratorResult.model_validate_json(text).generator
    law = found.passages[0].distribution
    assert law is not None
    assert 80 <= len(law.times) == len(law.density) == len(law.cumulative) <= 100
    assert found.autocorrelation is not None
    assert found.power_spectrum is not None
    assert len(found.autocorrelation.values["x"]) == 50
    assert len(found.power_spectrum.values["x"]) == len(found.power_spectrum.frequencies) == 60
    assert found.autocorrelation.integrated_time["x"].value == pytest.approx(16.862159, rel=1e-6)
    wells, intervals = found.committors
    assert wells.values[50] == pytest.approx(0.5)
    assert (intervals.grid[0][0], intervals.grid[0][-1]) == (-1, 0.5)
    (way,) = found.exits
    assert way.probability_high.value == pytest.approx(0.5)
    assert way.mean_time.value == pytest.approx(2.0908, rel=1e-3)
    assert found.effective_potential is not None
    assert min(found.effective_potential.values) == 0
    assert [(end.at, end.kind) for end in found.ends] == [(None, "entrance"), (None, "entrance")]


def test_ends_say_why_there_is_no_law() -> None:
    model = {
        "drift": {"x": {"x": 1.0}},
        "diffusion": {"x,x": {"x": 0.5}},
        "domain": {"x": [0, None]},
    }
    found = document(model)
    assert [(end.at, end.kind) for end in found.ends] == [(0, "exit"), (None, "natural")]
    assert "is absorbed" in str(found.ends[0].reason)
    assert found.autocorrelation is None
    assert found.effective_potential is not None


def test_passage_without_a_mean_says_why_it_has_no_curve() -> None:
    found = document(
        {"drift": {"x": {}}, "diffusion": {"x,x": {"1": 1.0}}}, passages=[{"from": 0, "to": 1}]
    )
    law = found.passages[0].distribution
    assert law is not None
    assert law.times == ()
    assert "infinite" in str(law.reason)


def test_infinite_variance_says_why_there_is_no_autocorrelation() -> None:
    found = document({"drift": {"x": {"x": -0.4}}, "diffusion": {"x,x": {"1": 1.0, "x^2": 1.0}}})
    assert found.autocorrelation is not None
    assert found.autocorrelation.values == {}
    assert "infinite" in str(found.autocorrelation.reason)
    assert found.power_spectrum is None


def test_without_an_estimate_there_is_no_interval() -> None:
    """An infinite variance had the interval [42, 140] of models that have one."""

    def heavy(slope: float) -> SymbolicProcess:
        return SymbolicProcess(from_terms({"x": -slope}), from_terms({"1": 1.0, "x^2": 1.0}))

    # The variance is finite above a slope of 1/2, and is 1/(2 slope − 1).
    slopes = np.linspace(0.9, 1.2, 25)
    models, reference = [heavy(t) for t in slopes], analysis(heavy(0.4))
    found = analysis_of(reference.report, intervals_over(models, reference, 0.9)).stationary
    assert found is not None
    assert found.covariance == ((None,),)
    assert found.covariance_ci == ((None,),)
    assert found.mean_ci[0] is not None
    # Negative control: a reference that has it has its interval, too.
    reference = analysis(heavy(1.0))
    found = analysis_of(reference.report, intervals_over(models, reference, 0.9)).stationary
    assert found is not None
    (ends,) = found.covariance_ci[0]
    assert ends == pytest.approx(1 / (2 * slopes[[23, 1]] - 1), rel=1e-3)


def test_circle_has_a_current_and_a_mean_velocity() -> None:
    model = {"drift": {"x": {"1": 2.0}}, "diffusion": {"x,x": {"1": 0.5}}, "periodic": {"x": 10.0}}
    law = document(model).stationary
    assert law is not None
    assert law.mean_velocity == pytest.approx(2.0)
    assert law.probability_current == pytest.approx(0.2)


def test_several_coordinates_have_no_exits_but_a_reason() -> None:
    model = {
        "drift": {"x": {"x": -1.0}, "y": {"y": -1.0}},
        "diffusion": {"x,x": {"1": 1.0}, "y,y": {"1": 1.0}},
    }
    (way,) = document(model, exits=[{"from": 0, "low": -1, "high": 1}]).exits
    assert "one variable" in str(way.probability_high.reason)


def test_documents_written_before_these_fields_are_still_read() -> None:
    old = json.loads(written(DOUBLE_WELL))
    for field in (
        "autocorrelation",
        "power_spectrum",
        "committors",
        "exits",
        "effective_potential",
        "ends",
        "simulated",
    ):
        old["generator"].pop(field)
    for field in ("probability_current", "mean_velocity"):
        old["generator"]["stationary"].pop(field)
    for passage in old["generator"]["passages"]:
        passage.pop("distribution")
    read = results.GeneratorResult.model_validate(old).generator
    assert read.passages[0].distribution is None
    assert np.isclose(read.passages[0].mean_time.value, 41.03428, rtol=1e-6)
