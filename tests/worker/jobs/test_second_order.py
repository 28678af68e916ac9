"""Jobs of second order: positions, or terms of positions and velocities → the document."""

import math
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from contract.datasets import Dataset, DatasetReport, Layout, LengthReport, SamplingReport, Variable
from contract.generator import ModelTerms
from contract.identification import IdentificationParameters
from contract.jobs import GeneratorJob, IdentificationJob
from contract.kinds import JOB_REQUEST
from contract.results import GeneratorResult, IdentificationResult
from contract.symbols import faults_of_words, in_words, job_in_standard_names, symbols_of_dataset
from tests.worker.identification.second_order.paths import harmonic, harmonic_states
from worker import pipeline
from worker.analysis import AnalysisSettings, analyse_process
from worker.generator.quantities.regions import Region
from worker.identification.data.trajectories import from_arrays
from worker.identification.errors import NoCorrelationTime, NotSecondOrder
from worker.identification.estimation.setup import Settings
from worker.identification.second_order_model import in_phase_space
from worker.identification.sums.block_sums import sums_here
from worker.jobs import generator, identification
from worker.jobs.generator import in_standard_names, velocities_of
from worker.jobs.parameters import process_of
from worker.jobs.sources import Record

DT, N = 0.05, 6000
K, GAMMA, A = 4.0, 1.0, 1.0
OSCILLATOR = {
    "drift": {"q": {"p": 1.0}, "p": {"q": -K, "p": -GAMMA}},
    "diffusion": {"p,p": {"1": A}},
}


def quiet(*_: object) -> None:
    """No progress."""


def dataset(columns: tuple[str, ...], states: np.ndarray) -> Dataset:
    sampling = SamplingReport(median=DT, min=DT, max=DT, jitter=0.0, source="given")
    variables = tuple(
        Variable(name=name, symbol=column, column=column, unit="um")
        for name, column in zip("xy", columns, strict=False)
    )
    report = DatasetReport(
        format="npy", layout=Layout(), variables=variables, n_trajectories=1, n_segments=1,
        n_samples=N, n_increments=N - 1, duration=(N - 1) * DT, time_unit="s",
        lengths=LengthReport(min=N, median=N, max=N), dt=sampling,
        range=tuple((float(x.min()), float(x.max())) for x in states.T),
    )  # fmt: skip
    return Dataset(
        id="ds_a", created_at=datetime.now(UTC), sha256="0" * 64, bytes=8 * N, report=report
    )


def identified(
    columns: tuple[str, ...], states: np.ndarray, degree: int = 3, dynamics: str = "second-order"
) -> IdentificationResult:
    job = JOB_REQUEST.validate_python(
        {
            "kind": "identification",
            "dataset": "ds_a",
            "parameters": {
                "dynamics": dynamics,
                "library": {"polynomial_degree": degree},
            },
            "analysis": {"model_only": True},
        }
    )
    assert isinstance(job, IdentificationJob)
    record = Record(dataset(columns, states), from_arrays([states], DT))
    job = job_in_standard_names(job, record.symbols)
    found = identification.compute(job, record, quiet, sums_here)
    return in_words(identification.describe("job_1", job, record, found, 0.1), record.symbols, {})


@pytest.fixture(scope="module")
def one() -> IdentificationResult:
    return identified(("Position",), harmonic(K, GAMMA, A, DT, N, 1)[:, None])


def test_positions_get_velocities_for_variables(one: IdentificationResult) -> None:
    assert one.model.order == 2
    assert tuple(one.model.drift) == ("x", "v")
    assert one.model.symbols == {"x": "Position", "v": "v"}
    assert "*Position" in one.model.drift["v"].expression
    assert IdentificationResult.model_validate_json(one.model_dump_json()) == one


def test_force_and_friction_are_drawn_at_rest_with_their_intervals(
    one: IdentificationResult,
) -> None:
    assert one.curves is not None
    assert one.curves.friction is not None
    terms = {t.term: t for t in one.model.drift["v"].terms}
    grid, force = np.array(one.curves.grid), np.array(one.curves.drift.values, dtype=float)
    assert force == pytest.approx(terms["x"].value * grid, abs=1e-9)
    friction = np.array(one.curves.friction.values, dtype=float)
    assert friction == pytest.approx(-terms["v"].value, rel=1e-6)
    # The band in the middle of the data is that of the coefficient.
    low, high = one.curves.friction.band[len(grid) // 2]
    assert low is not None
    assert high is not None
    assert terms["v"].std_error is not None
    assert (high - low) / (2 * 1.96 * terms["v"].std_error) == pytest.approx(1, abs=0.3)


def test_residuals_of_second_differences_are_standard_normal(one: IdentificationResult) -> None:
    assert one.observed is not None
    assert set(one.observed.histograms) == {"x", "v"}
    assert set(one.observed.residuals) == {"v"}
    bins = one.observed.residuals["v"]
    middles = (np.array(bins.edges)[1:] + np.array(bins.edges)[:-1]) / 2
    counts = np.array(bins.counts)
    variance = (counts * middles**2).sum() / counts.sum()
    # Neighbours are correlated by a quarter: √(2 (1 + 2/16) / n) is the error of the mean square.
    assert abs(variance - 1) < 4 * math.sqrt(2 * 1.125 / N)


def test_two_positions_have_symbols_of_velocities_and_noise_of_their_own() -> None:
    states = np.column_stack([harmonic(K, GAMMA, A, DT, N, 2), harmonic(1.0, 2.0, 3.0, DT, N, 3)])
    states[:, 1] += 0.03 * np.random.default_rng(4).standard_normal(N)
    found = identified(("a", "b"), states, 2)
    assert found.model.symbols == {"x": "a", "y": "b", "vx": "v_a", "vy": "v_b"}
    assert set(found.diagnostics.measurement_noise_variances) == {"x", "y"}
    assert set(found.diagnostics.residuals_by_variable) == {"vx", "vy"}
    # From 6000 samples the variance of the noise is known to about 3 %.
    assert found.diagnostics.measurement_noise_variances["y"] == pytest.approx(
        9e-4, abs=5 * 9e-4 * math.sqrt(35 / 6 / N)
    )
    noise = next(w for w in found.warnings if w.code == "measurement-noise")
    assert " in b" in noise.message


def test_a_model_is_compared_with_positions_not_with_secants() -> None:
    states = [harmonic(k, GAMMA, A, DT, N, 1)[:, None] for k in (K, 1.5 * K)]
    record, other = (from_arrays([x], DT) for x in states)
    settings = Settings(dynamics="second-order", polynomial_degree=1)
    model = pipeline.identify(record, settings, quiet)
    states = pipeline.states_of(model, record)
    analysed, found = pipeline.analyse_and_validate(model, states, AnalysisSettings(), quiet)
    assert analysed is not None
    assert analysed.generator.ergodic
    assert found.findings == ()
    assert found.chapman_kolmogorov == ()
    assert found.reason is not None
    assert "velocities, which were not recorded" in found.reason
    (of_position,) = found.autocorrelation
    assert of_position.p_value is not None
    assert of_position.p_value > 1e-4
    # Negative control: positions of a stiffer spring.
    seen = in_phase_space(other, (None, None))
    stiffer = pipeline.validate(model, seen, analysed, quiet)
    assert [f.code for f in stiffer.findings] == ["autocorrelation"]


RECORDED = harmonic_states(K, GAMMA, A, DT, N, 1)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["x first", "v first"])
def test_recorded_velocities_give_a_model_of_second_order(order: tuple[int, int]) -> None:
    columns = tuple(np.array(["Position", "Velocity"])[list(order)])
    found = identified(columns, RECORDED[:, order], 3, "auto")
    model, (x, v) = found.model, tuple(np.array(["x", "y"])[list(order)])
    assert model.order == 2
    assert tuple(model.drift) == found.recorded == (x, v)
    assert model.symbols == {x: "Position", v: "Velocity"}
    assert [w.code for w in found.warnings] == ["velocity-recognised"]
    assert "Velocity is the velocity of Position" in found.warnings[0].message
    # dx = v dt is known, dv = F dt + σ dW fitted at the state.
    assert model.drift[x].expression == "1*Velocity" or model.drift[x].expression == "Velocity"
    assert all(term.std_error is None for term in model.drift[x].terms)
    terms = {t.term: t for t in model.drift[v].terms if t.active}
    assert set(terms) == {x, v}
    for term, truth in ((x, -K), (v, -GAMMA)):
        assert terms[term].std_error is not None
        assert abs(terms[term].value - truth) < 4 * terms[term].std_error
    assert [k for k, a in model.diffusion.items() if a.expression != "0"] == [f"{v},{v}"]
    assert len(model.diffusion) == 3
    assert found.observed is not None
    assert set(found.observed.histograms) == {x, v}
    assert set(found.observed.residuals) == {v}


def test_recorded_velocities_are_analysed_and_compared_as_velocities() -> None:
    asked = AnalysisSettings(passages=((-0.3, 0.3),), committors=(((-0.3, 0.0), (0.3, 0.0)),))
    settings, record = Settings(polynomial_degree=1), from_arrays([RECORDED[:, ::-1]], DT)
    model = pipeline.identify(record, settings, quiet)
    analysed, compared = pipeline.analyse_and_validate(
        model, pipeline.states_of(model, record), asked, quiet
    )
    assert analysed is not None
    oscillation = analysed.generator.fixed_points[0].oscillation
    assert oscillation is not None
    assert oscillation.angular_frequency == pytest.approx(math.sqrt(K), rel=0.1)
    (passage,) = analysed.generator.between
    assert passage.start == (-0.3, 0.0)
    # Velocities that were recorded are compared, too.
    assert {test.variable for test in compared.chapman_kolmogorov} == {0, 1}
    assert compared.findings == ()


def test_what_is_no_whole_phase_space_stays_of_first_order() -> None:
    beside = np.cumsum(np.random.default_rng(0).standard_normal(N))
    for states, factor in (
        (np.column_stack([RECORDED, beside]), 1.0),
        (RECORDED * [1, 1000.0], 0.001),
    ):
        model = pipeline.identify(from_arrays([states], DT), Settings(polynomial_degree=1), quiet)
        assert model.order == 1
        assert model.drift["x"].active() == {"y": factor}
        assert "velocity-recognised" in {f.code for f in model.findings}
        assert not model.diffusion["x,x"].active()
        assert not model.diffusion["x,y"].active()


def test_first_order_by_name_fits_the_drift_of_a_position_as_well() -> None:
    settings = Settings(dynamics="first-order", polynomial_degree=1)
    model = pipeline.identify(from_arrays([RECORDED], DT), settings, quiet)
    assert model.order == 1
    assert [f.code for f in model.findings] == ["degenerate-diffusion"]
    assert model.drift["x"].method == "bic"


def test_the_hint_about_computed_velocities_works() -> None:
    x = RECORDED[:, :1]
    settings = Settings(polynomial_degree=1)
    both = from_arrays([np.column_stack([x, np.gradient(x[:, 0], DT)])], DT)
    said = pipeline.identify(both, settings, quiet).findings[0]
    assert said.code == "velocity-from-positions"
    assert "Name x alone in layout.state_columns" in said.message
    with pytest.raises(NotSecondOrder, match="y was computed from x") as refused:
        pipeline.identify(both, replace(settings, dynamics="second-order"), quiet)
    assert "Name x alone in layout.state_columns" in refused.value.hints[0]
    assert pipeline.identify(from_arrays([x], DT), settings, quiet).order == 2


def test_an_oscillator_has_no_coloured_noise_and_says_so() -> None:
    states = harmonic(16.0, 0.2, A, DT, N, 1)[:, None]
    # Its force has no two real rates, of which one could be the noise's.
    with pytest.raises(NoCorrelationTime, match="not that of coloured noise"):
        identified(("x",), states, 2, "coloured-noise")
    # The hint works.
    assert identified(("x",), states, 2, "second-order").model.order == 2


def test_velocities_are_words_of_a_job_only_where_they_are_variables() -> None:
    symbols = symbols_of_dataset(dataset(("Position",), np.zeros((2, 1))))

    def faults(dynamics: str, **given: Any) -> list[str]:
        parameters = IdentificationParameters.model_validate({"dynamics": dynamics, **given})
        return [detail for _, detail in faults_of_words(parameters, symbols)]

    terms = {"library": {"extra_terms": ["Position*v^4"]}}
    assert faults("second-order", domain={"v": [0.0, None]}, **terms) == []
    for dynamics in ("auto", "first-order"):
        assert faults(dynamics, domain={"v": [0.0, None]}) == ["'v' is not a variable here"]
        assert faults(dynamics, **terms) == ["'v' is not a variable here"]
    assert faults("second-order", periodic={"v": 360.0}) == ["'v' is a velocity, which is no angle"]


@pytest.mark.parametrize(
    ("kind", "parameters", "said"),
    [
        ("rolling", {"dynamics": "second-order"}, "set parameters.dynamics to coloured-noise"),
        (
            "identification",
            {"dynamics": "second-order", "estimator": "paper", "kernels": {"count": 50}},
            "set estimator to efficient",
        ),
    ],
)
def test_what_knows_no_velocities_is_refused(
    kind: str, parameters: dict[str, Any], said: str
) -> None:
    with pytest.raises(ValidationError, match=said):
        JOB_REQUEST.validate_python({"kind": kind, "dataset": "ds_a", "parameters": parameters})


@pytest.mark.parametrize(
    ("drift", "noisy", "velocities"),
    [
        ({"x": {"v": 1.0}, "v": {"x": -1.0}}, ["v"], {"x": "v"}),
        # A force that is the position with coefficient 1 is no velocity of the velocity.
        ({"x": {"v": 1.0}, "v": {"x": 1.0}}, ["v"], {"x": "v"}),
        (
            {"a": {"c": 1.0}, "c": {"a": -1.0}, "b": {"d": 1.0}, "d": {"c": -1.0}},
            ["c", "d"],
            {"a": "c", "b": "d"},
        ),
        ({"x": {"v": 2.0}, "v": {"x": -1.0}}, ["v"], {}),
        ({"x": {"v": 1.0}, "v": {"x": -1.0}}, ["x", "v"], {}),
        ({"a": {"b": 1.0}, "b": {"c": 1.0}, "c": {"d": 1.0}, "d": {"a": -1.0}}, ["d"], {}),
        ({"a": {"b": 1.0}, "b": {"a": -1.0}, "c": {"c": -1.0}}, ["b", "c"], {}),
    ],
)
def test_a_model_is_of_second_order_where_a_half_of_it_are_velocities(
    drift: dict[str, dict[str, float]], noisy: list[str], velocities: dict[str, str]
) -> None:
    model = ModelTerms(drift=drift, diffusion={f"{v},{v}": {"1": 1.0} for v in noisy})
    assert velocities_of(model) == velocities


def test_terms_in_own_names_are_analysed_as_position_and_velocity() -> None:
    job = GeneratorJob.model_validate({"kind": "generator", "model": OSCILLATOR})
    assert isinstance(job.model, ModelTerms)
    given = in_standard_names(job.model)
    assert given.symbols.symbols == {"x": "q", "v": "p"}
    found = generator.describe(
        "job_1", job, given, generator.compute(job, given, quiet, sums_here), 0.1
    )
    assert isinstance(found, GeneratorResult)
    assert found.model.order == 2
    assert tuple(found.model.drift) == ("x", "v")
    assert found.generator.autocorrelation is not None
    assert set(found.generator.autocorrelation.values) == {"x", "v"}
    # ⟨x²⟩ = a/2γk and ⟨v²⟩ = a/2γ.
    assert found.generator.stationary is not None
    covariance = found.generator.stationary.covariance
    assert (covariance[0][0], covariance[1][1]) == pytest.approx((A / 2 / GAMMA / K, A / 2 / GAMMA))
    assert found.curves is not None
    assert found.curves.friction is not None
    assert found.curves.friction.values == pytest.approx([GAMMA] * len(found.curves.grid))


def test_a_result_of_second_order_is_analysed_again_in_its_own_names(
    one: IdentificationResult,
) -> None:
    again = generator._active_terms(one.model_dump_json().encode())
    assert (again.order, tuple(again.model.drift)) == (2, ("x", "v"))
    states = np.array([[0.5, -0.25]])
    drift = process_of(again.model).drift(states)
    terms = {t.term: t.value for t in one.model.drift["v"].terms if t.active}
    assert drift[0] == pytest.approx([-0.25, 0.5 * terms["x"] - 0.25 * terms["v"]])


def test_two_numbers_are_positions_that_are_crossed_at_any_velocity() -> None:
    asked: list[Any] = []

    def answer(_: Any, passages: Any, committors: Any, **__: Any) -> None:
        asked.extend([*passages, *committors])

    process = process_of(in_standard_names(ModelTerms.model_validate(OSCILLATOR)).model)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("worker.analysis.analysis", answer)
        wanted = AnalysisSettings(
            passages=((-1.0, 1.0), ({"x": (None, -0.8)}, {"x": (0.8, None)})),
            committors=((1.0, -1.0),),
        )
        analyse_process(process, wanted, None, ("x", "v"))
    inf, anywhere = math.inf, (-math.inf, math.inf)
    assert asked == [
        ((-1.0, 0.0), Region(((1.0, inf), anywhere))),
        (Region(((-inf, -0.8), anywhere)), Region(((0.8, inf), anywhere))),
        (Region(((1.0, inf), anywhere)), Region(((-inf, -1.0), anywhere))),
    ]
