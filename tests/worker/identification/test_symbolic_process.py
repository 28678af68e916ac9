"""A symbolic model of one variable at x = 0, where its terms may vanish."""

import numpy as np
import pytest

from benchmarks.simulation import simulate
from contract.identification import IdentificationParameters
from worker import analysis, pipeline
from worker.analysis import AnalysisSettings
from worker.generator.analysis import analyse
from worker.generator.errors import UndefinedCoefficientsError
from worker.identification.data.library import Library, make_library
from worker.identification.data.trajectories import Scales, Trajectories, from_arrays
from worker.identification.identified_model import IdentifiedModel
from worker.identification.symbolic_process import (
    Expansion,
    SymbolicProcess,
    expression,
    from_internal,
    from_terms,
)
from worker.jobs.parameters import settings_of


def _library(origin: float, unit: float) -> Library:
    low, high = origin - unit, origin + unit
    scales = Scales(origin, unit, (low, high), low, high, origin, unit / 2, 1.0, np.ones(1), 9.0)
    return make_library((scales,), polynomial_degree=4)


def _expanded(origin: float, unit: float, raw: list[float]) -> Expansion:
    """Expand a polynomial of x about the data, from its coefficients, lowest first."""
    library = _library(origin, unit)
    internal = np.array([[float(v) for v in row] for row in library.change_of_basis]).T @ raw
    return from_internal(library, internal, 1.0)


@pytest.mark.parametrize("origin", [0.7, 1.3, -4.0])
@pytest.mark.parametrize("raw", [[0, 0.96, -0.94, 0, 0], [0, 0, 0.25, 0, 0], [0, 0, 0, 2.0, 1.0]])
def test_terms_without_a_constant_vanish_at_zero_with_all_their_digits(
    origin: float, raw: list[float]
) -> None:
    found = _expanded(origin, 1.1, raw)
    x = np.array([0.0, 1e-12, -1e-6, 0.3, origin, origin + 1])
    np.testing.assert_allclose(found(x), np.polynomial.polynomial.polyval(x, raw), rtol=1e-10)
    slope = np.polynomial.polynomial.polyder(raw)
    np.testing.assert_allclose(
        found.derivative()(x), np.polynomial.polynomial.polyval(x, slope), rtol=1e-9, atol=1e-300
    )


@pytest.mark.parametrize("constant", [1.0, 1e-3, 1e-9])
def test_a_constant_that_is_there_stays(constant: float) -> None:
    found = _expanded(1.3, 1.1, [constant, 1.0, -1.0, 0.0, 0.0])
    assert found.zeros == 0
    assert found(np.zeros(1))[0] == pytest.approx(constant, rel=1e-5)


def test_data_far_from_zero_say_nothing_about_it() -> None:
    assert _expanded(1e4, 1.0, [0.0, 0.0, 1.0, 0.0, 0.0]).zeros == 0


def _growth(seed: int) -> Trajectories:
    """Simulate dX = X(1 − X) dt + ½ X dW by its logarithm."""
    log_x = simulate(
        lambda y: 1 - np.exp(y) - 0.125,
        lambda y: np.full_like(y, 0.25),
        np.zeros(1),
        dt=0.05,
        n_steps=20_000,
        substeps=10,
        burn_in=200,
        seed=seed,
    )
    return from_arrays(list(np.exp(log_x)), 0.05)


def _identified(data: Trajectories, **parameters: object) -> IdentifiedModel:
    settings = settings_of(IdentificationParameters.model_validate(parameters))
    return pipeline.identify(data, settings, lambda *_: None)


@pytest.mark.slow
@pytest.mark.parametrize("domain", [{}, {"x": (0.0, None)}])
def test_stochastic_growth_is_analysed_as_its_terms_are(
    domain: dict[str, tuple[float, float | None]],
) -> None:
    """Rounding at x = 0, where drift and noise vanish, made it 'not ergodic'."""
    data = _growth(3)
    model = _identified(data, domain=domain)
    drift, diffusion = model.drift["x"].active(), model.diffusion["x,x"].active()
    assert (set(drift), set(diffusion)) == ({"x", "x^2"}, {"x^2"})
    found = pipeline.analyse(model, data, AnalysisSettings(), lambda *_: None)
    assert found.generator.ergodic
    assert found.generator.ends[0].at == 0.0
    assert found.generator.spectrum is not None
    # The domain ends at zero with the noise and the data: nothing rests on that.
    assert found.findings == ()
    by_terms = analyse(SymbolicProcess(from_terms(drift), from_terms(diffusion), (0.0, np.inf)))
    assert by_terms.spectrum is not None
    gap = found.generator.spectrum.eigenvalues[0].real
    assert gap == pytest.approx(by_terms.spectrum.eigenvalues[0].real, rel=1e-5)


def test_rival_sets_of_terms_are_not_both_left_out() -> None:
    """{1, x³} fits {x, x²} about as well, and each sampling rule preferred another of them.

    What both wanted was nothing: "no drift is significant", at a gain of 230.
    """
    assert set(_identified(_growth(2)).drift["x"].active()) == {"x", "x^2"}


def test_an_analysis_that_fails_says_so_and_claims_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise UndefinedCoefficientsError("a term is too steep")

    data = _growth(2)
    model = _identified(data)
    monkeypatch.setattr(analysis, "analyse_process", fails)
    found = pipeline.analyse(model, data, AnalysisSettings(), lambda *_: None)
    assert found.generator.ergodic is None
    assert str(found.generator.reason) == "a term is too steep"
    assert [f.code for f in found.findings] == ["not-analysed"]


def test_the_text_of_a_model_means_the_model() -> None:
    terms = {"x": 1.5, "x-y": -2.0, "-x^2": 3.0, "1": 0.25}
    text = expression(terms)
    assert text == "1.5*x - 2*(x-y) + 3*(-x^2) + 0.25"
    x, y = np.array([0.3, -1.2]), np.array([0.7, 2.0])
    means = 1.5 * x - 2 * (x - y) - 3 * x**2 + 0.25
    np.testing.assert_allclose(eval(text.replace("^", "**"), {"x": x, "y": y}), means)
