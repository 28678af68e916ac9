"""The default estimator in two variables: every coefficient, and only those."""

import numpy as np
import pytest

from worker.identification.findings.fit import findings

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", ["rotating", "double well", "multiplicative"])
def test_right_terms_within_four_standard_errors(
    name: str, system_paths, fit_jointly, as_data, coefficients, systems
) -> None:
    got = coefficients(fit_jointly(as_data(system_paths(name))))
    true = systems[name].terms
    assert {key: set(terms) for key, terms in got.items()} == {
        key: set(terms) for key, terms in true.items()
    }
    for key, terms in got.items():
        for term, (value, error) in terms.items():
            # 4 standard errors: 6 false alarms in 10⁵. The simulation's own step of 0.001 adds less
            # than 0.5 %.
            assert abs(value - true[key][term]) < 4 * error + 0.005 * abs(true[key][term]), (
                key,
                term,
            )


def test_a_velocity_column_leaves_the_position_without_noise_and_both_equations_are_found(
    system_paths, fit_jointly, as_data, coefficients, systems
) -> None:
    fitted = fit_jointly(as_data(system_paths("inertial")))
    fit, problem = fitted
    got = coefficients(fitted)
    assert fit.noise_free == (0,)
    assert {key: set(terms) for key, terms in got.items()} == {
        k: set(t) for k, t in systems["inertial"].terms.items()
    }
    # The trapezoid integrates the velocity to (Δt/τ)²/12 of itself.
    assert got["x"]["y"][0] == pytest.approx(1, abs=0.001)
    for term, (value, error) in got["y"].items():
        assert abs(value - systems["inertial"].terms["y"][term]) < 4 * error + 0.005
    assert "degenerate-diffusion" in {f.code for f in findings(fit, problem, "auto")}


def test_standard_errors_are_the_scatter_over_seeds(
    system_paths, fit_jointly, as_data, coefficients, systems
) -> None:
    z = []
    for seed in range(12):
        data = as_data(system_paths("rotating", n=12, n_steps=800, substeps=4, seed=10 * seed))
        got = coefficients(fit_jointly(data, polynomial_degree=1, rule="trapezoid"))
        z += [
            (got[key][term][0] - value) / got[key][term][1]
            for key, terms in systems["rotating"].terms.items()
            for term, value in terms.items()
            if term in got[key]
        ]
    # The mean square of 84 standard normal numbers is within 1 ± 4 · √(2/84); correlated within a
    # seed, so half of it is doubled.
    assert 0.4 < np.mean(np.square(z)) < 1.9


def test_overlapping_windows_have_the_errors_of_their_shared_noise(
    system_paths, fit_jointly, as_data, coefficients
) -> None:
    # Few trajectories: as many blocks could tell nothing of the correlation between neighbouring
    # windows.
    data = as_data(system_paths("rotating", n=12, n_steps=4_000, substeps=1))
    simpson, trapezoid = (
        coefficients(fit_jointly(data, polynomial_degree=1, rule=r, noise="none"))
        for r in ("simpson", "trapezoid")
    )
    for key in ("x", "y"):
        for term in ("x", "y"):
            # Each noise is in two windows' residuals and counts once: without their covariance the
            # error is √2 too small.
            assert simpson[key][term][1] == pytest.approx(trapezoid[key][term][1], rel=0.05)
    for key in ("x,x", "y,y"):
        # Mean of ½(ε_n + ε_{n+1})²/h: variance 3a² a window, where that of ε²/h is 2a².
        assert simpson[key]["1"][1] == pytest.approx(
            np.sqrt(1.5) * trapezoid[key]["1"][1], rel=0.05
        )


def test_measurement_noise_in_both_variables_is_found_and_corrected_for(
    system_paths, fit_jointly, as_data, coefficients, systems
) -> None:
    paths = system_paths("rotating")
    noise = np.random.default_rng(1).standard_normal(paths.shape) * [0.06, 0.04]
    fitted = fit_jointly(as_data(paths + noise))
    fit, problem = fitted
    got = coefficients(fitted)
    variances = fit.noise_variances * problem.space.units**2
    # The estimate's own error is √(2/n) of a + 2σ² per step: two percent at 80 000 windows; 4 of
    # them.
    np.testing.assert_allclose(variances, [0.06**2, 0.04**2], rtol=0.08)
    for key, terms in systems["rotating"].terms.items():
        assert set(got[key]) == set(terms)
        for term, value in terms.items():
            assert abs(got[key][term][0] - value) < 4 * got[key][term][1] + 0.01 * abs(value)


def test_without_noise_none_is_corrected_for(system_paths, fit_jointly, as_data) -> None:
    assert fit_jointly(as_data(system_paths("rotating")))[0].noise is None


def test_simpsons_rule_is_taken_where_the_trapezoid_is_too_coarse(
    system_paths, fit_jointly, as_data, coefficients, systems
) -> None:
    coarse = system_paths("double well", n=80, n_steps=3_000, substeps=5)[:, ::20]
    fitted = fit_jointly(as_data(coarse, 0.2))
    assert fitted[0].rule.name == "simpson"
    got, true = coefficients(fitted), systems["double well"].terms
    assert {key: set(terms) for key, terms in got.items()} == {
        key: set(terms) for key, terms in true.items()
    }
    for key, terms in got.items():
        for term, (value, error) in terms.items():
            # The rule's own error at a fifth of the wells' relaxation time is two percent.
            assert abs(value - true[key][term]) < 4 * error + 0.02 * abs(true[key][term])
    trapezoid = coefficients(fit_jointly(as_data(coarse, 0.2), rule="trapezoid"))
    assert len(trapezoid["x,x"]) > 1


@pytest.mark.parametrize("structure", ["diagonal", "isotropic"])
def test_structures_of_the_tensor_hold(
    structure: str, system_paths, fit_jointly, as_data, coefficients
) -> None:
    got = coefficients(fit_jointly(as_data(system_paths("double well")), structure=structure))
    assert got["x,y"] == {}
    for key in ("x,x", "y,y"):
        value, error = got[key]["1"]
        assert abs(value - 0.5) < 4 * error + 0.0025
    if structure == "isotropic":
        assert got["x,x"]["1"] == pytest.approx(got["y,y"]["1"])


def test_an_isotropic_tensor_has_half_the_variance_of_a_diagonal_one(
    system_paths, fit_jointly, as_data, coefficients
) -> None:
    one, two = (
        coefficients(fit_jointly(as_data(system_paths("double well")), structure=s))
        for s in ("isotropic", "diagonal")
    )
    assert one["x,x"]["1"][1] == pytest.approx(two["x,x"]["1"][1] / np.sqrt(2), rel=0.05)


def test_two_coupled_angles(fit_jointly, as_data, coefficients) -> None:
    rng, dt, x = np.random.default_rng(4), 0.01, np.zeros((30, 2))
    out = np.empty((4_001, 30, 2))
    for n in range(4_001):
        out[n] = x
        for _ in range(5):
            drift = np.stack([-np.sin(x[:, 0]), 0.8 * np.sin(x[:, 0]) * np.cos(x[:, 1])], axis=1)
            x = (
                x
                + drift * dt / 5
                + np.sqrt([1.0, 0.6]) * rng.standard_normal((30, 2)) * np.sqrt(dt / 5)
            )
    wrapped = np.degrees((out.transpose(1, 0, 2) + np.pi) % (2 * np.pi) - np.pi)
    got = coefficients(fit_jointly(as_data(wrapped), periods=(360.0, 360.0)))
    one = np.degrees(1)
    assert {key: set(terms) for key, terms in got.items()} == {
        "x": {"sin(x)"}, "y": {"sin(x)*cos(y)"}, "x,x": {"1"}, "x,y": set(), "y,y": {"1"}
    }  # fmt: skip
    for key, term, true in (
        ("x", "sin(x)", -one),
        ("y", "sin(x)*cos(y)", 0.8 * one),
        ("x,x", "1", one**2),
        ("y,y", "1", 0.6 * one**2),
    ):
        value, error = got[key][term]
        assert abs(value - true) < 4 * error + 0.005 * abs(true)


def test_three_variables(fit_jointly, as_data, coefficients) -> None:
    from benchmarks.simulation import simulate_system

    matrix = np.array([[-1.0, 1.0, 0.0], [-1.0, -1.0, 0.0], [0.0, 0.5, -2.0]])
    paths = simulate_system(
        lambda x: x @ matrix.T,
        lambda x: np.broadcast_to(np.diag([1.0, 0.8, 0.5]), (len(x), 3, 3)), np.zeros((20, 3)),
        dt=0.01, n_steps=4_000, substeps=5, burn_in=300, seed=3,
    )  # fmt: skip
    got = coefficients(fit_jointly(as_data(paths), polynomial_degree=2))
    assert set(got["x"]) == {"x", "y"}
    assert set(got["y"]) == {"x", "y"}
    assert set(got["z"]) == {"y", "z"}
    assert {key for key, terms in got.items() if terms} == {"x", "y", "z", "x,x", "y,y", "z,z"}
    for p, v in enumerate("xyz"):
        for q, w in enumerate("xyz"):
            if w in got[v]:
                assert abs(got[v][w][0] - matrix[p, q]) < 4 * got[v][w][1] + 0.01


def test_far_from_the_origin_the_same_process_is_found(
    system_paths, fit_jointly, as_data, coefficients
) -> None:
    paths = system_paths("rotating")
    near = coefficients(fit_jointly(as_data(paths), polynomial_degree=2))
    far = coefficients(fit_jointly(as_data(paths + np.array([1e5, -1e4])), polynomial_degree=2))
    for v in "xy":
        assert set(far[v]) == {"1", "x", "y"}
        for w in "xy":
            # With a constant beside them the slopes move by a fraction of their errors.
            assert abs(far[v][w][0] - near[v][w][0]) < near[v][w][1]
    assert {k: set(far[k]) for k in ("x,x", "x,y", "y,y")} == {
        "x,x": {"1"},
        "x,y": {"1"},
        "y,y": {"1"},
    }
