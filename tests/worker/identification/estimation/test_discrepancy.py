"""What a drift may have beyond its library is drawn where the data leave room, and only there."""

import numpy as np
import pytest

from benchmarks.simulation import simulate
from contract.identification import IdentificationParameters
from worker import pipeline
from worker.identification.data.trajectories import from_arrays
from worker.identification.estimation.discrepancy import Discrepancy
from worker.identification.identified_model import IdentifiedModel
from worker.identification.model_sampling import DrawnModels
from worker.identification.sums.kernels import Kernels
from worker.identification.symbolic_process import Excess, SymbolicProcess, from_terms
from worker.jobs.parameters import settings_of
from worker.validation.plot_data import curves_of


def _pulled(x: np.ndarray) -> np.ndarray:
    return -np.tanh(3 * x)


def _identified(seed: int, n_paths: int, scale: float = 1.0) -> IdentifiedModel:
    paths = simulate(
        _pulled,
        lambda x: np.full_like(x, 0.5),
        np.zeros(n_paths),
        dt=0.05,
        n_steps=200,
        substeps=10,
        burn_in=50,
        seed=seed,
    )
    data = from_arrays(list(scale * paths), 0.05)
    return pipeline.identify(data, settings_of(IdentificationParameters()), lambda *_: None)


def _terms_alone(model: IdentifiedModel) -> DrawnModels[SymbolicProcess]:
    """Return the drawn models of the library's terms, those of a support of even number."""
    draws = model.draws
    assert draws is not None
    own = draws.support % 2 == 0
    return DrawnModels(draws.coefficients[own], draws.centre, draws.support[own], draws.process_at)  # type: ignore[arg-type]


def test_the_excess_is_the_sum_it_says_and_has_its_derivative() -> None:
    kernels, weights = Kernels(np.array([-0.5, 0.2, 0.9]), 0.4), np.array([1.0, -2.0, 0.5])
    excess = Excess(from_terms({"1": 0.5, "x^2": 0.3}), kernels, weights, 3.0, 2.0)
    x = np.linspace(-1, 7, 41)
    by_hand = (0.5 + 0.3 * x**2) * sum(
        w * np.exp(-((((x - 3.0) / 2.0 - c) / 0.4) ** 2) / 2)
        for w, c in zip(weights, kernels.centres, strict=True)
    )
    np.testing.assert_allclose(excess(x), by_hand, rtol=1e-12)
    step = 1e-5
    numeric = (excess(x + step) - excess(x - step)) / (2 * step)
    # A central difference of step 1e-5 is good to 1e-10 of the third derivative, and rounding.
    np.testing.assert_allclose(excess.derivative(x), numeric, atol=1e-8)
    # Where the diffusion overflows there is no excess, as there are no data.
    assert excess(np.array([1e200]))[0] == 0
    around = Excess(from_terms({"1": 1.0}), Kernels(kernels.centres, 0.4, 2.0), weights, 0.0, 1.0)
    np.testing.assert_allclose(around(x), around(x + 2.0), atol=1e-12)


def test_models_have_a_discrepancy_as_often_as_it_is_probable() -> None:
    """Each amplitude has its exact share of the models, with its own mean and covariance."""
    transform = np.array([[1.0, 0.5], [0.0, 2.0]])
    mean, deviation = np.array([[0.0, 0.0], [1.0, -2.0]]), np.array([[0.1, 0.2], [0.5, 1.0]])
    given = Discrepancy(
        Kernels(np.zeros(1), 1.0), np.ones((2, 1)), transform, mean, deviation, np.array([0.1, 0.3])
    )
    drawn = given.draw(20_000, 0)
    some = drawn[drawn.any(axis=1)]
    assert len(some) == 0.4 * 20_000
    expected = transform @ (0.25 * mean[0] + 0.75 * mean[1])
    spread = 0.25 * (np.diag(deviation[0] ** 2) + np.outer(mean[0], mean[0]))
    spread += 0.75 * (np.diag(deviation[1] ** 2) + np.outer(mean[1], mean[1]))
    covariance = transform @ spread @ transform.T - np.outer(expected, expected)
    # Five standard errors of 8 000 draws.
    np.testing.assert_allclose(
        some.mean(axis=0), expected, atol=5 * np.sqrt(covariance.max() / len(some))
    )
    np.testing.assert_allclose(
        np.cov(some.T), covariance, atol=5 * covariance.max() * np.sqrt(3 / len(some))
    )
    assert (given.draw(20_000, 0) == drawn).all()


@pytest.mark.slow
def test_the_band_of_a_drift_outside_the_library_holds_it() -> None:
    held, alone = [], []
    for seed in range(3):
        model = _identified(seed, 200)
        assert "drift-misfit" in {finding.code for finding in model.findings}
        for share, draws in ((held, model.draws), (alone, _terms_alone(model))):
            drift = curves_of(model.process, draws, (-0.6, 0.6)).drift
            assert drift.band is not None
            truth = _pulled(np.linspace(-0.6, 0.6, len(drift.values)))
            share.append(np.mean((drift.band[0] <= truth) & (truth <= drift.band[1])))
    assert np.mean(held) > 0.9
    # Negative control: models of the terms alone.
    assert np.mean(alone) < 0.7


@pytest.mark.slow
def test_a_discrepancy_is_in_the_datas_units_and_ends_with_the_data() -> None:
    one, micro = _identified(1, 60), _identified(1, 60, scale=1e-6)
    assert one.draws is not None
    assert micro.draws is not None
    row = int(np.flatnonzero(one.draws.support % 2)[0])
    x = np.array([[-0.5], [0.1], [0.7]])
    model, small = one.draws[row], micro.draws[row]
    assert isinstance(model, SymbolicProcess)
    assert model.excess is not None
    np.testing.assert_allclose(small.drift(1e-6 * x), 1e-6 * model.drift(x), rtol=1e-6)
    np.testing.assert_allclose(
        small.drift_jacobian(1e-6 * x), model.drift_jacobian(x), rtol=1e-6, atol=1e-6
    )
    low, high = one.observed[0]
    far = np.array([low - 2 * (high - low), high + 2 * (high - low)])
    assert np.abs(model.excess(far)).max() < 1e-6 * np.abs(model.excess(x[:, 0])).max()
