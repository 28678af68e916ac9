"""Measurement noise and exposure that are known: estimates without bias, with smaller errors."""

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from tests.worker.identification.second_order.paths import harmonic
from worker import pipeline
from worker.identification.component_fit import ComponentFit, TermFit
from worker.identification.data.trajectories import Trajectories, from_arrays
from worker.identification.errors import InvalidLibrary, TooFewSamples
from worker.identification.estimation.setup import Settings
from worker.identification.identified_model import IdentifiedModel

DT, S = 0.05, 0.15


@pytest.fixture(scope="module")
def clean(paths: Callable[..., np.ndarray]) -> np.ndarray:
    """Return a path of dX = −X dt + dW."""
    return np.asarray(paths("ornstein-uhlenbeck", 2, DT, 8000, seed=5))


def identified(x: np.ndarray | Trajectories, **settings: object) -> IdentifiedModel:
    data = x if isinstance(x, Trajectories) else from_arrays([x], DT)
    given = Settings(diffusion_degree=0, polynomial_degree=2, dynamics="first-order", **settings)  # type: ignore[arg-type]
    return pipeline.identify(data, given, lambda *_: None)


def term(component: ComponentFit, name: str) -> TermFit:
    return next(t for t in component.terms if t.name == name)


def off(fit: TermFit, truth: float) -> float:
    assert fit.std_error
    return abs(fit.value - truth) / fit.std_error


@pytest.fixture(scope="module")
def level(clean: np.ndarray) -> float:
    """Return the diffusion of the path without noise."""
    return identified(clean[0]).diffusion["x,x"].active()["1"]


def noisy(clean: np.ndarray, s: float = S) -> np.ndarray:
    return np.asarray(clean[0] + s * np.random.default_rng(7).standard_normal(clean[0].shape))


def test_known_noise_leaves_a_smaller_error(clean: np.ndarray, level: float) -> None:
    x = noisy(clean)
    found, known = identified(x), identified(x, noise_errors=S)
    one, other = (term(m.diffusion["x,x"], "1") for m in (found, known))
    assert off(other, level) < 3
    assert one.std_error is not None
    assert other.std_error is not None
    # Its variance is no unknown: 0.026 instead of 0.043.
    assert other.std_error < 0.75 * one.std_error
    assert known.noise_variances == pytest.approx({"x": S**2})
    (test,) = known.restrictions
    assert test.p_value > 1e-3
    assert "measurement-noise" not in {f.code for f in known.findings}


def test_noise_that_is_not_in_the_data_is_contradicted(clean: np.ndarray) -> None:
    model = identified(noisy(clean), noise_errors=1.4 * S)
    (test,) = model.restrictions
    assert test.p_value < 1e-3
    (said,) = (f for f in model.findings if f.code == "constraint-contradicted")
    assert "standard error of the samples" in said.message


def test_errors_of_samples_count_by_their_mean_square(clean: np.ndarray) -> None:
    data = from_arrays([noisy(clean)], DT)
    errors = np.tile([[0.1], [np.sqrt(2 * S**2 - 0.01)]], (len(data.states) // 2 + 1, 1))
    errors = errors[: len(data.states)]
    by_sample = identified(replace(data, errors=errors))
    as_given = identified(data, noise_errors=float(np.sqrt(np.mean(errors**2))))
    assert by_sample.diffusion["x,x"].active() == pytest.approx(
        as_given.diffusion["x,x"].active(), rel=1e-6
    )
    assert "errors-averaged" in {f.code for f in by_sample.findings}
    even = identified(replace(data, errors=np.full_like(errors, S)))
    assert "errors-averaged" not in {f.code for f in even.findings}
    # Asked for by name, other handling comes first.
    ignored = identified(replace(data, errors=errors), measurement_noise="none")
    assert not ignored.restrictions


def test_samples_averaged_over_a_known_exposure(paths: Callable[..., np.ndarray]) -> None:
    fine = np.asarray(paths("ornstein-uhlenbeck", 1, DT / 10, 60_000, substeps=1, seed=6))[0]
    fine = fine[: len(fine) // 10 * 10].reshape(-1, 10)
    exact = identified(fine[:, 0]).diffusion["x,x"].active()["1"]
    blurred = fine[:, :8].mean(axis=1)
    known = identified(blurred, exposure=0.8 * DT)
    assert off(term(known.diffusion["x,x"], "1"), exact) < 3
    (test,) = known.restrictions
    assert test.p_value > 1e-3
    # Noise that nobody spoke of is told.
    hidden = identified(noisy(blurred[None]), exposure=0.8 * DT)
    (said,) = (f for f in hidden.findings if f.code == "constraint-contradicted")
    assert "exposure and the standard error" in said.message
    # Without it a is too small by E/3 = 27 %.
    plain = identified(blurred, measurement_noise="none").diffusion["x,x"]
    assert plain.active()["1"] < 0.8 * exact
    with pytest.raises(InvalidLibrary, match="longer than the sampling interval"):
        identified(blurred, exposure=2 * DT)


def test_known_noise_of_several_variables(clean: np.ndarray, level: float) -> None:
    random = np.random.default_rng(8)
    x = clean.T + np.array([S, 0.05]) * random.standard_normal(clean.T.shape)
    model = identified(x, noise_errors={"x": S, "y": 0.05})
    assert off(term(model.diffusion["x,x"], "1"), level) < 3
    assert off(term(model.drift["x"], "x"), -1.0) < 4
    assert model.noise_variances == pytest.approx({"x": S**2, "y": 0.05**2})
    with pytest.raises(InvalidLibrary, match="names z"):
        identified(x, noise_errors={"z": S})
    with pytest.raises(InvalidLibrary, match=r"sin\(x\)"):
        identified(x, noise_errors=S, extra_terms=("sin(x)",))


def test_errors_that_the_increments_do_not_allow_are_refused(clean: np.ndarray) -> None:
    with pytest.raises(InvalidLibrary, match="the diffusion is not positive") as refused:
        identified(clean[0], noise_errors=3 * S)
    # What the hint allows works.
    (allowed,) = re.findall(r"at most ([\d.]+)", refused.value.hints[0])
    assert identified(clean[0], noise_errors=0.5 * float(allowed))
    data = from_arrays([noisy(clean)], DT)
    with pytest.raises(InvalidLibrary, match="larger than their standard"):
        identified(replace(data, errors=np.full_like(data.states, 1e200)))


def test_short_records_are_refused(clean: np.ndarray) -> None:
    with pytest.raises(TooFewSamples):
        identified(noisy(clean)[:150], noise_errors=S)


def test_known_noise_of_positions_is_held_in_one_coordinate() -> None:
    k, friction, s = 4.0, 1.0, 0.02
    x = harmonic(k, friction, 1.0, DT, 4000, seed=1)
    y = x + s * np.random.default_rng(2).standard_normal(len(x))

    def of_force(**settings: object) -> IdentifiedModel:
        given = Settings(polynomial_degree=1, dynamics="second-order", **settings)  # type: ignore[arg-type]
        return pipeline.identify(from_arrays([y], DT), given, lambda *_: None)

    known, free, wrong = (
        of_force(noise_errors=s),
        of_force(),
        of_force(noise_errors=2 * s),
    )
    assert known.noise_variances == pytest.approx({"x": s**2})
    assert off(term(known.drift["v"], "x"), -k) < 3
    assert off(term(known.diffusion["v,v"], "1"), 1.0) < 3
    one, other = (term(m.diffusion["v,v"], "1").std_error for m in (known, free))
    assert one is not None
    assert other is not None
    assert one < other
    assert known.restrictions[0].p_value > 1e-3
    by_column = replace(from_arrays([y], DT), errors=np.full((len(y), 1), s))
    same = pipeline.identify(by_column, Settings(polynomial_degree=1), lambda *_: None)
    assert same.order == 2
    assert same.drift["v"].active() == pytest.approx(known.drift["v"].active(), rel=1e-9)
    assert wrong.restrictions[0].p_value < 1e-6
    assert "constraint-contradicted" in {f.code for f in wrong.findings}
    with pytest.raises(InvalidLibrary, match="several coordinates"):
        pipeline.identify(
            from_arrays([np.column_stack([y, x])], DT),
            Settings(dynamics="second-order", noise_errors=s),
            lambda *_: None,
        )
