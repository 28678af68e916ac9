"""Results for `numpy.load`."""

import base64
import io
import json
from typing import Any

import numpy as np
import pytest

from service.responses.npz import archive

EIGENFUNCTION = np.arange(2001.0)
ENCODED = base64.b64encode(EIGENFUNCTION.tobytes()).decode()
DOCUMENT = {
    "schema_version": "1.0",
    "model": {"drift": {"x": {"terms": [
        {"term": "x", "value": 1.5, "active": True, "ci": [1.0, 2.0], "z": None},
        {"term": "x^3", "value": 0.0, "active": False, "ci": None, "z": None},
    ]}}},
    "generator": {
        "unseen_mass": 0.01,
        "stationary": {
            "covariance": [[1.0, None], [None, 2.0]],
            "density": {"grid": [[0, 1, 2], [3, 4]], "values": []},
        },
        "spectrum": {"eigenfunctions": [
            {"dtype": "<f8", "shape": [3, 667], "encoding": "base64", "data": ENCODED}
        ]},
        "passages": [
            {"from": -1, "times": [1.0, 2.0], "mean_time": {"value": 3.0, "ci": [2.0, 4.0]}},
            {
                "from": {"x": [0, None]}, "times": [1.0, 3.0],
                "mean_time": {"value": 5.0, "ci": None},
            },
        ],
    },
    "provenance": {"parameters": {"range": [1, 2]}},
}  # fmt: skip


def loaded(body: bytes) -> dict[str, Any]:
    with np.load(io.BytesIO(body), allow_pickle=False) as found:
        return dict(found)


def test_every_array_is_there_under_its_place() -> None:
    found = loaded(archive(json.dumps(DOCUMENT).encode()))
    expected = {
        "model.drift.x.terms.term": ["x", "x^3"],
        "model.drift.x.terms.value": [1.5, 0.0],
        "model.drift.x.terms.active": [True, False],
        "model.drift.x.terms.ci": [[1.0, 2.0], [np.nan, np.nan]],
        "generator.stationary.covariance": [[1.0, np.nan], [np.nan, 2.0]],
        "generator.stationary.density.grid.0": [0.0, 1.0, 2.0],
        "generator.stationary.density.grid.1": [3.0, 4.0],
        "generator.spectrum.eigenfunctions.0": EIGENFUNCTION.reshape(3, 667),
        "generator.passages.0.times": [1.0, 2.0],
        "generator.passages.1.times": [1.0, 3.0],
        "generator.passages.mean_time.value": [3.0, 5.0],
        "generator.passages.mean_time.ci": [[2.0, 4.0], [np.nan, np.nan]],
        "generator.passages.1.from.x": [0.0, np.nan],
    }
    document = json.loads(found.pop("document").item())
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name], values, err_msg=name)
    assert document.pop("generator")["spectrum"]["eigenfunctions"] == [
        {"npz": "generator.spectrum.eigenfunctions.0"}
    ]
    assert document == {name: value for name, value in DOCUMENT.items() if name != "generator"}


def test_a_result_is_there_in_both_forms_each_with_its_own_version(service: Any) -> None:
    job_id = service.job()
    service.finish(job_id, json.dumps(DOCUMENT).encode())
    address = f"/v1/jobs/{job_id}/result"
    plain = service.client.get(address)
    packed = service.client.get(address, headers={"Accept": "application/x-npz"})
    assert packed.headers["content-type"] == "application/x-npz"
    assert f'filename="{job_id}.npz"' in packed.headers["content-disposition"]
    assert loaded(packed.content)["model.drift.x.terms.value"][0] == 1.5
    assert plain.headers["etag"] != packed.headers["etag"]
    assert plain.headers["vary"] == packed.headers["vary"] == "Accept"
    for etag, status in ((packed.headers["etag"], 304), (plain.headers["etag"], 200)):
        headers = {"Accept": "application/x-npz", "If-None-Match": etag}
        assert service.client.get(address, headers=headers).status_code == status
    again = service.client.get(address, headers={"Accept": "application/x-npz"})
    assert again.content == packed.content, "the same bytes, as its ETag says"


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        ("*/*", "application/json"),
        ("application/*", "application/json"),
        ("application/x-npz;q=0.5, application/json;q=0.4", "application/x-npz"),
        ("application/json, application/x-npz", "application/json"),
        ("text/html, application/x-npz;q=0.1", "application/x-npz"),
        ("application/json;q=0, */*", "application/x-npz"),
        ("APPLICATION/X-NPZ ; Q=1", "application/x-npz"),
        (";q=nan,*/*;q=x", "application/json"),
        ("text/html", None),
        ("application/json;q=0", None),
        ("text/csv;charset=utf-8, image/*", None),
    ],
)
def test_the_form_is_the_callers_choice(service: Any, accept: str, form: str | None) -> None:
    job_id = service.job()
    service.finish(job_id)
    answer = service.client.get(f"/v1/jobs/{job_id}/result", headers={"Accept": accept})
    if form is None:
        assert (answer.status_code, answer.json()["code"]) == (406, "not-acceptable")
        assert "application/x-npz" in answer.json()["detail"]
    else:
        assert answer.headers["content-type"] == form
