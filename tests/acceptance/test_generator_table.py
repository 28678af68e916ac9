"""Models given by their terms: the numbers of the method's table (docs/method.md §9), over HTTP."""

from typing import Any

import httpx
import pytest

from tests.acceptance.jobs import result_of

ACCURACY = 1e-4
"""Relative, as promised."""

ORNSTEIN_UHLENBECK = {"drift": {"x": {"x": -1}}, "diffusion": {"x,x": {"1": 0.49}}}
DOUBLE_WELL = {"drift": {"x": {"x": 1, "x^3": -1}}, "diffusion": {"x,x": {"1": 0.25}}}
MULTIPLICATIVE = {"drift": {"x": {"x": -2}}, "diffusion": {"x,x": {"1": 0.25, "x^2": 0.25}}}


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        pytest.param(ORNSTEIN_UHLENBECK, [1, 2, 3, 4], id="ornstein-uhlenbeck"),
        pytest.param(DOUBLE_WELL, [0.0568183, 1.019569, 1.901003, 2.987852], id="double-well"),
        pytest.param(MULTIPLICATIVE, [2, 3.75, 5.25, 6.5], id="multiplicative"),
    ],
)
def test_eigenvalues_are_those_of_the_table(
    client: httpx.Client, model: dict[str, Any], expected: list[float]
) -> None:
    spectrum = generator_of(client, model, eigenpairs=4)["spectrum"]
    assert [e["re"] for e in spectrum["eigenvalues"]] == pytest.approx(expected, rel=ACCURACY)
    assert [e["im"] for e in spectrum["eigenvalues"]] == [0.0] * 4
    assert spectrum["relaxation_times"] == pytest.approx([1 / e for e in expected], rel=ACCURACY)


def test_passage_times_and_the_kramers_formula_of_the_double_well_are_those_of_the_table(
    client: httpx.Client,
) -> None:
    given = generator_of(
        client, DOUBLE_WELL, passages=[{"from": -1, "to": 0}, {"from": -1, "to": 1}]
    )["passages"]
    passages = {(p["from"], p["to"]): p for p in given}
    assert passages[-1, 0]["mean_time"]["value"] == pytest.approx(18.42616, rel=ACCURACY)
    assert passages[-1, 1]["mean_time"]["value"] == pytest.approx(41.03428, rel=ACCURACY)
    assert passages[-1, 1]["kramers"]["value"] == pytest.approx(32.8287, rel=ACCURACY)


def test_stationary_variances_are_the_closed_forms(client: httpx.Client) -> None:
    # σ²/2θ; for dX = −2X dt + ½√(1 + X²) dW, multiplying the generator's balance:
    # −4v + ¼(1 + v) = 0.
    for model, variance in ((ORNSTEIN_UHLENBECK, 0.245), (MULTIPLICATIVE, 1 / 15)):
        stationary = generator_of(client, model)["stationary"]
        assert stationary["covariance"][0][0] == pytest.approx(variance, rel=ACCURACY)
        assert stationary["mean"][0] == pytest.approx(0.0, abs=ACCURACY * variance**0.5)


def generator_of(client: httpx.Client, model: dict[str, Any], **analysis: Any) -> dict[str, Any]:
    generator: dict[str, Any] = result_of(
        client, {"kind": "generator", "model": model, "analysis": analysis}
    )["generator"]
    assert generator["ergodic"], generator["reason"]
    return generator
