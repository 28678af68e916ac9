"""Laws of the result store, in a folder and in a bucket."""

import os
from pathlib import Path

import pytest

from storage.blobs import ResultStore
from storage.local_blobs import Folder
from storage.names import new_job_id
from storage.stores import StoreUnavailable

TENANT = "lab"


def test_what_was_put_comes_back_and_attempts_do_not_mix(results: ResultStore) -> None:
    job_id = new_job_id()
    first, second = (
        results.put(TENANT, job_id, 1, b"{}"),
        results.put(TENANT, job_id, 2, b'{"x": 1}'),
    )
    assert first == f"{job_id}-1.json"
    assert results.get(TENANT, first) == b"{}"
    assert results.get(TENANT, second) == b'{"x": 1}'


def test_another_tenant_sees_nothing_of_a_result(results: ResultStore) -> None:
    name = results.put(TENANT, new_job_id(), 1, b"{}")
    assert results.get("stranger", name) is None


def test_a_result_written_again_by_its_own_attempt_is_whole(results: ResultStore) -> None:
    job_id = new_job_id()
    results.put(TENANT, job_id, 1, b"x" * 100_000)
    name = results.put(TENANT, job_id, 1, b"{}")
    assert results.get(TENANT, name) == b"{}"


@pytest.mark.parametrize(
    "odd",
    [
        "",
        "..",
        "../../etc/passwd",
        "job_x-1.json",
        "/etc/passwd",
        "a\0b",
        f"job_{'0' * 26}-1.json\n",
    ],
)
def test_no_name_is_a_path(results: ResultStore, odd: str) -> None:
    assert results.get(TENANT, odd) is None
    with pytest.raises(ValueError, match="result"):
        results.put(TENANT, odd, 1, b"{}")


def test_a_folder_that_cannot_be_written_is_said_so_and_nothing_is_left(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("a file where the folder should be")
    with pytest.raises(StoreUnavailable, match="data folder"):
        ResultStore(Folder(tmp_path)).put(TENANT, new_job_id(), 1, b"{}")


def test_only_finished_files_are_in_the_folder(tmp_path: Path) -> None:
    name = ResultStore(Folder(tmp_path)).put(TENANT, new_job_id(), 1, b"{}")
    assert os.listdir(tmp_path / "results" / TENANT) == [name]
