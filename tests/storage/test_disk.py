"""A killed process's folders are found; those of living ones are left alone."""

import errno
import fcntl
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NoReturn

import pytest

from storage import disk
from storage.disk import own_folder, sweep_folders

ROOT = Path(__file__).resolve().parents[2]
HOLDER = """
import sys
from pathlib import Path
from storage.disk import own_folder
with own_folder(Path(sys.argv[1]), "copy-") as folder:
    (folder / "data").write_bytes(b"1" * 1000)
    print(folder, flush=True)
    sys.stdin.read()
"""


def test_a_folder_is_swept_when_its_process_was_killed_and_not_before(tmp_path: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert holder.stdout is not None
        folder = Path(holder.stdout.readline().strip())
        sweep_folders(tmp_path, "copy-")
        assert (folder / "data").exists()
    finally:
        holder.kill()
        holder.communicate()
    assert (folder / "data").exists(), "nobody tidied up"
    sweep_folders(tmp_path, "other-")
    assert (folder / "data").exists()
    sweep_folders(tmp_path, "copy-")
    assert not folder.exists()


def test_a_folder_is_gone_afterwards_unless_it_was_renamed(tmp_path: Path) -> None:
    with own_folder(tmp_path, "copy-"):
        pass
    with own_folder(tmp_path, "copy-") as folder:
        folder.rename(tmp_path / "kept")
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_a_folder_that_was_swept_before_it_was_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, swept = fcntl.flock, []

    def late(descriptor: int, how: int) -> None:
        if not swept:
            swept.append(True)
            sweep_folders(tmp_path, "copy-")
        lock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", late)
    with own_folder(tmp_path, "copy-") as folder:
        assert folder.exists()
    assert swept


def test_where_there_are_no_locks_age_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(*_: Any) -> NoReturn:
        raise OSError("no locks here")

    monkeypatch.setattr(fcntl, "flock", unknown)
    (tmp_path / "copy-young").mkdir()
    (tmp_path / "copy-old").mkdir()
    os.utime(tmp_path / "copy-old", (1e9, 1e9))
    sweep_folders(tmp_path, "copy-")
    assert [path.name for path in tmp_path.iterdir()] == ["copy-young"]


def test_keeping_a_file_takes_no_second_copy_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "source"
    source.write_bytes(b"data")
    disk.link_synced(source, tmp_path / "linked")
    assert (tmp_path / "linked").samefile(source)

    def other_file_system(*_: Path) -> None:
        raise OSError(errno.EXDEV, "another file system")

    monkeypatch.setattr(os, "link", other_file_system)
    disk.link_synced(source, tmp_path / "copied")
    assert (tmp_path / "copied").read_bytes() == b"data"
    assert not (tmp_path / "copied").samefile(source)


def test_folders_with_data_are_their_owners_alone(tmp_path: Path) -> None:
    with disk.folder_beside(tmp_path / "datasets" / "lab") as incoming:
        folders = [tmp_path / "datasets", tmp_path / "datasets" / "lab", incoming]
        assert {folder.stat().st_mode & 0o777 for folder in folders} == {0o700}
