"""Groups compared over HTTP: what differs is said first, and what cannot be compared is refused."""

from typing import Any

import httpx
import numpy as np
import pytest

from tests.acceptance.jobs import MODEL_ONLY, result_of, upload

STEP = 0.05


def relaxing(rate: float, seed: int, trajectories: int = 1, n: int = 4000) -> str:
    """Rows of dX = −rate X dt + dW by its exact transitions."""
    generator, decay = np.random.default_rng(seed), np.exp(-rate * STEP)
    kicks = generator.normal(0, np.sqrt((1 - decay**2) / (2 * rate)), (trajectories, n))
    x, rows = np.zeros(trajectories), []
    for kick in kicks.T:
        x = decay * x + kick
        rows.append(x)
    times = STEP * np.arange(n)
    return "".join(
        f"{seed}-{k},{t:.2f},{value!r}\n"
        for k, series in enumerate(np.array(rows).T.tolist())
        for t, value in zip(times.tolist(), series, strict=True)
    )


def table(client: httpx.Client, rows: str, heading: str = "id,t,height", **layout: Any) -> str:
    found = upload(client, f"{heading}\n{rows}".encode(), "text/csv", **layout)
    return str(found["id"])


@pytest.fixture(scope="module")
def pair(client: httpx.Client) -> dict[str, list[str]]:
    """A control, and a treated group of two datasets that relaxes twice as fast."""
    return {
        "control": [table(client, relaxing(1.0, 1, 4))],
        "treated": [table(client, relaxing(2.0, 2, 2)), table(client, relaxing(2.0, 3, 2))],
    }


def test_what_differs_between_groups_of_datasets_is_said_first(
    client: httpx.Client, pair: dict[str, list[str]]
) -> None:
    result = result_of(client, {"kind": "comparison", "groups": pair})
    drift, diffusion = result["drift"]["x"], result["diffusion"]["x,x"]
    (ratio,) = drift["terms"][0]["ratios"]
    assert result["summary"][0].startswith("The drift differs (p = ")
    assert (
        f"the coefficient of height in treated is {ratio['value']:.3g} times"
        in (result["summary"][0])
    )
    assert ratio["ci"][0] < 2 < ratio["ci"][1]
    # The statistic of a true hypothesis exceeds this once in 10⁴.
    assert (drift["differs"], diffusion["p_value"] > 1e-4) == (True, True)
    assert drift["permuted_p_value"] == pytest.approx(1 / 35, abs=0.02)
    assert [group["data"]["n_trajectories"] for group in result["groups"]] == [4, 4]
    assert result["groups"][1]["datasets"] == pair["treated"]
    times = next(q for q in result["quantities"] if q["quantity"] == "relaxation-time")
    assert times["contrasts"][0]["ci"][0] < 0.5 < times["contrasts"][0]["ci"][1]
    listed = client.get("/v1/jobs", params={"dataset": pair["treated"][1]}).json()["items"]
    assert [job["id"] for job in listed] == [result["job"]]


def test_groups_of_one_dataset_give_what_datasets_of_their_own_give(
    client: httpx.Client, pair: dict[str, list[str]]
) -> None:
    def rows(group: str, text: str) -> str:
        return "".join(f"{group},{line}\n" for line in text.splitlines())

    # Trajectories of a group need not stand together.
    mixed = rows("treated", relaxing(2.0, 2, 2)) + rows("control", relaxing(1.0, 1, 4))
    mixed += rows("treated", relaxing(2.0, 3, 2))
    whole = table(client, mixed, "condition,id,t,height", group_column="condition", id_column="id")
    job = {"kind": "comparison", "reference": "control", **MODEL_ONLY}
    one = result_of(client, {**job, "dataset": whole})
    several = result_of(client, {**job, "groups": pair})
    assert [g["group"] for g in one["groups"]] == ["control", "treated"]
    assert one["drift"] == several["drift"]
    assert one["diffusion"] == several["diffusion"]


def test_what_cannot_be_compared_is_refused(
    client: httpx.Client, pair: dict[str, list[str]]
) -> None:
    other = table(client, relaxing(1.0, 5), "id,t,pressure")
    (control,) = pair["control"]

    def refused(**job: Any) -> tuple[str, str]:
        answer = client.post("/v1/jobs", json={"kind": "comparison", **job})
        assert answer.status_code == 422, answer.text
        first = answer.json()["errors"][0]
        return first["pointer"], first["detail"]

    pointer, detail = refused(groups={"a": [control], "b": [other]})
    assert pointer == "#/groups/b/0"
    assert "has the variables pressure, and the first dataset height" in detail
    assert refused(groups={"a": [control], "b/c": ["ds_none"]})[0] == "#/groups/b~1c/0"
    assert "needs two groups" in refused(groups={"a": [control]})[1]
    assert "`groups`, `dataset`" in refused(groups={})[1]
    assert refused(groups={"a": [control], "b": []}) == (
        "#/groups/b",
        "must have at least 1 item",
    )
    many = {f"g{k}": [control] for k in range(30)}
    assert refused(groups=many) == ("#/groups", "must have at most 20 items")
    long = "x" * 61
    assert refused(groups={long: [control], "b": [control]})[1] == "must have at most 60 characters"
    assert "cannot be printed" in refused(groups={"a\n": [control], "b": [other]})[1]
    assert "is there twice" in refused(groups={"a": [control], "b": [control]})[1]
    assert "'c' is no group" in refused(groups=pair, reference="c")[1]
    assert "not both" in refused(groups=pair, dataset=control)[1]
    assert "it has no groups" in refused(dataset=control)[1]
    assert "first order" in refused(groups=pair, parameters={"dynamics": "second-order"})[1]
    assert "efficient estimator" in refused(groups=pair, parameters={"estimator": "paper"})[1]
    unknown = refused(groups=pair, parameters={"domain": {"pressure": [0, None]}})
    assert unknown[0] == "#/parameters/domain/pressure"


def test_a_comparison_has_a_page_and_a_report(
    client: httpx.Client, pair: dict[str, list[str]]
) -> None:
    job = {"kind": "comparison", "groups": {"<i>x</i>": pair["control"], "b": pair["treated"]}}
    done = client.post("/v1/jobs", json=job, headers={"Prefer": "wait=60"}).json()
    report = client.get(f"/v1/jobs/{done['id']}/report")
    assert report.status_code == 200
    assert "The drift differs (p = " in report.text
    assert "drift, height" in report.text
    assert "&lt;i&gt;x&lt;/i&gt;" in report.text
    assert "<i>x</i>" not in report.text
