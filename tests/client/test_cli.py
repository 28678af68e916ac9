"""The command: what it prints, and how it ends."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from itoscope_client import Client, Comparison, Model
from itoscope_client.cli.commands import itoscope
from itoscope_client.cli.options import terms_of_sum
from itoscope_client.cli.output import of_result
from tests.acceptance.served import ROOT, Served
from tests.client.documents import normal, result

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


def test_what_is_given_is_marked(served: Served) -> None:
    given = ["--known", "x", "--bounds", "x^3<-1.2", "--measurement-error", "0.01"]
    done = run(served.url, "identify", FILE, *given, "--dynamics", "first-order")
    assert done.exit_code == 0, done.output
    rows = {line.split("  ")[0]: line for line in done.stdout.splitlines()}
    assert re.search(r" 1 +given ", rows["b_x: x"])
    assert re.search(r"−1\.200 .* at its bound ", rows["b_x: x^3"])
    assert "contradict the bounds of the drift x" in done.output


def test_an_uploaded_file_is_read_again_under_another_layout(served: Served) -> None:
    with served.client() as client:
        files = {"file": ("rig.csv", b"position,temperature\n" + b"1,3\n2,5\n4,4\n" * 20)}
        first = client.post("/v1/datasets", files=files).json()
        layout = ["--state-columns", "position", "--dt", "0.5", "--state-unit", "1=nm"]
        layout += ["--state-name", "position=height"]
        done = run(served.url, "read", first["id"], *layout)
        assert done.exit_code == 0, done.output
        assert "60 samples of height" in done.stderr
        report = client.get(f"/v1/datasets/{done.stdout.strip()}").json()["report"]
    assert [(v["column"], v["unit"]) for v in report["variables"]] == [("position", "nm")]
    mixed = run(served.url, "read", first["id"], "--state-unit", "nm", "--state-unit", "1=nm")
    assert "Give one --state-unit for all" in mixed.output
    assert report["dt"]["median"] == 0.5


def test_every_kind_is_started_and_shown_in_words(served: Served) -> None:
    two = ["--over", '{"library": {"polynomial_degree": 3}}', "--over", "{}"]
    model = ["--drift", "x - x^3", "--diffusion", "0.25", "--passage", "-1", "1"]
    for command, shown in (
        (["roll", FILE, "--count", "3", "--share", "0.5"], "3 windows, t = 0 to 300"),
        (["sweep", FILE, *two], "library.polynomial_degree = 3: b_x = "),
        (["generator", *model], "mean time −1.00 → 1.00  41.03"),
        (["plan", *model[:4], "--noise", "0.1"], "To know the relaxation time"),
    ):
        done = run(served.url, *command, "--quiet")
        assert done.exit_code == 0, done.output
        assert shown in done.stdout
        job = run(served.url, "jobs", "--limit", "1").stdout.splitlines()[1].split()
        assert job[3] == ("–" if command[0] in ("generator", "plan") else "double_well.csv")
        again = run(served.url, "result", job[0]).stdout
        assert again.strip()
        assert again.strip() in done.stdout
        assert '{"' not in again
        assert json.loads(run(served.url, "result", job[0], "--json").stdout)["job"] == job[0]
        by_id = run(served.url, "generator", job[0], "--quiet", "--detach")
        assert (by_id.exit_code == 0) == (command[0] == "generator"), by_id.output


def test_groups_are_compared_from_files_and_ids(served: Served, tmp_path: Path) -> None:
    x = np.loadtxt(FILE, delimiter=",", skiprows=1)[:4000, 1]
    for name, part in (("a", x[:2000]), ("b", x[2000:])):
        np.savetxt(tmp_path / f"{name}.csv", part, header="height", comments="")
    groups = ["--group", f"early={tmp_path / 'a.csv'}", "--group", f"late={tmp_path / 'b.csv'}"]
    only = ["--analysis", '{"model_only": true}', "--dt", "0.05", "--quiet"]
    done = run(served.url, "compare", *groups, *only)
    assert done.exit_code == 0, done.output
    assert "The drift does not differ (p = " in done.stdout
    assert "  late: b_height = " in done.stdout
    with served.client() as client:
        job = client.get("/v1/jobs", params={"kind": "comparison"}).json()["items"][0]
    (early,) = job["request"]["groups"]["early"]
    again = run(served.url, "compare", "--group", f"early={early}", *groups[2:], *only, "--json")
    first = Comparison(json.loads(run(served.url, "result", job["id"], "--json").stdout))
    assert Comparison(json.loads(again.stdout)).table == first.table
    assert list(first) == ["early", "late"]
    assert first["late"].equations[0].startswith("b_height = ")
    assert first["late"].source["drift"].keys() == {"height"}
    assert {row["component"] for row in first.table} == {"drift", "diffusion"}
    assert run(served.url, "compare", *only).exit_code == 2


def test_records_of_a_population_may_be_files_and_ids(served: Served, tmp_path: Path) -> None:
    x = np.loadtxt(FILE, delimiter=",", skiprows=1)[:4000, 1]
    files = [str(tmp_path / f"cell-{number}.csv") for number in range(4)]
    for file, part in zip(files, np.split(x, 4), strict=True):
        np.savetxt(file, part, header="height", comments="")
    only = ["--degree", "1", "--dt", "0.05", "--quiet"]
    done = run(served.url, "population", *files, *only)
    assert done.exit_code == 0, done.output
    assert "  4 records" in done.stdout
    with served.client() as client:
        job = client.get("/v1/jobs", params={"kind": "population"}).json()["items"][0]
    ids = job["request"]["datasets"]
    again = run(served.url, "population", ids[0], *files[1:], *only, "--json")
    with Client(served.url) as own:
        named = own.population(
            [ids[0], *files[1:]],
            dt=0.05,
            parameters={"library": {"polynomial_degree": 1}},
            progress=False,
        )
    assert named.records == tuple(f"cell-{number}.csv" for number in range(4))
    assert json.loads(again.stdout)["drift"] == named.document["drift"]
    assert named.relaxation_rate is not None
    assert named.relaxation_rate.pooled.value is not None


def test_a_result_of_another_kind_is_named_and_not_poured_out() -> None:
    shown = of_result({"kind": "mean", "job": "job_x", "means": [0.0] * 10_000})
    assert shown == "a result of the kind mean, with kind, job, means; --json prints it"


def test_a_saved_model_is_drawn_and_simulated(tmp_path: Path) -> None:
    nowhere = "http://127.0.0.1:9"
    document = result({"x": {"x": -1.0}}, {"x,x": {"1": 2.0}}, stationary=normal(0.0, 1.0))
    (tmp_path / "ou.json").write_text(json.dumps(document))
    arguments = ["--steps", "4", "--dt", "0.5", "--paths", "2", "--start", "0.5", "--seed", "1"]
    simulated = run(nowhere, "simulate", str(tmp_path / "ou.json"), *arguments)
    assert simulated.exit_code == 0, simulated.output
    rows = np.genfromtxt(simulated.stdout.splitlines(), delimiter=",", names=True)
    assert rows.dtype.names == ("path", "t", "x")
    _, x = Model(document).simulate(n_steps=4, dt=0.5, n_paths=2, start=0.5, seed=1)
    np.testing.assert_allclose(rows["x"].reshape(2, 5), x)
    np.testing.assert_allclose(rows["t"], [0, 0.5, 1, 1.5, 2] * 2)
    wrong = run(nowhere, "simulate", str(tmp_path / "ou.json"), "--start", "1,2", "--steps", "1")
    assert (wrong.exit_code, "2 numbers; the variables are x" in wrong.stderr) == (1, True)

    picture = tmp_path / "ou.svg"
    drawn = run(nowhere, "plot", str(tmp_path / "ou.json"), "-o", str(picture))
    assert (drawn.exit_code, drawn.stdout) == (0, f"{picture}\n"), drawn.output
    assert "<svg" in picture.read_text()
    missing = run(nowhere, "plot", "nowhere.json")
    assert (missing.exit_code, "neither a file nor the id" in missing.stderr) == (1, True)


def test_a_saved_model_is_exported(tmp_path: Path) -> None:
    nowhere = "http://127.0.0.1:9"
    document = result({"x": {"x": -1.0}}, {"x,x": {"1": 2.0}})
    saved = tmp_path / "ou.json"
    saved.write_text(json.dumps(document))
    for language in ("python", "stan"):
        printed = run(nowhere, "export", str(saved), "--format", language)
        assert (printed.exit_code, printed.stdout) == (0, Model(document).export(language))
    source = tmp_path / "ou.c"
    written = run(nowhere, "export", str(saved), "--format", "c", "-o", str(source))
    assert (written.exit_code, written.stdout) == (0, f"{source}\n")
    assert source.read_text() == Model(document).export("c")
    assert run(nowhere, "export", str(saved), "--format", "fortran").exit_code == 2


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("x - x^3", {"x": 1.0, "x^3": -1.0}),
        ("0.25", {"1": 0.25}),
        ("-2*x*y + .5", {"x*y": -2.0, "1": 0.5}),
        ("1e-3*x + 2e+1", {"x": 1e-3, "1": 20.0}),
        ("2*(x - y) - exp(-x)", {"(x-y)": 2.0, "exp(-x)": -1.0}),
        ("x^-2 + x*-1", {"x^-2": 1.0, "x*-1": 1.0}),
        ("2^x + 3**x", {"2^x": 1.0, "3**x": 1.0}),
        ("x + 2*x", {"x": 3.0}),
        ("--x", {"x": 1.0}),
        ("2*e - e", {"e": 1.0}),
        ("x +", None),
        ("", None),
    ],
)
def test_a_sum_is_split_into_its_terms(text: str, terms: dict[str, float] | None) -> None:
    assert terms_of_sum(text) == terms


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
        (["identify", FILE, "--time-column", "when"], 1, "--time-column names 'when'"),
        (["identify", FILE, "--parameters", "{"], 2, "@FILE"),
        (["identify", FILE, "--label", "x"], 2, "NAME=VALUE"),
        (["identify", FILE, "--parameters", '{"library": {"degree": 3}}'], 1, "library.degree"),
        (["generator"], 2, "give a MODEL, or its terms"),
        (["generator", "--drift", "-x"], 2, "both --drift and --diffusion"),
        (["generator", "--drift", "x -", "--diffusion", "1"], 2, "no sum of terms"),
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
