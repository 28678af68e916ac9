"""Making, listing and revoking API keys."""

import hashlib
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from service.access import __main__ as keys
from service.access import keyring
from service.access.keyring import BadKeyFile

SHA = "0" * 64


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ITOSCOPE_DATA_DIR", str(tmp_path))
    return tmp_path / "api-keys"


@pytest.mark.parametrize(
    "text",
    [
        "lab",
        "lab abc",
        f"Lab {SHA}",
        f"lab {SHA} more",
        f"lab {SHA} read,all",
        f"lab {SHA} read name more",
        f"lab  {SHA}",
    ],
)
def test_a_bad_key_file_is_refused_with_its_line(file: Path, text: str) -> None:
    file.write_text(f"# ours\n\n{text}\n")
    with pytest.raises(BadKeyFile, match="line 3"):
        keyring.KeyRing(file)


def test_a_line_without_scopes_may_read_and_write(file: Path) -> None:
    file.write_text(f"lab {hashlib.sha256(b'key').hexdigest()}\n")
    key = keyring.read(file).holder("key")
    assert key is not None
    assert (key.tenant, key.scopes) == ("lab", {"read", "write"})


def test_new_prints_a_key_and_keeps_only_its_hash(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert keys.main(["new", "--tenant", "lab", "--scope", "read", "--name", "trap-17"]) == 0
    key = capsys.readouterr().out.strip()
    assert file.read_text() == f"lab {hashlib.sha256(key.encode()).hexdigest()} read trap-17\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "odd", [["--tenant", "No Such"], ["--name", "a b"], ["--name", "a\nb"], ["--tenant", ""]]
)
def test_what_would_spoil_the_file_is_refused(file: Path, odd: list[str]) -> None:
    assert keys.main(["new", *odd]) == 2
    assert not file.exists()


def test_a_key_is_listed_and_revoked_by_its_id(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept, doomed = (keyring.add(file, "lab", name=name) for name in ("kept", "doomed"))
    file.write_text("# ours\n" + file.read_text())
    assert keys.main(["list"]) == 0
    listed = {line.split()[-1]: line.split()[0] for line in capsys.readouterr().out.splitlines()}
    assert keys.main(["revoke", listed["doomed"]]) == 0
    known = keyring.read(file)
    assert known.holder(doomed) is None
    assert known.holder(kept) is not None
    assert file.read_text().startswith("# ours\n")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert keys.main(["list"]) == 0
    assert "revoked" in capsys.readouterr().out


def test_a_key_is_revoked_only_where_it_is_clear_which(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keyring.add(file, "lab")
    before = file.read_text()
    for odd in ("", "nonsense", "zz"):
        assert keys.main(["revoke", odd]) == 2
    assert file.read_text() == before
    assert "list" in capsys.readouterr().err


def test_revoking_the_last_key_leaves_the_door_locked(file: Path) -> None:
    key = keyring.add(file, "lab")
    keyring.revoke(file, keyring.read(file).entries[0].id)
    known = keyring.read(file)
    assert known
    assert known.holder(key) is None


def test_ensure_makes_the_first_key_once(file: Path) -> None:
    assert keys.main(["ensure"]) == 0
    place = file.with_name("first-api-key")
    key = place.read_text().strip()
    assert keys.main(["ensure"]) == 0
    assert place.read_text().strip() == key
    holder = keyring.read(file).holder(key)
    assert holder is not None
    assert (holder.tenant, holder.scopes) == ("default", {"read", "write", "admin"})
    assert stat.S_IMODE(place.stat().st_mode) == 0o600


def test_a_key_added_while_others_are_revoked_is_in_force(file: Path) -> None:
    """Each reads the file and then writes it: without a lock, 26 of 400 keys were lost."""
    doomed = [keyring.add(file, "lab") for _ in range(40)]
    ids = [key.id for key in keyring.read(file).entries]
    with ThreadPoolExecutor(2) as pool:
        revoked = pool.submit(lambda: [keyring.revoke(file, key_id) for key_id in ids])
        added = pool.submit(lambda: [keyring.add(file, "lab") for _ in range(200)])
    assert len(revoked.result()) == len(doomed)
    known = keyring.read(file)
    assert [known.holder(key) for key in doomed] == [None] * len(doomed)
    assert None not in [known.holder(key) for key in added.result()]
