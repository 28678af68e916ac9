"""What must not change the answer does not, and what must, changes it so."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worker.identification.data.trajectories import from_arrays


def _coefficients(fitted) -> dict[tuple[str, str], tuple[float, float]]:
    """By component and term: value and standard error, in the data's units."""
    identified, library, scales = fitted
    found = {}
    for name, component, power in (
        ("drift", identified.drift[0], 1),
        ("diffusion", identified.diffusion[0, 0], 2),
    ):
        e, factor = component.estimate, scales.unit**power / scales.time
        for k, value, error in zip(e.support, e.raw, e.std_error, strict=True):
            found[name, library.names[k]] = (value * factor, error * factor)
    return found


def _assert_same(got, expected, within: float) -> None:
    """within   in standard errors"""
    assert set(got) == set(expected)
    for term, (value, error) in expected.items():
        assert abs(got[term][0] - value) <= within * error
        assert got[term][1] == pytest.approx(error, rel=max(within, 1e-6))


@pytest.fixture(scope="module")
def some(paths):
    return paths("double-well", 20, 0.01, 10_000)[:8, ::2]


@given(order=st.permutations(range(8)))
@settings(max_examples=5, deadline=None)
def test_the_order_of_trajectories_does_not_matter(some, fit, order) -> None:
    # The local variances come from a sample of the windows when there are many, and all of them
    # here: only sums differ.
    plain = _coefficients(fit(from_arrays(list(some), 0.02)))
    _assert_same(_coefficients(fit(from_arrays(list(some[order]), 0.02))), plain, 1e-6)


@given(cuts=st.lists(st.integers(100, 4_900), min_size=1, max_size=3, unique=True))
@settings(max_examples=5, deadline=None)
def test_cutting_a_trajectory_at_a_sample_that_both_parts_keep_changes_no_pairwise_sum(
    some, fit, cuts
) -> None:
    pieces = []
    for x in some:
        ends = [0, *sorted(cuts), len(x) - 1]
        pieces += [x[a : b + 1] for a, b in pairwise(ends)]
    whole = _coefficients(fit(from_arrays(list(some), 0.02), rule="trapezoid"))
    _assert_same(_coefficients(fit(from_arrays(pieces, 0.02), rule="trapezoid")), whole, 1e-6)


@pytest.mark.parametrize("term", ["x^5", "sin(3*x)", "tanh(x)", "1/(1+x^2)"])
def test_an_inactive_term_leaves_support_and_values(some, fit, term: str) -> None:
    data = from_arrays(list(some), 0.02)
    with_term = _coefficients(fit(data, library={"extra_terms": (term,)}, rule="trapezoid"))
    # A term that is no monomial goes the plain way round through the cells, which is right to 10⁻⁹.
    _assert_same(with_term, _coefficients(fit(data, rule="trapezoid")), 1e-4)


def test_the_same_data_twice_give_the_same_values_and_half_the_variance(some, fit) -> None:
    once = _coefficients(fit(from_arrays(list(some), 0.02)))
    both = from_arrays([*some, *some], 0.02)
    again = 1e6 * (np.arange(len(both.times)) >= len(both.times) // 2)
    twice = _coefficients(fit(replace(both, times=both.times + again)))
    assert set(once) == set(twice)
    for term, (value, error) in once.items():
        assert abs(twice[term][0] - value) < 1e-6 * error
        assert twice[term][1] == pytest.approx(error / np.sqrt(2), rel=1e-6)


def test_copies_at_the_same_time_tell_nothing_more(some, fit) -> None:
    once = _coefficients(fit(from_arrays(list(some), 0.02)))
    twice = _coefficients(fit(from_arrays([*some, *some], 0.02)))
    assert set(once) == set(twice)
    for term, (value, error) in once.items():
        assert abs(twice[term][0] - value) < 1e-6 * error
        # Trajectories that move together have the errors that their scatter at each time shows,
        # which 5 000 times tell to a percent, and more only where that is chance.
        assert 0.95 < twice[term][1] / error < 1.1


def test_new_data_of_the_same_length_halve_the_variance_too(paths, fit) -> None:
    x = paths("double-well", 20, 0.01, 10_000)
    half, whole = (_coefficients(fit(from_arrays(list(x[:n]), 0.01))) for n in (10, 20))
    for term, (_, error) in whole.items():
        # Ten trajectories of T = 100 hold their information to about ten percent.
        assert error == pytest.approx(half[term][1] / np.sqrt(2), rel=0.15)


@given(exponent=st.floats(-9, 9), time=st.floats(-6, 6), mirrored=st.booleans())
@settings(max_examples=10, deadline=None)
def test_any_unit_and_either_direction_of_the_axis_give_the_same_model(
    some, fit, exponent, time, mirrored
) -> None:
    scale, tau = 10**exponent * (-1 if mirrored else 1), 10**time
    plain = _coefficients(fit(from_arrays(list(some), 0.02)))
    other = _coefficients(fit(from_arrays(list(scale * some), 0.02 * tau)))
    assert set(other) == set(plain)
    for (component, term), (value, error) in plain.items():
        power = {"1": 0, "x": 1, "x^3": 3}[term]
        factor = scale ** ((1 if component == "drift" else 2) - power) / tau
        # The unit is rounded to a few bits, so kernels and cells lie a little differently.
        assert abs(other[component, term][0] / factor - value) < 1e-2 * error
        assert other[component, term][1] == pytest.approx(abs(factor) * error, rel=1e-2)


def test_swapped_samples_are_seen_by_these_checks(some, fit) -> None:
    """Negative control: an order that does matter, that of the samples."""
    swapped = np.arange(5_000).reshape(-1, 2)[:, ::-1].ravel()
    plain = _coefficients(
        fit(from_arrays(list(some[:, :5_000]), 0.02), rule="trapezoid", noise="none")
    )
    with pytest.raises(AssertionError):
        _assert_same(
            _coefficients(
                fit(from_arrays(list(some[:, swapped]), 0.02), rule="trapezoid", noise="none")
            ),
            plain,
            1e-6,
        )
