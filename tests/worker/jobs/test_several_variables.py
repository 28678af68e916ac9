"""Two variables through the chain: data → model → time scales → parts of the document."""

import numpy as np
import pytest

from benchmarks.simulation import simulate_system
from contract.generator import AnalysisParameters, ModelTerms
from contract.identification import (
    PAPER_PRESET,
    IdentificationParameters,
    KernelParameters,
    SelectionParameters,
)
from contract.jobs import GeneratorJob
from contract.results import EncodedArray
from worker import pipeline
from worker.documents.generator import analysis_of
from worker.documents.model import diagnostics_of, model_of, selection_of
from worker.identification.data.trajectories import Trajectories, from_arrays
from worker.identification.errors import DimensionNotSupported
from worker.jobs.generator import describe, in_standard_names
from worker.jobs.parameters import analysis_settings_of, process_of, settings_of
from worker.retry import LeaseLost
from worker.validation.plot_data import Picture

pytestmark = pytest.mark.slow

MATRIX = np.array([[-1.0, 2.0], [-2.0, -1.0]])
ROOT = np.linalg.cholesky(np.array([[1.0, 0.6], [0.6, 0.5]]))


def _silent(fraction: float, stage: str, message: str) -> None:
    """No one looks."""


@pytest.fixture(scope="module")
def data() -> Trajectories:
    paths = simulate_system(
        lambda x: x @ MATRIX.T, lambda x: np.broadcast_to(ROOT, (len(x), 2, 2)), np.zeros((10, 2)),
        dt=0.01, n_steps=3_000, substeps=4, burn_in=300, seed=5,
    )  # fmt: skip
    return from_arrays(list(paths), 0.01)


def test_a_rotating_process_is_identified_analysed_and_described(data: Trajectories) -> None:
    answer = pipeline.identify(data, settings_of(IdentificationParameters()), _silent)
    analysed = pipeline.analyse(answer, data, analysis_settings_of(AnalysisParameters()), _silent)
    validation = pipeline.validate(answer, data, analysed, _silent)
    model, diagnostics = (
        model_of(answer, IdentificationParameters(), 0.95),
        diagnostics_of(answer, validation),
    )
    assert set(model.drift) == {"x", "y"}
    assert {(test.variable, test.lag > 0) for test in diagnostics.chapman_kolmogorov} == {
        ("x", True),
        ("y", True),
    }
    assert (
        len(diagnostics.autocorrelation["y"].lags)
        == len(diagnostics.autocorrelation["y"].model)
        > 10
    )
    assert diagnostics.density_total_variation < 0.1
    assert diagnostics.model_validate_json(diagnostics.model_dump_json()) == diagnostics
    assert set(model.diffusion) == {"x,x", "x,y", "y,y"}
    assert set(selection_of(answer).diffusion) == set(model.diffusion)
    slowest = analysed.generator.spectrum.eigenvalues[0]
    # λ = 1 ± 2i; in 300 units of time the rate is known to √(2 · 1/300) = 8 %, the frequency more
    # precisely.
    assert slowest.real == pytest.approx(1, abs=4 * 0.08)
    assert abs(slowest.imag) == pytest.approx(2, abs=4 * 0.08)
    low, high = analysed.spread.range("spectrum", "eigenvalues", "re", 0)
    assert low < slowest.real < high
    assert set(diagnostics.residuals_by_variable) == {"x", "y"}
    assert diagnostics.measurement_noise_variances == {"x": 0.0, "y": 0.0}
    assert {key.split()[0] for key in diagnostics.step_error} == {"drift", "diffusion"}


def test_progress_moves_with_every_component_and_a_cancelled_job_ends_at_the_next(
    data: Trajectories,
) -> None:
    said: list[tuple[float, str]] = []
    pipeline.identify(
        data,
        settings_of(IdentificationParameters()),
        lambda fraction, stage, message: said.append((fraction, message)),
    )
    fractions = [fraction for fraction, _ in said]
    assert fractions == sorted(set(fractions))
    assert fractions[-1] < 0.7, "where the analysis begins"
    about = {message.rpartition(" of the ")[2] for _, message in said}
    assert {"drift of x", "drift of y", "diffusion x,x", "diffusion x,y", "diffusion y,y"} < about

    def cancelled(fraction: float, stage: str, message: str) -> None:
        if message.endswith("drift of y"):
            raise LeaseLost

    with pytest.raises(LeaseLost):
        pipeline.identify(data, settings_of(IdentificationParameters()), cancelled)


def test_cross_validation_is_described_with_its_curve_and_every_support(data: Trajectories) -> None:
    wanted = IdentificationParameters(selection=SelectionParameters(method="lasso_cv"))
    answer = pipeline.identify(data, settings_of(wanted), _silent)
    described, model = selection_of(answer), model_of(answer, IdentificationParameters(), 0.95)
    for key, selection in described.drift.items():
        curve = selection.curve
        assert curve is not None
        assert (
            len(curve.penalties) == len(curve.errors) == len(curve.std_errors) == len(curve.n_terms)
        )
        assert curve.chosen >= curve.lowest
        # The chosen penalty's support is that of the last entry that begins at it or above, and is
        # the model's.
        chosen = [e for e in selection.path if e.penalty is not None and e.penalty >= curve.chosen][
            -1
        ]
        assert set(chosen.support) == {t.term for t in model.drift[key].terms if t.active}
        assert chosen.coefficients.keys() == set(chosen.support)
        assert -chosen.score <= curve.errors[curve.penalties.index(curve.chosen)]
    plain = selection_of(pipeline.identify(data, settings_of(IdentificationParameters()), _silent))
    assert all(s.curve is None for s in plain.drift.values())


@pytest.mark.parametrize(
    "parameters", [PAPER_PRESET, IdentificationParameters(kernels=KernelParameters(range=(-1, 1)))]
)
def test_what_is_for_one_variable_only_is_refused_with_what_to_do(
    data: Trajectories, parameters
) -> None:
    with pytest.raises(DimensionNotSupported, match="is for one variable") as refused:
        pipeline.identify(data, settings_of(parameters), _silent)
    assert "state_columns" in refused.value.hints[0]


def test_a_model_given_by_its_terms_may_leave_out_what_is_zero() -> None:
    model = ModelTerms(
        drift={"x": {"x": -1, "y": 2}, "y": {"x": -2, "y": -1}},
        diffusion={"x,x": {"1": 1}, "y,y": {"1": 1}},
    )
    report = pipeline.analyse_terms(
        process_of(model), analysis_settings_of(AnalysisParameters()), _silent
    ).generator
    assert report.ergodic
    assert report.spectrum.eigenvalues[0] == pytest.approx(1 + 2j)
    np.testing.assert_allclose(report.stationary.covariance, np.eye(2) / 2, atol=1e-9)


def test_passages_between_regions_are_described_with_the_regions() -> None:
    job = GeneratorJob.model_validate(
        {
            "kind": "generator",
            "model": {
                "drift": {"x": {"x": 1, "x^3": -1}, "y": {"y": -2}},
                "diffusion": {"x,x": {"1": 0.25}, "y,y": {"1": 0.25}},
            },
            "analysis": {
                "passages": [
                    {"from": [-1, 0.1], "to": {"x": [0.8, None]}},
                    {"from": -1, "to": 1},
                    {"from": [-1, 0], "to": [1, 0]},
                ],
                "committors": [{"from": {"x": [None, -0.9]}, "to": {"x": [0.8, None]}}],
            },
        }
    )
    assert isinstance(job.model, ModelTerms)
    analysed = pipeline.analyse_terms(
        process_of(job.model), analysis_settings_of(job.analysis), _silent
    )
    generator = describe(
        "job", job, in_standard_names(job.model), (analysed, Picture()), 0.0
    ).generator
    numbers, region, point, there, back = generator.passages
    assert numbers.mean_time.value is None
    assert "two numbers name no states" in str(numbers.mean_time.reason)
    assert (region.from_, region.to) == ((-1, 0.1), {"x": (0.8, None), "y": (None, None)})
    # On the line from −1 to 0.8.
    assert region.mean_time.value == pytest.approx(39.2017, rel=1e-3)
    assert region.standard_deviation is not None
    assert "never hit" in str(point.mean_time.reason)
    assert there.to == back.from_
    assert len(generator.committors) == 2
    values = generator.committors[0].values
    assert isinstance(values, EncodedArray)
    assert values.shape == tuple(len(points) for points in generator.committors[0].grid)


def test_passages_have_intervals_over_the_models_that_the_data_allow(data: Trajectories) -> None:
    wanted = AnalysisParameters.model_validate(
        {"passages": [{"from": [0, 0], "to": {"x": [1, None]}}]}
    )
    answer = pipeline.identify(data, settings_of(IdentificationParameters()), _silent)
    analysed = pipeline.analyse(answer, data, analysis_settings_of(wanted), _silent)
    (timed,) = analysis_of(analysed.generator, analysed.spread).passages
    assert timed.mean_time.value is not None
    assert timed.mean_time.ci is not None
    low, high = timed.mean_time.ci
    assert low < timed.mean_time.value < high
    # 300 units of time and passages of three: about a tenth.
    assert high - low < timed.mean_time.value
