"""Known, required and excluded terms: conditional estimates, errors, and their test."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chi2

from worker import pipeline
from worker.identification.component_fit import ComponentFit, TermFit
from worker.identification.data.trajectories import Trajectories, from_arrays
from worker.identification.errors import InvalidLibrary
from worker.identification.estimation.setup import ComponentTerms, Settings
from worker.identification.identified_model import IdentifiedModel

WELLS = ("x", "x^3")


@pytest.fixture(scope="module")
def record(paths: Callable[..., np.ndarray]) -> Trajectories:
    """Return a double well."""
    return from_arrays(list(paths("double-well", 4, 0.02, 4000, seed=3)), 0.02)


def identified(data: Trajectories, **components: ComponentTerms) -> IdentifiedModel:
    named = {name.replace("_", ","): terms for name, terms in components.items()}
    return pipeline.identify(data, Settings(constraints=named), lambda *_: None)


def term(component: ComponentFit, name: str) -> TermFit:
    return next(t for t in component.terms if t.name == name)


def test_other_coefficients_are_those_given_the_known_one(record: Trajectories) -> None:
    free = identified(record, x=ComponentTerms(required=WELLS)).drift["x"]
    held = identified(record, x=ComponentTerms(known={"x": 0.8})).drift["x"]
    assert [t.name for t in held.terms if t.active] == list(WELLS)
    value = np.array([term(free, name).value for name in WELLS])
    covariance = np.array(free.covariance)
    # The normal law of one coefficient given another.
    slope = covariance[1, 0] / covariance[0, 0]
    error = np.sqrt(covariance[1, 1] - slope * covariance[0, 1])
    cubic = term(held, "x^3")
    # The equations' weights are of residuals of the fit, which move by a hundredth of an error.
    expected = value[1] + slope * (0.8 - value[0])
    assert cubic.value == pytest.approx(expected, abs=0.02 * error)
    assert cubic.std_error == pytest.approx(error, rel=0.01)
    given = term(held, "x")
    assert (given.value, given.std_error, given.known) == (0.8, 0.0, True)
    # Wald's statistic of one coefficient is its squared distance in standard errors.
    assert held.test is not None
    z = (value[0] - 0.8) / np.sqrt(covariance[0, 0])
    assert np.sqrt(held.test.statistic) == pytest.approx(abs(z), abs=0.02)
    assert held.test.p_value == pytest.approx(chi2.sf(held.test.statistic, 1))
    assert held.test.free["x"][0] == pytest.approx(value[0], abs=0.02 * np.sqrt(covariance[0, 0]))


def test_an_excluded_term_is_one_known_to_be_zero(record: Trajectories) -> None:
    without = identified(record, x=ComponentTerms(excluded=("x^2", "x^9")))
    zero = identified(record, x=ComponentTerms(known={"x^2": 0.0}))
    one, other = without.drift["x"], zero.drift["x"]
    assert one.active() == pytest.approx(
        {k: v for k, v in other.active().items() if k != "x^2"}, rel=1e-3
    )
    assert one.test is not None
    assert other.test is not None
    assert one.test.statistic == pytest.approx(other.test.statistic, rel=0.01)
    assert "constraint-contradicted" not in {finding.code for finding in without.findings}
    # Without its cubic term the record has no wells.
    wrong = identified(record, x=ComponentTerms(excluded=("x^3",)))
    (said,) = (f for f in wrong.findings if f.code == "constraint-contradicted")
    assert "drift x" in said.message
    assert "x^3 is -" in said.message


def test_a_required_term_stays_and_has_an_error(record: Trajectories) -> None:
    free = identified(record).drift["x"]
    assert not term(free, "x^2").active
    held = identified(record, x=ComponentTerms(required=("x^2",))).drift["x"]
    assert [t.name for t in held.terms if t.active] == ["x", "x^2", "x^3"]
    assert term(held, "x^2").std_error
    assert all("x^2" in entry.support for entry in held.path)
    # The scores stay those of the criterion.
    best = max(held.path, key=lambda entry: entry.score)
    assert abs(best.score - max(entry.score for entry in free.path)) < 20


def test_terms_that_the_library_lacks_are_added(record: Trajectories) -> None:
    held = identified(record, x=ComponentTerms(known={"sin(x)": 0.3}))
    assert held.drift["x"].active()["sin(x)"] == 0.3
    # What the sine does near zero is missing from the linear term.
    free = identified(record)
    states = np.linspace(-1, 1, 9)
    assert held.process.drift(states[:, None]) == pytest.approx(
        free.process.drift(states[:, None]), abs=0.02
    )


def test_everything_known_leaves_nothing_to_estimate(record: Trajectories) -> None:
    model = identified(
        record,
        x=ComponentTerms(known={"x": 1.0, "x^3": -1.0}, excluded=("1", "x^2", "x^4")),
        x_x=ComponentTerms(known={"1": 0.25}, excluded=("x", "x^2", "x^3", "x^4")),
    )
    assert model.drift["x"].active() == {"x": 1.0, "x^3": -1.0}
    assert model.diffusion["x,x"].active() == {"1": 0.25}
    assert model.draws is not None
    assert np.ptp(model.draws.coefficients, axis=0).max() == 0


def test_units_of_state_and_time_do_not_matter(record: Trajectories) -> None:
    one = identified(record, x=ComponentTerms(known={"x^3": -1.0}))
    scaled = replace(record, states=record.states * 1000, times=record.times * 60)
    other = identified(scaled, x=ComponentTerms(known={"x^3": -1.0 / 60 / 1e6}))
    assert other.drift["x"].active()["x"] == pytest.approx(
        one.drift["x"].active()["x"] / 60, rel=1e-6
    )
    assert one.drift["x"].test is not None
    assert other.drift["x"].test is not None
    assert other.drift["x"].test.p_value == pytest.approx(one.drift["x"].test.p_value, rel=1e-5)


def test_of_several_variables_one_component_is_held(paths: Callable[..., np.ndarray]) -> None:
    x = paths("ornstein-uhlenbeck", 2, 0.02, 6000, seed=8)
    data = from_arrays([x.T], 0.02)
    settings = Settings(
        polynomial_degree=2,
        diffusion_degree=0,
        constraints={
            "y": ComponentTerms(known={"y": -1.2}),
            "x,y": ComponentTerms(excluded=("1",)),
        },
    )
    model = pipeline.identify(data, settings, lambda *_: None)
    assert model.drift["y"].active() == {"y": -1.2}
    assert not term(model.drift["x"], "x").known
    assert model.diffusion["x,y"].active() == {}
    assert model.diffusion["x,y"].test is not None
    assert model.diffusion["x,y"].test.p_value > 1e-3


def test_components_and_terms_that_cannot_be_held_are_named(record: Trajectories) -> None:
    with pytest.raises(InvalidLibrary, match="component y"):
        identified(record, y=ComponentTerms(known={"x": 1.0}))
    settings = Settings(diffusion_degree=0, constraints={"x,x": ComponentTerms(required=("x^2",))})
    with pytest.raises(InvalidLibrary, match=r"x\^2 .* diffusion x,x .*diffusion_degree is 0"):
        pipeline.identify(record, settings, lambda *_: None)
