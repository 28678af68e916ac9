"""The examples, against a running installation."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.acceptance.served import ROOT, Served

EXAMPLES = ROOT / "examples"


def identify(served: Served, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(EXAMPLES / "identify.py"), *arguments, "--url", served.url]
    return subprocess.run(command, env={"NO_PROXY": "127.0.0.1"}, capture_output=True, text=True, timeout=120)


def test_identify_prints_the_double_well_with_its_times(served: Served) -> None:
    done = identify(served, str(EXAMPLES / "double_well.csv"))
    assert done.returncode == 0, done.stderr
    for expected in ("x^3", "std. error", "relaxation time", "escape time", "Kramers", "stationary variance"):
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
    done = subprocess.run(["sh", str(EXAMPLES / "upload.sh")], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    assert '"id":"job_' in done.stdout.replace(" ", "")
