"""The file's names in whatever a user reads, and degrees in whatever computes an angle."""

import html
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from itoscope_client import Model
from itoscope_client.models.process import function_of
from itoscope_client.models.terms import parse
from tests.acceptance.jobs import MODEL_ONLY, result_of, upload

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = {"polynomial_degree": 0, "fourier_harmonics": 2}
AGREE = 1e-9
"""Greatest difference between two ways to compute a curve, relative to its largest value."""


def driven_angle() -> bytes:
    """θ′ = 1.5 − sin θ + 0.4 cos 2θ with noise 0.7, in degrees within ±180."""
    rng = np.random.default_rng(11)
    angle = np.zeros(12_000)
    for n in range(1, len(angle)):
        at = angle[n - 1]
        angle[n] = at + 0.01 * (1.5 - np.sin(at) + 0.4 * np.cos(2 * at))
        angle[n] += 0.07 * rng.normal()
    degrees = (np.degrees(angle) + 180) % 360 - 180
    rows = "".join(f"{0.01 * n:.2f},{value:.6f}\n" for n, value in enumerate(degrees))
    return f"t,angle_deg\n{rows}".encode()


@pytest.fixture(scope="module")
def record() -> bytes:
    return driven_angle()


@pytest.fixture(scope="module")
def result(client: httpx.Client, record: bytes) -> dict[str, Any]:
    dataset = upload(client, record, "text/csv")
    parameters = {"periodic": {"angle": 360}, "library": LIBRARY}
    job = {"kind": "identification", "dataset": dataset["id"], "parameters": parameters}
    return result_of(client, job)


def curve(result: Mapping[str, Any], of: str) -> tuple[np.ndarray, np.ndarray]:
    curves = result["curves"]
    return np.array(curves["grid"]), np.array(curves[of]["values"])


def agrees(found: np.ndarray, expected: np.ndarray) -> bool:
    return bool(np.abs(found - expected).max() <= AGREE * np.abs(expected).max())


def by_the_expression(result: Mapping[str, Any], of: str, key: str, angle: np.ndarray) -> Any:
    """The terms that the expression spells, with all digits of their coefficients."""
    component = result["model"][of][key]
    spelled = re.findall(r"(?:^-?|[+-] )[\d.e+]+(?:\*([^ ]+))?(?= |$)", component["expression"])
    values = [term["value"] for term in component["terms"] if term["active"]]
    total = np.zeros_like(angle)
    for value, text in zip(values, spelled, strict=True):
        total += value * function_of(parse(text or "1"))({"angle": angle})
    return total


def test_an_angle_in_degrees_is_evaluated_as_it_was_fitted(result: dict[str, Any]) -> None:
    model = Model(result)
    assert len(model.active_terms) >= 4
    grid, drift = curve(result, "drift")
    assert agrees(model.drift(grid), drift)
    assert agrees(model.diffusion(grid), curve(result, "diffusion")[1])
    assert agrees(by_the_expression(result, "drift", "x", grid), drift)
    kept = Model.from_json(model.to_json())
    assert agrees(kept.drift(grid), drift)
    # A function of the raw degrees, which it was before, is another one.
    raw = sum(
        term["value"] * function_of(parse(term["term"]))({"x": grid})
        for term in result["model"]["drift"]["x"]["terms"]
    )
    assert not agrees(np.asarray(raw), drift)
    # Paths of the model stay where the record is: once round takes several units of time.
    _, path = model.simulate(20.0, start=0.0, seed=1)
    assert np.abs(np.diff(path)).max() < 45


def test_the_terms_are_written_as_functions_of_degrees(result: dict[str, Any]) -> None:
    model = Model(result)
    assert model.variables == ("angle",)
    assert "b_angle: sin(2*pi*angle/360)" in model.names
    assert "*sin(2*pi*angle/360)" in result["model"]["drift"]["x"]["expression"]
    assert result["model"]["periodic"] == {"x": 360.0}
    assert result["model"]["symbols"] == {"x": "angle"}


def test_the_command_prints_and_saves_the_same(
    client: httpx.Client, record: bytes, tmp_path: Path, result: dict[str, Any]
) -> None:
    file, saved = tmp_path / "angle.csv", tmp_path / "result.json"
    file.write_bytes(record)
    command = [
        sys.executable, "-m", "itoscope_client", "identify", str(file), "--url",
        str(client.base_url), "--periodic", "angle=360", "--parameters",
        json.dumps({"library": LIBRARY}), "--output", str(saved),
    ]  # fmt: skip
    printed = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "client")},
    ).stdout
    assert "sin(2*pi*angle/360)" in printed
    assert not re.search(r"\bx\b", printed)
    grid, drift = curve(result, "drift")
    assert agrees(Model.from_json(saved).drift(grid), drift)


def test_an_archive_stands_by_itself(client: httpx.Client, result: dict[str, Any]) -> None:
    address = f"/v1/jobs/{result['job']}/result"
    body = client.get(address, headers={"Accept": "application/x-npz"}).raise_for_status().content
    with np.load(io.BytesIO(body), allow_pickle=False) as archive:
        document = json.loads(str(archive["document"]))
        grid, drift = archive["curves.grid"], archive["curves.drift.values"]
    assert document["model"]["periodic"] == {"x": 360.0}
    assert agrees(by_the_expression(document, "drift", "x", grid), drift)


def test_plots_are_drawn_over_degrees(client: httpx.Client, result: dict[str, Any]) -> None:
    report = client.get(f"/v1/jobs/{result['job']}/report").raise_for_status().text
    plots = {
        plot["name"]: plot
        for plot in map(json.loads, re.findall(r"application/json\">(.*?)</script>", report, re.S))
    }
    assert plots["drift"]["title"] == "Drift b(angle)"
    assert "<mi>π</mi>" in report
    shown = re.sub(r"<(script|style).*?</\1>", "", report, flags=re.S)
    # The glossary speaks of any x.
    shown = re.sub(r"<div popover.*?</div>", "", shown, flags=re.S)
    assert not re.search(r"\bx\b", html.unescape(re.sub(r"<[^>]+>", " ", shown)))


def test_both_words_and_both_writings_mean_the_same(
    client: httpx.Client, record: bytes, result: dict[str, Any]
) -> None:
    dataset = upload(client, record, "text/csv")
    writings = [("angle", "sin(6*pi*angle/360)"), ("x", "sin(6*pi*x/360)"), ("angle", "sin(3*x)")]
    found = []
    for name, term in writings:
        parameters = {"periodic": {name: 360}, "library": {**LIBRARY, "extra_terms": [term]}}
        job = {"kind": "identification", "dataset": dataset["id"], "parameters": parameters}
        found.append(result_of(client, {**job, **MODEL_ONLY})["model"])
    assert found[0] == found[1] == found[2]
    assert "sin(3*x)" in {term["term"] for term in found[0]["drift"]["x"]["terms"]}
    refused = {**job, "parameters": {"periodic": {"phi": 360}}}
    problem = client.post("/v1/jobs", json=refused).json()
    assert problem["hints"] == ["The variables are angle (column angle_deg)."]


def test_every_message_and_a_refusal_name_the_column(client: httpx.Client) -> None:
    rng = np.random.default_rng(3)
    position = np.zeros(3000)
    for n in range(1, len(position)):
        position[n] = 0.98 * position[n - 1] + 0.1 * rng.normal()
    temperature = 21 + 0.01 * rng.normal(size=len(position))
    rows = "".join(
        f"{0.01 * n:.2f},{a:.6f},{b:.6f}\n"
        for n, (a, b) in enumerate(zip(position, temperature, strict=True))
    )
    body = f"t (s),Position (µm),S&P 500\n{rows}".encode()
    dataset = upload(client, body, "text/csv")
    assert [v["symbol"] for v in dataset["report"]["variables"]] == ["Position", "S_P_500"]
    job = {"kind": "identification", "dataset": dataset["id"]}
    failed = client.post("/v1/jobs", json=job, headers={"Prefer": "wait=60"}).json()
    assert failed["state"] == "failed"
    assert "S_P_500" in failed["error"]["detail"]
    assert "S_P_500" in failed["error"]["hints"][0]


def test_the_hint_for_an_angle_without_a_period_works(client: httpx.Client, record: bytes) -> None:
    dataset = upload(client, record, "text/csv")
    job = {"kind": "identification", "dataset": dataset["id"], **MODEL_ONLY}
    failed = client.post("/v1/jobs", json=job, headers={"Prefer": "wait=60"}).json()
    assert failed["error"]["code"] == "wrapped-variable"
    assert failed["error"]["detail"].startswith("Variable angle jumps")
    hint = re.search(r"parameters\.periodic (\{.*?\})", failed["error"]["hints"][0])
    assert hint is not None
    found = result_of(client, {**job, "parameters": {"periodic": json.loads(hint[1])}})
    assert found["model"]["periodic"] == {"x": 360.0}


def test_the_analysis_of_a_found_model_keeps_the_names(
    client: httpx.Client, result: dict[str, Any]
) -> None:
    analysed = result_of(client, {"kind": "generator", "model": {"job": result["job"]}})
    assert analysed["model"]["symbols"] == {"x": "angle"}
    own = result_of(
        client,
        {
            "kind": "generator",
            "model": {
                "drift": {"phi": {"1": 40.0, "sin(2*pi*phi/360)": -80.0}},
                "diffusion": {"phi,phi": {"1": 1600.0}},
                "periodic": {"phi": 360},
            },
        },
    )
    assert own["model"]["drift"]["x"]["expression"] == "40 - 80*sin(2*pi*phi/360)"
    grid, drift = curve(own, "drift")
    assert agrees(Model(own).drift(grid), drift)
    assert agrees(40 - 80 * np.sin(np.radians(grid)), drift)
    runaway = result_of(
        client,
        {
            "kind": "generator",
            "model": {"drift": {"v": {"v": 1.0}}, "diffusion": {"v,v": {"1": 1.0}}},
        },
    )
    assert "v → −∞ and v → +∞" in runaway["generator"]["reason"]
