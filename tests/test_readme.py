"""The commands and the Python of README, quickstart and how-to pages print what the pages say.

A fenced `console` block holds lines `$ command`, each followed by its output. What differs from run
to run (ids, ports, times, the data folder) is masked on both sides; `…` in the README stands for
any text. Commands that cannot be run here belong in an `sh` block. The `python` blocks of a page
are one script, and its `text` blocks are what that prints.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from standalone.preflight import free_port
from tests.acceptance.served import Served

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
PAGES = [
    README,
    ROOT / "client" / "README.md",
    ROOT / "docs" / "quickstart.md",
    *sorted((ROOT / "docs" / "how-to").glob("*.md")),
]
URL = "http://127.0.0.1:8000"
BLOCK = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
SCRIPT = re.compile(r"^```(python|text)\n(.*?)^```", re.MULTILINE | re.DOTALL)
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
        found += [
            (command, output)
            for command, _, output in (part.partition("\n") for part in commands[1:])
        ]
    return found


def masked(text: str) -> str:
    for pattern, replacement in MASKS:
        text = re.sub(pattern, replacement, text)
    return "\n".join(line.strip() for line in text.strip().splitlines())


def says(printed: str, real: str) -> bool:
    """Whether the real output is the printed one, but for what is masked and elided."""
    pattern = r"[\s\S]*?".join(re.escape(part) for part in masked(printed).split("…"))
    return re.fullmatch(pattern, masked(real)) is not None


def script(text: str) -> Example:
    """The Python of a page, and what it prints."""
    blocks = SCRIPT.findall(text)
    return "".join(block for kind, block in blocks if kind == "python"), "".join(
        block for kind, block in blocks if kind == "text"
    )


EXAMPLES = examples(README.read_text())
COMMANDS = [
    (page, command, printed) for page in PAGES for command, printed in examples(page.read_text())
]
SCRIPTS = [(page, *script(page.read_text())) for page in PAGES if script(page.read_text())[0]]


def environment(serving: Served, folder: Path) -> dict[str, str]:
    """With the client installed, as far as a command can tell."""
    command = folder / "itoscope"
    command.write_text(
        f'#!/bin/sh\nPYTHONPATH="{ROOT / "client"}" exec "{sys.executable}" '
        '-m itoscope_client "$@"\n'
    )
    command.chmod(0o755)
    path = os.pathsep.join([str(folder), str(ROOT / ".venv" / "bin"), os.environ["PATH"]])
    return {
        **os.environ,
        "PATH": path,
        "PYTHONPATH": str(ROOT / "client"),
        "NO_PROXY": "127.0.0.1",
        "ITOSCOPE_URL": serving.url,
    }


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """What `sh scripts/serve` starts, on a port and in a folder of its own."""
    running = Served(
        tmp_path_factory.mktemp("readme") / "data",
        free_port(),
        command=("sh", str(ROOT / "scripts" / "serve")),
    )
    try:
        yield running.wait_until_ready()
    finally:
        running.stop()


@pytest.mark.parametrize("command", ["sh scripts/demo", "sh scripts/serve", "sh scripts/test"])
def test_the_readme_shows_the_scripts_and_their_output(command: str) -> None:
    assert any(shown == command and output.strip() for shown, output in EXAMPLES)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "command", "printed"),
    COMMANDS,
    ids=[f"{page.relative_to(ROOT)}: {command}" for page, command, _ in COMMANDS],
)
def test_a_command_prints_what_the_page_says(
    page: Path, command: str, printed: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    if command == "sh scripts/test":  # it is running now: compare what it announces
        announced = re.findall(
            r'^ *check "(.+?)"', (ROOT / "scripts" / "test").read_text(), flags=re.MULTILINE
        )
        assert set(re.findall(r"^== (.+)$", printed, flags=re.MULTILINE)) == set(announced)
        return
    if command == "sh scripts/serve":
        real = request.getfixturevalue("serving").said[0]
    else:
        if command.startswith("curl") and shutil.which("curl") is None:
            pytest.skip("there is no curl here")
        temporary = tmp_path / "temporary files"
        temporary.mkdir()
        if "scripts/demo" in command:
            surroundings = {**os.environ, "TMPDIR": str(temporary)}
        else:
            serving = request.getfixturevalue("serving")
            command = command.replace(URL, serving.url)
            surroundings = environment(serving, tmp_path)
        done = subprocess.run(
            command,
            shell=True,
            cwd=ROOT,
            env=surroundings,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        # The demonstration makes its folder there.
        assert list(temporary.iterdir()) == []
        real = done.stdout
    assert says(printed, real), f"{page.name} says\n{printed}\nbut it printed\n{real}"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "code", "printed"), SCRIPTS, ids=[str(page.relative_to(ROOT)) for page, *_ in SCRIPTS]
)
def test_the_python_of_a_page_prints_what_it_says(
    page: Path, code: str, printed: str, serving: Served, tmp_path: Path
) -> None:
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=environment(serving, tmp_path),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert says(printed, done.stdout), f"{page.name} says\n{printed}\nbut it printed\n{done.stdout}"


@pytest.mark.parametrize(
    "page",
    [README, ROOT / "client" / "README.md", *sorted((ROOT / "docs").rglob("*.md"))],
    ids=lambda p: p.name,
)
def test_every_link_to_a_file_leads_somewhere(page: Path) -> None:
    targets = [
        target.partition("#")[0] for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text())
    ]
    missing = [t for t in targets if t and "://" not in t and not (page.parent / t).exists()]
    assert not missing


def test_commands_and_outputs_are_told_apart() -> None:
    text = "```console\n$ sh a \\\n    --b\nout\n$ c\n```\ntext\n```sh\nnot run\n```\n"
    assert examples(text) == [("sh a --b", "out\n"), ("c", "")]


@pytest.mark.slow
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
