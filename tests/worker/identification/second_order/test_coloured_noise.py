"""First-order dynamics with coloured noise, recognised and fitted from positions alone."""

from collections.abc import Callable

import numpy as np
import pytest

from worker.identification.data.trajectories import Trajectories, from_arrays
from worker.identification.errors import NoCorrelationTime
from worker.identification.estimation.setup import Settings
from worker.identification.second_order_model import second_order_model

TIME, STRENGTH, DT = 0.2, 1.0, 0.02


def driven(seed: int, n: int, linear: bool = False) -> Trajectories:
    """Integrate dx = (x − x³) dt + u dt, or −x, by Heun's scheme with twenty steps a sample."""
    rng, h = np.random.default_rng(seed), DT / 20
    decay = np.exp(-h / TIME)
    kick = np.sqrt(STRENGTH / (2 * TIME) * (1 - decay**2))
    x, u, out = 0.0, 0.0, np.empty(n)
    normal = rng.standard_normal((n + 200, 20)).tolist()

    def drift(x: float) -> float:
        return -x if linear else x - x**3

    for i, row in enumerate(normal):
        for xi in row:
            later = u * decay + kick * xi
            slope = drift(x) + u
            x += h / 2 * (slope + drift(x + h * slope) + later)
            u = later
        if i >= 200:
            out[i - 200] = x
    return from_arrays([out], DT)


def test_drift_correlation_time_and_strength_are_found() -> None:
    settings = Settings(dynamics="coloured-noise")
    model = second_order_model(driven(3, 40_000), settings, lambda *_: None)
    noise = model.coloured_noise
    assert noise is not None
    terms = {t.name: t for t in noise.drift.terms if t.active}
    assert set(terms) == {"x", "x^3"}
    for name, true in (("x", 1.0), ("x^3", -1.0)):
        assert abs(terms[name].value - true) < 4 * (terms[name].std_error or 0.0)
    for (value, error), true in ((noise.correlation_time, TIME), (noise.diffusion, STRENGTH)):
        assert abs(value - true) < 4 * error
        assert error < 0.1 * true * 2
    # The force of the model is the one of these numbers.
    tau, force = noise.correlation_time[0], model.drift["v"].active()
    assert force["x"] == pytest.approx(terms["x"].value / tau)
    assert force["x^3"] == pytest.approx(terms["x^3"].value / tau)
    assert force["x^2*v"] == pytest.approx(3 * terms["x^3"].value)
    assert force["v"] == pytest.approx(terms["x"].value - 1 / tau)


def test_a_free_fit_names_coloured_noise_and_a_linear_one_says_what_it_cannot_tell() -> None:
    free = second_order_model(driven(3, 40_000), Settings(dynamics="second-order"), lambda *_: None)
    assert [f.code for f in free.findings] == ["coloured-noise"]
    linear = second_order_model(
        driven(4, 40_000, linear=True), Settings(dynamics="coloured-noise"), lambda *_: None
    )
    (found,) = linear.findings
    assert found.code == "rates-interchangeable"
    assert linear.coloured_noise is not None
    # The relaxation time 1 and the correlation time 0.2, within a fifth.
    assert linear.coloured_noise.correlation_time[0] == pytest.approx(TIME, rel=0.2)
    assert linear.coloured_noise.drift.active()["x"] == pytest.approx(-1, rel=0.2)


def test_other_forces_are_refused_or_named() -> None:
    rng, h = np.random.default_rng(0), 0.005
    normal = np.sqrt(h) * rng.standard_normal(400_000)

    def path(force: Callable[[float, float], float], a: float) -> Trajectories:
        x, v, out = 1.0, 0.0, []
        for i, xi in enumerate((np.sqrt(a) * normal).tolist()):
            v += force(x, v) * h + xi
            x += v * h
            if i % 10 == 0:
                out.append(x)
        return from_arrays([np.array(out)], 0.05)

    settings = Settings(dynamics="coloured-noise")
    inertial = path(lambda x, v: x - x**3 - 0.5 * v, 0.4)
    with pytest.raises(NoCorrelationTime, match="another one"):
        second_order_model(inertial, settings, lambda *_: None)
    # The force of x − x³ and τ 0.2 would have −3x²v.
    near = path(lambda x, v: 5 * x - 5 * x**3 - (4 + x**2) * v, 6.25)
    assert "not-coloured-noise" in [
        f.code for f in second_order_model(near, settings, lambda *_: None).findings
    ]


def test_without_a_correlation_time_the_job_says_so() -> None:
    walk = np.cumsum(np.random.default_rng(0).standard_normal(5000))
    with pytest.raises(NoCorrelationTime):
        second_order_model(
            from_arrays([walk], 1.0), Settings(dynamics="coloured-noise"), lambda *_: None
        )
