"""The scripts that set up: POSIX sh, and nothing but Python."""

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# A virtual environment whose Python does what a stand-in says: pip succeeds, fails, or is
# interrupted.
STAND_IN = """#!/bin/sh
case "$*" in
  *"pip install"*) echo "$@" >> {calls}; {pip} ;;
esac
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with the scripts and locks only, in a folder with spaces."""
    root = tmp_path / "a checkout"
    (root / "scripts").mkdir(parents=True)
    shutil.copy(ROOT / "scripts" / "install", root / "scripts" / "install")
    (root / "requirements.lock").write_text("runtime==1\n")
    (root / "requirements-dev.lock").write_text("runtime==1\ntool==1\n")
    return root


def set_up(root: Path, pip: str = "exit 0") -> None:
    python = root / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True, exist_ok=True)
    python.write_text(STAND_IN.format(calls=f"'{root}/calls'", pip=pip))
    python.chmod(0o755)


def install(
    root: Path, *arguments: str, path: str | None = None
) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **({} if path is None else {"PATH": path})}
    return subprocess.run(
        ["/bin/sh", str(root / "scripts" / "install"), *arguments],
        cwd="/",
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )


def calls(root: Path) -> list[str]:
    return (root / "calls").read_text().splitlines() if (root / "calls").exists() else []


def test_dependencies_are_installed_with_hashes_and_only_once(checkout: Path) -> None:
    set_up(checkout)
    assert install(checkout).returncode == 0
    started = time.monotonic()
    second = install(checkout)
    assert time.monotonic() - started < 0.2
    assert (second.returncode, second.stdout, second.stderr) == (0, "", "")
    [call] = calls(checkout)
    assert "--require-hashes" in call
    assert call.endswith("/requirements.lock")


def test_a_changed_lock_is_installed_again(checkout: Path) -> None:
    set_up(checkout)
    install(checkout)
    (checkout / "requirements.lock").write_text("runtime==2\n")
    install(checkout)
    assert len(calls(checkout)) == 2


def test_the_development_lock_serves_to_run_as_well_but_not_the_other_way_round(
    checkout: Path,
) -> None:
    set_up(checkout)
    install(checkout)
    install(checkout, "dev")
    install(checkout)
    install(checkout, "dev")
    assert [call.rpartition("/")[2] for call in calls(checkout)] == [
        "requirements.lock",
        "requirements-dev.lock",
    ]


@pytest.mark.parametrize(
    "end", ["exit 1", "kill -9 $PPID; exit 1", "kill -INT $PPID; sleep 0.1; exit 1"]
)
def test_an_installation_that_did_not_finish_is_done_again(checkout: Path, end: str) -> None:
    set_up(checkout, pip=end)
    assert install(checkout).returncode != 0
    set_up(checkout)
    assert install(checkout).returncode == 0
    assert len(calls(checkout)) == 2


def test_an_upgrade_that_did_not_finish_leaves_no_stamp_of_the_old_one(checkout: Path) -> None:
    set_up(checkout)
    install(checkout)
    old = (checkout / "requirements.lock").read_text()
    (checkout / "requirements.lock").write_text("runtime==2\n")
    set_up(checkout, pip="exit 1")
    install(checkout)
    (checkout / "requirements.lock").write_text(old)
    set_up(checkout)
    install(checkout)
    assert len(calls(checkout)) == 3


def tools_only(folder: Path, **programs: str) -> str:
    """A PATH with what a POSIX system has, no Python, and the given programs."""
    folder.mkdir()
    for name in ("dirname", "cmp", "rm", "cp", "mv", "sh"):
        (folder / name).symlink_to(str(shutil.which(name)))
    for name, script in programs.items():
        (folder / name).write_text("#!/bin/sh\n" + script)
        (folder / name).chmod(0o755)
    return str(folder)


def test_a_machine_without_python_is_told_so_in_one_line(checkout: Path, tmp_path: Path) -> None:
    done = install(checkout, path=tools_only(tmp_path / "bin", python3="exit 1"))
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "Python 3.11" in done.stderr


def test_a_python_without_venv_is_told_so_in_one_line(checkout: Path, tmp_path: Path) -> None:
    script = 'case "$2" in *venv*) exit 1;; esac\n'
    done = install(checkout, path=tools_only(tmp_path / "bin", python3=script))
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "venv" in done.stderr


def test_a_later_name_is_tried_where_the_first_python_is_too_old(
    checkout: Path, tmp_path: Path
) -> None:
    makes_venv = f"""case "$*" in
*"-m venv"*) mkdir -p '{checkout}/.venv/bin'; cp "$0" '{checkout}/.venv/bin/python';;
*"pip install"*) echo "$@" >> '{checkout}/calls';;
esac
"""
    path = tools_only(tmp_path / "bin", python3="exit 1", **{"python3.12": makes_venv})
    (tmp_path / "bin" / "mkdir").symlink_to(str(shutil.which("mkdir")))
    done = install(checkout, path=path)
    assert done.returncode == 0, done.stderr
    assert len(calls(checkout)) == 1


@pytest.mark.parametrize("script", ["install", "serve", "demo", "test"])
def test_scripts_are_plain_posix_shell(script: str) -> None:
    shell = shutil.which("dash") or "/bin/sh"
    subprocess.run([shell, "-n", str(ROOT / "scripts" / script)], check=True, timeout=10)
