"""What must hold before anything is started."""

import os
import socket
from pathlib import Path

import pytest

from standalone.errors import CannotStart
from standalone.preflight import free_port, require_folder, require_port, sole_user


def test_a_free_port_can_be_listened_on() -> None:
    require_port("127.0.0.1", free_port())


def test_a_taken_port_is_named() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(CannotStart, match=rf"port {port} is taken.*ITOSCOPE_PORT"):
            require_port("127.0.0.1", port)


def test_an_address_of_another_machine_is_refused() -> None:
    with pytest.raises(CannotStart, match=r"cannot listen on 192\.0\.2\.1"):
        require_port("192.0.2.1", free_port())


def test_a_missing_folder_is_made_with_its_parents(tmp_path: Path) -> None:
    require_folder(tmp_path / "a b" / "c")
    assert (tmp_path / "a b" / "c").is_dir()


def test_a_folder_below_a_file_is_refused_with_its_name(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(
        CannotStart, match=r"cannot write to the data folder .*file/data.*ITOSCOPE_DATA_DIR"
    ):
        require_folder(tmp_path / "file" / "data")


@pytest.mark.skipif(
    not Path("/proc/self").exists(), reason="needs a folder that not even root can write to"
)
def test_a_folder_where_no_file_can_be_made_is_refused_even_to_root() -> None:
    with pytest.raises(CannotStart, match="cannot write to the data folder /proc/self"):
        require_folder(Path("/proc/self"))


def test_a_data_folder_has_one_user_who_is_named_to_the_second(tmp_path: Path) -> None:
    with (
        sole_user(tmp_path),
        pytest.raises(CannotStart, match=rf"in use by another Itoscope \(process {os.getpid()}\)"),
        sole_user(tmp_path, patience=0.1),
    ):
        pass


def test_a_data_folder_can_be_used_again_after_its_user_ended(tmp_path: Path) -> None:
    for _ in range(2):
        with sole_user(tmp_path, patience=0.0):
            assert (tmp_path / "lock").read_text() == str(os.getpid())
