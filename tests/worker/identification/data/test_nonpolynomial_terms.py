"""Terms by name: they exist on all the data or are refused, and dependent ones are named."""

import numpy as np
import pytest

from worker.identification.data.library import make_library
from worker.identification.data.preconditions import check_values, dependences
from worker.identification.data.trajectories import from_arrays, measure_scales
from worker.identification.data.windows import Space, measure_space
from worker.identification.errors import InvalidLibrary
from worker.identification.estimation.cell_equations import walk
from worker.identification.estimation.problem import Problem
from worker.identification.sums.cell_rules import window_weights
from worker.identification.sums.kernel_statistics import gather
from worker.identification.sums.kernels import make_kernels
from worker.identification.sums.rules import TRAPEZOID


def _walk(low: float, n: int = 4_000):
    x = np.abs(np.cumsum(np.random.default_rng(0).normal(0, 0.05, n))) + low
    return from_arrays([x], 0.1)


def _library(data, *terms: str, degree: int = 3):
    return make_library((measure_scales(data),), polynomial_degree=degree, extra_terms=terms)


@pytest.mark.parametrize("term", ["sqrt(x)", "log(x)", "x^0.5", "1/(x-x)"])
def test_a_term_without_a_value_on_the_data_is_refused_with_the_place(term: str) -> None:
    data = from_arrays([np.linspace(1, -1, 101)], 0.1)
    with pytest.raises(InvalidLibrary, match=r"no finite value at x = .*\(sample \d+\)"):
        check_values(data, _library(data, term), measure_space(data, (None,)))
    # Negative control: away from zero the same terms have values.
    away = _walk(0.5)
    if term != "1/(x-x)":
        check_values(away, _library(away, term), measure_space(away, (None,)))


def test_samples_outside_the_segments_do_not_count() -> None:
    data = _walk(0.5)
    data.states[2000] = np.nan
    space = measure_space(_walk(0.5), (None,))
    check_values(data, make_library(space.scales, extra_terms=("log(x)",)), space)


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        (("2*x",), {"2*x": ("x",)}),
        (("x^3+x",), {"x^3+x": ("x", "x^3")}),
        (("sin(x)^2", "cos(x)^2"), {"cos(x)^2": ("1", "sin(x)^2")}),
        (("exp(x)", "exp(x+1)"), {"exp(x+1)": ("exp(x)",)}),
        (("sin(0.0001*x)",), {"sin(0.0001*x)": ("x",)}),
        (("tanh(x)", "x^7", "1/(1+x^2)"), {}),
    ],
)
def test_dependent_terms_are_named_with_what_they_are_made_of(terms, expected) -> None:
    data = _walk(0.0)
    scales = measure_scales(data)
    y = (data.states - scales.origin) / scales.unit
    assert {d.term: d.of for d in dependences(_library(data, *terms), y)} == expected


def test_dependence_across_variables_and_in_any_unit() -> None:
    states = np.random.default_rng(0).normal(0, [1e-9, 1e4], (2_000, 2))
    scales = tuple(measure_scales(from_arrays([x], 1.0)) for x in states.T)
    library = make_library(
        scales, polynomial_degree=2, extra_terms=("(x+y)^2", "exp(-y^2/1e9)"), periods=(None, None)
    )
    y = (states - library.origins) / np.array(library.units)
    (found,) = dependences(library, y)
    assert found.term == "(x+y)^2"
    # In these units x² and xy are 10⁻²⁶ and 10⁻¹³ of y²: on the data they are not in it.
    assert found.of == ("y^2",)


def test_a_term_with_a_kink_is_summed_as_it_is() -> None:
    data = from_arrays([np.cumsum(np.random.default_rng(1).normal(0, 0.05, 5_000))], 0.1)
    scales, library = measure_scales(data), _library(data, "sqrt(x^2)")
    kernels = make_kernels(scales)
    problem, rule = Problem(data, Space((scales,), (None,)), library, kernels), TRAPEZOID
    sums = gather(
        walk(problem, rule, 3),
        library,
        kernels,
        problem.cells,
        lambda c: window_weights(rule, c, library),
    )
    y = (data.states[:-1, 0] - scales.origin) / scales.unit
    expected = kernels.at(y) @ np.abs(data.states[:-1, 0])
    np.testing.assert_allclose(
        sums.at_instrument.sum(axis=0)[:, -1], expected, rtol=1e-8, atol=1e-8 * expected.max()
    )
    # Negative control: through the cells' nodes it is not.
    nodes = sums.nodes
    by_nodes = (kernels.at(nodes) * sums.time) @ np.abs(scales.origin + scales.unit * nodes)
    assert np.abs(by_nodes - expected).max() > 1e-6 * expected.max()
