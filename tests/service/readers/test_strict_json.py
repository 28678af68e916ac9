"""A large job's body is taken apart by the reading child, and means the same."""

import json
from pathlib import Path
from typing import Any

import pytest

from service.readers.errors import UnreadableData
from service.readers.process import take_job_apart
from service.readers.strict_json import take_apart
from service.requests import submissions

DATA = {"dt": 0.1, "trajectories": [[0, 1.5, None, -2e-300]]}


@pytest.fixture
def taken(tmp_path: Path) -> Any:
    """The job that is left, and the file of its data."""

    def take(sent: Any, most_bytes: int = 200) -> tuple[Any, Path]:
        body = tmp_path / "body"
        body.write_text(sent if isinstance(sent, str) else json.dumps(sent))
        return take_apart(body, ["sweep"], most_bytes, tmp_path / "data"), tmp_path / "data"

    return take


def test_the_data_go_to_a_file_and_their_names_stay(taken: Any) -> None:
    job, data_file = taken({"kind": "sweep", "labels": {"a": "b"}, "data": DATA})
    assert job == {
        "kind": "sweep",
        "labels": {"a": "b"},
        "data": {"dt": None, "trajectories": None},
    }
    assert json.loads(data_file.read_bytes()) == DATA


def test_many_names_of_members_are_not_handed_on(taken: Any) -> None:
    data = {f"n{k}": 0 for k in range(1000)} | DATA
    job, _ = taken({"kind": "sweep", "data": data}, most_bytes=20)
    assert len(job["data"]) == 51
    assert "trajectories" in job["data"]


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        ({"kind": "generator", "data": DATA, "labels": {"a": "b" * 200}}, "body-too-large"),
        ({"kind": "sweep", "labels": {"a": "b" * 200}, "data": DATA}, "body-too-large"),
        ([[]] * 200, "body-too-large"),
        ("[" * 100_000, "invalid-json"),
        ('{"kind": "sweep", "kind": "sweep"}', "invalid-json"),
    ],
)
def test_what_is_too_long_without_data_or_no_json_is_refused(
    taken: Any, sent: Any, code: str
) -> None:
    with pytest.raises(UnreadableData) as refused:
        taken(sent)
    assert refused.value.code == code


@pytest.mark.slow
def test_the_child_answers_as_this_process_does(taken: Any, tmp_path: Path) -> None:
    here, data_file = taken({"kind": "sweep", "data": DATA})
    there = take_job_apart(tmp_path / "body", ["sweep"], 200, tmp_path / "there")
    assert there == here
    assert (tmp_path / "there").read_bytes() == data_file.read_bytes()
    (tmp_path / "body").write_text("[")
    with pytest.raises(UnreadableData, match="not valid JSON"):
        take_job_apart(tmp_path / "body", ["sweep"], 200, tmp_path / "there")


@pytest.mark.slow
@pytest.mark.parametrize("chunked", [False, True])
def test_a_large_job_is_not_parsed_here_and_gives_the_same_dataset(
    service: Any, monkeypatch: pytest.MonkeyPatch, chunked: bool
) -> None:
    """6.6 million `[]` cost the serving process 4.7 s of silence and 550 MB."""

    def post(job: Any) -> Any:
        body = json.dumps(job).encode()
        return service.client.post(
            "/v1/jobs",
            content=iter([body[:9], body[9:]]) if chunked else body,
            headers={"Content-Type": "application/json"},
        )

    job = {"kind": "identification", "data": DATA}
    small = post(job)
    assert small.status_code == 202, small.text
    parsed = []
    parse = submissions.strict_json.parse
    monkeypatch.setattr(
        submissions.strict_json, "parse", lambda body: parsed.append(body) or parse(body)
    )
    post(job)
    assert len(parsed) == 1, "a small one is parsed here"
    monkeypatch.setattr(submissions, "LARGE_BYTES", 20)
    large = post(job)
    assert large.status_code == 202, large.text
    assert large.json()["request"] == small.json()["request"]
    wrong = post({**job, "data": {**DATA, "extra": 1}})
    assert (wrong.status_code, [fault["pointer"] for fault in wrong.json()["errors"]]) == (
        422,
        ["#/data/extra"],
    )
    assert post({**job, "data": 7}).json()["errors"][0]["pointer"] == "#/data"
    assert post({**job, "kind": "nothing", "labels": {"a": "b" * 20_000}}).status_code == 413
    assert len(parsed) == 1
