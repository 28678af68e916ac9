"""openapi.json suffices: generators of clients understand it, and their clients run a job."""

import json
import sys
from pathlib import Path

import pytest

from tests.acceptance.served import Served
from tests.tools_of_node import run

ROOT = Path(__file__).resolve().parents[3]
CLIENT = Path(__file__).with_name("generated_client.py")
OPENAPI = ROOT / "openapi" / "openapi.json"
EXAMPLE = ROOT / "examples" / "double_well.csv"
WAIT = {"Prefer": "wait=60"}

pytestmark = pytest.mark.slow


def terms(said: str) -> dict[str, float]:
    """Terms of the drift by what a client printed."""
    return {name: float(value) for name, value in (line.split() for line in said.splitlines())}


@pytest.fixture(scope="module")
def found(served: Served) -> dict[str, float]:
    """Terms of the drift that the service finds in the example."""
    with served.client() as client, EXAMPLE.open("rb") as file:
        job = {"job": json.dumps({"kind": "identification"})}
        asked = client.post("/v1/jobs", data=job, files={"file": file}, headers=WAIT)
        result = client.get(asked.json()["links"]["result"]).raise_for_status().json()
    return {t["term"]: t["value"] for t in result["model"]["drift"]["x"]["terms"] if t["active"]}


def test_a_python_client_generated_from_the_document_runs_a_job(
    served: Served, found: dict[str, float], tmp_path: Path
) -> None:
    command = (sys.executable, "-m", "openapi_python_client", "generate", "--meta", "none")
    run(*command, "--path", OPENAPI, "--output-path", "generated", folder=tmp_path)
    said = run(sys.executable, CLIENT, served.url, EXAMPLE, folder=tmp_path)
    assert terms(said) == pytest.approx(found, rel=1e-12)


def test_a_typescript_client_generated_from_the_document_runs_a_job(
    served: Served, found: dict[str, float], node: Path
) -> None:
    generate = ("npx", "openapi-typescript", OPENAPI, "--default-non-nullable", "false")
    run(*generate, "-o", "generated.d.ts", folder=node)
    checked = ("--strict", "--skipLibCheck", "--target", "es2022", "--module", "nodenext")
    run("npx", "tsc", *checked, "client.mts", folder=node)
    said = run("node", "client.mjs", served.url, EXAMPLE, folder=node)
    assert terms(said) == pytest.approx(found, rel=1e-12)


def test_spectral_finds_nothing_but_a_fault_that_was_put_in(node: Path) -> None:
    text = OPENAPI.read_text("utf-8")
    twice = text.replace('"operationId": "getJob"', '"operationId": "listJobs"')
    (node / "openapi.json").write_text(text, "utf-8")
    (node / "twice.json").write_text(twice, "utf-8")
    command = ("npx", "spectral", "lint", "openapi.json", "twice.json", "--format", "json")
    found = json.loads(run(*command, "--quiet", folder=node, ends_with=1))
    assert {(Path(one["source"]).name, one["code"]) for one in found} == {
        ("twice.json", "operation-operationId-unique")
    }
