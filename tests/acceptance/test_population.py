"""A population of records over HTTP: distributions, the record apart, report, and refusals."""

import httpx
import numpy as np
import pytest
from scipy.signal import lfilter

from tests.acceptance.jobs import result_of, upload

DT, RECORDS = 0.1, 24


def table() -> bytes:
    """Ornstein–Uhlenbeck records in long form, with names; the rate of `cell 7` is five times 1."""
    rng, rows = np.random.default_rng(2), ["cell,t,voltage"]
    for cell in range(RECORDS):
        rate = 5.0 if cell == 7 else 1.0
        keep = np.exp(-rate * DT)
        kicks = rng.normal(size=600) * np.sqrt(0.5 / rate * (1 - keep**2))
        x = lfilter([1.0], [1.0, -keep], kicks)
        rows += [f"cell {cell},{n * DT:.1f},{value:.6f}" for n, value in enumerate(x)]
    return "\n".join(rows).encode()


def test_a_population_names_its_records_and_the_one_that_stands_apart(
    client: httpx.Client,
) -> None:
    dataset = upload(client, table(), "text/csv", id_column="cell")
    job = {
        "kind": "population",
        "dataset": dataset["id"],
        "parameters": {"library": {"polynomial_degree": 1}, "measurement_noise": "none"},
    }
    result = result_of(client, job)
    assert result["records"] == [f"cell {n}" for n in range(RECORDS)]
    assert result["apart"][0]["record"] == "cell 7"
    assert "cell 7" in next(
        w["message"] for w in result["warnings"] if w["code"] == "records-apart"
    )
    rate = result["relaxation_rate"]
    low, high = rate["mean"]["ci"]
    assert low < rate["mean"]["value"] < high
    assert rate["standard_deviation"]["ci"][0] > 0
    assert len(rate["shrunken"]) == len(rate["estimates"]) == RECORDS
    assert np.argmax(rate["shrunken"]) == 7
    assert result["relaxation_time"]["value"] == pytest.approx(1 / rate["mean"]["value"])
    [a] = result["diffusion"]["x,x"]
    assert a["mean"]["ci"][0] < 1 < a["mean"]["ci"][1]
    report = client.get(f"/v1/jobs/{result['job']}/report")
    assert report.status_code == 200
    assert "cell 7 (apart)" in report.text
    assert "Records differ in" in report.text


def track(seed: int, name: str = "height", n: int = 400) -> bytes:
    """An Ornstein–Uhlenbeck record of one column."""
    rng = np.random.default_rng(seed)
    x = lfilter([1.0], [1.0, -np.exp(-DT)], 0.3 * rng.normal(size=n))
    return "\n".join([name, *(f"{value:.6f}" for value in x)]).encode()


def test_records_may_be_in_datasets_of_their_own(client: httpx.Client) -> None:
    """They are named by their files; files of one name are told apart by their ids."""
    sent = [
        client.post(
            "/v1/datasets", params={"dt": DT}, files={"file": (name, track(seed), "text/csv")}
        ).json()
        for seed, name in enumerate(("a.csv", "b.csv", "b.csv", "c.csv"))
    ]
    ids = [dataset["id"] for dataset in sent]
    parameters = {"library": {"polynomial_degree": 1}, "measurement_noise": "none"}
    result = result_of(client, {"kind": "population", "datasets": ids, "parameters": parameters})
    labels = [dataset["label"] for dataset in sent]
    assert len(result["records"]) == len(set(result["records"])) == 4
    assert all(
        name.startswith(label) for name, label in zip(result["records"], labels, strict=True)
    )
    assert result["data"]["n_trajectories"] == 4
    assert result["increments"] == [399] * 4
    # A dataset with all of them has the same distribution.
    table = "cell,height\n" + "\n".join(
        f"{cell},{line}" for cell in range(4) for line in track(cell).decode().splitlines()[1:]
    )
    together = upload(client, table.encode(), "text/csv", id_column="cell", dt=DT)
    one = result_of(
        client, {"kind": "population", "dataset": together["id"], "parameters": parameters}
    )
    assert one["relaxation_rate"]["mean"] == result["relaxation_rate"]["mean"]
    page = client.get(f"/v1/jobs/{result['job']}/report")
    assert result["records"][0] in page.text


def test_datasets_that_do_not_go_together_are_refused(client: httpx.Client) -> None:
    one = upload(client, track(1), "text/csv", dt=DT)["id"]
    other = upload(client, track(2, "depth"), "text/csv", dt=DT)["id"]
    for job, pointer, said in (
        ({"datasets": [one, other, "ds_0000000000000000"]}, "#/datasets/2", "no such dataset"),
        ({"datasets": [one, one]}, "#", "is there twice, at 0 and 1"),
        ({"datasets": [one, other], "dataset": one}, "#", "not both"),
        ({"datasets": [one, other], "trajectories": [0]}, "#", "of one `dataset`"),
        ({"datasets": [one, other]}, "#/datasets", "the datasets have 2"),
        ({"datasets": []}, "#/dataset", "`datasets`, `dataset`"),
    ):
        refused = client.post("/v1/jobs", json={"kind": "population", **job})
        assert refused.status_code == 422, said
        assert refused.json()["errors"][0]["pointer"] == pointer
        assert said in refused.text
    third = upload(client, track(3), "text/csv", dt=DT)["id"]
    refused = client.post("/v1/jobs", json={"kind": "population", "datasets": [one, third, other]})
    assert refused.json()["errors"][0]["pointer"] == "#/datasets/2"
    assert "has the variables depth, and the first dataset height" in refused.text


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"parameters": {"estimator": "paper"}}, "efficient estimator"),
        ({"parameters": {"dynamics": "second-order"}}, "first order"),
        ({"parameters": {"dynamics": "coloured-noise"}}, "first order"),
        ({"parameters": {"constraints": {"gradient": True}}}, "coefficients of their own"),
        ({"confidence": 1.0}, "less than 1"),
        ({"confidence": "much"}, "number"),
    ],
)
def test_what_a_population_cannot_do_is_refused_in_words(
    client: httpx.Client, changed: dict[str, object], said: str
) -> None:
    refused = client.post("/v1/jobs", json={"kind": "population", "dataset": "ds_x", **changed})
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid-request")
    assert said in refused.text


def test_a_population_needs_three_records(client: httpx.Client) -> None:
    dataset = upload(
        client, b"x\n" + b"\n".join(b"%d" % (n % 7) for n in range(99)), "text/csv", dt=1
    )
    refused = client.post("/v1/jobs", json={"kind": "population", "dataset": dataset["id"]})
    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, "#/dataset")
    assert "needs 3 trajectories or more, and the dataset has 1" in refused.text
    assert "id_column" in refused.json()["hints"][0]
