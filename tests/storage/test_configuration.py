"""Settings from variables and from files."""

import os
from pathlib import Path

import pytest

from service.settings import ServiceSettings
from standalone.serve import StandaloneSettings
from storage.configuration import NAMES, BadSettings, Settings, read
from worker.queue.settings import WorkerSettings

KINDS = (ServiceSettings, WorkerSettings, StandaloneSettings)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of secrets of a process that has no other setting."""
    for name in os.environ:
        if name.startswith("ITOSCOPE_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("ITOSCOPE_SECRETS_DIR", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_is_a_setting(kind: type[ServiceSettings], folder: Path) -> None:
    (folder / "itoscope_redis_url").write_text("redis://itoscope:hush@redis/0\n")
    assert read(kind).redis_url == "redis://itoscope:hush@redis/0"


def test_a_file_that_is_a_link_within_the_folder_counts(folder: Path) -> None:
    # As Kubernetes mounts secrets.
    (folder / "..data").mkdir()
    (folder / "..data" / "itoscope_redis_url").write_text("redis://redis/0")
    (folder / "itoscope_redis_url").symlink_to("..data/itoscope_redis_url")
    assert read(WorkerSettings).redis_url == "redis://redis/0"


def test_a_variable_counts_more_than_a_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "itoscope_redis_url").write_text("redis://one/0")
    monkeypatch.setenv("ITOSCOPE_REDIS_URL", "redis://other/0")
    assert read(ServiceSettings).redis_url == "redis://other/0"


def test_a_file_without_our_prefix_is_none(folder: Path) -> None:
    (folder / "redis_url").write_text("redis://redis/0")
    assert read(ServiceSettings).redis_url == "redis://127.0.0.1:6379/0"


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_that_is_none_is_refused(
    kind: type[Settings], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ITOSCOPE_SECRETS_DIR", str(folder / "forgotten"))
    with pytest.raises(BadSettings, match="ITOSCOPE_SECRETS_DIR"):
        read(kind)


def test_a_file_that_cannot_be_read_is_refused(folder: Path) -> None:
    (folder / "itoscope_redis_url").write_bytes(b"\xff\xfe")
    with pytest.raises(BadSettings, match="ITOSCOPE_SECRETS_DIR"):
        read(ServiceSettings)


def test_a_refusal_names_the_setting_and_keeps_its_value_to_itself(folder: Path) -> None:
    (folder / "itoscope_lease_seconds").write_text("hush")
    with pytest.raises(BadSettings, match="ITOSCOPE_LEASE_SECONDS") as refusal:
        read(WorkerSettings)
    assert "hush" not in str(refusal.value)


def test_every_setting_of_every_process_is_known() -> None:
    assert {name for kind in KINDS for name in kind.model_fields} == NAMES


@pytest.mark.parametrize("kind", KINDS)
def test_a_misspelt_setting_is_refused_with_the_one_that_was_meant(
    kind: type[Settings], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ITOSCOPE_PROT", "8001")
    with pytest.raises(BadSettings, match=r"ITOSCOPE_PROT: .*mean ITOSCOPE_PORT\?"):
        read(kind)
    monkeypatch.delenv("ITOSCOPE_PROT")
    (folder / "itoscope_redis_urls").touch()
    with pytest.raises(BadSettings, match=r"itoscope_redis_urls: .*ITOSCOPE_REDIS_URL"):
        read(kind)
