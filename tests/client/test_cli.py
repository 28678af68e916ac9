"""The command: what it prints, and how it ends."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from itoscope_client.cli.commands import itoscope
from tests.acceptance.served import ROOT, Served

FILE = str(ROOT / "examples" / "double_well.csv")


def run(url: str, *arguments: str) -> Result:
    return CliRunner().invoke(
        itoscope, [*arguments], env={"ITOSCOPE_URL": url, "ITOSCOPE_API_KEY": ""}
    )


def test_a_file_is_identified_watched_listed_and_kept(served: Served, tmp_path: Path) -> None:
    done = run(
        served.url,
        "identify",
        FILE,
        "--passage",
        "-1",
        "1",
        "--label",
        "n=7",
        "-o",
        str(tmp_path / "r.json"),
    )
    assert done.exit_code == 0, done.output
    for shown in (
        "6001 samples of x",
        "b_x = ",
        "x^3",
        "relaxation time",
        "mean time −1.00 → 1.00",
        "Kramers",
    ):
        assert shown in done.stdout
    job = json.loads((tmp_path / "r.json").read_text())["job"]
    assert job in run(served.url, "jobs", "--label", "n=7", "--state", "succeeded").stdout
    assert json.loads(run(served.url, "result", job, "--json").stdout)["job"] == job
    assert "x^3" in run(served.url, "watch", job).stdout
    assert run(served.url, "cancel", job).stdout == f"{job} is succeeded\n"


def test_a_detached_job_is_only_its_id(served: Served) -> None:
    done = run(served.url, "identify", FILE, "--detach")
    assert done.exit_code == 0
    assert done.stdout.startswith("job_")
    assert len(done.stdout.split()) == 1
    assert "itoscope watch job_" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["identify", "nowhere.csv"], 1, "nowhere.csv"),
        (["identify", FILE, "--time-column", "when"], 1, "time_column names 'when'"),
        (["identify", FILE, "--parameters", "{"], 2, "@FILE"),
        (["identify", FILE, "--label", "x"], 2, "NAME=VALUE"),
        (["watch", "job_0000000000"], 1, "There is no such job"),
        (["identify"], 2, "FILE"),
    ],
)
def test_what_is_wrong_is_said_with_its_status(
    served: Served, arguments: list[str], status: int, said: str
) -> None:
    done = run(served.url, *arguments)
    assert (done.exit_code, said in done.stderr) == (status, True), done.stderr
    assert "Traceback" not in done.output


def test_a_failed_job_and_a_silent_service_have_their_own_status(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "short.csv").write_text("t,x\n0,0\n1,0.3\n2,-0.1\n3,0.2\n")
    failed = run(served.url, "identify", str(tmp_path / "short.csv"))
    assert failed.exit_code == 3
    assert "too-few-samples" in failed.stderr
    as_json = run(served.url, "identify", str(tmp_path / "short.csv"), "--json")
    assert json.loads(as_json.stderr)["code"] == "too-few-samples"
    monkeypatch.setattr("itoscope_client.flows.Retries.pause", lambda *_: None)
    assert run("http://127.0.0.1:9", "jobs").exit_code == 6


@pytest.mark.parametrize("command", [[], *([name] for name in itoscope.commands)])
def test_every_help_has_an_example_and_the_statuses(command: list[str]) -> None:
    text = CliRunner().invoke(itoscope, [*command, "--help"]).stdout
    assert "Example" in text
    assert "Exit status" in text
    assert "--key" not in text


def test_the_key_is_no_argument() -> None:
    for command in itoscope.commands.values():
        assert not any("key" in option for parameter in command.params for option in parameter.opts)


@pytest.mark.slow
def test_without_click_it_is_said_how_to_get_it() -> None:
    code = "import sys; sys.modules['click'] = None; from itoscope_client.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT / "client", capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "pip install 'itoscope-client[cli]'" in done.stderr


def test_a_report_is_one_file(served: Served, tmp_path: Path) -> None:
    job = run(served.url, "identify", FILE, "--detach").stdout.strip()
    assert run(served.url, "watch", job).exit_code == 0
    done = run(served.url, "report", job, "-o", str(tmp_path / "report.html"))
    if "not-found" in done.stderr:
        pytest.skip("this service has no reports yet")
    assert done.exit_code == 0, done.stderr
    assert (tmp_path / "report.html").read_text().lstrip().lower().startswith("<!doctype html>")
