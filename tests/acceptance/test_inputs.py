"""Signals and seasons that drive a system, over HTTP: its terms, its cycle, and what is refused."""

import httpx
import numpy as np
import pytest

from tests.acceptance.jobs import MODEL_ONLY, active, result_of, upload
from tests.acceptance.refusals.test_hints import answer, csv, identification

N, DT, PERIOD = 8_000, 0.05, 5.0
T = np.round(DT * np.arange(N), 2)


def filtered(force: np.ndarray, response: float = 1.0, seed: int = 0) -> np.ndarray:
    """A path of dX = (−X + force) dt + dW for a force that is a straight line between samples."""
    decay, rng = np.exp(-response * DT), np.random.default_rng(seed)
    # ∫ e^{−(h−s)} over a line from f0 to f1.
    late = (response * DT - 1 + decay) / (response**2 * DT)
    early = (1 - decay) / response - late
    noise = np.sqrt((1 - decay**2) / (2 * response)) * rng.normal(size=len(force))
    x = np.zeros(len(force))
    for n in range(len(force) - 1):
        x[n + 1] = decay * x[n] + early * force[n] + late * force[n + 1] + noise[n]
    return np.round(x, 6)


def light(seed: int = 1) -> np.ndarray:
    """A slow random signal, as from a lamp."""
    decay, rng = np.exp(-DT / 2), np.random.default_rng(seed)
    u = np.zeros(N)
    for n in range(N - 1):
        u[n + 1] = decay * u[n] + np.sqrt(1 - decay**2) * rng.normal()
    return np.round(u, 6)


LIGHT = light()


def test_a_season_is_taken_into_the_model_with_its_cycle(client: httpx.Client) -> None:
    force = 2 * np.sin(2 * np.pi * T / PERIOD)
    record = upload(client, csv(t=T, Level=filtered(force)), "text/csv")
    job = {
        "kind": "identification",
        "dataset": record["id"],
        "parameters": {"forcing": {"periods": [5], "harmonics": 2}},
        "analysis": {"passages": [{"from": 0, "to": 1.5}]},
    }
    found = result_of(client, job)
    terms = active(found["model"]["drift"]["x"])
    assert set(terms) == {"x", "sin(2*pi*t/5)"}
    for name, truth in (("x", -1), ("sin(2*pi*t/5)", 2)):
        assert abs(terms[name]["value"] - truth) < 4 * terms[name]["std_error"]
    assert "Level" in found["model"]["drift"]["x"]["expression"]
    driving = found["generator"]["driving"]
    (response,) = driving["responses"]
    omega = 2 * np.pi / PERIOD
    for name, truth in (("gain", 1 / np.hypot(1, omega)), ("lag", np.arctan(omega))):
        low, high = response[name]["ci"]
        assert abs(response[name]["value"] - truth) < (high - low)
        assert low < response[name]["value"] < high
    cycle = driving["cycle"]
    assert len(cycle["times"]) == len(cycle["mean"]["x"]) == len(cycle["covariance"]["x,x"])
    assert max(cycle["mean"]["x"]) == pytest.approx(response["amplitude"]["value"], rel=0.02)
    rate = -terms["x"]["value"]
    assert cycle["multipliers"][0]["real"] == pytest.approx(np.exp(-rate * PERIOD), rel=1e-6)
    # The force pushes up in the first half of a period: starts at its end wait for the next.
    (passage,) = driving["passages"]
    assert passage["times"] == cycle["times"]
    mean, (low, high) = passage["mean_time"], passage["mean_time_ci"]
    assert mean[12] > 2 * mean[0] > 0
    assert all(a < b < c for a, b, c in zip(low, mean, high, strict=True))
    report = client.get(f"/v1/jobs/{found['job']}/report").text
    assert "Level over a period of the forcing" in report
    assert "First-passage time by starting phase" in report
    assert "The model is drawn without its periodic forcing" in report


def test_a_season_that_is_left_out_is_named_with_its_period(client: httpx.Client) -> None:
    force = 2 * np.sin(2 * np.pi * T / PERIOD)
    record = upload(client, csv(t=T, Level=filtered(force)), "text/csv")
    job = {"kind": "identification", "dataset": record["id"], **MODEL_ONLY}
    found = result_of(client, {**job, "parameters": {"dynamics": "first-order"}})
    (season,) = [w for w in found["warnings"] if w["code"] == "season"]
    assert season["details"]["period"] == pytest.approx(PERIOD, rel=1e-3)
    assert 'parameters.forcing to {"periods": [' in season["message"]
    # Followed, the hint ends the warnings about residuals.
    taken = {"forcing": {"periods": [season["details"]["period"]], "harmonics": 2}}
    again = result_of(client, {**job, "parameters": taken})
    codes = {w["code"] for w in again["warnings"]}
    assert not codes & {"season", "memory", "trend", "persistent-increments"}


def test_an_input_has_terms_and_no_equation(client: httpx.Client) -> None:
    data = csv(t=T, Level=filtered(0.8 * LIGHT), Light=LIGHT)
    record = upload(client, data, "text/csv", input_columns="Light")
    assert [v["symbol"] for v in record["report"]["inputs"]] == ["Light"]
    job = {
        "kind": "identification",
        "dataset": record["id"],
        "analysis": {"inputs": {"Light": 1.5}},
    }
    found = result_of(client, job)
    assert set(found["model"]["drift"]) == {"x"}
    assert set(active(found["model"]["drift"]["x"])) == {"x", "u"}
    assert "Light" in found["model"]["drift"]["x"]["expression"]
    assert found["model"]["inputs"] == {"u": 1.5}
    # At a frozen input the mean is where the drift vanishes.
    terms = active(found["model"]["drift"]["x"])
    rest = -1.5 * terms["u"]["value"] / terms["x"]["value"]
    assert found["generator"]["stationary"]["mean"][0] == pytest.approx(rest, rel=1e-3)
    model = {"job": found["job"]}
    again = answer(client, None, {"kind": "generator", "model": model})
    assert "driven by inputs" in again.detail


@pytest.mark.parametrize(
    ("signal", "words"),
    [
        (np.ones(N), "Light is constant"),
        (filtered(0.8 * LIGHT), "Light is a function of Level"),
    ],
)
def test_what_is_no_input_is_refused_in_words(
    signal: np.ndarray, words: str, client: httpx.Client
) -> None:
    data = csv(t=T, Level=filtered(0.8 * LIGHT), Light=signal)
    found = answer(client, data, identification(), input_columns="Light")
    assert found.code == "unsuitable-input"
    assert words in found.detail
    assert "Leave Light out of layout.input_columns" in found.hints
    assert answer(client, data, identification(), state_columns="Level").code is None


def test_an_input_that_shares_the_noise_is_refused_in_words(client: httpx.Client) -> None:
    level = filtered(0.8 * LIGHT)
    answering = np.round(LIGHT + 0.3 * level, 6)
    data = csv(t=T, Level=level, Light=answering)
    found = answer(client, data, identification(), input_columns="Light")
    assert found.code == "unsuitable-input"
    assert "endogenous" in found.detail
    assert "layout.state_columns" in found.hints
    assert answer(client, data, identification(), state_columns="Level,Light").code is None


@pytest.mark.parametrize(
    ("parameters", "pointer"),
    [
        ({"forcing": {"periods": [0]}}, "#/parameters/forcing/periods/0"),
        ({"forcing": {"periods": [1.0, 1.0]}}, "#/parameters/forcing"),
        ({"forcing": {"periods": [2.0, 1.0], "harmonics": 2}}, "#/parameters/forcing"),
        ({"forcing": {"periods": ["year"]}}, "#/parameters/forcing/periods/0"),
        ({"forcing": {"harmonics": 2}}, "#/parameters/forcing"),
        ({"forcing": {"harmonics": 1000}}, "#/parameters/forcing/harmonics"),
        ({"forcing": {"trend": -1}}, "#/parameters/forcing/trend"),
        ({"forcing": {"trend": 1}, "dynamics": "second-order"}, "#/parameters"),
        ({"library": {"input_degree": 99}}, "#/parameters/library/input_degree"),
        ({"library": {"extra_terms": ["t"]}}, "#/parameters/library/extra_terms/0"),
        ({"periodic": {"u": 1.0}}, "#/parameters/periodic/u"),
    ],
)
def test_wrong_forcing_is_refused_at_its_place(
    parameters: dict, pointer: str, client: httpx.Client
) -> None:
    data = csv(t=T[:500], Level=filtered(LIGHT[:500]), Light=LIGHT[:500])
    record = upload(client, data, "text/csv", input_columns="Light")
    job = {"kind": "identification", "dataset": record["id"], "parameters": parameters}
    refused = client.post("/v1/jobs", json=job)
    assert refused.status_code == 422, refused.text
    assert refused.json()["errors"][0]["pointer"] == pointer


@pytest.mark.parametrize(
    ("job", "words", "hint"),
    [
        (
            {"parameters": {"forcing": {"periods": [0.1]}}},
            "fewer than 6",
            "the data's unit of time",
        ),
        ({"parameters": {"forcing": {"periods": [1e6]}}}, "less than the period", "trend"),
        ({"analysis": {"inputs": {"w": 1.0}}}, "no input w", "The inputs are Light"),
        (
            {"parameters": {"forcing": {"trend": 1}, "library": {"extra_terms": ["sin(t)"]}}},
            None,
            "",
        ),
    ],
)
def test_forcing_that_the_record_does_not_show_is_refused(
    job: dict, words: str | None, hint: str, client: httpx.Client
) -> None:
    data = csv(t=T[:2000], Level=filtered(LIGHT[:2000]), Light=LIGHT[:2000])
    found = answer(
        client, data, {"kind": "identification", **MODEL_ONLY, **job}, input_columns="Light"
    )
    if words is None:
        assert found.code is None, found.detail
        return
    assert found.code == "unsuitable-input"
    assert words in found.detail
    assert hint in found.hints
