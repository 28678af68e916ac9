"""The README's commands, run, print what the README says they print.

A fenced `console` block holds lines `$ command`, each followed by its output. What differs from run to run (ids, ports, times,
the data folder) is masked on both sides; `…` in the README stands for any text. Commands that cannot be run here belong in an
`sh` block.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from standalone.preflight import free_port
from tests.acceptance.served import Served

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
URL = "http://127.0.0.1:8000"
BLOCK = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
MASKS = (
    (r"\bds_[a-z0-9]{8,}", "ds_#"),
    (r"\bjob_[a-z0-9]{8,}", "job_#"),
    (r"127\.0\.0\.1:\d+", "127.0.0.1:#"),
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?", "#"),
    (r"\b\d+:\d\d:\d\d\b", "#"),
    (r"\b[0-9a-f]{32,64}\b", "#"),
    (r'("seconds": ?)[\d.e-]+', r"\1#"),
    (r"(data: )[^)\n]*", r"\1#"),
    (r"[ \t]+", " "),
)

Example = tuple[str, str]


def examples(text: str) -> list[Example]:
    """Every command of the console blocks with its printed output."""
    found: list[Example] = []
    for block in BLOCK.findall(text):
        commands = re.split(r"^\$ ", re.sub(r"\\\n\s*", "", block), flags=re.MULTILINE)
        assert commands[0] == "", f"a console block starts with a command: {block!r}"
        found += [(command, output) for command, _, output in (part.partition("\n") for part in commands[1:])]
    return found


def masked(text: str) -> str:
    for pattern, replacement in MASKS:
        text = re.sub(pattern, replacement, text)
    return "\n".join(line.strip() for line in text.strip().splitlines())


def says(printed: str, real: str) -> bool:
    """Whether the real output is the printed one, but for what is masked and elided."""
    pattern = r"[\s\S]*?".join(re.escape(part) for part in masked(printed).split("…"))
    return re.fullmatch(pattern, masked(real)) is not None


EXAMPLES = examples(README.read_text()) if README.exists() else []


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """What `sh scripts/serve` starts, on a port and in a folder of its own."""
    running = Served(tmp_path_factory.mktemp("readme") / "data", free_port(), command=("sh", str(ROOT / "scripts" / "serve")))
    try:
        yield running.wait_until_ready()
    finally:
        running.stop()


@pytest.mark.skipif(not README.exists(), reason="there is no README yet")
@pytest.mark.parametrize("command", ["sh scripts/demo", "sh scripts/serve", "sh scripts/test"])
def test_the_readme_shows_the_scripts_and_their_output(command: str) -> None:
    assert any(shown == command and output.strip() for shown, output in EXAMPLES)


@pytest.mark.parametrize(("command", "printed"), EXAMPLES, ids=[command for command, _ in EXAMPLES])
def test_a_command_prints_what_the_readme_says(command: str, printed: str, request: pytest.FixtureRequest) -> None:
    if command == "sh scripts/test":  # it is running now: compare what it announces
        announced = re.findall(r'^check "(.+?)"', (ROOT / "scripts" / "test").read_text(), flags=re.MULTILINE)
        assert re.findall(r"^== (.+)$", printed, flags=re.MULTILINE) == announced
        return
    if command == "sh scripts/serve":
        real = request.getfixturevalue("serving").said[0]
    else:
        if command.startswith("curl") and shutil.which("curl") is None:
            pytest.skip("there is no curl here")
        environment = {**os.environ, "PATH": f"{ROOT / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}", "NO_PROXY": "127.0.0.1"}
        if "examples/" in command or URL in command:
            url = request.getfixturevalue("serving").url
            command = command.replace(URL, url)
            environment["ITOSCOPE_URL"] = url
        done = subprocess.run(command, shell=True, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
        real = done.stdout
    assert says(printed, real), f"the README says\n{printed}\nbut it printed\n{real}"


def test_commands_and_outputs_are_told_apart() -> None:
    text = "```console\n$ sh a \\\n    --b\nout\n$ c\n```\ntext\n```sh\nnot run\n```\n"
    assert examples(text) == [("sh a --b", "out\n"), ("c", "")]


@pytest.mark.parametrize(
    ("printed", "real", "same"),
    [
        ("drift x - x^3", "drift x - x^3", True),
        ("drift x - x^3", "drift x + x^3", False),
        ("value 0.998", "value 0.999", False),
        ("job_aaaaaaaaaa in 0:00:01", "job_bbbbbbbbbb in 0:00:12", True),
        ('{"id": "x", …}', '{"id": "x", "state": "queued"}', True),
        ('{"id": "x", …}', '{"id": "y", "state": "queued"}', False),
        ("one\n…\nthree", "one\ntwo\nmore\nthree", True),
        ("one", "one\ntwo", False),
    ],
)
def test_only_what_varies_may_differ(printed: str, real: str, same: bool) -> None:
    assert says(printed, real) is same
