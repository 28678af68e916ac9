"""Bounds, parity, potentials and equations of coefficients: estimates, errors, draws, tests."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.linalg import expm, solve_continuous_lyapunov
from scipy.optimize import lsq_linear

from worker import pipeline
from worker.identification.component_fit import ComponentFit, TermFit
from worker.identification.data.trajectories import Trajectories, from_arrays
from worker.identification.errors import InvalidLibrary
from worker.identification.estimation.setup import ComponentTerms, Settings, Sum
from worker.identification.identified_model import IdentifiedModel
from worker.identification.model_sampling import confidence_interval
from worker.identification.selection.half_spaces import HalfSpaces
from worker.identification.symbolic_process import SymbolicProcess
from worker.identification.symbolic_system import SymbolicSystem

DT = 0.02
INF = float("inf")
CUBIC = ("x", "x^2", "x^3")


@pytest.fixture(scope="module")
def wells(paths: Callable[..., np.ndarray]) -> Trajectories:
    """Return a double well."""
    return from_arrays(list(paths("double-well", 4, 0.02, 4000, seed=3)), 0.02)


def linear(slope: list[list[float]], noise: list[list[float]], seed: int) -> Trajectories:
    """Return an exact path of dX = slope X dt + √noise dW."""
    b, a, random = np.array(slope), np.array(noise), np.random.default_rng(seed)
    covariance, step = solve_continuous_lyapunov(b, -a), expm(b * DT)
    root = np.linalg.cholesky(covariance - step @ covariance @ step.T)
    x = np.zeros((20_000, 2))
    for n, z in enumerate(random.standard_normal((len(x) - 1, 2)) @ root.T, start=1):
        x[n] = step @ x[n - 1] + z
    return from_arrays([x + np.array([5.0, -3.0])], DT)


def identified(data: Trajectories, **settings: object) -> IdentifiedModel:
    return pipeline.identify(data, Settings(**settings), lambda *_: None)  # type: ignore[arg-type]


def bounded(data: Trajectories, **bounds: tuple[float, float]) -> ComponentFit:
    known = ComponentTerms(
        required=CUBIC, bounds={key.replace("_", "^"): b for key, b in bounds.items()}
    )
    return identified(data, constraints={"x": known}).drift["x"]


def active(component: ComponentFit) -> list[TermFit]:
    return [t for t in component.terms if t.active]


def slopes(process: SymbolicProcess | SymbolicSystem) -> tuple[np.ndarray, np.ndarray]:
    """Return ∂b_x/∂y and ∂b_y/∂x by central differences at some states, of a drift of degree 4."""
    at, h = np.random.default_rng(1).normal([5.0, -3.0], 0.7, (20, 2)), 1e-3
    across = []
    for p, q in ((0, 1), (1, 0)):
        move = h * np.eye(2)[q]
        d = [process.drift(at + k * move)[:, p] for k in (-2, -1, 1, 2)]
        across.append((d[0] - 8 * d[1] + 8 * d[2] - d[3]) / (12 * h))
    return across[0], across[1]


def test_nearest_points_are_those_of_a_quadratic_programme() -> None:
    random = np.random.default_rng(0)
    root = random.normal(size=(4, 4))
    covariance, rows = root @ root.T, np.eye(4)[[0, 2, 3]]
    along = covariance @ rows.T
    spaces = HalfSpaces(rows, np.array([0.2, -0.1, 0.0]), along, rows @ along)
    points = random.normal(size=(40, 4))
    low = np.array([0.2, -INF, -0.1, 0.0])
    inverse = np.linalg.inv(root)
    for point, found in zip(points, spaces.inside(points), strict=True):
        best = lsq_linear(inverse, inverse @ point, (low, INF), method="bvls", tol=1e-14)
        assert found == pytest.approx(best.x, abs=1e-7)


def test_a_coefficient_stops_at_its_bound_and_the_others_follow(wells: Trajectories) -> None:
    free = bounded(wells, x_2=(-9.0, INF))
    value, error = free.active()["x^2"], active(free)[1].std_error
    assert error is not None
    limit = value + error
    held, known = (
        bounded(wells, x_2=(limit, INF)),
        identified(
            wells, constraints={"x": ComponentTerms(known={"x^2": limit}, required=("x", "x^3"))}
        ),
    )
    at = active(held)[1]
    assert (at.value, at.at_bound) == (pytest.approx(limit, rel=1e-12), True)
    # Beside an active bound the others are those given the coefficient.
    for name in ("x", "x^3"):
        one, other = held.active()[name], known.drift["x"].active()[name]
        assert one == pytest.approx(other, abs=0.02 * error)
    # The interval is that of the free coefficient, cut.
    low, high = confidence_interval(at.estimates, 0.95, at.value, at.bounds)
    assert low == pytest.approx(limit)
    assert high == pytest.approx(value + 1.96 * error, abs=0.02 * error)
    # None is empty, however far the bound is.
    far = active(bounded(wells, x_2=(value + 9 * error, INF)))[1]
    assert confidence_interval(far.estimates, 0.95, far.value, far.bounds) == (far.value, far.value)


def test_a_bound_that_the_data_contradict_is_said(wells: Trajectories) -> None:
    free = identified(wells, constraints={"x": ComponentTerms(bounds={"x": (0.0, INF)})})
    assert not free.restrictions
    wrong = identified(
        wells,
        constraints={"x": ComponentTerms(bounds={"x": (-INF, 0.0), "x^3": (0.0, INF)})},
    )
    (test,) = wrong.restrictions
    assert test.p_value < 1e-6
    (said,) = (f for f in wrong.findings if f.code == "constraint-contradicted")
    assert "bounds of the drift x" in said.message
    assert wrong.draws is not None
    terms = [t.name for t in wrong.drift["x"].terms if t.at_bound]
    # Without a cubic term the wells are one, whose slope is negative.
    assert terms == ["x^3"]


def test_drawn_models_are_inside_the_bounds(wells: Trajectories) -> None:
    model = identified(
        wells,
        constraints={"x": ComponentTerms(required=CUBIC, bounds={"x^2": (0.0, INF)})},
    )
    assert model.draws is not None
    h = 0.1
    middle = np.array([[-h], [0.0], [h]])
    curvature = np.array(
        [
            np.array([1.0, -2.0, 1.0]) @ model.draws[i].drift(middle)[:, 0]
            for i in range(200)
            if not model.draws.coefficients[i, model.draws.centre.size - 1 :].any()
        ]
    )
    assert curvature.min() > -1e-9
    assert (np.abs(curvature) < 1e-9).any()


def test_odd_dynamics_have_odd_drift_and_even_diffusion(wells: Trajectories) -> None:
    model = identified(wells, odd=True)
    assert set(model.drift["x"].active()) <= {"x", "x^3"}
    assert set(model.diffusion["x,x"].active()) <= {"1", "x^2", "x^4"}
    assert model.drift["x"].test is not None
    assert model.drift["x"].test.p_value > 1e-3
    moved = Trajectories(wells.states + 0.5, wells.times, wells.segments)
    assert "constraint-contradicted" in {f.code for f in identified(moved, odd=True).findings}
    with pytest.raises(InvalidLibrary, match=r"x\^2 in x"):
        identified(wells, odd=True, constraints={"x": ComponentTerms(required=("x^2",))})


def test_a_gradient_has_no_curl_and_its_potential_is_told() -> None:
    data = linear([[-1.0, 0.4], [0.4, -1.5]], [[1.0, 0.3], [0.3, 0.8]], seed=0)
    model = identified(data, potential="gradient")
    one, other = slopes(model.process)
    assert one == pytest.approx(other, abs=1e-8)
    assert model.draws is not None
    drift = [model.drift[v].active() for v in ("x", "y")]
    assert drift[0]["y"] == pytest.approx(drift[1]["x"], rel=1e-12)
    assert model.potential is not None
    form, potential = model.potential
    assert form == "gradient"
    u = potential.active()
    assert u == pytest.approx(
        {
            "x": -drift[0]["1"],
            "y": -drift[1]["1"],
            "x^2": -drift[0]["x"] / 2,
            "x*y": -drift[0]["y"],
            "y^2": -drift[1]["y"] / 2,
        },
        rel=1e-9,
    )
    (test,) = model.restrictions
    assert test.dof == 1
    assert test.p_value > 1e-3
    # Models drawn around it have no curl either, whatever their terms.
    for row in (*range(20), *np.flatnonzero(model.draws.support)[:20].tolist()):
        one, other = slopes(model.draws[row])
        assert one == pytest.approx(other, abs=1e-8)


def test_a_rotation_is_no_gradient() -> None:
    data = linear([[-1.0, 0.7], [-0.7, -1.0]], [[1.0, 0.0], [0.0, 1.0]], seed=1)
    model = identified(data, potential="gradient")
    (test,) = model.restrictions
    assert test.p_value < 1e-6
    (said,) = (f for f in model.findings if f.code == "constraint-contradicted")
    assert "potential" in said.message


def test_detailed_balance_is_at_the_noise_s_own_tensor() -> None:
    a, stiffness = np.array([[1.0, 0.4], [0.4, 0.6]]), np.array([[2.0, 0.3], [0.3, 1.0]])
    data = linear((-a @ stiffness / 2).tolist(), a.tolist(), seed=2)
    model = identified(data, potential="detailed-balance")
    (test,) = model.restrictions
    assert test.p_value > 1e-3
    assert model.potential is not None
    terms = {t.name: t for t in active(model.potential[1])}
    for name, value in (("x^2", 1.0), ("y^2", 0.5)):
        error = terms[name].std_error
        assert error is not None
        assert abs(terms[name].value - value) < 4 * error
    tensor = [
        [model.diffusion[k].active()["1"] for k in row] for row in (("x,x", "x,y"), ("x,y", "y,y"))
    ]
    at = np.array([[5.3, -2.4]])
    h = 0.05
    u = model.potential[1].active()

    def phi(x: float, y: float) -> float:
        values = {"x": x, "y": y, "x^2": x * x, "x*y": x * y, "y^2": y * y}
        return sum(c * values[k] for k, c in u.items())

    ((x, y),) = at
    force = np.array([phi(x + h, y) - phi(x - h, y), phi(x, y + h) - phi(x, y - h)]) / (2 * h)
    assert model.process.drift(at)[0] == pytest.approx(-0.5 * np.array(tensor) @ force, rel=1e-6)


def test_equal_coefficients_are_weighted_by_their_errors() -> None:
    data = linear([[-1.0, 0.5], [-0.5, -1.5]], [[1.0, 0.0], [0.0, 0.5]], seed=3)
    settings = {
        "polynomial_degree": 1,
        "diffusion_degree": 0,
        "diffusion_structure": "diagonal",
    }
    needed = {
        "x": ComponentTerms(required=("1", "x", "y")),
        "y": ComponentTerms(required=("1", "x", "y")),
    }
    free = identified(data, **settings, constraints=needed)
    sums = (Sum({"x": {"y": 1.0}, "y": {"x": 1.0}}),)
    held = identified(data, **settings, constraints=needed, sums=sums)
    one, other = active(free.drift["x"])[2], active(free.drift["y"])[1]
    assert one.std_error is not None
    assert other.std_error is not None
    w = np.array([one.std_error, other.std_error]) ** -2.0
    expected = (w[0] * one.value - w[1] * other.value) / w.sum()
    x, y = active(held.drift["x"])[2], active(held.drift["y"])[1]
    assert x.value == pytest.approx(expected, rel=1e-9)
    assert y.value == pytest.approx(-expected, rel=1e-9)
    assert x.std_error == pytest.approx(w.sum() ** -0.5, rel=1e-6)
    (test,) = held.restrictions
    z = (one.value + other.value) / np.hypot(one.std_error, other.std_error)
    assert test.statistic == pytest.approx(z**2, rel=1e-6)
    assert held.draws is not None
    for i in range(30):
        b = held.draws[i].drift(np.array([[5.0, -3.0], [6.0, -3.0], [5.0, -2.0]]))
        assert b[2, 0] - b[0, 0] == pytest.approx(b[0, 1] - b[1, 1], abs=1e-9)
    wrong = identified(data, **settings, sums=(Sum({"x": {"y": 1.0}}, 2.0),))
    assert wrong.restrictions[0].p_value < 1e-6


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"sums": (Sum({"x": {"x": 1.0}}, 1.0), Sum({"x": {"x": 2.0}}, 1.0))}, "equation 2"),
        (
            {
                "sums": (Sum({"x": {"x": 1.0}}, 1.0),),
                "constraints": {"x": ComponentTerms(known={"x": -3.0})},
            },
            "equation 1",
        ),
        ({"sums": (Sum({"x": {"x^2": 1.0}}, 1.0),), "odd": True}, r"x\^2 in x"),
        (
            {"constraints": {"x": ComponentTerms(known={"x^2": 2.0}, excluded=("x*x",))}},
            r"x\^2 and x\*x are the same",
        ),
        (
            {"constraints": {"x,x": ComponentTerms(bounds={"1": (-INF, -1.0)})}},
            "the diffusion is not positive",
        ),
        ({"noise_errors": 1e300}, "larger than their standard"),
    ],
)
def test_what_contradicts_itself_is_refused(
    wells: Trajectories, settings: dict[str, object], said: str
) -> None:
    with pytest.raises(InvalidLibrary, match=said):
        identified(wells, dynamics="first-order", **settings)


def test_an_equation_that_follows_from_others_is_counted_once(wells: Trajectories) -> None:
    one, twice = Sum({"x": {"x": 1.0, "x^3": 1.0}}), Sum({"x": {"x": -3e5, "x^3": -3e5}})
    (test,) = identified(wells, sums=(one, twice)).restrictions
    assert test.dof == 1
    assert test.p_value > 1e-3


def test_terms_that_no_potential_has_are_named(wells: Trajectories) -> None:
    with pytest.raises(InvalidLibrary, match=r"sin\(x\)"):
        identified(wells, potential="gradient", extra_terms=("sin(x)",))
