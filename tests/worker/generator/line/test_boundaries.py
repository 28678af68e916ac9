"""Feller's classes of the ends against Karlin and Taylor's table (1981, chapter 15)."""

from collections.abc import Callable
from typing import Literal

import numpy as np
import pytest
from scipy.integrate import quad

from worker.generator.analysis import analyse
from worker.generator.line.domain.boundaries import classify_end
from worker.generator.line.domain.domain_scan import choose_window
from worker.generator.process import FloatArray, ScalarProcess

Function = Callable[[FloatArray], FloatArray]
INF = np.inf


def kinds(b: Function, a: Function, low: float, high: float) -> tuple[str, str]:
    model = ScalarProcess(b, a, lambda x: 0 * x, (low, high))
    window = choose_window(model, (0.1, 2.0) if high == INF else None)

    def kind(side: Literal[-1, 1]) -> str:
        return classify_end(model, window, side).kind

    return kind(-1), kind(1)


def constant(value: float) -> Function:
    return lambda x: value + 0 * x


@pytest.mark.parametrize(
    ("b", "a", "expected"),
    [
        (constant(0), constant(1), ("natural", "natural")),
        (constant(1), constant(1), ("natural", "natural")),
        (lambda x: -x, constant(1), ("natural", "natural")),
        (lambda x: x, constant(1), ("natural", "natural")),
        (lambda x: x - x**3, constant(1), ("entrance", "entrance")),
        # It explodes: infinity is reached in finite time.
        (lambda x: x**3, constant(1), ("exit", "exit")),
        (lambda x: x**2 - x, constant(1), ("entrance", "exit")),
        (lambda x: -x * np.log(1 + x**2), constant(1), ("entrance", "entrance")),
        (lambda x: -2 * x, lambda x: 0.25 * (1 + x**2), ("natural", "natural")),
        (lambda x: -x, lambda x: 1 + x**4, ("entrance", "entrance")),
        (lambda x: x**3, lambda x: 1 + x**4, ("regular", "regular")),
    ],
)
def test_ends_at_infinity(b: Function, a: Function, expected: tuple[str, str]) -> None:
    assert kinds(b, a, -INF, INF) == expected


@pytest.mark.parametrize(
    ("b", "a", "expected"),
    [
        # Square-root process, 2κθ/σ² above, at and below 1, and without a source.
        (lambda x: 0.6 - x, lambda x: x, "entrance"),
        (lambda x: 0.5 - x, lambda x: x, "entrance"),
        (lambda x: 0.4 - x, lambda x: x, "regular"),
        (lambda x: -x, lambda x: x, "exit"),
        (lambda x: -0.2 - x, lambda x: x, "exit"),
        # Geometric Brownian motion.
        (lambda x: -x, lambda x: x**2, "natural"),
        (lambda x: x, lambda x: x**2, "natural"),
        # Bessel processes of dimension 3, 2, 1.5, 0 and −0.5.
        (lambda x: 1 / x, constant(1), "entrance"),
        (lambda x: 0.5 / x, constant(1), "entrance"),
        (lambda x: 0.25 / x, constant(1), "regular"),
        (lambda x: -0.5 / x, constant(1), "exit"),
        (lambda x: -0.75 / x, constant(1), "exit"),
        # Constant elasticity of variance: a = x^(2β).
        (lambda x: 0.1 * x, lambda x: np.abs(x) ** 0.5, "regular"),
        (lambda x: 0.1 * x, lambda x: np.abs(x) ** 1.5, "exit"),
        (lambda x: 0.1 * x, lambda x: np.abs(x) ** 2.5, "natural"),
        # A source where the noise has a double zero.
        (lambda x: 1 - x, lambda x: x**2, "entrance"),
        # Pushed into the end, or away from it, more steeply than by any power.
        (lambda x: -1 / x**2, constant(1), "exit"),
        (lambda x: 1 / x**2 - x, constant(1), "entrance"),
    ],
)
def test_end_at_zero(b: Function, a: Function, expected: str) -> None:
    assert kinds(b, a, 0.0, INF)[0] == expected


@pytest.mark.parametrize(
    ("kappa", "expected"), [(0.6, "entrance"), (0.2, "regular"), (0.0, "exit"), (-0.2, "exit")]
)
def test_ends_of_the_jacobi_process(kappa: float, expected: str) -> None:
    assert kinds(lambda x: -kappa * x, lambda x: 0.5 * (1 - x**2), -1.0, 1.0) == (
        expected,
        expected,
    )


@pytest.mark.parametrize("dimension", [1.5, 3.0])
def test_distance_of_a_linear_process_from_its_centre_has_rates_2n_whether_or_not_it_gets_there(
    dimension: float,
) -> None:
    push = (dimension - 1) / 2
    model = ScalarProcess(
        lambda x: push / x - x, lambda x: 1 + 0 * x, lambda x: -push / x**2 - 1, (0.0, INF)
    )
    report = analyse(model)
    np.testing.assert_allclose(report.spectrum.eigenvalues.real, 2 * np.arange(1, 6), rtol=1e-6)
    assert report.boundaries == "natural"


def test_law_next_to_an_end_where_the_noise_vanishes_like_a_root() -> None:
    model = ScalarProcess(
        lambda x: 1 - x, lambda x: np.sqrt(np.abs(x)), lambda x: -1 + 0 * x, (0.0, INF)
    )
    report = analyse(model)

    def density(x: float) -> float:
        return float(np.exp(4 * np.sqrt(x) - 4 / 3 * x**1.5) / np.sqrt(x))

    mass, moment = (
        sum(
            quad(lambda x, k=k: density(x) * x**k, *ends, epsrel=1e-11)[0]
            for ends in ((0, 1), (1, INF))
        )
        for k in (0, 1)
    )
    assert report.ergodic
    assert report.stationary.mean[0] == pytest.approx(moment / mass, rel=1e-7)
