"""A folder of records by the client and by the command."""

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

from itoscope_client import Client, InputError, WaitingTimedOut
from itoscope_client.batches import progress_of
from itoscope_client.models.batch import Batch
from tests.acceptance.served import Served
from tests.client.test_cli import run

ONLY = {"analysis": {"model_only": True}, "progress": False}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three records of an Ornstein-Uhlenbeck process, and one that is too short."""
    made = tmp_path_factory.mktemp("traps")
    for number, n in enumerate((800, 800, 20, 800)):
        rng, decay = np.random.default_rng(number), np.exp(-0.1)
        x = [0.0]
        for kick in rng.standard_normal(n):
            x.append(decay * x[-1] + np.sqrt((1 - decay**2) / 2) * kick)
        rows = "\n".join(f"{0.1 * k:.1f},{value!r}" for k, value in enumerate(map(float, x)))
        (made / f"trap-{number}.csv").write_text(f"t,voltage\n{rows}\n")
    return made


@pytest.fixture(scope="module")
def batch(client: Client, folder: Path) -> Batch:
    return client.batch(sorted(folder.glob("*.csv")), labels={"of": "March"}, label="traps", **ONLY)


def test_each_file_is_a_record_with_its_model_or_the_reason_for_none(
    client: Client, batch: Batch
) -> None:
    assert batch.records == tuple(f"trap-{k}.csv" for k in range(4))
    assert (batch.ended, batch.counts["succeeded"], batch.counts["failed"]) == (True, 3, 1)
    assert list(batch.errors) == ["trap-2.csv"]
    table = batch.table()
    assert {tuple(row) for row in table} == {tuple(table[0])}, "every row has every column"
    model = client.result(batch.jobs[0])
    assert table[0]["drift.x"] == model.document["model"]["drift"]["x"]["expression"]
    assert table[2]["drift.x"] is None
    frame = batch.to_frame()
    assert list(frame["record"]) == list(batch.records)
    assert float(frame["diffusion.x,x:1"][0]) == table[0]["diffusion.x,x:1"]
    assert batch["trap-1.csv"]["job"] == batch.jobs[1]
    with pytest.raises(KeyError):
        batch["trap-9.csv"]
    assert len(client.jobs(labels={"batch": batch.batch_id, "of": "March"})) == 4
    assert client.batches(limit=1)[0]["label"] == "traps"


def test_trajectories_of_one_dataset_are_records(client: Client) -> None:
    x = np.random.default_rng(1).standard_normal((3, 300)).cumsum(axis=1)
    dataset = client.upload(x, dt=1.0, axes="nt")
    found = client.batch(dataset["id"], parameters={"dynamics": "first-order"}, **ONLY)
    assert [row["trajectory"] for row in found] == [0, 1, 2]
    same = client.batch(x, dt=1.0, axes="nt", parameters={"dynamics": "first-order"}, **ONLY)
    assert [row["values"] for row in same] == [row["values"] for row in found]


def test_what_cannot_be_meant_is_refused_before_anything_is_sent(
    client: Client, folder: Path, tmp_path: Path
) -> None:
    twin = tmp_path / "twin.csv"
    twin.write_bytes((folder / "trap-0.csv").read_bytes())
    with pytest.raises(InputError, match=r"twin\.csv and .*trap-0\.csv hold the same data"):
        client.batch([folder / "trap-0.csv", twin], **ONLY)
    with pytest.raises(InputError, match="has been read already"):
        client.batch("ds_9tq4m2k7h3xa5c6e", dt=0.1, **ONLY)


def test_failed_records_are_tried_again_and_a_batch_can_be_deleted(
    client: Client, batch: Batch
) -> None:
    retried = client.retry_batch(batch.batch_id)
    assert retried["counts"]["queued"] + retried["counts"]["running"] <= 1
    again = client.wait_batch(batch.batch_id, progress=False)
    assert again.jobs[0] == batch.jobs[0]
    assert again.jobs[2] != batch.jobs[2]
    assert client.cancel_batch(batch.batch_id)["counts"] == again.counts
    client.delete_batch(batch.batch_id)
    assert batch.batch_id not in [each["id"] for each in client.batches()]


def test_a_wait_that_is_over_says_how_to_resume(client: Client, folder: Path) -> None:
    begun = client.batch(sorted(folder.glob("*.csv")), wait=False, **ONLY)
    with pytest.raises(WaitingTimedOut, match=f"client.wait_batch\\('{begun.batch_id}'\\)"):
        client.wait_batch(begun.batch_id, timeout=0)
    assert client.wait_batch(begun.batch_id, progress=False).ended


def test_progress_counts_records() -> None:
    counts = {"queued": 6, "running": 2, "succeeded": 1, "failed": 1}
    shown = progress_of({"n_records": 10, "counts": counts})
    assert (shown["state"], shown["progress"]["fraction"]) == ("running", pytest.approx(0.2))
    assert shown["progress"]["message"] == "2 of 10 records, 1 failed"


def test_the_command_prints_a_table_and_saves_it(
    served: Served, folder: Path, tmp_path: Path
) -> None:
    files = [str(path) for path in sorted(folder.glob("*.csv"))]
    place = tmp_path / "table.csv"
    done = run(served.url, "batch", *files, "--model-only", "-o", str(place))
    assert done.exit_code == 0, done.output
    assert "3 succeeded, 1 failed" in done.stdout
    assert "b_x = " in done.stdout
    rows = list(csv.DictReader(io.StringIO(place.read_text())))
    assert [row["state"] for row in rows] == ["succeeded", "succeeded", "failed", "succeeded"]
    batch_id = rows and done.stdout.split()[0].rstrip(":")
    again = run(served.url, "batch", str(batch_id), "--json")
    assert json.loads(again.stdout)["id"] == batch_id
    detached = run(served.url, "batch", *files, "--model-only", "--detach")
    assert detached.stdout.startswith("batch_")
    assert f"itoscope batch {detached.stdout.strip()}" in detached.stderr
    assert run(served.url, "batch", batch_id or "", "--retry").exit_code == 0
    assert run(served.url, "batch", files[0], "--retry").exit_code == 2
    assert run(served.url, "batch", files[0], "ds_9tq4m2k7h3xa5c6e").exit_code == 1
    unknown = run(served.url, "batch", *files, "--periodic", "q=1")
    assert unknown.exit_code == 1
    assert "--periodic" in unknown.stderr
    assert run(served.url, "delete", str(batch_id)).exit_code == 0
