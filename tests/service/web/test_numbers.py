"""Digits: never more than the error allows, never fewer than a reader needs."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.web.numbers import (
    count,
    exact,
    measured,
    percent,
    plain,
    seconds,
    with_error,
    with_interval,
)


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (0.87488, 0.091915, "0.875 ± 0.092"),
        (-0.92129, 0.076189, "−0.921 ± 0.076"),
        (12345.6, 99.6, "12346 ± 100"),
        (1.5, 0.0996, "1.50 ± 0.10"),
        (123456.0, 2345.0, "(1.235 ± 0.023) × 10⁵"),
        (1.234e-7, 5.6e-9, "(1.234 ± 0.056) × 10⁻⁷"),
        (0.0, 0.5, "0.00 ± 0.50"),
        (1542.0, 25.0, "1542 ± 25"),
        (3.0, None, "3.000"),
        (3.0, 0.0, "3.000"),
    ],
)
def test_an_error_has_two_digits_and_the_value_ends_where_it_does(
    value: float, error: float | None, text: str
) -> None:
    assert with_error(value, error) == text


@given(st.floats(-1e12, 1e12), st.floats(1e-9, 1e12))
def test_value_and_error_are_right_to_half_of_the_last_place_shown(
    value: float, error: float
) -> None:
    number, spread, exponent = measured(value, error)
    shown = float(spread) * 10.0**exponent
    assert abs(shown - error) <= 0.0501 * error + 1e-12 * abs(value)
    assert abs(
        float(number.replace("−", "-")) * 10.0**exponent - value
    ) <= 0.0501 * error * 10 + 1e-9 * abs(value)


@pytest.mark.parametrize(
    ("value", "ci", "texts"),
    [
        (13.076, (9.955, 17.93), ("13.1", "10.0 to 17.9")),
        (31.961, (25.953, 41.556), ("32.0", "26.0 to 41.6")),
        (5e7, (4e7, 6.5e7), ("5.0 × 10⁷", "4.0 to 6.5 × 10⁷")),
        (2.0, (1.5, None), ("2.00", "1.50 to …")),
        (0.0, (-1e-8, 1e-8), ("0", "−1.0 to 1.0 × 10⁻⁸")),
        (0.0, (0.0, 0.0), ("0", "")),
        (1.0, None, ("1.000", "")),
        (None, (1.0, 2.0), ("–", "")),
    ],
)
def test_an_interval_shares_the_value_s_place(
    value: float | None, ci: tuple[float | None, float | None] | None, texts: tuple[str, str]
) -> None:
    assert with_interval(value, ci) == texts


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.05, "0.05"),
        (300.0, "300"),
        (1.6165, "1.6165"),
        (-1.7120, "−1.712"),
        (1e-9, "1 × 10⁻⁹"),
        (None, "–"),
        (math.nan, "–"),
        (0, "0"),
    ],
)
def test_what_is_exact_has_no_zeros_at_its_end(value: float | None, text: str) -> None:
    assert exact(value) == text


def test_counts_shares_and_times() -> None:
    assert (count(6001), count(6_000_000)) == ("6001", "6\u202f000\u202f000")
    assert (percent(0.007), percent(0.123), percent(0)) == ("0.70 %", "12 %", "0 %")
    assert (seconds(0.42), seconds(42), seconds(200), seconds(7500)) == (
        "0.42 s",
        "42 s",
        "3 min 20 s",
        "2 h 5 min",
    )
    assert plain(0.01) == "0.01000"
