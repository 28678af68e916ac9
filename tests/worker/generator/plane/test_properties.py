"""Laws of the plane's analysis: units, origin, turned and swapped axes prove not to matter."""

import numpy as np
import pytest

from contract.generator import ModelTerms
from worker.generator.analysis import analyse
from worker.generator.process import FloatArray
from worker.generator.quantities.report import GeneratorReport
from worker.generator.quantities.stationary import MultivariateDistribution
from worker.jobs.parameters import process_of


class Seen:
    """The coupled double well in coordinates y = matrix · x + origin, and in another unit of time."""

    dimension = 2
    domain = ((-np.inf, np.inf), (-np.inf, np.inf))
    periods = (None, None)

    def __init__(self, matrix: FloatArray, origin: FloatArray, time: float) -> None:
        self.matrix, self.origin, self.time = matrix, origin, time
        self.inverse = np.linalg.inv(matrix)
        terms = {"x": {"1": 0.05, "x": -1, "x^3": -1, "y": 2}, "y": {"x": 1.5, "y": -2}}
        noise = {"x,x": {"1": 0.5}, "x,y": {"1": 0.1}, "y,y": {"1": 0.4}}
        self.base = process_of(ModelTerms.model_validate({"drift": terms, "diffusion": noise}))

    def own(self, y: FloatArray) -> FloatArray:
        return (y - self.origin) @ self.inverse.T

    def drift(self, y: FloatArray) -> FloatArray:
        return np.asarray(self.base.drift(self.own(y)) @ self.matrix.T / self.time)

    def diffusion(self, y: FloatArray) -> FloatArray:
        return np.asarray(
            self.matrix @ self.base.diffusion(self.own(y)) @ self.matrix.T / self.time
        )

    def drift_jacobian(self, y: FloatArray) -> FloatArray:
        return np.asarray(
            self.matrix @ self.base.drift_jacobian(self.own(y)) @ self.inverse / self.time
        )


def numbers(report: GeneratorReport, seen: Seen) -> FloatArray:
    """Rates, mean, covariance, circulation, entropy production and fixed points, in the base's coordinates."""
    assert report.ergodic, report.reason
    assert report.spectrum is not None
    law = report.stationary
    assert isinstance(law, MultivariateDistribution)
    assert law.circulation is not None
    assert law.entropy_production is not None
    mean = seen.own(np.array(law.mean, dtype=float)[None])[0]
    covariance = seen.inverse @ np.array(law.covariance, dtype=float) @ seen.inverse.T
    fixed = seen.own(np.array([point.at for point in report.fixed_points]))
    swept = (law.circulation - 0.0) * seen.time / np.linalg.det(seen.matrix)
    return np.concatenate(
        [
            report.spectrum.eigenvalues[:3].real * seen.time,
            mean,
            covariance.ravel(),
            [swept, law.entropy_production * seen.time],
            fixed[np.argsort(fixed[:, 0])].ravel(),
        ]
    )


PLAIN = Seen(np.eye(2), np.zeros(2), 1.0)


@pytest.fixture(scope="module")
def plain() -> FloatArray:
    return numbers(analyse(PLAIN), PLAIN)


@pytest.mark.slow
@pytest.mark.parametrize(
    "seen",
    [
        Seen(1e-9 * np.array([[0.6, -0.8], [0.8, 0.6]]), np.zeros(2), 1e-3),
        Seen(np.array([[0.0, 1e3], [1e-4, 0.0]]), np.zeros(2), 10.0),
        Seen(np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([50.0, -20.0]), 1.0),
        Seen(np.array([[1.0, 0.9], [0.0, 0.2]]), np.zeros(2), 1.0),
    ],
    ids=["nanometres, turned", "mixed units, swapped", "far from the origin, swapped", "sheared"],
)
def test_numbers_do_not_depend_on_how_the_state_is_written(seen: Seen, plain: FloatArray) -> None:
    observed = None
    if seen.origin.any():
        # Far from the origin, on no scale of its own, the place has to be named.
        observed = tuple((centre - 3.0, centre + 3.0) for centre in seen.origin)
    found = numbers(analyse(seen, observed_range=observed), seen)
    assert found == pytest.approx(plain, rel=2e-3, abs=1e-3)


@pytest.mark.slow
def test_the_law_above_would_see_a_wrong_noise(plain: FloatArray) -> None:
    class Wrong(Seen):
        def diffusion(self, y: FloatArray) -> FloatArray:
            a = super().diffusion(y).copy()
            a[:, 0, 1] = a[:, 1, 0] = 0
            return a

    wrong = Wrong(np.array([[0.6, -0.8], [0.8, 0.6]]), np.zeros(2), 1.0)
    assert numbers(analyse(wrong), wrong) != pytest.approx(plain, rel=2e-3, abs=1e-3)
