"""Windows of records driven by coloured noise: a drifting correlation time is no closing gap."""

import numpy as np
import pytest
from numpy.typing import NDArray
from pydantic import ValidationError

from contract.identification import IdentificationParameters
from contract.rolling import RollingJob, RollingWindows
from worker.identification.data.trajectories import from_arrays
from worker.identification.errors import NoCorrelationTime, SecondOrderDynamics
from worker.identification.estimation.setup import Settings
from worker.identification.second_order_model import second_order_model
from worker.jobs.rolling import roll_along
from worker.rolling.rolling import Rolling

Floats = NDArray[np.float64]
DT, SUBSTEPS, STEPS = 0.05, 5, 40_000


def record(
    seed: int,
    times: tuple[float, float],
    rates: tuple[float, float] = (1.0, 1.0),
    cubic: bool = False,
    steps: int = STEPS,
) -> Floats:
    """Integrate dx = −λ x dt + u dt, or (x − x³) dt, by Heun's scheme; u is exact with Var u = 1.

    λ goes linearly and τ geometrically from first to last.
    """
    h, n = DT / SUBSTEPS, steps * SUBSTEPS
    share = np.arange(n) / n
    decays = np.exp(-h / (times[0] * (times[1] / times[0]) ** share))
    kicks = np.sqrt(1 - decays**2) * np.random.default_rng(seed).standard_normal(n)
    slopes = rates[0] + (rates[1] - rates[0]) * share
    x, u, out = 0.0, 0.0, np.empty(n)
    for i, (decay, kick, rate) in enumerate(
        zip(decays.tolist(), kicks.tolist(), slopes.tolist(), strict=True)
    ):
        out[i] = x
        later = u * decay + kick
        drift = x - x**3 if cubic else -rate * x
        end = x + h * (drift + u)
        drift += end - end**3 if cubic else -rate * end
        x += h / 2 * (drift + u + later)
        u = later
    return np.ascontiguousarray(out[::SUBSTEPS])


def rolled(x: Floats, dynamics: str = "coloured-noise", **windows: float) -> Rolling:
    parameters = IdentificationParameters.model_validate({"dynamics": dynamics})
    asked = RollingWindows.model_validate(windows or {"count": 10, "share": 0.1})
    return roll_along(from_arrays([x], DT), parameters, asked, lambda *_: None)


def codes(found: Rolling) -> set[str]:
    return {finding.code for finding in found.findings}


@pytest.mark.slow
def test_noise_that_reddens_is_named_and_is_no_closing_gap() -> None:
    x = record(1, (0.1, 0.4))
    parts = x.reshape(10, -1)
    neighbours = [np.corrcoef(part[1:], part[:-1])[0, 1] for part in parts]
    # What is customary alarms: both rise from each third to the next.
    for indicator in (parts.var(axis=1), np.array(neighbours)):
        assert indicator[:3].max() < indicator[4:6].max() < indicator[7:].max()
    found = rolled(x)
    assert {"correlation-time-grows", "rates-interchangeable"} <= codes(found)
    assert not {"gap-closing", "gap-opening"} & codes(found)
    for window in found.windows[:8]:
        time = window.correlation_time
        assert time is not None
        assert time.log_time is not None
        assert time.std_error is not None
        assert window.gap.log_rate is not None
        assert window.gap.std_error is not None
        middle = (window.begin + window.end) / 2 / (STEPS * DT)
        assert abs(window.gap.log_rate) < 4 * window.gap.std_error
        assert abs(time.log_time - np.log(0.1 * 4**middle)) < 4 * time.std_error
        (coefficient,), (strength,) = window.drift, window.diffusion
        assert coefficient.term == "x"
        # a = 2 τ Var u
        assert strength.value is not None
        assert strength.std_error is not None
        assert abs(strength.value - 0.2 * 4**middle) < 4 * strength.std_error


@pytest.mark.slow
def test_a_gap_that_closes_under_noise_of_one_correlation_time_is_an_alarm() -> None:
    found = rolled(record(2, (0.2, 0.2), (1.0, 0.4)))
    assert "gap-closing" in codes(found)
    assert not {"correlation-time-grows", "correlation-time-falls"} & codes(found)
    assert found.trend is not None
    # From the middle of the first window to that of the last: 0.97 → 0.43.
    assert abs(found.trend.change - np.log(0.43 / 0.97)) < 4 * found.trend.std_error * (
        found.trend.span
    )


@pytest.mark.slow
def test_where_noise_becomes_the_slower_there_is_no_gap_alarm() -> None:
    """Before λ = 1 and 1/τ cross the gap is 1; afterwards the slower rate is 1/τ."""
    found = rolled(record(3, (0.2, 2.0)))
    assert not {"gap-closing", "gap-opening"} & codes(found)
    (together,) = [f for f in found.findings if f.code == "rates-together"]
    assert "cannot be told from a trend of the other" in together.message


def test_a_window_of_a_double_well_is_what_its_samples_alone_say() -> None:
    x = record(4, (0.2, 0.2), cubic=True, steps=16_000)
    found = rolled(x, count=2, share=0.5)
    assert "rates-interchangeable" not in codes(found)
    first = found.windows[0]
    alone = second_order_model(
        from_arrays([x[:8_000]], DT), Settings(dynamics="coloured-noise"), lambda *_: None
    ).coloured_noise
    assert alone is not None
    assert first.correlation_time is not None
    assert first.correlation_time.log_time is not None
    terms = {term.name: term for term in alone.drift.terms if term.active}
    assert [c.term for c in first.drift] == list(terms) == ["x", "x^3"]
    (strength,) = first.diffusion
    for value, (own, error) in (
        (first.drift[0].value, (terms["x"].value, terms["x"].std_error)),
        (first.drift[1].value, (terms["x^3"].value, terms["x^3"].std_error)),
        (np.exp(first.correlation_time.log_time), alone.correlation_time),
        (strength.value, alone.diffusion),
    ):
        # The same samples, with instruments one sample nearer.
        assert abs((value or 0.0) - own) < 1.5 * (error or 0.0)
    assert first.drift[0].std_error == pytest.approx(terms["x"].std_error, rel=0.6)
    assert len([place for place in first.fixed_points if place.stable]) == 2


def test_what_has_no_correlation_time_or_needs_one_says_what_to_set() -> None:
    rough = np.zeros(4_000)
    for i, kick in enumerate(np.random.default_rng(5).standard_normal(3_999)):
        rough[i + 1] = 0.95 * rough[i] + kick
    with pytest.raises(NoCorrelationTime) as white:
        rolled(rough)
    assert "first-order" in white.value.hints[0]
    assert rolled(rough, "first-order").windows
    smooth = record(6, (0.3, 0.3), steps=8_000)
    with pytest.raises(SecondOrderDynamics) as needs:
        rolled(smooth, "auto")
    assert "coloured-noise" in needs.value.hints[0]
    assert rolled(smooth, count=2, share=0.4).windows


def test_windows_of_second_order_are_refused_when_they_are_submitted() -> None:
    job = {"kind": "rolling", "dataset": "ds_1", "parameters": {"dynamics": "second-order"}}
    with pytest.raises(ValidationError, match=r"set parameters\.dynamics to coloured-noise"):
        RollingJob.model_validate(job)
