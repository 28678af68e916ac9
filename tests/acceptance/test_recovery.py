"""The source paper's three systems, found over HTTP: the short form of benchmarks/recovery.py."""

from typing import Any

import httpx
import pytest

from benchmarks.recovery import SYSTEMS, jobs_of, limits_of, paths_of, upload
from tests.acceptance.jobs import MODEL_ONLY, active, result_of

N_TRAJECTORIES = 20
"""Of the paper's 120; lengths and steps are the paper's."""

BIAS_OF_PAPER = 0.044
"""Largest relative bias of the paper's coefficients on these systems, measured over 20 seeds at
R = 120."""

Model = dict[str, dict[str, dict[str, Any]]]


class Recovered:
    """One system's paths, and what both estimators made of them."""

    def __init__(self, client: httpx.Client, name: str) -> None:
        self.name = name
        self.truth = {"drift": SYSTEMS[name].drift, "diffusion": SYSTEMS[name].diffusion}
        paths = paths_of(name, N_TRAJECTORIES, seed=0)
        self.limits = limits_of(name, paths)
        dataset = upload(client, paths)
        self.models: dict[str, Model] = {}
        for estimator, job in jobs_of(name).items():
            model = result_of(client, {**job, "dataset": dataset, **MODEL_ONLY})["model"]
            self.models[estimator] = {
                "drift": active(model["drift"]["x"]),
                "diffusion": active(model["diffusion"]["x,x"]),
            }


@pytest.fixture(scope="module", params=SYSTEMS)
def recovered(request: pytest.FixtureRequest, client: httpx.Client) -> Recovered:
    return Recovered(client, request.param)


@pytest.mark.parametrize("estimator", ["paper", "efficient"])
def test_the_right_terms_are_found_and_no_others(recovered: Recovered, estimator: str) -> None:
    for component, truth in recovered.truth.items():
        assert recovered.models[estimator][component].keys() == truth.keys()


def test_coefficients_are_within_four_standard_errors(recovered: Recovered) -> None:
    # A false alarm in 16 000 coefficients.
    for component, truth in recovered.truth.items():
        for name, value in truth.items():
            term = recovered.models["efficient"][component][name]
            assert abs(term["value"] - value) < 4 * term["std_error"], (component, name, term)


def test_the_papers_coefficients_are_within_four_bounds_of_its_known_bias(
    recovered: Recovered,
) -> None:
    # It gives no errors of its own, and more data do not remove its bias.
    for component, truth in recovered.truth.items():
        for name, value in truth.items():
            relative = recovered.models["paper"][component][name]["value"] / value - 1
            assert abs(relative) < BIAS_OF_PAPER + 4 * recovered.limits[component, name].bound, (
                component,
                name,
                relative,
            )


def test_standard_errors_are_those_of_an_efficient_estimator(recovered: Recovered) -> None:
    # Known from the paths up to the error of the estimated variance, a permille.
    for component, truth in recovered.truth.items():
        terms = recovered.models["efficient"][component]
        for name, value in truth.items():
            assert terms[name]["std_error"] == pytest.approx(
                recovered.limits[component, name].bound * abs(value), rel=0.05
            )
