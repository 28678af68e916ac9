"""Models drawn from a result document, by service and client, have the intervals' distribution."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from contract.identification import IdentificationParameters
from itoscope_client.models.model import Model
from itoscope_client.models.sampling import NoDraws
from tests.client.documents import result
from worker import pipeline
from worker.documents.model import model_of
from worker.identification.data.trajectories import from_arrays
from worker.identification.identified_model import IdentifiedModel
from worker.identification.selection.half_spaces import HalfSpaces
from worker.identification.symbolic_process import SymbolicProcess
from worker.jobs.parameters import settings_of

N = 2_000


def wells(n: int, dt: float, at: float = 0.0) -> np.ndarray[Any, Any]:
    random, x = np.random.default_rng(0), np.zeros(n)
    kicks = 0.5 * np.sqrt(dt) * random.standard_normal(n)
    for k in range(1, n):
        x[k] = x[k - 1] + (x[k - 1] - x[k - 1] ** 3) * dt + kicks[k]
    return x[:, None] + at


def identified(
    data: np.ndarray[Any, Any], dt: float, **parameters: Any
) -> tuple[IdentifiedModel, Model]:
    asked = IdentificationParameters.model_validate(parameters)
    found = pipeline.identify(from_arrays([data], dt), settings_of(asked), lambda *_: None)
    document: Mapping[str, Any] = {
        "job": "job_x",
        "kind": "identification",
        "model": json.loads(model_of(found, asked, 0.95).model_dump_json()),
        "generator": {"ergodic": None},
        "provenance": {"parameters": json.loads(asked.model_dump_json())},
    }
    return found, Model(document)


@pytest.fixture(scope="module")
def near() -> tuple[IdentifiedModel, Model]:
    """A record of which no set of terms of the diffusion is certain."""
    return identified(wells(6_000, 0.05), 0.05)


def test_every_coefficients_percentiles_are_its_interval(
    near: tuple[IdentifiedModel, Model],
) -> None:
    model, checked = near[1], 0
    draws = model.draws(N, seed=3)
    supports = model.document["model"]["diffusion"]["x,x"]["supports"]
    assert len(supports) > 5
    for term in model.terms:
        if term.ci is None:
            continue
        values = draws.coefficients(term.component, term.term)
        # Four standard errors of a share of one in forty.
        error = 4 * np.sqrt(0.025 * 0.975 / N)
        for below, upto in ((np.less, np.less_equal), (np.greater, np.greater_equal)):
            end = term.ci[0] if below is np.less else term.ci[1]
            assert below(values, end).mean() <= 0.025 + error, term.name
            # An interval that ends at the estimate or at zero was widened, or ends in an atom.
            if end not in (term.value, 0.0):
                assert upto(values, end).mean() >= 0.025 - error, term.name
                checked += 1
    assert checked >= 6
    # Negative control: a narrower interval is found out.
    cubic = next(t for t in model.terms if t.name == "b_x: x^3")
    assert cubic.ci is not None
    low = 0.75 * cubic.ci[0] + 0.25 * cubic.ci[1]
    assert np.less(draws.coefficients("x", "x^3"), low).mean() > 0.025 + error


@pytest.mark.parametrize("at", [0.0, 300.0])
def test_the_drift_scatters_as_that_of_the_workers_own_draws(at: float) -> None:
    # Far from the origin single coefficients cancel to eight digits: so must their errors.
    found, model = identified(wells(6_000, 0.05, at), 0.05)
    evaluated = model.evaluate(lambda m: m.drift(at + 0.5), count=N)
    assert found.draws is not None
    own = [found.draws[row] for row in range(4_000)]
    values = [
        process.drift(np.array([[at + 0.5]])).item()
        for process in own
        if isinstance(process, SymbolicProcess) and process.excess is None
    ]
    # The relative error of a standard deviation from n values is 1/√(2n).
    assert np.std(evaluated.values) == pytest.approx(
        np.std(values), rel=4 * np.sqrt(0.5 / N + 0.5 / len(values))
    )
    assert evaluated.low < evaluated.estimate < evaluated.high
    assert evaluated.estimate == pytest.approx(model.drift(at + 0.5))


def test_a_function_of_a_coefficient_has_the_delta_methods_interval() -> None:
    random, dt = np.random.default_rng(2), 0.1
    x = np.zeros(20_000)
    for k in range(1, len(x)):
        x[k] = np.exp(-dt) * x[k - 1] + np.sqrt((1 - np.exp(-2 * dt)) / 2) * random.normal()
    library = {"polynomial_degree": 1}
    _, model = identified(x[:, None], dt, library=library, sampling_rule="trapezoid")
    time = model.evaluate(lambda m: -1 / m.coefficient("x", "x"), 0.9, count=N)
    slope = next(t for t in model.terms if t.name == "b_x: x")
    assert slope.std_error is not None
    assert time.estimate == pytest.approx(-1 / slope.value)
    spread = slope.std_error / slope.value**2
    # The density at this percentile is 0.103 per standard error of ±1.645 standard errors.
    error = 4 * np.sqrt(0.05 * 0.95 / N) / 0.103 * spread
    skew = 1.645**2 * spread**2 / time.estimate
    assert time.high - time.estimate == pytest.approx(1.645 * spread, abs=error + skew)
    assert time.estimate - time.low == pytest.approx(1.645 * spread, abs=error + skew)
    assert str(time) == f"{float(time):.3f} ({time.low:.3f} to {time.high:.3f})"


def test_an_isotropic_tensor_is_drawn_as_one() -> None:
    random = np.random.default_rng(4)
    x = np.zeros((8_000, 2))
    for k in range(1, len(x)):
        x[k] = x[k - 1] - 0.05 * x[k - 1] + np.sqrt(0.05) * random.standard_normal(2)
    library = {"polynomial_degree": 1}
    for structure, alike in (("isotropic", True), ("diagonal", False)):
        _, model = identified(x, 0.05, library=library, diffusion_structure=structure)
        draws = model.draws(50)
        one, other = (draws.coefficients(pair, "1") for pair in ("x,x", "y,y"))
        assert np.allclose(one, other, rtol=1e-12) == alike
        assert np.ptp(one) > 0


@pytest.fixture(scope="module")
def rotating() -> np.ndarray[Any, Any]:
    random, dt = np.random.default_rng(4), 0.05
    x, slope = np.zeros((6_000, 2)), np.array([[-1.0, 0.8], [-0.8, -1.0]])
    for n, noise in enumerate(np.sqrt(dt) * random.normal(size=(len(x) - 1, 2)), start=1):
        x[n] = x[n - 1] + dt * slope @ x[n - 1] + noise
    return x + np.array([5.0, -3.0])


def test_models_drawn_under_linear_equations_obey_them(rotating: np.ndarray[Any, Any]) -> None:
    equal = [{"drift": {"x": {"y": 1.0}, "y": {"x": 1.0}}}]
    library = {"polynomial_degree": 1}
    _, model = identified(rotating, 0.05, library=library, constraints={"equalities": equal})
    draws = model.draws(N)
    one, other = draws.coefficients("x", "y"), draws.coefficients("y", "x")
    # Where both have their selected sets: the equations are those of these.
    constant = draws.coefficients("y", "1")
    selected = constant != 0
    assert selected.mean() > 0.9
    assert np.abs(one + other)[selected].max() < 1e-9
    tied = next(t for t in model.terms if t.name == "b_x: y")
    assert tied.std_error is not None
    assert np.std(one) == pytest.approx(tied.std_error, rel=4 * np.sqrt(0.5 / N) + 0.02)


def test_models_drawn_of_a_potential_have_no_curl(rotating: np.ndarray[Any, Any]) -> None:
    at, h = np.random.default_rng(1).normal([5.0, -3.0], 0.7, (10, 2)), 1e-3
    right, up = h * np.eye(2)
    for constraints, turns in (({"gradient": True}, False), ({}, True)):
        library = {"polynomial_degree": 2}
        _, model = identified(rotating, 0.05, library=library, constraints=constraints)
        curls = [
            (m.drift(at + up) - m.drift(at - up))[:, 0]
            - (m.drift(at + right) - m.drift(at - right))[:, 1]
            for m in model.draws(100)
        ]
        slope = np.std([m.coefficient("x", "x") for m in model.draws(100)])
        assert slope > 0
        assert (np.abs(curls).max() > 0.5 * 2 * h) == turns
        assert turns or np.abs(curls).max() < 1e-9


def test_models_drawn_under_bounds_are_the_nearest_inside() -> None:
    random = np.random.default_rng(7)
    root = random.normal(size=(3, 3))
    document = result({"x": {"1": 0.1, "x": -0.2, "x^2": 0.3}}, {"x,x": {"1": 1.0}})
    (support,) = document["model"]["drift"]["x"]["supports"] = [
        {"support": ["1", "x", "x^2"], "probability": 1.0, "values": [0.1, -0.2, 0.3],
         "factor": root.tolist(), "shift": None}
    ]  # fmt: skip
    free = Model(document).draws(200, seed=1)
    support["bounds"] = [[0.0, None], [None, 0.5], [-1.0, 1.0]]
    found = Model(document).draws(200, seed=1)
    rows = np.array([[1, 0, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]], dtype=float)
    along = root @ root.T @ rows.T
    spaces = HalfSpaces(rows, np.array([0.0, -0.5, -1.0, -1.0]), along, rows @ along)
    before, after = (
        np.column_stack([d.coefficients("x", term) for term in ("1", "x", "x^2")])
        for d in (free, found)
    )
    assert (before @ rows.T < spaces.least).any(axis=1).mean() > 0.5
    assert after == pytest.approx(spaces.inside(before), abs=1e-6)
    assert (after @ rows.T >= spaces.least - 1e-12).all()


def test_what_is_drawn_is_a_model(near: tuple[IdentifiedModel, Model]) -> None:
    model = near[1]
    draws = model.draws(20, seed=1)
    same, other = model.draws(20, seed=1), model.draws(20, seed=2)
    assert np.array_equal(draws.coefficients("x", "x"), same.coefficients("x", "x"))
    assert not np.array_equal(draws.coefficients("x", "x"), other.coefficients("x", "x"))
    for row, drawn in enumerate(draws):
        assert drawn.coefficient("x", "x^3") == draws.coefficients("x", "x^3")[row]
        wanted = sum(t.value * 0.3 ** int(t.term.partition("^")[2] or t.term == "x")
                     for t in drawn.terms if t.component == "x")  # fmt: skip
        assert drawn.drift(0.3) == pytest.approx(wanted)
    assert draws[0].source["drift"]["x"]["x"] == draws[0].coefficient("x", "x")
    assert len(draws[0].simulate(1.0, dt=0.1, start=0.5, seed=0)[1]) == 11
    with pytest.raises(KeyError, match=r"no term y; it has 1, x, x\^2"):
        draws.coefficients("x", "y")


def test_a_function_without_a_value_for_some_models_says_so(
    near: tuple[IdentifiedModel, Model],
) -> None:
    model = near[1]
    middle = float(np.median(model.draws(1_000).coefficients("x", "x")))

    def partly(m: Model) -> float:
        slope = m.coefficient("x", "x")
        return np.nan if slope < middle and m is not model else slope

    found = model.evaluate(partly)
    assert found.undefined == pytest.approx(0.5, abs=0.01)
    assert "no value for 50 %" in str(found)
    with pytest.raises(ValueError, match="no value"):
        model.evaluate(lambda m: np.nan)
    shapes = iter(range(1, 10))
    for wrong, said in (
        (lambda m: np.zeros(next(shapes)), r"shape \(1,\) for the estimate and of shape \(2,\)"),
        (lambda m: "fast", "returns str"),
        (lambda m: 1j, "returns complex"),
        (lambda m: [[1.0], [1.0, 2.0]], "returns list"),
        (lambda m: np.nan if m is model else 1.0, "for the estimate itself"),
        (lambda m: 1.0 if m is model else np.nan, "any of the drawn models"),
    ):
        with pytest.raises(ValueError, match=said):
            model.evaluate(wrong, count=5)
    for count, error in ((0, ValueError), (10**9, ValueError), (1.5, TypeError)):
        with pytest.raises(error, match=r"1 to 2000|integer"):
            model.draws(count)


def test_what_cannot_be_drawn_is_refused(near: tuple[IdentifiedModel, Model]) -> None:
    with pytest.raises(NoDraws, match="no errors"):
        Model(result({"x": {"x": -1.0}}, {"x,x": {"1": 1.0}})).draws()
    for count, seed in ((0, 0), (2_001, 0), (5, -1)):
        with pytest.raises(ValueError, match="draw 1 to 2000 models"):
            near[1].draws(count, seed=seed)
    with pytest.raises(ValueError, match="between 0 and 1"):
        near[1].evaluate(lambda m: 1.0, 95)


def test_drift_and_noise_move_to_the_other_rule_together_and_a_velocity_has_no_error() -> None:
    document = result({"x": {"v": 1.0}, "v": {"x": -4.0, "v": -1.0}}, {"v,v": {"1": 0.5}})
    document["model"]["order"] = 2
    for function, component, size in (("drift", "v", 2), ("diffusion", "v,v", 1)):
        part = document["model"][function][component]
        terms = [term["term"] for term in part["terms"]]
        values = [term["value"] for term in part["terms"]]
        part["supports"] = [
            {"support": terms, "probability": 0.75, "values": values,
             "factor": (0.1 * np.eye(size)).tolist(), "shift": [1e3] * size},
            {"support": terms[-1:], "probability": 0.25, "values": values[-1:],
             "factor": [[0.1]], "shift": None},
        ]  # fmt: skip
    draws = Model(document).draws(200, seed=5)
    position, noise = draws.coefficients("v", "x"), draws.coefficients("v,v", "1")
    assert np.count_nonzero(position) == 150
    assert not (position[::2] > 500).any()
    assert (position[1::2] > 500).sum() == np.count_nonzero(position[1::2])
    assert ((noise > 500) <= (np.arange(200) % 2 == 1)).all()
    assert (draws.coefficients("x", "v") == 1.0).all()
    assert draws[0].order == 2
    assert draws[0].equations[0] == "dx = v dt"
