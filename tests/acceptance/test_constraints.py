"""What is known of a model, over HTTP: results under restrictions, and refusals in words."""

from typing import Any

import httpx
import numpy as np
import pytest

from tests.acceptance.jobs import MODEL_ONLY, active, result_of, upload


@pytest.fixture(scope="module")
def rotating() -> bytes:
    """A process that turns while it relaxes, with columns u and v."""
    random, dt = np.random.default_rng(4), 0.05
    x = np.zeros((6000, 2))
    slope = np.array([[-1.0, 0.8], [-0.8, -1.0]])
    for n, noise in enumerate(np.sqrt(dt) * random.normal(size=(len(x) - 1, 2)), start=1):
        x[n] = x[n - 1] + dt * slope @ x[n - 1] + noise
    return b"u,w\n" + b"\n".join(b"%.6f,%.6f" % tuple(row) for row in x)


def identified(client: httpx.Client, record: bytes, **constraints: Any) -> dict[str, Any]:
    dataset = upload(client, record, "text/csv", dt=0.05)
    return result_of(
        client,
        {
            "kind": "identification",
            "dataset": dataset["id"],
            "parameters": {"library": {"polynomial_degree": 2}, "constraints": constraints},
            **MODEL_ONLY,
        },
    )


def test_a_rotation_refuses_a_potential_which_is_told(
    client: httpx.Client, rotating: bytes
) -> None:
    result = identified(client, rotating, gradient=True)
    (test,) = result["model"]["restriction_tests"]
    assert test["restriction"] == "gradient"
    assert test["p_value"] < 1e-6
    assert result["model"]["potential"]["form"] == "gradient"
    assert "u^2" in result["model"]["potential"]["expression"]
    page = client.get(f"/v1/jobs/{result['job']}/report").raise_for_status().text
    assert "drift with a potential" in page


def test_coefficients_in_the_file_s_words_obey_bounds_and_equations(
    client: httpx.Client, rotating: bytes
) -> None:
    result = identified(
        client,
        rotating,
        equalities=[{"drift": {"u": {"w": 1.0}, "w": {"u": 1.0}}}],
        bounds={"diffusion": {"u,u": {"1": [2.0, None]}}},
    )
    drift = {key: active(component) for key, component in result["model"]["drift"].items()}
    assert drift["x"]["y"]["value"] == pytest.approx(-drift["y"]["x"]["value"], rel=1e-9)
    level = active(result["model"]["diffusion"]["x,x"])["1"]
    assert (level["value"], level["bound"], level["ci"]) == (2.0, True, [2.0, 2.0])
    page = client.get(f"/v1/jobs/{result['job']}/report").raise_for_status().text
    assert "2.000 (at its bound)" in page
    tests = {t["restriction"]: t["p_value"] for t in result["model"]["restriction_tests"]}
    assert tests["equalities"] > 1e-3
    assert tests["bounds"] < 1e-6


@pytest.mark.parametrize(
    ("constraints", "parameters", "words"),
    [
        ({"bounds": {"drift": {"x": {"x": [1.0, 0.0]}}}}, {}, "leave no value"),
        ({"bounds": {"drift": {"x": {"x": [None, None]}}}}, {}, "has no bound"),
        ({"bounds": {"drift": {"x": {"x": [0.0]}}}}, {}, "bounds/drift/x/x"),
        ({"bounds": {"drift": {"x": {}}}}, {}, "bounds/drift/x"),
        (
            {"bounds": {"drift": {"x": {"x": [None, 0]}}}, "known": {"drift": {"x": {"x": -1}}}},
            {},
            "cannot be known and have bounds",
        ),
        ({"equalities": [{"equals": 1.0}]}, {}, "factors that are not zero"),
        ({"equalities": [{"drift": {"x": {"x": 0.0}}}]}, {}, "factors that are not zero"),
        (
            {
                "equalities": [{"drift": {"x": {"x": 1.0}}}],
                "bounds": {"drift": {"x": {"x^3": [None, 0.0]}}},
            },
            {},
            "both bounds and equalities",
        ),
        ({"gradient": True, "detailed_balance": True}, {}, "either gradient or detailed_balance"),
        ({"gradient": True, "known": {"drift": {"x": {"x": -1}}}}, {}, "known.drift cannot be"),
        ({"known": {"drift": {"x": {"x": 1e308}}}}, {}, "1e+308 for x of drift x is too large"),
        ({"bounds": {"drift": {"x": {"x": [-1e300, 0.0]}}}}, {}, "is too large"),
        ({"equalities": [{"drift": {"x": {"x": 1e-300}}}]}, {}, "is too small"),
        ({"odd": "perhaps"}, {}, "constraints/odd"),
        ({"gradient": True}, {"dynamics": "second-order"}, "first-order dynamics"),
        ({"odd": True}, {"estimator": "paper"}, "cannot hold terms"),
        ({"detailed_balance": True}, {"library": {"diffusion_degree": 2}}, "constant diffusion"),
        (
            {"bounds": {"diffusion": {"x,x": {"1": [0.0, None]}}}},
            {"diffusion_structure": "isotropic"},
            "isotropic diffusion is one component",
        ),
        ({}, {"measurement_noise": {"std_error": 0}}, "measurement_noise"),
        ({}, {"measurement_noise": {"std_error": -1.0}}, "measurement_noise"),
        ({}, {"measurement_noise": {"std_error": {}}}, "measurement_noise"),
        ({}, {"measurement_noise": {"std_error": {"w": 1.0}}}, "'w' is not a variable here"),
        ({}, {"measurement_noise": {"variance": 1.0}}, "measurement_noise"),
        ({}, {"measurement_noise": "strong"}, "measurement_noise"),
        ({}, {"exposure": -0.1}, "exposure"),
        ({}, {"exposure": 0.1, "measurement_noise": "none"}, "exclude each other"),
        ({}, {"exposure": 0.1, "dynamics": "coloured-noise"}, "first-order dynamics"),
        (
            {},
            {"measurement_noise": {"std_error": 0.1}, "estimator": "paper"},
            "knows no measurement_noise.std_error",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused_in_words(
    client: httpx.Client, constraints: dict[str, Any], parameters: dict[str, Any], words: str
) -> None:
    answer = client.post(
        "/v1/jobs",
        json={
            "kind": "identification",
            "data": {"dt": 0.1, "trajectories": [[0.1, 0.2, 0.15, 0.3]]},
            "parameters": {**parameters, "constraints": constraints},
        },
    )
    assert answer.status_code == 422
    assert words in answer.text


def test_known_noise_of_a_column_and_of_the_parameters_is_used(
    client: httpx.Client, rotating: bytes
) -> None:
    random = np.random.default_rng(9)
    x = np.array([row.split(b",") for row in rotating.splitlines()[1:]], dtype=float)
    y = x[:, 0] + 0.1 * random.standard_normal(len(x))
    record = b"u,error\n" + b"\n".join(b"%.6f,0.1" % value for value in y)
    named = {"state_columns": "u", "error_columns": "error"}
    by_column = upload(client, record, "text/csv", dt=0.05, **named)
    alone = upload(client, record, "text/csv", dt=0.05, state_columns="u")
    levels = []
    for dataset, parameters in (
        (by_column, {}),
        (alone, {"measurement_noise": {"std_error": {"u": 0.1}}}),
        (alone, {"measurement_noise": "none"}),
    ):
        result = result_of(
            client,
            {
                "kind": "identification",
                "dataset": dataset["id"],
                "parameters": {"dynamics": "first-order", **parameters},
                **MODEL_ONLY,
            },
        )
        levels.append(result["diagnostics"]["measurement_noise_variance"])
    assert levels[:2] == pytest.approx([0.01, 0.01], rel=1e-6)
    assert levels[2] is None


def test_windows_are_not_fitted_under_a_potential(client: httpx.Client) -> None:
    answer = client.post(
        "/v1/jobs",
        json={
            "kind": "rolling",
            "data": {"dt": 0.1, "trajectories": [[0.1, 0.2, 0.15, 0.3]]},
            "parameters": {"constraints": {"gradient": True}},
        },
    )
    assert answer.status_code == 422
    assert "windows are not fitted under" in answer.text
