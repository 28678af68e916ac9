"""What must not change the answer does not, and what must, changes it so."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worker.identification.data.trajectories import Trajectories
from worker.identification.estimation.cell_equations import N_BLOCKS
from worker.identification.estimation.direct_equations import walk
from worker.identification.sums.rules import SIMPSON, THROUGH_NOISE, TRAPEZOID
from worker.identification.sums.window_statistics import gather

pytestmark = pytest.mark.slow

SWAPPED = {
    "x": "y",
    "y": "x",
    "x^3": "y^3",
    "y^3": "x^3",
    "x^2": "y^2",
    "y^2": "x^2",
    "1": "1",
    "x*y": "x*y",
}


@pytest.mark.parametrize("name", ["rotating", "double well", "multiplicative"])
def test_permuting_the_variables_permutes_the_answer(
    name: str, system_paths, fit_jointly, as_data, coefficients
) -> None:
    paths = system_paths(name)
    plain = coefficients(fit_jointly(as_data(paths), rule="trapezoid"))
    swapped = coefficients(fit_jointly(as_data(paths[:, :, ::-1]), rule="trapezoid"))
    for key, other in (("x", "y"), ("y", "x"), ("x,x", "y,y"), ("x,y", "x,y"), ("y,y", "x,x")):
        assert {SWAPPED[t] for t in plain[key]} == set(swapped[other])
        for term, (value, error) in plain[key].items():
            there = swapped[other][SWAPPED[term]]
            assert abs(there[0] - value) < 1e-3 * error
            assert there[1] == pytest.approx(error, rel=1e-3)


@given(
    x=st.sampled_from([1e-9, 1e-3, 7.3, 1e6]),
    y=st.sampled_from([1e-6, 1.0, 250.0]),
    time=st.sampled_from([1e-6, 1.0, 3600.0]),
)
@settings(max_examples=5, deadline=None)
def test_changing_units_rescales_the_coefficients_and_changes_no_support(
    system_paths, fit_jointly, as_data, coefficients, x: float, y: float, time: float
) -> None:
    paths = system_paths("double well", n=8)
    plain = coefficients(fit_jointly(as_data(paths), rule="trapezoid", polynomial_degree=3))
    scaled = coefficients(
        fit_jointly(as_data(paths * [x, y], 0.01 * time), rule="trapezoid", polynomial_degree=3)
    )
    size = {"1": 1.0, "x": x, "y": y, "x^3": x**3}
    unit = {"x": x, "y": y, "x,x": x * x, "x,y": x * y, "y,y": y * y}
    for key, terms in plain.items():
        assert set(scaled[key]) == set(terms)
        for term, (value, error) in terms.items():
            expected = unit[key] / size[term] / time
            # Units are rounded to a few bits and the internal coordinates with them: a thousandth
            # of an error.
            assert abs(scaled[key][term][0] / expected - value) < 5e-3 * error


def test_the_order_of_trajectories_does_not_matter(
    system_paths, fit_jointly, as_data, coefficients
) -> None:
    paths = system_paths("double well", n=8)
    plain = coefficients(fit_jointly(as_data(paths), rule="trapezoid"))
    turned = coefficients(fit_jointly(as_data(paths[::-1]), rule="trapezoid"))
    for key, terms in plain.items():
        assert set(turned[key]) == set(terms)
        for term, (value, error) in terms.items():
            assert abs(turned[key][term][0] - value) < 1e-3 * error


@pytest.mark.parametrize("rule", [TRAPEZOID, SIMPSON, THROUGH_NOISE])
@given(cut=st.integers(2, 18))
@settings(max_examples=4, deadline=None)
def test_statistics_of_two_halves_add_up_to_those_of_the_whole(
    system_paths, fit_jointly, as_data, rule, cut: int
) -> None:
    data = as_data(system_paths("rotating", n_steps=800))
    _, problem = fit_jointly(data, rule="euler", noise="none", polynomial_degree=2)

    def of(some: Trajectories):
        from dataclasses import replace

        part = replace(problem, data=some)
        return gather(walk(part, rule, N_BLOCKS), problem.space, problem.instruments, rule)

    first, second = (
        Trajectories(data.states, data.times, data.segments[half])
        for half in (slice(cut), slice(cut, None))
    )
    both, whole = of(first) + of(second), of(data)
    assert both.n_windows == whole.n_windows
    assert both.time == pytest.approx(whole.time)
    total, expected = both.products.columns.sum(axis=0), whole.products.columns.sum(axis=0)
    # Kernels are taken in single precision.
    np.testing.assert_allclose(total, expected, rtol=1e-5, atol=1e-6 * np.abs(expected).max())


def test_an_inactive_term_leaves_the_support(
    system_paths, fit_jointly, as_data, coefficients
) -> None:
    data = as_data(system_paths("double well"))
    plain = coefficients(fit_jointly(data, rule="trapezoid", polynomial_degree=3))
    more = coefficients(
        fit_jointly(
            data, rule="trapezoid", polynomial_degree=3, extra_terms=("sin(x*y)", "x/(1+y^2)")
        )
    )
    assert {k: set(v) for k, v in more.items()} == {k: set(v) for k, v in plain.items()}


def test_doubling_the_data_halves_the_variance(
    system_paths, fit_jointly, as_data, coefficients
) -> None:
    paths = system_paths("rotating")
    half, whole = (
        coefficients(fit_jointly(as_data(p), rule="trapezoid")) for p in (paths[:10], paths)
    )
    for key in ("x", "y"):
        for term, (_, error) in whole[key].items():
            # The paths of either half visit the plane somewhat differently.
            assert half[key][term][1] / error == pytest.approx(np.sqrt(2), rel=0.15)
