"""An answer says which range of data it rests on, and how much of its law lies beyond."""

import numpy as np
import pytest
from scipy.special import ndtr

from worker.generator.analysis import analyse
from worker.generator.process import ScalarProcess
from worker.identification.symbolic_system import SymbolicSystem, field_from_terms

LINEAR = ScalarProcess(lambda x: -x, lambda x: 2 + 0 * x, lambda x: -1 + 0 * x)
"""Stationary law N(0, 1)."""


def test_the_probability_beyond_the_data_is_that_of_the_law() -> None:
    report = analyse(LINEAR, observed_range=(-1.0, 2.0))
    assert report.observed_ranges == ((-1.0, 2.0),)
    assert report.unseen_mass == pytest.approx(ndtr(-1) + ndtr(-2), rel=1e-9)
    assert any(
        "stationary probability lies outside the range of the data" in said
        for said in report.extrapolated
    )


def test_a_law_inside_the_data_is_not_called_extrapolated() -> None:
    assert analyse(LINEAR, observed_range=(-4.0, 4.0)).extrapolated == ()
    alone = analyse(LINEAR)
    assert alone.observed_ranges is None
    assert alone.unseen_mass is None


def test_what_lies_just_beyond_the_data_is_told_in_numbers_but_no_warning() -> None:
    report = analyse(LINEAR, observed_range=(-1.75, 1.75))
    assert report.unseen_mass == pytest.approx(2 * ndtr(-1.75), rel=1e-9)  # 8 %
    assert report.extrapolated == ()
    # A well beside the data, and one a good way off.
    tilted = ScalarProcess(lambda x: 0.1 + x - x**3, lambda x: 0.25 + 0 * x, lambda x: 1 - 3 * x**2)
    assert not any(
        "well" in said for said in analyse(tilted, observed_range=(-1.6, 0.9)).extrapolated
    )
    assert any("well" in said for said in analyse(tilted, observed_range=(-1.6, 0.5)).extrapolated)


def test_a_well_that_was_never_visited_is_named_with_the_probability_that_it_holds() -> None:
    tilted = ScalarProcess(lambda x: 0.1 + x - x**3, lambda x: 0.25 + 0 * x, lambda x: 1 - 3 * x**2)
    said = analyse(tilted, observed_range=(-1.6, -0.1)).extrapolated
    assert sum("well at x = 1.04668" in sentence for sentence in said) == 1
    assert any("stationary probability" in sentence for sentence in said)
    # Negative control: with data in both wells nothing is extrapolated.
    assert analyse(tilted, observed_range=(-1.8, 1.8)).extrapolated == ()


def test_probability_beyond_the_data_in_the_plane() -> None:
    def field(**terms: float):
        return field_from_terms(terms, ("x", "y"), (None, None))

    one, none = field(**{"1": 2.0}), field()
    process = SymbolicSystem(
        (field(x=-1.0), field(y=-1.0)),
        ((one, none), (none, one)),
        ((-np.inf, np.inf),) * 2,
        (None, None),
    )
    report = analyse(process, observed_range=((-1.0, 1.0), (-3.0, 3.0)))
    inside = (1 - 2 * ndtr(-1)) * (1 - 2 * ndtr(-3))
    assert report.unseen_mass == pytest.approx(1 - inside, abs=0.02)
    assert report.extrapolated
