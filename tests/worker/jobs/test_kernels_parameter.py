"""`kernels: auto` in documents: both spellings, refusal if meaningless, surface in the result."""

import json

import numpy as np
import pytest
from pydantic import ValidationError

from benchmarks.simulation import SYSTEMS, simulate
from contract.generator import AnalysisParameters
from contract.identification import IdentificationParameters
from contract.kinds import JOB_REQUEST
from worker import pipeline
from worker.documents.model import diagnostics_of
from worker.identification.data.trajectories import Trajectories, from_arrays
from worker.jobs.parameters import analysis_settings_of, settings_of
from worker.validation.validation import validate


def _silent(fraction: float, stage: str, message: str) -> None:
    """No one looks."""


@pytest.fixture(scope="module")
def wells() -> Trajectories:
    start = np.random.default_rng(0).normal(0, 1, 12)
    return from_arrays(
        list(simulate(*SYSTEMS["double-well"], start, dt=0.01, n_steps=4_000, substeps=2, seed=1)),
        0.01,
    )


def test_auto_is_short_for_an_automatic_count() -> None:
    short = IdentificationParameters.model_validate({"kernels": "auto"})
    assert short == IdentificationParameters.model_validate(
        {"kernels": {"count": "auto", "bandwidth": "auto"}}
    )
    assert short.kernels.range == "auto"
    assert IdentificationParameters.model_validate_json(short.model_dump_json()) == short


def test_what_was_a_document_before_means_the_same() -> None:
    assert IdentificationParameters().kernels.count == 50
    assert (
        IdentificationParameters.model_validate({"kernels": {"bandwidth": "auto"}})
        == IdentificationParameters()
    )


@pytest.mark.parametrize("kernels", ["automatic", {"count": "cv"}, {"count": 1}])
def test_other_words_are_refused(kernels: object) -> None:
    with pytest.raises(ValidationError):
        IdentificationParameters.model_validate({"kernels": kernels})


def test_algorithm_1_chooses_no_kernels() -> None:
    job = {
        "kind": "identification",
        "dataset": "ds_1",
        "preset": "paper",
        "parameters": {"kernels": "auto"},
    }
    with pytest.raises(ValidationError, match="cannot choose kernels"):
        JOB_REQUEST.validate_python(job)


def test_the_schema_says_both_spellings() -> None:
    field = IdentificationParameters.model_json_schema()["properties"]["kernels"]
    assert {"const": "auto", "type": "string"} in field["anyOf"]


@pytest.mark.slow
def test_the_result_holds_the_surface_in_the_datas_units(wells: Trajectories) -> None:
    answer = pipeline.identify(
        wells, settings_of(IdentificationParameters.model_validate({"kernels": "auto"})), _silent
    )
    analysed = pipeline.analyse(answer, wells, analysis_settings_of(AnalysisParameters()), _silent)
    diagnostics = diagnostics_of(answer, validate(wells, answer, analysed.generator))
    choice, coverage = diagnostics.kernel_choice, diagnostics.coverage
    assert (choice.count, choice.bandwidth) == (coverage.n_kernels, coverage.bandwidth)
    low, high = coverage.range
    default = next(
        c
        for c in choice.surface
        if c.count == 50 and c.bandwidth == pytest.approx(2.2 * (high - low) / 49)
    )
    assert default.drift_variance == pytest.approx(1, abs=0.001)
    assert min(c.std_error for c in choice.surface) == 0.0
    assert json.loads(diagnostics.model_dump_json())["kernel_choice"]["n_folds"] == 12


def test_a_given_bandwidth_is_the_only_one_tried(wells: Trajectories) -> None:
    parameters = IdentificationParameters.model_validate(
        {"kernels": {"count": "auto", "bandwidth": 0.2}}
    )
    choice = pipeline.identify(wells, settings_of(parameters), _silent).kernel_choice
    assert {round(c.bandwidth, 12) for c in choice.candidates} == {0.2}
    assert len({c.count for c in choice.candidates}) == len(choice.candidates)


def test_without_asking_there_is_no_choice(wells: Trajectories) -> None:
    answer = pipeline.identify(wells, settings_of(IdentificationParameters()), _silent)
    assert answer.kernel_choice is None
    assert "wide-kernels" not in {f.code for f in answer.findings}


@pytest.mark.slow
def test_in_several_variables_the_number_is_chosen(wells: Trajectories) -> None:
    both = Trajectories(
        np.stack([wells.states[:, 0], wells.states[::-1, 0]], axis=1), wells.times, wells.segments
    )
    answer = pipeline.identify(
        both, settings_of(IdentificationParameters.model_validate({"kernels": "auto"})), _silent
    )
    choice = answer.kernel_choice
    assert choice.candidates[choice.chosen].count == len(answer.coverage.weights)
    assert choice.candidates[choice.chosen].bandwidth == answer.coverage.bandwidth
