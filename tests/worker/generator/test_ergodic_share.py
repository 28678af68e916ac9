"""A share of sampled models without a law is said in words where it matters, and only there."""

import numpy as np
import pytest

from benchmarks.simulation import simulate
from contract.generator import AnalysisParameters
from contract.identification import IdentificationParameters, LibraryParameters, SelectionParameters
from worker import pipeline
from worker.analysis import Analysed
from worker.identification.data.trajectories import Trajectories, from_arrays
from worker.jobs.parameters import analysis_settings_of, settings_of


def linear_record(seed: int) -> Trajectories:
    path = simulate(
        lambda x: -x,
        lambda x: np.full_like(x, 0.5),
        np.zeros(1),
        dt=0.05,
        n_steps=2_000,
        substeps=5,
        burn_in=100,
        seed=seed,
    )
    return from_arrays(list(path), 0.05)


def analysed(data: Trajectories, method: str) -> Analysed:
    parameters = IdentificationParameters(
        library=LibraryParameters(polynomial_degree=3),
        selection=SelectionParameters.model_validate({"method": method}),
    )
    answer = pipeline.identify(data, settings_of(parameters), lambda *_: None)
    return pipeline.analyse(
        answer, data, analysis_settings_of(AnalysisParameters()), lambda *_: None
    )


@pytest.mark.slow
def test_a_cubic_term_that_may_have_either_sign_is_a_warning_with_what_to_try() -> None:
    found = analysed(linear_record(0), "none")
    assert found.generator.ergodic
    assert found.spread is not None
    assert found.spread.ergodic_share is not None
    assert found.spread.ergodic_share < 0.95
    (finding,) = [f for f in found.findings if f.code == "ergodic-share"]
    assert "polynomial_degree" in finding.message


@pytest.mark.slow
def test_terms_that_were_selected_give_no_warning() -> None:
    assert not [f for f in analysed(linear_record(0), "bic").findings if f.code == "ergodic-share"]
