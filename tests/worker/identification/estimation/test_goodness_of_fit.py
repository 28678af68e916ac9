"""The test of fit names a drift that the library cannot describe, and where; never a right one."""

from collections.abc import Callable

import numpy as np
import pytest

from benchmarks.simulation import simulate
from contract.identification import IdentificationParameters
from worker import pipeline
from worker.identification.data.trajectories import from_arrays
from worker.identification.estimation.goodness_of_fit import SIGNIFICANT
from worker.identification.identified_model import IdentifiedModel
from worker.jobs.parameters import settings_of


def _pulled(x: np.ndarray) -> np.ndarray:
    return -np.tanh(3 * x)


def _wavy(x: np.ndarray) -> np.ndarray:
    return -x + 1.5 * np.sin(3 * x)


def _double_well(x: np.ndarray) -> np.ndarray:
    return x - x**3


def _linear(x: np.ndarray) -> np.ndarray:
    return -x


Function = Callable[[np.ndarray], np.ndarray]


def _identified(
    drift: Function,
    seed: int,
    dt: float = 0.05,
    scale: float = 1.0,
    n_steps: int = 100,
    **parameters: object,
) -> IdentifiedModel:
    path = simulate(
        drift,
        lambda x: np.full_like(x, 0.5),
        np.zeros(200),
        dt=dt,
        n_steps=n_steps,
        substeps=20,
        burn_in=50,
        seed=seed,
    )
    settings = settings_of(IdentificationParameters.model_validate(parameters))
    return pipeline.identify(from_arrays(list(scale * path), dt), settings, lambda *_: None)


def _codes(model: IdentifiedModel) -> set[str]:
    return {finding.code for finding in model.findings}


@pytest.mark.slow
@pytest.mark.parametrize("drift", [_pulled, _wavy])
def test_a_drift_outside_the_library_is_named_with_its_place(drift: Function) -> None:
    """Before, nothing was said of either."""
    found = [_identified(drift, seed, n_steps=200) for seed in range(3)]
    assert all("drift-misfit" in _codes(model) for model in found)
    for model in found:
        assert model.misfit is not None
        low, high, at, difference, error = model.misfit.worst()
        assert low <= at <= high
        # The data's drift is on the named side of the model's, in the middle of the region.
        x = np.linspace(low, high, 50)
        missing = drift(x) - model.process.drift(x[:, None])[:, 0]
        assert np.sign(np.mean(missing)) == np.sign(difference)
        assert abs(difference) > 2 * error


@pytest.mark.slow
@pytest.mark.parametrize(
    ("drift", "dt"), [(_linear, 0.05), (_double_well, 0.05), (_double_well, 0.2)]
)
def test_a_drift_in_the_library_fits(drift: Function, dt: float) -> None:
    found = [_identified(drift, seed, dt) for seed in range(4)]
    p_values = np.array([model.misfit.p_value for model in found if model.misfit is not None])
    assert len(p_values) == len(found)
    assert not any("drift-misfit" in _codes(model) for model in found)
    # Uniform where the model is right: four p-values below 0.1 are one case in 10 000.
    assert p_values.max() > 0.1
    assert p_values.min() > SIGNIFICANT


def test_the_right_function_among_the_terms_fits() -> None:
    model = _identified(_pulled, 0, library={"extra_terms": ["tanh(3*x)"]})
    assert "tanh(3*x)" in model.drift["x"].active()
    assert "drift-misfit" not in _codes(model)


def test_the_difference_is_in_the_datas_units() -> None:
    one, micro = _identified(_pulled, 1), _identified(_pulled, 1, scale=1e-6)
    assert one.misfit is not None
    assert micro.misfit is not None
    assert micro.misfit.p_value == pytest.approx(one.misfit.p_value, rel=1e-6)
    x = np.array([-0.5, 0.0, 0.7])
    for here, there in zip(one.misfit.at(x), micro.misfit.at(1e-6 * x), strict=True):
        np.testing.assert_allclose(there, 1e-6 * here, rtol=1e-6)
    # Far from the data nothing is known.
    assert np.isnan(one.misfit.at(np.array([1e3]))[0]).all()


@pytest.mark.slow
def test_the_smooth_difference_has_its_standard_error_where_the_model_is_right() -> None:
    x = np.linspace(-1, 1, 9)
    scores = []
    for seed in range(8):
        misfit = _identified(_double_well, seed).misfit
        assert misfit is not None
        difference, error = misfit.at(x)
        scores.append(difference / error)
    # 72 scores, correlated between neighbours: some 40 independent ones.
    assert np.sqrt(np.mean(np.square(scores))) == pytest.approx(1.0, abs=4 * 0.11)
