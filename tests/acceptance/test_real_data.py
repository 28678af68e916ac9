"""Records of other people and what is known of them: values, tolerances and words of warning in ../shared/data/expected.json."""

import csv
import io
import json
from statistics import fmean
from typing import Any

import httpx
import pytest

from tests.acceptance.jobs import active, result_of, upload
from tests.acceptance.served import ROOT

DATA = ROOT / ".." / "shared" / "data"

pytestmark = pytest.mark.skipif(not (DATA / "expected.json").is_file(), reason="the real records (../shared/data) are not here")


def known(record: str, quantity: str, **where: Any) -> list[Any]:
    """The expected values of a quantity, each with its tolerance."""
    [entry] = [entry for entry in json.loads((DATA / "expected.json").read_text())["sets"] if entry["id"] == record]
    values = [v for v in entry["values"] if v["q"] == quantity and all(v.get(key) == value for key, value in where.items())]
    return [pytest.approx(v["value"], abs=v["tol"]) for v in values]


def warned(record: str, result: dict[str, Any]) -> bool:
    """Whether a warning has one of the words that a reader of this record needs."""
    [entry] = [entry for entry in json.loads((DATA / "expected.json").read_text())["sets"] if entry["id"] == record]
    said = " ".join(warning["message"] for warning in result["warnings"])
    return any(word in said for word in entry["warn"])


def identified(client: httpx.Client, file: str, **layout: str | float) -> tuple[dict[str, Any], dict[str, Any]]:
    """The dataset and the default job's result."""
    dataset = upload(client, (DATA / file).read_bytes(), "text/csv", **layout)
    return dataset, result_of(client, {"kind": "identification", "dataset": dataset["id"]})


def on_support(result: dict[str, Any], component: str, support: list[str]) -> dict[str, float]:
    """Coefficients of the entry of the selection path that has these terms."""
    [selection] = result["selection"][component].values()
    [coefficients] = [entry["coefficients"] for entry in selection["path"] if entry["support"] == support]
    return dict(coefficients)


class TestTreasuryRate:
    """D19: 59 years of the ten-year rate, business days by US dates."""

    @pytest.fixture(scope="class")
    @staticmethod
    def result(client: httpx.Client) -> dict[str, Any]:
        dataset, result = identified(client, "d19_dgs10.csv", time_unit="year")
        assert dataset["report"]["n_increments"] == 14_801
        assert dataset["report"]["dt"]["median"] == pytest.approx(1 / 365.25, rel=1e-3)
        return result

    def test_no_drift_is_found_and_a_warning_says_that_none_is_significant(self, result: dict[str, Any]) -> None:
        assert not active(result["model"]["drift"]["x"])
        assert warned("D19", result)
        assert "random walk" in next(w["message"] for w in result["warnings"] if w["code"] == "no-significant-drift")

    def test_diffusion_is_that_of_the_record(self, result: dict[str, Any]) -> None:
        # The known value is the quadratic variation per year. The diffusion found grows with the rate, from 0.6 to 5.5 as the
        # increments themselves do, so its mean over the record is what has to agree.
        diffusion = {name: term["value"] for name, term in active(result["model"]["diffusion"]["x,x"]).items()}
        rates = [float(row["Rate"]) for row in csv.DictReader(io.StringIO((DATA / "d19_dgs10.csv").read_text()))]
        powers = {"1": 0, "x": 1, "x^2": 2, "x^3": 3, "x^4": 4}
        mean = fmean(sum(value * rate ** powers[name] for name, value in diffusion.items()) for rate in rates)
        [expected] = known("D19", "a")
        assert mean == expected


class TestNeuron:
    """D07: membrane voltage between spikes; each row a trajectory, without header or time."""

    @pytest.fixture(scope="class")
    @staticmethod
    def answer(client: httpx.Client) -> tuple[dict[str, Any], dict[str, Any]]:
        return identified(client, "d07_neuron_all240_every6th.csv", orientation="rows", dt=9e-4)

    def test_every_row_is_a_trajectory(self, answer: tuple[dict[str, Any], dict[str, Any]]) -> None:
        report = answer[0]["report"]
        assert (report["n_trajectories"], report["n_increments"]) == (240, 79_920)
        assert report["dt"]["median"] == 9e-4

    def test_the_published_model_has_its_coefficients_on_the_selection_path(
        self, answer: tuple[dict[str, Any], dict[str, Any]]
    ) -> None:
        # Published is an Ornstein–Uhlenbeck process; the path says what each larger model gains over it.
        [slope], [diffusion] = known("D07", "drift", term="x", file=1), known("D07", "a", file=1)
        assert on_support(answer[1], "drift", ["1", "x"])["x"] == slope
        assert on_support(answer[1], "diffusion", ["1"])["1"] == diffusion

    def test_the_stable_point_is_that_of_the_published_model(self, answer: tuple[dict[str, Any], dict[str, Any]]) -> None:
        # α/β = 0.275 / 26.2; with the tolerances of both, 0.0105 ± 0.0015 V.
        [at] = [p["at"][0] for p in answer[1]["generator"]["fixed_points"] if p["stable"]]
        assert at == pytest.approx(0.0105, abs=0.0015)


class TestDansgaardOeschger:
    """D11: δ¹⁸O of 50 000 years, by age: the file's order is backwards in time."""

    @pytest.fixture(scope="class")
    @staticmethod
    def result(client: httpx.Client) -> dict[str, Any]:
        return identified(client, "d11_do_events.csv")[1]

    def test_a_warning_tells_the_direction_of_the_age_axis(self, result: dict[str, Any]) -> None:
        assert warned("D11", result)
        assert "age-axis" in {w["code"] for w in result["warnings"]}

    def test_the_two_stable_states_are_the_published_ones(self, result: dict[str, Any]) -> None:
        stable = sorted(p["at"][0] for p in result["generator"]["fixed_points"] if p["stable"])
        assert stable == known("D11", "fixed_point")

    def test_diffusion_is_constant_and_that_of_the_record(self, result: dict[str, Any]) -> None:
        diffusion = active(result["model"]["diffusion"]["x,x"])
        assert [*diffusion] == ["1"]
        [expected] = known("D11", "a")
        assert diffusion["1"]["value"] == expected
