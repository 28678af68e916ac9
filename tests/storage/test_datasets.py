"""Laws of the dataset store, in a folder and in a bucket."""

import os
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from contract.datasets import Dataset, DatasetReport, Layout, LengthReport, SamplingReport, Variable
from storage.local_blobs import DatasetStore, LocalDatasetStore
from storage.names import is_dataset_id
from storage.stores import InvalidCursor, StoreUnavailable

TENANT = "lab"
UPLOADED = b"t,x\r\n0,0\r\n0.1,1\r\n0.2,2\r\n"
ODD_IDS = [
    "",
    ".",
    "..",
    "ds_",
    "ds_../x",
    "ds_a/b",
    "/etc",
    "ds_A",
    "ds_a\n",
    "ds_\udc80",
    "ds_" + "a" * 65,
    "dataset.json",
]
REPORT = DatasetReport(
    format="csv",
    layout=Layout(),
    variables=(Variable(name="x", column="µ"),),
    n_trajectories=1,
    n_segments=1,
    n_samples=3,
    n_increments=2,
    duration=0.2,
    lengths=LengthReport(min=3, median=3, max=3),
    dt=SamplingReport(median=0.1, min=0.1, max=0.1, jitter=0, source="given"),
    range=((0.0, 2.0),),
)


def a_dataset(dataset_id: str = "ds_abc", age_seconds: float = 0) -> Dataset:
    created_at = datetime(2025, 1, 1, tzinfo=UTC) - timedelta(seconds=age_seconds)
    return Dataset(
        id=dataset_id,
        created_at=created_at,
        sha256="0" * 64,
        bytes=10,
        label="../../naïve.csv",
        report=REPORT,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What a reader leaves behind."""
    folder = tmp_path / "read"
    folder.mkdir()
    np.save(folder / "states.npy", np.array([[0.0], [1.0], [2.0]]))
    np.save(folder / "times.npy", np.array([0.0, 0.1, 0.2]))
    np.save(folder / "segments.npy", np.array([[0, 3, 0]]))
    (folder / "original").write_bytes(UPLOADED)
    return folder


def test_what_was_put_comes_back(datasets: DatasetStore, folder: Path) -> None:
    assert datasets.put(TENANT, a_dataset(), folder) == "created"
    assert datasets.get(TENANT, "ds_abc") == a_dataset()
    with datasets.files(TENANT, "ds_abc") as place:
        assert np.load(place / "states.npy").tolist() == [[0.0], [1.0], [2.0]]
        assert np.load(place / "times.npy").tolist() == [0.0, 0.1, 0.2]
        assert np.load(place / "segments.npy").tolist() == [[0, 3, 0]]
    assert sorted(file.name for file in folder.iterdir()) == [
        "original",
        "segments.npy",
        "states.npy",
        "times.npy",
    ]


def test_the_uploaded_file_comes_back_byte_for_byte_until_its_dataset_is_deleted(
    datasets: DatasetStore, folder: Path, tmp_path: Path
) -> None:
    datasets.put(TENANT, a_dataset(), folder)
    assert datasets.fetch_original(TENANT, "ds_abc", tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == UPLOADED
    assert not datasets.fetch_original("stranger", "ds_abc", tmp_path / "theirs")
    assert not datasets.fetch_original(TENANT, "../ds_abc", tmp_path / "odd")
    datasets.delete(TENANT, "ds_abc")
    assert not datasets.fetch_original(TENANT, "ds_abc", tmp_path / "gone")
    assert (tmp_path / "back").read_bytes() == UPLOADED, "whoever has it keeps it"


def test_the_uploaded_file_counts_among_the_stored_bytes(
    datasets: DatasetStore, folder: Path
) -> None:
    datasets.put(TENANT, a_dataset(), folder)
    small = datasets.bytes_stored(TENANT)
    (folder / "longer").write_bytes(UPLOADED + b"0" * 1000)
    (folder / "longer").rename(folder / "original")
    datasets.put(TENANT, a_dataset("ds_abd"), folder)
    assert datasets.bytes_stored(TENANT) == 2 * small + 1000


def test_a_dataset_put_again_is_known_and_stays_as_it_was(
    datasets: DatasetStore, folder: Path
) -> None:
    datasets.put(TENANT, a_dataset(), folder)
    assert datasets.put(TENANT, a_dataset(age_seconds=5), folder) == "known"
    assert datasets.get(TENANT, "ds_abc") == a_dataset()


def test_of_puts_that_race_one_creates(datasets: DatasetStore, folder: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: datasets.put(TENANT, a_dataset(), folder), range(8)))
    assert sorted(answers) == ["created"] + ["known"] * 7
    assert datasets.get(TENANT, "ds_abc") == a_dataset()


def test_another_tenant_sees_nothing_of_a_dataset(datasets: DatasetStore, folder: Path) -> None:
    datasets.put(TENANT, a_dataset(), folder)
    assert datasets.get("stranger", "ds_abc") is None
    assert datasets.list("stranger") == ([], None)
    assert not datasets.delete("stranger", "ds_abc")
    with pytest.raises(KeyError), datasets.files("stranger", "ds_abc"):
        pass
    assert datasets.put("stranger", a_dataset(), folder) == "created"


@pytest.mark.slow
@pytest.mark.parametrize("odd", ODD_IDS)
def test_no_id_is_a_path(datasets: DatasetStore, folder: Path, odd: str) -> None:
    datasets.put(TENANT, a_dataset(), folder)
    assert not is_dataset_id(odd)
    assert datasets.get(TENANT, odd) is None
    assert not datasets.delete(TENANT, odd)
    with pytest.raises(KeyError), datasets.files(TENANT, odd):
        pass
    with pytest.raises(ValueError, match="id"):
        datasets.put(TENANT, a_dataset().model_copy(update={"id": odd}), folder)


@pytest.mark.parametrize("tenant", ["", "..", "a/b", "A", "a\n"])
def test_no_tenant_is_a_path(tmp_path: Path, tenant: str) -> None:
    with pytest.raises(ValueError, match="tenant"):
        LocalDatasetStore(tmp_path).get(tenant, "ds_abc")


def test_a_deleted_dataset_is_gone(datasets: DatasetStore, folder: Path) -> None:
    datasets.put(TENANT, a_dataset(), folder)
    assert datasets.delete(TENANT, "ds_abc")
    assert not datasets.delete(TENANT, "ds_abc")
    assert datasets.get(TENANT, "ds_abc") is None
    assert datasets.put(TENANT, a_dataset(), folder) == "created"


def test_a_dataset_deleted_while_it_is_being_opened_is_unknown(
    tmp_path: Path, folder: Path
) -> None:
    datasets = LocalDatasetStore(tmp_path / "data")
    datasets.put(TENANT, a_dataset(), folder)
    with pytest.raises(KeyError, match="ds_abc"), datasets.files(TENANT, "ds_abc") as place:  # noqa: PT012
        datasets.delete(TENANT, "ds_abc")
        np.load(place / "states.npy")


def test_pages_go_from_the_newest_to_the_oldest_and_survive_deletion(
    datasets: DatasetStore, folder: Path
) -> None:
    ages = {"ds_a": 30, "ds_b": 10, "ds_c": 20, "ds_d": 20, "ds_e": 40}
    for dataset_id, age in ages.items():
        datasets.put(TENANT, a_dataset(dataset_id, age), folder)
    first, cursor = datasets.list(TENANT, limit=2)
    assert [dataset.id for dataset in first] == ["ds_b", "ds_d"]
    datasets.delete(TENANT, "ds_d")
    second, cursor = datasets.list(TENANT, limit=2, cursor=cursor)
    assert [dataset.id for dataset in second] == ["ds_c", "ds_a"]
    last, cursor = datasets.list(TENANT, limit=2, cursor=cursor)
    assert [dataset.id for dataset in last] == ["ds_e"]
    assert cursor is None


def test_a_dataset_that_is_uploaded_again_is_the_newest_even_where_the_list_was_seen_before(
    datasets: DatasetStore, folder: Path
) -> None:
    for dataset_id, age in {"ds_a": 30, "ds_b": 10, "ds_c": 20}.items():
        datasets.put(TENANT, a_dataset(dataset_id, age), folder)
    assert [dataset.id for dataset in datasets.list(TENANT)[0]] == ["ds_b", "ds_c", "ds_a"]
    datasets.delete(TENANT, "ds_a")
    datasets.put(TENANT, a_dataset("ds_a", 0), folder)
    assert [dataset.id for dataset in datasets.list(TENANT)[0]] == ["ds_a", "ds_b", "ds_c"]


@pytest.mark.parametrize("cursor", ["", "x", "1-ds_A", "-1-ds_a", "1" * 400 + "-ds_a"])
def test_a_cursor_that_no_page_gave_is_refused(datasets: DatasetStore, cursor: str) -> None:
    with pytest.raises(InvalidCursor):
        datasets.list(TENANT, cursor=cursor)


def test_a_put_that_breaks_off_leaves_nothing(tmp_path: Path, folder: Path) -> None:
    datasets = LocalDatasetStore(tmp_path / "data")
    (folder / "segments.npy").unlink()
    with pytest.raises(StoreUnavailable):
        datasets.put(TENANT, a_dataset(), folder)
    assert datasets.get(TENANT, "ds_abc") is None
    assert os.listdir(tmp_path / "data" / "datasets" / TENANT) == []


def test_leftovers_of_a_crash_are_no_datasets(tmp_path: Path, folder: Path) -> None:
    datasets = LocalDatasetStore(tmp_path / "data")
    datasets.put(TENANT, a_dataset(), folder)
    (tmp_path / "data" / "datasets" / TENANT / ".incoming-x").mkdir()
    assert len(datasets.list(TENANT)[0]) == 1
