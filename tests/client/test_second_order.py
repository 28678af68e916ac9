"""The model object of second order: positions and velocities."""

import math
from typing import Any

import numpy as np
import pytest

from itoscope_client import Model
from itoscope_client.cli.output import of_model
from tests.client.documents import result
from tests.client.test_models import pyplot

K, GAMMA, A = 4.0, 0.5, 2.0


def second_order(*arguments: Any, **more: Any) -> dict[str, Any]:
    document = result(*arguments, **more)
    document["model"]["order"] = 2
    return document


OSCILLATOR = second_order(
    {"x": {"v": 1.0}, "v": {"x": -K, "v": -GAMMA}}, {"v,v": {"1": A}}, error=0.1
)
IN_THE_PLANE = second_order(
    {"x": {"vx": 1.0}, "y": {"vy": 1.0}, "vx": {"x": -1.0, "vy": 2.0}, "vy": {"y": -3.0}},
    {"vx,vx": {"1": 1.0}, "vx,vy": {"1": 0.5}, "vy,vy": {"1": 1.0}},
)


def test_the_force_is_a_function_of_positions_and_velocities() -> None:
    model = Model(OSCILLATOR)
    assert (model.order, model.velocities) == (2, {"x": "v"})
    assert model.force(0.5) == -2.0
    np.testing.assert_allclose(model.force([0.5, 1.0], 2.0), [-3.0, -5.0])
    np.testing.assert_allclose(model.drift([0.5, 2.0]), [2.0, -3.0])
    np.testing.assert_allclose(Model(IN_THE_PLANE).force([1.0, 1.0], [0.5, 0.25]), [-0.5, -3.0])
    with pytest.raises(ValueError, match="first order"):
        Model(result({"x": {"x": -1.0}}, {"x,x": {"1": 1.0}})).force(1.0)


def test_equations_say_that_the_velocity_moves_the_position() -> None:
    model = Model(OSCILLATOR)
    assert model.equations[0] == "dx = v dt"
    assert model.equations[1].startswith("dv = (")
    assert model.equations[1].endswith(") dt + sqrt(a_vv) dW")
    assert r"dx &= v \, dt \\" in model.to_latex()
    assert r"\right) \, dt + \sqrt{a_{v v}} \, dW" in model.to_latex(errors=False)
    assert "<i>d</i>x = v <i>dt</i>" in model._repr_html_()
    printed = of_model(model)
    assert "dx = v dt" in printed
    assert "dX = b dt" not in printed
    # What is known is no estimate, and stands in no list of them.
    assert model.names == ("b_v: x", "b_v: v", "a_vv: 1")
    assert np.isfinite(model.std_errors).all()


def test_paths_of_positions_keep_the_oscillations_size() -> None:
    # With ω = 2 and one step a sample, ωh = 0.4: ⟨x²⟩ = a/2γk and ⟨v²⟩ = a/2γ. Heun's scheme errs
    # by about (ωh)²/4 = 4 %; Euler's would drive ω²h/2 = 0.4 against a friction of 0.25, and end
    # nowhere.
    t, x = Model(OSCILLATOR).simulate(
        40.0, dt=0.2, n_paths=4000, start=0.0, substeps=1, seed=1, velocities=True
    )
    assert x.shape == (4000, len(t), 2)
    expected = np.array([A / 2 / GAMMA / K, A / 2 / GAMMA])
    np.testing.assert_allclose(x[:, -1].var(axis=0), expected, rtol=4 * math.sqrt(2 / 4000) + 0.04)
    # Of second order: with half the step a quarter of the error.
    _, finer = Model(OSCILLATOR).simulate(
        40.0, dt=0.2, n_paths=4000, start=0.0, substeps=8, seed=2, velocities=True
    )
    np.testing.assert_allclose(finer[:, -1].var(axis=0), expected, rtol=4 * math.sqrt(2 / 4000))


def test_paths_are_positions_and_start_at_rest_where_no_velocity_is_given() -> None:
    model = Model(OSCILLATOR)
    _, x = model.simulate(1.0, dt=0.1, start=0.7, seed=1)
    _, both = model.simulate(1.0, dt=0.1, start=[0.7, 0.0], seed=1, velocities=True)
    assert x.shape == (11,)
    np.testing.assert_array_equal(x, both[:, 0])
    _, plane = Model(IN_THE_PLANE).simulate(
        1.0, dt=0.1, n_paths=3, start=[1.0, 2.0], seed=1, velocities=True
    )
    np.testing.assert_array_equal(plane[:, 0], [[1.0, 2.0, 0.0, 0.0]] * 3)


def test_a_passage_between_two_positions_is_found_among_regions() -> None:
    known = {
        "from": [-1.0, 0.0], "to": {"x": [1.0, None], "v": [None, None]},
        "mean_time": {"value": 23.8}, "kramers": {"value": None, "reason": "none"},
    }  # fmt: skip
    model = Model(
        second_order({"x": {"v": 1.0}, "v": {"x": -K}}, {"v,v": {"1": A}}, passages=[known])
    )
    assert float(model.passage(-1, 1)) == 23.8
    assert model.known_passage(1, -1) is None


@pytest.mark.slow
def test_the_phase_plane_is_drawn_beside_positions() -> None:
    plt = pyplot()
    field = {"grid": [[-1.0, 0.0, 1.0], [-2.0, 0.0, 2.0]]}
    joint = {"edges": [[-1.0, 0.0, 1.0], [-2.0, 0.0, 2.0]], "counts": [[1, 2], [3, 4]]}
    model = Model({**OSCILLATOR, "drift_field": field, "observed": {"joint_histogram": joint},
                   "data": {"dt": 0.1, "range": [[-1.0, 1.0]]}})  # fmt: skip
    [axes] = model.plot().axes
    assert (axes.get_title(), axes.get_xlabel(), axes.get_ylabel()) == ("phase plane", "x", "v")
    assert axes.get_ylim() == (-2.0, 2.0)
    # Positions alone are enough: v = 2 is the slope of x = 2 t.
    [axes] = model.plot(0.2 * np.arange(10)).axes
    points = next(line for line in axes.lines if line.get_linestyle() == "None")
    np.testing.assert_allclose(points.get_ydata(), 2.0)
    plt.close("all")


def test_coloured_noise_is_written_with_its_drift_and_correlation_time() -> None:
    document = second_order({"x": {"v": 1.0}, "v": {"x": -4.0, "v": -4.0}}, {"v,v": {"1": A}})
    document["model"]["symbols"] = {"x": "U", "v": "v"}
    document["model"]["coloured_noise"] = {
        "drift": {"expression": "-2*U", "terms": []},
        "correlation_time": {"value": 0.5, "ci": [0.4, 0.6]},
    }
    model = Model(document)
    assert {"dU = f dt + u dt", "f = -2*U"} <= set(model.equations)
    assert "correlation time of the noise u  0.50  0.40 to 0.60" in of_model(model)
    assert Model(OSCILLATOR).coloured_noise is None
