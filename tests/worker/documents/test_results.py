"""What the generator says, as a document."""

import base64
import json

import numpy as np
import pytest

from contract import results
from contract.generator import AnalysisParameters, ModelTerms
from contract.jobs import GeneratorJob
from worker.jobs.generator import describe, in_standard_names
from worker.jobs.parameters import analysis_settings_of, process_of
from worker.pipeline import analyse_terms
from worker.validation.plot_data import Picture


def document(
    drift: dict[str, dict[str, float]], diffusion: dict[str, dict[str, float]], **analysis: object
) -> results.GeneratorAnalysis:
    model = ModelTerms(drift=drift, diffusion=diffusion)
    wanted = AnalysisParameters.model_validate(analysis)
    job = GeneratorJob(kind="generator", model=model, analysis=wanted)
    analysed = analyse_terms(
        process_of(model), analysis_settings_of(wanted), lambda fraction, stage, message: None
    )
    written = describe(
        "job_1", job, in_standard_names(model), (analysed, Picture()), 0.1
    ).model_dump_json(by_alias=True)
    assert "NaN" not in written
    assert "Infinity" not in written
    return results.GeneratorResult.model_validate(json.loads(written)).generator


ROTATING = {"x": {"x": -1.0, "y": 2.0}, "y": {"x": -2.0, "y": -1.0}}
CORRELATED = {"x,x": {"1": 1.0}, "x,y": {"1": 0.6}, "y,y": {"1": 0.5}}


@pytest.mark.slow
def test_complex_rates_have_a_period_and_their_overtones_stand_apart() -> None:
    spectrum = document(ROTATING, CORRELATED).spectrum
    assert spectrum is not None
    assert [(round(e.re, 9), round(e.im, 9)) for e in spectrum.eigenvalues] == [
        (1, 2),
        (1, -2),
        (2, 0),
    ]
    assert spectrum.eigenvalues[0].period == pytest.approx(np.pi)
    assert spectrum.eigenvalues[2].period is None
    assert [(round(e.re, 9), round(e.im, 9)) for e in spectrum.overtones] == [(2, 4), (2, -4)]
    assert spectrum.reason is None
    assert len(spectrum.relaxation_times) == 3


def test_law_of_two_variables_has_a_table_of_its_density() -> None:
    law = document(ROTATING, CORRELATED).stationary
    assert law is not None
    assert np.array(law.covariance) == pytest.approx(np.array([[0.52, 0.01], [0.01, 0.23]]))
    assert isinstance(law.density.values, results.EncodedArray)
    table = np.frombuffer(base64.b64decode(law.density.values.data), dtype="<f8").reshape(
        law.density.values.shape
    )
    assert table.shape == (60, 60)
    assert table.max() == pytest.approx(1 / (2 * np.pi * np.sqrt(0.52 * 0.23 - 0.01**2)), rel=0.02)
    few = document(ROTATING, CORRELATED, density_points=12).stationary
    assert few is not None
    assert isinstance(few.density.values, tuple)
    assert np.array(few.density.values).shape == (12, 12)
    assert law.circulation == pytest.approx(-0.75)


@pytest.mark.slow
def test_cells_of_the_plane_give_a_current() -> None:
    drift = {"x": {"x": -1.0, "x^3": -1.0, "y": 2.0}, "y": {"x": -2.0, "y": -1.0}}
    found = document(drift, CORRELATED, density_points=20)
    assert found.stationary is not None
    assert found.stationary.current is not None
    assert found.stationary.current.shape == (20, 20, 2)
    assert found.domains == ((None, None), (None, None))
    assert [e.re for e in found.fixed_points[0].jacobian_eigenvalues] == pytest.approx([-1, -1])


def test_three_variables_are_said_to_be_linear_next_to_their_fixed_point() -> None:
    drift = {"x": {"x": -1.0, "x^3": -1.0}, "y": {"y": -2.0}, "z": {"z": -3.0}}
    found = document(drift, {f"{v},{v}": {"1": 0.1} for v in "xyz"})
    assert "linearised at the stable fixed point" in str(found.approximation)
    assert found.stationary is not None
    assert found.stationary.density.values == ()


def test_a_spectrum_without_isolated_rates_says_why() -> None:
    # Correlations decay slower than exponentially: a power-law well.
    found = document({"x": {"tanh(x)": -1.0}}, {"x,x": {"1": 1.0, "x^2": 0.0}}, eigenpairs=3)
    assert found.spectrum is not None
    assert len(found.spectrum.eigenvalues) < 3
    assert "continuous" in str(found.spectrum.reason)


def test_no_law_no_numbers() -> None:
    found = document({"x": {"x": 1.0}, "y": {"y": -1.0}}, {"x,x": {"1": 1.0}, "y,y": {"1": 1.0}})
    assert not found.ergodic
    assert found.spectrum is None
    assert found.stationary is None
    assert "outward" in str(found.reason)


@pytest.mark.slow
def test_a_passage_has_a_spread_and_quantiles() -> None:
    (out, *_) = document({"x": {"x": 1.0, "x^3": -1.0}}, {"x,x": {"1": 0.25}}).passages
    assert out.standard_deviation is not None
    assert out.standard_deviation.value == pytest.approx(38.287, rel=1e-4)
    assert [q.probability for q in out.quantiles] == [0.05, 0.25, 0.5, 0.75, 0.95]
    assert out.quantiles[2].time == pytest.approx(29.317, rel=1e-3)
