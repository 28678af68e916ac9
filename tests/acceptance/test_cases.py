"""The public troubles and their right answers, scored by their own script against the running
service."""

import os
import subprocess
import sys

import pytest

from tests.acceptance.served import ROOT, Served

SCORE = ROOT / ".." / "shared" / "cases" / "run_cases.py"

FEW = (
    "fmt_decimal_comma",
    "fmt_wide_rows_nan",
    "fmt_iso_datetime_dst",
    "ts_nan_gaps",
    "dt_coarse_doublewell",
    "scale_offset_1e6",
    "degen_constant",
    "rw_brownian",
    "underdamped_with_velocity",
    "bounded_jacobi",
    "kramers_symmetric",
    "model_seed_doublewell",
    "model_unstable",
)
"""One or two of each kind."""

ANSWERED = {"underdamped_position"}
"""Records for which no answer of first order is right: they have one of second order now.

docs/decisions/0020 says why.
"""

pytestmark = pytest.mark.skipif(
    not SCORE.is_file(), reason="the public cases (../shared/cases) are not here"
)


def verdicts(served: Served, *arguments: str) -> tuple[dict[str, bool], str]:
    """Right or wrong by case, and all that the script said."""
    done = subprocess.run(
        [sys.executable, str(SCORE), served.url, *arguments],
        env={**os.environ, "NO_PROXY": "127.0.0.1"},
        capture_output=True,
        text=True,
        timeout=900,
    )
    lines = [line.split() for line in done.stdout.splitlines()]
    said = {
        words[1]: words[0] == "right" for words in lines if words and words[0] in ("right", "WRONG")
    }
    return said, done.stdout + done.stderr


def test_a_few_cases_of_each_kind_are_answered_right(served: Served) -> None:
    said, output = verdicts(served, "--only", ",".join(FEW))
    assert said == dict.fromkeys(FEW, True), output


@pytest.mark.skipif(
    os.environ.get("ALL_CASES") != "1",
    reason="all cases take minutes: set ALL_CASES=1",
)
def test_all_cases_are_answered_right(served: Served) -> None:
    said, output = verdicts(served)
    assert len(said) >= 49
    assert {case for case, right in said.items() if not right} == ANSWERED, output
