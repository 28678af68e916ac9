"""`library.diffusion_degree`: the diffusion's terms, and the drift under additive noise."""

import numpy as np
import pytest

from benchmarks.simulation import SYSTEMS, simulate, simulate_system
from contract.identification import IdentificationParameters
from worker import pipeline
from worker.identification.data.trajectories import from_arrays
from worker.identification.errors import InvalidLibrary
from worker.jobs.parameters import settings_of


def sigma(x):
    """Noise that grows along x."""
    out = np.zeros((len(x), 2, 2))
    out[:, 0, 0] = out[:, 1, 1] = np.sqrt(0.4 * (1 + x[:, 0] ** 2))
    return out


@pytest.fixture(scope="module")
def paths():
    matrix = np.array([[-1.0, 1.0], [-1.0, -1.0]])
    return simulate_system(
        lambda x: x @ matrix.T, sigma, np.zeros((4, 2)), dt=0.05, n_steps=2_000, burn_in=100, seed=1
    )


def identified(paths, dt, **parameters):
    return pipeline.identify(
        from_arrays(list(paths), dt),
        settings_of(IdentificationParameters.model_validate(parameters)),
        lambda *_: None,
    )


@pytest.mark.slow
def test_with_additive_noise_eulers_rule_is_ordinary_least_squares(paths) -> None:
    declared = {
        "sampling_rule": "euler",
        "measurement_noise": "none",
        "selection": {"method": "none"},
    }
    library = {"polynomial_degree": 1, "diffusion_degree": 0}
    x, move = paths[:, :-1].reshape(-1, 2), np.diff(paths, axis=1).reshape(-1, 2)
    ordinary = np.linalg.lstsq(np.column_stack([np.ones(len(x)), x]), move / 0.05, rcond=None)[0].T
    answer = identified(paths, 0.05, library=library, **declared)
    got = np.array([list(answer.drift[v].active().values()) for v in "xy"])
    errors = np.array(
        [[term.std_error for term in answer.drift[v].terms if term.active] for v in "xy"]
    )
    # Directions of V below 10⁻⁵ are dropped: a hundredth of a standard error.
    assert (np.abs(got - ordinary) < 0.01 * errors).all()
    assert [list(c.active()) for c in answer.diffusion.values()] == [["1"], ["1"], ["1"]]
    # The same library for both weighs by the noise that it finds, which grows along x.
    weighted = identified(paths, 0.05, library={"polynomial_degree": 2}, **declared)
    assert abs(weighted.drift["x"].active()["x"] - ordinary[0, 1]) > 0.1 * errors[0, 1]


@pytest.mark.slow
@pytest.mark.parametrize("degree", [0, 1])
def test_only_terms_of_the_diffusions_own_degree_are_tried(paths, degree: int) -> None:
    answer = identified(paths, 0.05, library={"polynomial_degree": 3, "diffusion_degree": degree})
    allowed = {"1"} if degree == 0 else {"1", "x", "y"}
    for component in answer.diffusion.values():
        assert set(component.active()) <= allowed
        assert all(set(entry.support) <= allowed for entry in component.path)
    assert any(
        "x^2" in c.active()
        for c in identified(paths, 0.05, library={"polynomial_degree": 3}).diffusion.values()
    )


@pytest.mark.slow
def test_one_variable_has_it_too_and_the_paper_preset_says_that_it_has_not() -> None:
    line = simulate(
        *SYSTEMS["multiplicative"], np.zeros(10), dt=0.02, n_steps=2_000, burn_in=300, seed=2
    )
    assert set(identified(line, 0.02).diffusion["x,x"].active()) == {"1", "x^2"}
    answer = identified(line, 0.02, library={"diffusion_degree": 0})
    assert set(answer.diffusion["x,x"].active()) == {"1"}
    assert answer.diffusion["x,x"].active()["1"] == pytest.approx(
        np.mean(0.25 * (1 + line**2)), rel=0.1
    )
    with pytest.raises(InvalidLibrary, match="diffusion_degree"):
        identified(line, 0.02, library={"diffusion_degree": 0}, estimator="paper")
