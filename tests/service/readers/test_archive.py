"""Several files as one dataset: a ZIP archive whose files hold trajectories of their own."""

import io
import zipfile
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from service.readers.errors import UnreadableData
from service.readers.options import Limits
from tests.service.readers.test_roles import WALK, table

Reads = Callable[..., Any]
Refused = Callable[..., UnreadableData]
TIMES = np.round(0.1 * np.arange(100), 1)


def packed(files: Mapping[str, str | bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return file.getvalue()


def run(k: int, header: str = "t (s),x (nm)") -> str:
    return table(header, TIMES, WALK[100 * k : 100 * (k + 1)])


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_each_file_is_a_trajectory(read_data: Reads, method: int) -> None:
    found = read_data(packed({f"run{k}.csv": run(k) for k in range(3)}, method))
    report = found.report
    assert report.format == "zip"
    assert (report.n_trajectories, report.n_samples, report.n_increments) == (3, 300, 297)
    assert found.states[:, 0].tolist() == WALK.tolist()
    assert found.segments.tolist() == [[0, 100, 0], [100, 200, 1], [200, 300, 2]]
    assert (report.dt.median, report.time_unit) == (0.1, "s")
    assert "the 3 files hold trajectories of their own, in order: run0.csv, run1.csv" in found.said
    assert [column.role for column in report.columns] == ["time", "state"]


def test_files_with_several_trajectories_and_of_several_formats_are_joined(
    read_data: Reads,
) -> None:
    ids = np.repeat([1, 2], 50)
    both = table("t,x,track", np.tile(TIMES[:50], 2), WALK[:100], ids)
    third = table("t,x,track", TIMES[:50], WALK[100:150], np.full(50, 7))
    found = read_data(packed({"a.csv": both, "b.txt": third.replace(",", "\t")}), id_column="track")
    assert found.report.n_trajectories == 3
    assert found.states[:, 0].tolist() == WALK[:150].tolist()
    array = io.BytesIO()
    np.save(array, WALK[:80])
    mixed = packed({"z.json": str(WALK[80:200].tolist()), "a.npy": array.getvalue()})
    found = read_data(mixed, dt=0.5)
    assert (found.report.n_trajectories, found.report.dt.median) == (2, 0.5)


def test_the_layout_holds_for_every_file(read_data: Reads) -> None:
    files = {
        f"{k}.csv": table("t,x,heat", TIMES, WALK[100 * k : 100 * (k + 1)], WALK[:100])
        for k in (0, 1)
    }
    report = read_data(packed(files), ignored_columns=["heat"]).report
    assert [variable.column for variable in report.variables] == ["x"]
    assert report.n_trajectories == 2


def test_what_does_not_belong_together_is_refused_by_name(refused: Refused) -> None:
    other = refused(packed({"a.csv": run(0), "b.csv": run(1, "t (s),y (nm)")}))
    assert "b.csv has y (nm)" in other.detail
    assert "a.csv has x (nm)" in other.detail
    unit = refused(packed({"a.csv": run(0), "b.csv": run(1, "t (ms),x (nm)")}))
    assert "times in ms" in unit.detail
    clockless = refused(packed({"a.csv": run(0), "b.csv": "x (nm)\n" + "1\n2\n" * 9}))
    assert "no times" in clockless.detail


def test_a_file_at_fault_is_named_with_its_row(refused: Refused) -> None:
    broken = run(1).replace(f"\n5.0,{WALK[150]}", "\n5.0,oops")
    assert "oops" in broken
    assert refused(packed({"a.csv": run(0), "b.csv": broken})).detail.startswith("In b.csv: Row 52")
    assert (
        "In photo.png" in refused(packed({"a.csv": run(0), "photo.png": b"\x89PNG\r\n\0"})).detail
    )
    inner = packed({"c.csv": run(2)})
    assert "In inner.zip" in refused(packed({"a.csv": run(0), "inner.zip": inner})).detail


def test_what_systems_add_is_no_data_and_an_archive_of_nothing_is_empty(
    read_data: Reads, refused: Refused
) -> None:
    files = {"runs/a.csv": run(0), "__MACOSX/runs/._a.csv": b"\0\5\x16", "runs/.DS_Store": b"\0"}
    assert read_data(packed(files)).report.n_trajectories == 1
    assert refused(packed({"__MACOSX/x": b"1"})).code == "empty-file"


def test_a_bomb_and_a_cut_archive_are_refused(refused: Refused) -> None:
    limits = Limits(numbers=1000)
    bomb = packed({"a.csv": b"0\n" * 500_000})
    assert refused(bomb, limits=limits).code == "too-large-data"
    assert "ZIP archive is damaged" in refused(packed({"a.csv": run(0)})[:-40]).detail
    assert "Excel" in refused(packed({"xl/workbook.xml": b"<a/>"})).detail
