"""What is drawn of data and model: against closed forms, and against the fit's own errors."""

import numpy as np
import pytest

from contract.generator import AnalysisParameters, ModelTerms
from contract.identification import IdentificationParameters
from worker import pipeline
from worker.documents.curves import curves_document, field_document, observed_document
from worker.identification.data.trajectories import Trajectories, from_arrays
from worker.jobs.parameters import analysis_settings_of, process_of, settings_of
from worker.validation import plot_data
from worker.validation.empirical import KramersMoyal, observe

DT = 0.01


def _silent(fraction: float, stage: str, message: str) -> None: ...


def _paths(noise: float = 0.0) -> Trajectories:
    """Draw ten exact paths of dX = −X dt + dW, each with white measurement noise."""
    source = np.random.default_rng(3)
    decay, n = np.exp(-DT), 4_000
    x = np.empty((n, 10))
    x[0] = source.standard_normal(10) / np.sqrt(2)
    kicks = source.standard_normal((n, 10)) * np.sqrt((1 - decay**2) / 2)
    for i in range(1, n):
        x[i] = decay * x[i - 1] + kicks[i]
    return from_arrays(list((x + noise * source.standard_normal(x.shape)).T), DT)


PROCESS = process_of(ModelTerms(drift={"x": {"x": -1.0}}, diffusion={"x,x": {"1": 1.0}}))


def _deviations(found: KramersMoyal) -> tuple[np.ndarray, np.ndarray]:
    """In standard errors, from the moments over one step of exact length."""
    seen = np.isfinite(found.drift)
    slope = -(1 - np.exp(-DT)) / DT
    spread = (1 - np.exp(-2 * DT)) / (2 * DT)
    return (
        (found.drift[seen] - slope * found.at[seen]) / found.drift_error[seen],
        (found.diffusion[seen] - spread) / found.diffusion_error[seen],
    )


def test_moments_of_the_increments_are_those_of_the_process_within_their_errors() -> None:
    found = observe(_paths(), PROCESS, [(-2.5, 2.5)], DT)
    assert found.kramers_moyal is not None
    for z in _deviations(found.kramers_moyal):
        assert len(z) > 40
        # χ² of about 50 bins per degree of freedom is 1 ± 0.2; the bound is four standard
        # deviations, and the bins' own finite width.
        assert 0.4 < np.mean(z**2) < 1.8


def test_noise_of_the_instrument_shows_in_the_moments() -> None:
    """The negative control: they are raw, and say so."""
    found = observe(_paths(noise=0.1), PROCESS, [(-2.5, 2.5)], DT)
    assert found.kramers_moyal is not None
    assert all(np.mean(z**2) > 4 for z in _deviations(found.kramers_moyal))


def test_moments_given_the_sample_before_are_free_of_the_noise() -> None:
    found = observe(_paths(noise=0.1), PROCESS, [(-2.5, 2.5)], DT, noise=(0.01,))
    assert found.kramers_moyal is not None
    assert found.kramers_moyal.noise_corrected
    middle = (found.residuals[0].edges[1:] + found.residuals[0].edges[:-1]) / 2
    assert np.average(middle**2, weights=found.residuals[0].counts) == pytest.approx(1, abs=0.05)
    drift, diffusion = _deviations(found.kramers_moyal)
    # A step later, and seen through noise of a fiftieth of the variance, the drift is 3 % smaller;
    # neighbouring increments share their noise, so that the errors, which take them for
    # independent, are too large for the drift and too small for its square.
    assert np.mean(drift**2) < 1.8
    assert np.mean(diffusion**2) < 3.0
    assert abs(np.average(found.kramers_moyal.diffusion[20:40]) - 1) < 0.1


def test_residuals_are_standard_normal_and_all_samples_are_counted_once() -> None:
    data = _paths()
    found = observe(data, PROCESS, [(-5.0, 5.0)], DT)
    assert found.n_samples == len(data.states) == found.histograms[0].counts.sum()
    residuals = found.residuals[0]
    assert residuals.counts.sum() == data.n_increments
    middle = (residuals.edges[1:] + residuals.edges[:-1]) / 2
    # A normal variable's variance in bins a quarter wide is 1 + 1/192, its error √(2/n) = 0.007.
    assert np.average(middle**2, weights=residuals.counts) == pytest.approx(
        1 + 1 / 192, abs=5 * 0.007
    )


def test_increments_across_a_gap_and_over_long_steps_are_left_out() -> None:
    data = _paths()
    times = np.array(data.times)
    times[2_000:4_000] += 50.0
    with_a_pause = Trajectories(data.states, times, data.segments)
    found = observe(with_a_pause, PROCESS, [(-5.0, 5.0)], DT)
    assert found.residuals[0].counts.sum() == data.n_increments - 1


def test_a_long_record_is_seen_through_an_even_selection() -> None:
    data = _paths()
    found = observe(data, PROCESS, [(-5.0, 5.0)], DT, most=8_000)
    assert 7_000 < found.n_samples <= 8_000


def test_bands_are_as_wide_as_the_coefficients_say() -> None:
    data = _paths()
    answer = pipeline.identify(data, settings_of(IdentificationParameters()), _silent)
    analysed = pipeline.analyse(answer, data, analysis_settings_of(AnalysisParameters()), _silent)
    seen = plot_data.of_answer(answer, data, analysed.generator, 0.95)
    document = curves_document(seen.curves)
    assert document is not None
    [slope] = [t for t in answer.drift["x"].terms if t.active]
    x, band = np.array(document.grid), np.array(document.drift.band, dtype=float)
    assert np.allclose(document.drift.values, slope.value * x)
    inside = (band[:, 0] <= np.array(document.drift.values) + 1e-9) & (
        np.array(document.drift.values) <= band[:, 1] + 1e-9
    )
    assert inside.all()
    half, far = (band[:, 1] - band[:, 0]) / 2, np.abs(x) > 1
    # 500 drawn models tell a quantile to 5 %; those of other supports and rules only widen it.
    assert (half[far] > 0.85 * 1.96 * slope.std_error * np.abs(x[far])).all()
    assert (half[far] < 3 * 1.96 * slope.std_error * np.abs(x[far])).all()
    observed = observed_document(seen.observed)
    assert observed.kramers_moyal is not None
    assert len(observed.kramers_moyal.at) > 30


def test_two_variables_have_arrows_and_a_joint_histogram() -> None:
    rotating = ModelTerms(
        drift={"x": {"x": -1.0, "y": 2.0}, "y": {"x": -2.0, "y": -1.0}},
        diffusion={"x,x": {"1": 1.0}, "y,y": {"1": 1.0}},
    )
    process = process_of(rotating)
    analysed = pipeline.analyse_terms(
        process_of(rotating), analysis_settings_of(AnalysisParameters(density_points=30)), _silent
    )
    seen = plot_data.of_terms(process, analysed.generator)
    field = field_document(seen.field)
    assert field is not None
    (first, second), values = field.grid, np.array(field.values, dtype=float)
    assert np.allclose(values[3, 5], [-first[3] + 2 * second[5], -2 * first[3] - second[5]])
    states = np.random.default_rng(1).standard_normal((500, 2))
    found = observe(from_arrays([states], 1.0), process, [(-5.0, 5.0), (-5.0, 5.0)], 1.0)
    assert found.kramers_moyal is None
    joint = observed_document(found).joint_histogram
    assert joint is not None
    assert sum(map(sum, joint.counts)) == 500


@pytest.mark.parametrize("drift", [{"x": 1.0}, {"1": 1.0}])
def test_a_model_without_a_law_is_drawn_where_its_roots_are_or_not_at_all(
    drift: dict[str, float],
) -> None:
    model = ModelTerms(drift={"x": drift}, diffusion={"x,x": {"1": 1.0}})
    analysed = pipeline.analyse_terms(
        process_of(model), analysis_settings_of(AnalysisParameters()), _silent
    )
    seen = plot_data.of_terms(process_of(model), analysed.generator)
    assert (seen.curves is None) == ("1" in drift)


def test_an_angle_is_drawn_over_one_turn() -> None:
    source = np.random.default_rng(2)
    walk = np.cumsum(np.concatenate([[170.0], source.standard_normal(3_000)]))
    data = from_arrays([(walk + 180) % 360 - 180], 1.0)
    wanted = IdentificationParameters(periodic={"x": 360.0})
    answer = pipeline.identify(data, settings_of(wanted), _silent)
    analysed = pipeline.analyse(answer, data, analysis_settings_of(AnalysisParameters()), _silent)
    seen = plot_data.of_answer(answer, data, analysed.generator, 0.95)
    assert seen.observed is not None
    edges = seen.observed.histograms[0].edges
    assert edges[-1] - edges[0] == pytest.approx(360)
    assert seen.observed.histograms[0].counts.sum() == len(walk)
    assert seen.observed.residuals[0].counts.sum() == len(walk) - 1
