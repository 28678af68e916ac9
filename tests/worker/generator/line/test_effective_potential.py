"""The effective potential, with and without a stationary law."""

import numpy as np
import pytest

from worker.generator.analysis import analyse
from worker.generator.process import ScalarProcess


def test_double_well_with_noise_that_varies_is_minus_the_log_of_its_density() -> None:
    report = analyse(
        ScalarProcess(lambda x: x - x**3, lambda x: 0.2 * (1 + x**2), lambda x: 1 - 3 * x**2)
    )
    phi = report.effective_potential
    assert phi.values.min() == 0
    # ∫2b/a = (2 log(1 + x²) − x²) / 0.2.
    expected = -(2 * np.log1p(phi.grid**2) - phi.grid**2) / 0.2 + np.log1p(phi.grid**2)
    np.testing.assert_allclose(phi.values, expected - expected.min(), atol=1e-8)
    np.testing.assert_allclose(
        phi.values, -np.log(report.stationary.density / report.stationary.density.max()), atol=1e-8
    )


def test_without_a_law_there_is_a_potential_all_the_same() -> None:
    report = analyse(
        ScalarProcess(lambda x: -x + x**2, lambda x: 0.5 + 0 * x, lambda x: -1 + 2 * x),
        observed_range=(-0.5, 1.5),
    )
    assert not report.ergodic
    phi = report.effective_potential
    expected = (phi.grid**2 - 2 / 3 * phi.grid**3) / 0.5
    np.testing.assert_allclose(phi.values, expected - expected.min(), atol=1e-8)
    # The barrier's height in it is the one that is reported.
    top, well = np.interp([1.0, 0.0], phi.grid, phi.values)
    assert top - well == pytest.approx(report.barriers[0].height_over_noise, abs=1e-3)


def test_on_a_driven_circle_it_drops_by_the_drive() -> None:
    pendulum = ScalarProcess(
        lambda x: 0.5 - np.sin(x), lambda x: 0.4 + 0 * x, lambda x: -np.cos(x), period=2 * np.pi
    )
    phi = analyse(pendulum).effective_potential
    assert phi.values[0] - phi.values[-1] == pytest.approx(2 * 0.5 * 2 * np.pi / 0.4, rel=1e-10)
