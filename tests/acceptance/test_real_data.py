"""Records of other people and what is known of them: values, tolerances and words of warning in
../shared/data/expected.json."""

import csv
import io
import json
from itertools import pairwise
from statistics import fmean
from typing import Any

import httpx
import pytest

from tests.acceptance.jobs import MODEL_ONLY, active, result_of, upload
from tests.acceptance.served import ROOT

DATA = ROOT / ".." / "shared" / "data"

pytestmark = pytest.mark.skipif(
    not (DATA / "expected.json").is_file(), reason="the real records (../shared/data) are not here"
)


def known(record: str, quantity: str, **where: Any) -> list[Any]:
    """The expected values of a quantity, each with its tolerance."""
    [entry] = [
        entry
        for entry in json.loads((DATA / "expected.json").read_text())["sets"]
        if entry["id"] == record
    ]
    values = [
        v
        for v in entry["values"]
        if v["q"] == quantity and all(v.get(key) == value for key, value in where.items())
    ]
    return [pytest.approx(v["value"], abs=v["tol"]) for v in values]


def warned(record: str, result: dict[str, Any]) -> bool:
    """Whether a warning has one of the words that a reader of this record needs."""
    [entry] = [
        entry
        for entry in json.loads((DATA / "expected.json").read_text())["sets"]
        if entry["id"] == record
    ]
    said = " ".join(warning["message"] for warning in result["warnings"])
    return any(word in said for word in entry["warn"])


class TestTreasuryRate:
    """D19: 59 years of the ten-year rate, business days by US dates."""

    @pytest.fixture(scope="class")
    @staticmethod
    def result(client: httpx.Client) -> dict[str, Any]:
        dataset = upload(
            client, (DATA / "d19_dgs10.csv").read_bytes(), "text/csv", time_unit="year"
        )
        result = result_of(client, {"kind": "identification", "dataset": dataset["id"]})
        assert dataset["report"]["n_increments"] == 14_801
        assert dataset["report"]["dt"]["median"] == pytest.approx(1 / 365.25, rel=1e-3)
        return result

    def test_no_drift_is_found_and_a_warning_says_that_none_is_significant(
        self, result: dict[str, Any]
    ) -> None:
        assert not active(result["model"]["drift"]["x"])
        assert warned("D19", result)
        assert "random walk" in next(
            w["message"] for w in result["warnings"] if w["code"] == "no-significant-drift"
        )

    def test_diffusion_is_that_of_the_record(self, result: dict[str, Any]) -> None:
        # The known value is the quadratic variation per year. The diffusion found grows with the
        # rate, from 0.6 to 5.5 as the increments themselves do, so its mean over the record is what
        # has to agree.
        diffusion = {
            name: term["value"]
            for name, term in active(result["model"]["diffusion"]["x,x"]).items()
        }
        rates = [
            float(row["Rate"])
            for row in csv.DictReader(io.StringIO((DATA / "d19_dgs10.csv").read_text()))
        ]
        powers = {"1": 0, "x": 1, "x^2": 2, "x^3": 3, "x^4": 4}
        mean = fmean(
            sum(value * rate ** powers[name] for name, value in diffusion.items()) for rate in rates
        )
        [expected] = known("D19", "a")
        assert mean == expected


class TestNeuron:
    """D07: membrane voltage between spikes; each row a trajectory, without header or time."""

    @pytest.fixture(scope="class")
    @staticmethod
    def dataset(client: httpx.Client) -> dict[str, Any]:
        return upload(
            client,
            (DATA / "d07_neuron_all240_every6th.csv").read_bytes(),
            "text/csv",
            orientation="rows",
            dt=9e-4,
        )

    def test_every_row_is_a_trajectory(self, dataset: dict[str, Any]) -> None:
        report = dataset["report"]
        assert (report["n_trajectories"], report["n_increments"]) == (240, 79_920)
        assert report["dt"]["median"] == 9e-4

    def test_the_published_model_has_the_published_coefficients(
        self, client: httpx.Client, dataset: dict[str, Any]
    ) -> None:
        # Published is an Ornstein–Uhlenbeck process fitted to increments as they are: the job that
        # asks for just that.
        parameters = {
            "library": {"polynomial_degree": 1},
            "sampling_rule": "euler",
            "measurement_noise": "none",
        }
        job = {
            "kind": "identification",
            "dataset": dataset["id"],
            "parameters": parameters,
            **MODEL_ONLY,
        }
        model = result_of(client, job)["model"]
        drift, diffusion = active(model["drift"]["x"]), active(model["diffusion"]["x,x"])
        [slope], [a] = known("D07", "drift", term="x", file=1), known("D07", "a", file=1)
        assert (drift["x"]["value"], diffusion["1"]["value"]) == (slope, a)
        assert [*diffusion] == ["1"]

    def test_the_published_values_are_those_of_all_segments_as_one_process(
        self, client: httpx.Client, dataset: dict[str, Any]
    ) -> None:
        """Lansky, Šanda and He 2006: 1/β = 38.7 ms, α = 0.2846 V/s, of increments as they are."""
        job = {
            "kind": "population",
            "dataset": dataset["id"],
            "parameters": {"library": {"polynomial_degree": 1}, "measurement_noise": "none"},
        }
        result = result_of(client, job)
        [constant, _], rate = result["drift"]["x"], result["relaxation_rate"]
        for number, published in ((constant, 0.2846), (rate, 1 / 0.0387)):
            low, high = number["pooled"]["ci"]
            assert low < published < high
            # Within the segments it relaxes faster, because their levels differ.
            assert number["mean"]["ci"][0] > published
        assert constant["p_value"] < 1e-6

    def test_the_default_job_finds_the_noise_that_the_published_model_leaves_in(
        self, client: httpx.Client, dataset: dict[str, Any]
    ) -> None:
        # Neighbouring increments of this record are correlated −0.40. The noise's variance σ² is
        # −mean(ΔX_n ΔX_{n+1}), up to the drift's share of some percent, and 2σ²/Δt is most of what
        # was published as diffusion.
        result = result_of(client, {"kind": "identification", "dataset": dataset["id"]})
        rows = [
            [*map(float, line.split(","))]
            for line in (DATA / "d07_neuron_all240_every6th.csv").read_text().splitlines()[1:]
        ]
        increments = [[b - a for a, b in pairwise(row)] for row in rows]
        variance = -fmean(a * b for row in increments for a, b in pairwise(row))
        assert result["diagnostics"]["measurement_noise_variance"] == pytest.approx(
            variance, rel=0.1
        )
        assert "measurement-noise" in {w["code"] for w in result["warnings"]}


class TestDansgaardOeschger:
    """D11: δ¹⁸O of 50 000 years, by age: the file's order is backwards in time."""

    @pytest.fixture(scope="class")
    @staticmethod
    def result(client: httpx.Client) -> dict[str, Any]:
        dataset = upload(client, (DATA / "d11_do_events.csv").read_bytes(), "text/csv")
        return result_of(client, {"kind": "identification", "dataset": dataset["id"]})

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
