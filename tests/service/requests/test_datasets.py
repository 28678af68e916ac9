"""Uploading: content in, dataset out, whatever the wrapping."""

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from service.requests import uploads

CSV = b"t,x\n0,0\n1,1\n2,0\n"


def test_a_new_upload_is_201_and_the_same_again_is_200(service: Any) -> None:
    first = service.client.post("/v1/datasets", content=CSV, headers={"Content-Type": "text/csv"})
    again = service.client.post("/v1/datasets", content=CSV, headers={"Content-Type": "text/csv"})
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == again.json()
    assert first.headers["location"] == f"/v1/datasets/{first.json()['id']}"
    assert len(service.reader.seen) == 1, "known bytes are not read again"


def test_id_is_the_hash_of_the_bytes_and_of_the_layout_given(service: Any) -> None:
    plain = service.client.post("/v1/datasets", content=CSV).json()
    spaced = service.client.post("/v1/datasets?dt=0.5", content=CSV).json()
    assert (
        plain["id"]
        == "ds_" + base64.b32encode(hashlib.sha256(CSV + b"{}").digest()).decode().lower()[:16]
    )
    assert spaced["id"] != plain["id"]
    assert plain["sha256"] == hashlib.sha256(CSV).hexdigest()
    assert plain["bytes"] == len(CSV)


def test_digest_and_etag_are_those_of_the_answer(service: Any) -> None:
    answer = service.client.post("/v1/datasets", content=CSV)
    digest = base64.b64encode(hashlib.sha256(answer.content).digest()).decode()
    assert answer.headers["content-digest"] == f"sha-256=:{digest}:"
    got = service.client.get(answer.headers["location"])
    assert got.headers["etag"] == answer.headers["etag"]
    unchanged = service.client.get(
        answer.headers["location"], headers={"If-None-Match": got.headers["etag"]}
    )
    assert (unchanged.status_code, unchanged.content) == (304, b"")


def test_an_upload_that_does_not_match_its_own_digest_is_refused(service: Any) -> None:
    digest = base64.b64encode(hashlib.sha256(b"something else").digest()).decode()
    answer = service.client.post(
        "/v1/datasets", content=CSV, headers={"Content-Digest": f"sha-256=:{digest}:"}
    )
    assert (answer.status_code, answer.json()["code"]) == (400, "digest-mismatch")
    assert service.reader.seen == []


def test_form_and_raw_body_of_the_same_bytes_are_the_same_dataset(service: Any) -> None:
    raw = service.client.post("/v1/datasets?dt=0.5&state_columns=x,y", content=CSV)
    form = service.client.post(
        "/v1/datasets",
        files={
            "file": ("C:\\data\\../trap.csv", CSV, "text/csv"),
            "layout": (None, '{"dt": 0.5, "state_columns": ["x", "y"]}'),
        },
    )
    assert form.status_code == 200
    assert form.json()["id"] == raw.json()["id"]


def test_file_name_is_kept_as_a_label_without_folders_or_control_characters(service: Any) -> None:
    answer = service.client.post(
        "/v1/datasets", files={"file": ("../../etc/pass\x01wd", CSV, "text/csv")}
    )
    assert answer.json()["label"] in ("passwd", "pass%01wd")


@pytest.mark.parametrize(
    ("query", "place"),
    [
        ("dt=-1", "dt"),
        ("dt=nan", "dt"),
        ("gap_factor=0", "gap_factor"),
        ("delta=1", "delta"),
        ("axes=xyz", "axes"),
    ],
)
def test_bad_layout_parameter_is_named(service: Any, query: str, place: str) -> None:
    answer = service.client.post(f"/v1/datasets?{query}", content=CSV)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid-request")
    assert f"`{place}`" in answer.json()["errors"][0]["detail"]


def test_bad_layout_part_is_pointed_at(service: Any) -> None:
    answer = service.client.post(
        "/v1/datasets",
        files={"file": ("a.csv", CSV), "layout": (None, '{"dt": "soon", "steps": 1}')},
    )
    assert answer.status_code == 422
    assert {error["pointer"] for error in answer.json()["errors"]} == {
        "#/layout/dt",
        "#/layout/steps",
    }


def test_content_type_that_says_nothing_leaves_the_format_to_the_reader(service: Any) -> None:
    for content_type in ("application/x-www-form-urlencoded", "application/octet-stream"):
        service.client.post(
            "/v1/datasets", content=content_type.encode(), headers={"Content-Type": content_type}
        )
    service.client.post(
        "/v1/datasets", content=CSV, headers={"Content-Type": "text/csv; charset=utf-8"}
    )
    assert [media_type for _, media_type, _, _ in service.reader.seen] == [None, None, "text/csv"]


def test_what_cannot_be_read_is_the_readers_problem_and_leaves_nothing_behind(service: Any) -> None:
    answer = service.client.post("/v1/datasets", content=b"bad")
    problem = answer.json()
    assert (answer.status_code, problem["code"], problem["hints"]) == (
        422,
        "unreadable-data",
        ["Remove the row."],
    )
    assert service.client.get("/v1/datasets").json()["items"] == []
    assert list(service.settings.scratch.iterdir()) == []


def test_what_killed_processes_left_is_swept_at_the_start_and_what_others_use_is_not(
    tmp_path: Path,
) -> None:
    scratch, tenants = tmp_path / "uploads", tmp_path / "datasets" / "lab"
    for left in (scratch / "upload-left", tenants / ".incoming-left", tenants / "ds_kept"):
        left.mkdir(parents=True)
        (left / "states.npy").write_bytes(b"1")
    with uploads.scratch_folder(scratch) as used:
        uploads.sweep(scratch, tmp_path)
        assert list(scratch.iterdir()) == [used]
    assert [path.name for path in tenants.iterdir()] == ["ds_kept"]


def test_list_is_paged_and_a_deleted_dataset_is_gone(service: Any) -> None:
    ids = {service.upload(f"{n}".encode()) for n in range(3)}
    first = service.client.get("/v1/datasets?limit=2").json()
    second = service.client.get(f"/v1/datasets?limit=2&cursor={first['next_cursor']}").json()
    assert {item["id"] for item in first["items"] + second["items"]} == ids
    assert second["next_cursor"] is None
    one = ids.pop()
    assert service.client.delete(f"/v1/datasets/{one}").status_code == 204
    assert service.client.get(f"/v1/datasets/{one}").json()["code"] == "not-found"
    assert service.client.delete(f"/v1/datasets/{one}").status_code == 404


def test_unknown_cursor_and_unknown_filter_are_refused(service: Any) -> None:
    for query in ("cursor=zzz", "limit=0", "limit=1000", "colour=red"):
        answer = service.client.get(f"/v1/datasets?{query}")
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid-request"), query


def test_form_with_a_second_file_an_unknown_part_or_no_file_is_refused(service: Any) -> None:
    two = service.client.post(
        "/v1/datasets", files=[("file", ("a.csv", CSV)), ("file", ("b.csv", CSV))]
    )
    unknown = service.client.post(
        "/v1/datasets", files={"file": ("a.csv", CSV), "colour": (None, "red")}
    )
    none = service.client.post("/v1/datasets", files={"layout": (None, json.dumps({"dt": 1}))})
    assert [answer.status_code for answer in (two, unknown, none)] == [422, 422, 422]
    assert unknown.json()["errors"][0]["pointer"] == "#/colour"


@pytest.mark.parametrize(
    ("disposition", "label"),
    [
        ('attachment; filename="trap 17.csv"', "trap 17.csv"),
        ("attachment; filename*=UTF-8''na%C3%AFve.csv", "naïve.csv"),
        ("attachment; filename*=UTF-8''..%2F..%2Fetc%2Fpasswd", "passwd"),
        ("attachment", None),
        ("'; filename*=\x7f", None),
    ],
)
def test_a_raw_upload_is_labelled_by_its_disposition(
    service: Any, disposition: str, label: str | None
) -> None:
    headers = {"Content-Type": "text/csv", "Content-Disposition": disposition}
    dataset = service.client.post(
        "/v1/datasets", content=b"t,x\n0,1\n1,2\n", headers=headers
    ).json()
    assert dataset["label"] == label


def test_an_upload_is_read_again_under_another_layout_as_the_same_bytes(service: Any) -> None:
    first = service.client.post(
        "/v1/datasets", files={"file": ("trap.csv", CSV, "text/csv")}
    ).json()
    address = f"/v1/datasets/{first['id']}/read"
    again = service.client.post(address, json={"dt": 0.5, "state_columns": ["x"]})
    assert again.status_code == 201
    assert again.headers["location"] == f"/v1/datasets/{again.json()['id']}"
    assert again.json()["id"] != first["id"]
    for field in ("sha256", "bytes", "label"):
        assert again.json()[field] == first[field]
    content, media_type, filename, layout = service.reader.seen[-1]
    assert (content, media_type, filename) == (CSV, "text/csv", "trap.csv")
    assert (layout.dt, layout.state_columns) == (0.5, ("x",))
    assert service.client.get(f"/v1/datasets/{first['id']}").json() == first


def test_reading_again_is_idempotent_and_the_same_as_uploading_with_that_layout(
    service: Any,
) -> None:
    first = service.client.post("/v1/datasets", content=CSV).json()
    address = f"/v1/datasets/{first['id']}/read"
    again = service.client.post(address, json={"dt": 0.5})
    once_more = service.client.post(address, json={"dt": 0.5})
    uploaded = service.client.post("/v1/datasets?dt=0.5", content=CSV)
    assert (again.status_code, once_more.status_code, uploaded.status_code) == (201, 200, 200)
    assert again.json() == once_more.json() == uploaded.json()
    assert len(service.reader.seen) == 2
    of_the_new = service.client.post(f"/v1/datasets/{again.json()['id']}/read")
    assert (of_the_new.status_code, of_the_new.json()["id"]) == (200, first["id"])


def test_reading_again_refuses_as_an_upload_does(service: Any) -> None:
    first = service.client.post("/v1/datasets", content=CSV).json()
    address = f"/v1/datasets/{first['id']}/read"
    bad = service.client.post(address, json={"dt": "soon", "steps": 1})
    assert (bad.status_code, bad.json()["code"]) == (422, "invalid-request")
    assert {error["pointer"] for error in bad.json()["errors"]} == {"#/dt", "#/steps"}
    headers = {"Content-Type": "application/json"}
    broken = service.client.post(address, content=b"{", headers=headers)
    assert (broken.status_code, broken.json()["code"]) == (400, "invalid-json")
    wrong = service.client.post(address, content=CSV, headers={"Content-Type": "text/csv"})
    assert wrong.status_code == 415
    none = service.client.post("/v1/datasets/ds_nothing/read", json={})
    assert (none.status_code, none.json()["code"]) == (404, "not-found")
    assert list(service.settings.scratch.iterdir()) == []


def test_a_dataset_of_an_earlier_build_without_its_file_says_so(
    service: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = service.client.post("/v1/datasets", content=CSV).json()
    monkeypatch.setattr(type(service.stores.datasets), "fetch_original", lambda *_: False)
    answer = service.client.post(f"/v1/datasets/{first['id']}/read", json={"dt": 0.5})
    assert (answer.status_code, answer.json()["code"]) == (410, "gone")
    assert "Upload the file again" in answer.json()["hints"][0]
    assert service.client.get(f"/v1/datasets/{first['id']}").status_code == 200


def test_the_uploaded_file_counts_against_the_quota(service: Any) -> None:
    content = CSV + b"3,1\n" * 100
    service.upload(content)
    assert service.stores.datasets.bytes_stored("default") >= len(content)


def test_names_and_units_by_column_are_the_same_layout_in_query_and_form(service: Any) -> None:
    layout = {"state_names": {"a=b": "height", "2": "bath heat"}, "state_unit": {"2": "K"}}
    query = "state_names=a=b=height&state_names=2=bath%20heat&state_unit=2=K"
    raw = service.client.post(f"/v1/datasets?{query}", content=CSV)
    form = service.client.post(
        "/v1/datasets", files={"file": ("a.csv", CSV), "layout": (None, json.dumps(layout))}
    )
    assert form.json()["id"] == raw.json()["id"]
    ((_, _, _, seen),) = service.reader.seen
    assert seen.state_names == {"a=b": "height", "2": "bath_heat"}
    service.client.post("/v1/datasets?state_unit=nm", content=CSV)
    assert service.reader.seen[-1][-1].state_unit == "nm"


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("state_names=height", "query parameter `state_names`: each must be a column and its"),
        ("state_unit=nm&state_unit=2=K", "query parameter `state_unit`: each must be a column"),
        ("state_unit=2=nm&state_unit=2=K", "query parameter `state_unit`: a column is given twice"),
        ("state_names=2=" + "x" * 999, "query parameter `state_names`: must have at most 250"),
        (
            "&".join(f"state_names={k}=a" for k in range(99)),
            "`state_names`: must have at most 64 items",
        ),
        ("state_names=2=x^2", "cannot be the name of a variable: it would be read as a number or"),
        ("state_names=2=sin", "it is sin, a function or constant of terms"),
        ("state_names=2=time", "it is time, the word for time"),
        ("state_names=2=%00", "it holds a control character"),
        ("state_unit=2=%00", "must hold neither `=` nor a control character"),
        ("state_unit=%07", "must hold neither `=` nor a control character"),
    ],
)
def test_a_name_or_unit_that_cannot_be_is_refused_with_its_place(
    service: Any, query: str, said: str
) -> None:
    answer = service.client.post(f"/v1/datasets?{query}", content=CSV)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid-request")
    assert said in answer.json()["errors"][0]["detail"]
    assert service.reader.seen == []


def test_names_and_units_by_column_are_pointed_at(service: Any) -> None:
    first = service.upload()
    layout = {"state_names": {"f/pN": "pi"}, "state_unit": {"2": 5, "3": "nm"}}
    answer = service.client.post(f"/v1/datasets/{first}/read", json=layout)
    assert answer.status_code == 422
    assert {error["pointer"] for error in answer.json()["errors"]} == {
        "#/state_names/f~1pN",
        "#/state_unit/2",
    }
