"""What the client asks is what the interface has."""

import json
import re
from typing import Any

import pytest

from itoscope_client import calls
from itoscope_client.calls import Call
from itoscope_client.inputs import Upload
from tests.acceptance.served import ROOT

OPENAPI: dict[str, Any] = json.loads((ROOT / "openapi" / "openapi.json").read_text())
CALLS = [
    calls.create_dataset(
        Upload(b"t,x\n", "text/csv", "naïve.csv", {"dt": 0.1, "state_columns": ["x", "y"]})
    ),
    calls.get_dataset("ds_x"), calls.list_datasets(5, "c"), calls.delete_dataset("ds_x"),
    calls.create_job({"kind": "generator"}, "key", 5), calls.validate_job({"kind": "generator"}),
    calls.get_job("job_x", 5),
    calls.list_jobs(5, None, {"state": "queued", "kind": "generator", "dataset": "ds_x"}, {}),
    calls.get_result("job_x"), calls.get_report("job_x"),
    calls.cancel_job("job_x"), calls.delete_job("job_x"),
]  # fmt: skip


@pytest.mark.parametrize("call", CALLS, ids=[f"{call.method} {call.path}" for call in CALLS])
def test_every_call_is_an_operation_with_these_parameters(call: Call) -> None:
    path = re.sub(r"job_x", "{job_id}", re.sub(r"ds_x", "{dataset_id}", call.path))
    if path.endswith("/report") and path not in OPENAPI["paths"]:
        pytest.skip("this service has no reports yet")
    operation = OPENAPI["paths"][path][call.method.lower()]
    known = {parameter["name"] for parameter in operation.get("parameters", ())}
    assert set(call.params) <= known
    assert {"Idempotency-Key", "Prefer"} & set(call.headers) <= known


def test_only_a_job_without_its_key_must_not_be_sent_again() -> None:
    assert all(call.repeatable for call in CALLS)
    assert not calls.create_job({"kind": "generator"}, None).repeatable


def test_ids_cannot_lead_elsewhere() -> None:
    assert calls.get_job("../datasets?x=1").path == "/v1/jobs/..%2Fdatasets%3Fx%3D1"
    assert calls.get_result("a/b").path == "/v1/jobs/a%2Fb/result"


def test_a_name_that_is_not_ascii_survives_as_a_header() -> None:
    assert CALLS[0].headers["Content-Disposition"] == "attachment; filename*=UTF-8''na%C3%AFve.csv"
