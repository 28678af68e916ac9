"""The two locks: the runtime lock suffices to run, and the development lock adds to it."""

import re
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PROCESSES = {
    "service": "service.__main__, service.readers.__main__, uvicorn.protocols.http.h11_impl, "
    "kombu.transport.redis",
    "readers": "scipy.io, pyarrow.parquet, pyarrow.feather",
    "worker": "worker.queue.app, worker.jobs.kinds, celery.worker, celery.concurrency.prefork, "
    "kombu.transport.redis",
    "standalone": "standalone.__main__, httpx, rich.progress, rich.table",
}
"""What each process imports, at its start or when it is first asked to work."""

IMPORT_WITHOUT = """
import importlib, sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in hidden:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

hidden, wanted = (argument.split() for argument in sys.argv[1:])
sys.meta_path.insert(0, Missing())
for name in wanted:
    importlib.import_module(name)
"""


def pins(name: str) -> dict[str, set[str]]:
    """The pinned versions (by marker) of each distribution in a lock."""
    found: dict[str, set[str]] = {}
    for distribution, pin in re.findall(
        r"^([A-Za-z0-9_.-]+)(==[^\\\n]+)", (ROOT / name).read_text(), flags=re.MULTILINE
    ):
        found.setdefault(normal(distribution), set()).add(pin.strip())
    return found


def normal(distribution: str) -> str:
    return re.sub(r"[-_.]+", "-", distribution).lower()


@pytest.mark.slow
@pytest.mark.parametrize("process", PROCESSES)
def test_a_process_needs_only_what_the_runtime_lock_installs(process: str) -> None:
    # The development tools are installed here; what only they bring is missing elsewhere.
    locked = pins("requirements.lock").keys()
    hidden = [
        module
        for module, owners in packages_distributions().items()
        if not {normal(owner) for owner in owners} & locked
    ]
    assert "pytest" in hidden
    command = [
        sys.executable,
        "-c",
        IMPORT_WITHOUT,
        " ".join(hidden),
        PROCESSES[process].replace(",", ""),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_the_development_lock_pins_all_that_the_runtime_lock_pins() -> None:
    runtime, development = pins("requirements.lock"), pins("requirements-dev.lock")
    assert len(runtime) > 30
    assert {name: development.get(name) for name in runtime} == runtime


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-dev.lock"])
def test_a_lock_names_no_host_and_gives_hashes(lock: str) -> None:
    text = (ROOT / lock).read_text()
    assert "://" not in text
    assert text.count("--hash=sha256:") > text.count("==")
