"""The examples, against a running installation."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from scipy.signal import lfilter

from tests.acceptance.served import ROOT, Served

EXAMPLES = ROOT / "examples"


def identify(served: Served, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(EXAMPLES / "identify.py"), *arguments, "--url", served.url]
    return subprocess.run(
        command, env={"NO_PROXY": "127.0.0.1"}, capture_output=True, text=True, timeout=120
    )


def test_identify_prints_the_double_well_with_its_times(served: Served) -> None:
    done = identify(served, str(EXAMPLES / "double_well.csv"))
    assert done.returncode == 0, done.stderr
    for expected in (
        "x^3",
        "std. error",
        "relaxation time",
        "escape time",
        "Kramers",
        "stationary variance",
    ):
        assert expected in done.stdout
    drift = next(line for line in done.stdout.splitlines() if "b(x) =" in line)
    assert "x^2" not in drift


def test_identify_says_what_is_wrong_with_a_file_and_fails(served: Served, tmp_path: Path) -> None:
    (tmp_path / "slip.csv").write_text("t,x\n0,1.0\n1,1.5\n2,1.2\n3,oops\n4,1.1\n")
    done = identify(served, str(tmp_path / "slip.csv"))
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "oops" in done.stderr


def test_identify_says_which_file_is_missing(served: Served) -> None:
    done = identify(served, "nowhere.csv")
    assert done.returncode == 1
    assert "nowhere.csv" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl here")
def test_one_curl_sends_data_and_job_and_gets_the_job_back(served: Served) -> None:
    environment = {"ITOSCOPE_URL": served.url, "PATH": "/usr/bin:/bin", "NO_PROXY": "127.0.0.1"}
    done = subprocess.run(
        ["sh", str(EXAMPLES / "upload.sh")],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert '"id":"job_' in done.stdout.replace(" ", "")


def run(served: Served, *command: str, seconds: float = 120) -> str:
    """What a command prints, which has to succeed."""
    environment = {
        "PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"),
        "ITOSCOPE_URL": served.url, "NO_PROXY": "127.0.0.1", "PYTHONPATH": str(ROOT / "client"),
    }  # fmt: skip
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=seconds
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_script_with_the_client_prints_the_model(served: Served) -> None:
    printed = run(served, sys.executable, "examples/with_client.py")
    assert "b_x: x^3" in printed
    assert re.search(r"mean time from -1 to 1: 3\d(\.\d)? \(", printed)
    found, wrong = printed.split("degree 2 at most")
    assert found.count(": like the record") == 2
    assert re.search(r"between the wells: record 14, 95 % .*: UNLIKE THE RECORD", wrong)


def bare(served: Served, example: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run an example by a Python that has only its standard library."""
    return subprocess.run(
        [sys.executable, "-I", "-S", str(EXAMPLES / example), *arguments],
        env={"ITOSCOPE_URL": served.url, "NO_PROXY": "127.0.0.1"},
        cwd="/", capture_output=True, text=True, timeout=120,
    )  # fmt: skip


@pytest.mark.parametrize("wells", [1, 2])
def test_a_poll_needs_nothing_but_python(served: Served, tmp_path: Path, wells: int) -> None:
    file = EXAMPLES / "double_well.csv"
    if wells == 1:  # from which there is nowhere to go
        kicks = np.random.default_rng(0).normal(scale=0.05, size=4000)
        path = lfilter([1.0], [1.0, -0.95], kicks)
        file = tmp_path / "one well.csv"
        np.savetxt(file, np.column_stack([0.05 * np.arange(4000), path]), header="t,x",
                   delimiter=",", comments="")  # fmt: skip
    done = bare(served, "poll.py", str(file))
    assert done.returncode == 0, done.stdout + done.stderr
    assert '"term": "x"' in done.stdout
    assert ("escape time null" in done.stdout) == (wells == 1)


def test_a_poll_says_what_is_wrong(served: Served, tmp_path: Path) -> None:
    (tmp_path / "slip.csv").write_text("t,x\n0,1.0\n1,1.5\n2,1.2\n3,oops\n4,1.1\n")
    for arguments, said in (
        ([], "examples/poll.py examples/double_well.csv"),
        (["/nowhere.csv"], "no file /nowhere.csv"),
        ([str(tmp_path / "slip.csv")], "oops"),
    ):
        done = bare(served, "poll.py", *arguments)
        assert (done.returncode, said in done.stderr) == (1, True), done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.name)
def test_every_example_runs_or_says_what_it_needs(served: Served, path: Path) -> None:
    done = bare(served, path.name)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert path.name == "poll.py" or re.search(r"No module named .*\n  .*venv", done.stderr)


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl here")
def test_the_pipeline_waits_and_prints_the_result(served: Served) -> None:
    result = json.loads(run(served, "sh", "examples/pipeline.sh", "examples/double_well.csv"))
    assert result["model"]["drift"]["x"]["expression"].endswith("*x^3")


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl here")
def test_the_pipeline_fails_where_the_job_does(served: Served, tmp_path: Path) -> None:
    (tmp_path / "short.csv").write_text(
        "t,x\n" + "".join(f"{n},{(-1) ** n * 0.1 * n}\n" for n in range(4))
    )
    environment = {"PATH": os.environ["PATH"], "ITOSCOPE_URL": served.url, "NO_PROXY": "127.0.0.1"}
    command = ["sh", str(EXAMPLES / "pipeline.sh"), str(tmp_path / "short.csv")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode != 0
    assert "too-few-samples" in done.stdout + done.stderr


def test_the_notebook_runs_and_shows_the_model(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    monkeypatch.setenv("ITOSCOPE_URL", served.url)
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "client"))
    notebook = nbformat.read(EXAMPLES / "double_well.ipynb", as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), (
        "outputs are not kept in the repository"
    )
    nbclient.NotebookClient(
        notebook, timeout=120, resources={"metadata": {"path": str(EXAMPLES)}}
    ).execute()
    shown = json.dumps([cell.get("outputs") for cell in notebook.cells])
    assert "x<sup>3</sup>" in shown
    assert shown.count("image/png") == 4
    # Only the model that has one well is unlike the record, and only in its transitions.
    unlike = r"(variance|transitions|increment): record [^:]*: UNLIKE THE RECORD"
    assert re.findall(unlike, shown) == ["transitions"]


@pytest.mark.parametrize(
    ("program", "script", "needs"),
    [
        ("Rscript", "identify.R", ["-e", "library(httr2)"]),
        ("julia", "identify.jl", ["-e", "using HTTP, JSON"]),
    ],
)
def test_the_snippets_of_other_languages_print_the_model(
    served: Served, program: str, script: str, needs: list[str]
) -> None:
    if (
        shutil.which(program) is None
        or subprocess.run([program, *needs], capture_output=True, timeout=120).returncode
    ):
        pytest.skip(f"{program} with its packages is not here")
    assert "x^3" in run(
        served, program, f"examples/{script}", "examples/double_well.csv", seconds=300
    )


OPENAPI: dict[str, Any] = json.loads((ROOT / "openapi" / "openapi.json").read_text())


@pytest.mark.parametrize("script", ["identify.R", "identify.jl"])
def test_what_the_snippets_send_is_in_the_interface(client: httpx.Client, script: str) -> None:
    """Where the languages are not installed: addresses, parts, headers and fields are in
    openapi.json, and the job is valid."""
    text = (EXAMPLES / script).read_text()
    addresses = {re.sub(r"/?\{?job_id\}?", "", path).rstrip("/") for path in OPENAPI["paths"]}
    named = {address.rstrip("/") for address in re.findall(r'"(/v1/[a-z/]*)"', text)}
    assert named
    assert named <= addresses
    assert '"/result"' in text
    assert "/v1/jobs/{job_id}/result" in OPENAPI["paths"]
    form = OPENAPI["paths"]["/v1/jobs"]["post"]["requestBody"]["content"]["multipart/form-data"][
        "schema"
    ]["properties"]
    assert {"file", "job"} <= set(form)
    assert all(re.search(rf"\b{part}\b", text) for part in ("file", "job"))
    headers = {
        parameter["name"]
        for parameter in OPENAPI["paths"]["/v1/jobs"]["post"]["parameters"]
        if parameter["in"] == "header"
    }
    assert {"Prefer", "Idempotency-Key"} <= headers
    [job] = {found.replace("\\", "") for found in re.findall(r"\{\\?\"kind.*?\}", text)}
    assert client.post(
        "/v1/jobs/validate",
        json={**json.loads(job), "data": {"dt": 1.0, "trajectories": [[0, 1, 0, 2, 1]]}},
    ).is_success
    result = OPENAPI["components"]["schemas"]["IdentificationResult"]["properties"]
    assert {"model", "generator"} <= set(result)
    assert "relaxation_times" in OPENAPI["components"]["schemas"]["Spectrum"]["properties"]
