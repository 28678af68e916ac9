"""Every operation shows what is sent and what comes back, and both are so: each example is sent,
and held to its schema."""

import io
import json
import shutil
from typing import Any

import jsonschema
import numpy as np
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from contract.comparison import GROUPS
from contract.datasets import Dataset
from contract.jobs import IdentificationJob
from contract.kinds import KINDS
from service.openapi import __main__, examples
from storage.stores import BatchedJob

# `test_openapi.py` sees that it is the application's own.
DOCUMENT: dict[str, Any] = json.loads((__main__.FOLDER / "openapi.json").read_text("utf-8"))
OPERATIONS = [
    (method, path, operation)
    for path, item in DOCUMENT["paths"].items()
    for method, operation in item.items()
]
TELLING = ("application/json", "application/schema+json", "text/event-stream", "text/plain")
"""Kinds of answers of which an example says something."""


def name(operation: tuple[str, str, Any]) -> str:
    return f"{operation[0]} {operation[1]}"


@pytest.fixture
def furnished(service: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A service that has the example's dataset, and its job with the result."""
    folder = service.settings.data_dir / "example"
    folder.mkdir()
    states = np.array([[0.13], [0.17], [0.22], [0.18]])
    np.save(folder / "states.npy", states)
    np.save(folder / "times.npy", 0.01 * np.arange(4.0))
    np.save(folder / "segments.npy", np.array([[0, 4, 0]]))
    (folder / "original").write_text(examples.CSV)
    dataset = Dataset.model_validate(example("get", "/v1/datasets/{dataset_id}", "200"))
    for ids in GROUPS.values():
        other = folder.parent / ids[0]
        shutil.copytree(folder, other)
        service.stores.datasets.put("default", dataset.model_copy(update={"id": ids[0]}), other)
    service.stores.datasets.put("default", dataset, folder)
    with monkeypatch.context() as patch:
        patch.setattr("storage.redis.jobs.new_job_id", lambda: examples.JOB)
        service.stores.jobs.submit(
            "default", IdentificationJob.model_validate(examples.IDENTIFICATION)
        )
    service.finish(examples.JOB, examples.RESULT.model_dump_json(by_alias=True).encode())
    job = IdentificationJob.model_validate({**examples.IDENTIFICATION, "trajectories": [0]})
    service.stores.jobs.submit_batch(
        "default", [BatchedJob("trap-17", 0, job)], batch_id=examples.BATCH
    )
    service.stores.jobs.cancel_batch("default", examples.BATCH)
    service.stores.jobs.beat("worker")
    service.reader.trajectories = 3
    return service


def example(method: str, path: str, status: str) -> Any:
    return DOCUMENT["paths"][path][method]["responses"][status]["content"]["application/json"][
        "example"
    ]


def checked(value: Any, schema: dict[str, Any]) -> None:
    jsonschema.validate(value, {**schema, "components": DOCUMENT["components"]})


def sendings(method: str, path: str, operation: Any) -> list[tuple[str, dict[str, Any]]]:
    """What is to be sent by each example: a name, and arguments of `client.request`."""
    places = {
        given["name"]: given["example"]
        for given in operation.get("parameters", [])
        if given["in"] == "path"
    }
    request = {"method": method.upper(), "url": path.format(**places)}
    if "requestBody" not in operation:
        return [("", request)]
    found = []
    for media_type, content in operation["requestBody"]["content"].items():
        for title, given in content.get("examples", {}).items():
            found.append(
                (f"{media_type}: {title}", {**request, **body(media_type, given["value"])})
            )
    return found


def body(media_type: str, value: Any) -> dict[str, Any]:
    if media_type == "multipart/form-data":
        file = {"file": ("record.csv", io.BytesIO(value["file"].encode()), "text/csv")}
        return {
            "files": {
                **file,
                **{key: (None, json.dumps(part)) for key, part in value.items() if key != "file"},
            }
        }
    text = value if isinstance(value, str) else json.dumps(value)
    return {"content": text, "headers": {"Content-Type": media_type}}


@pytest.mark.slow
def test_the_document_is_valid() -> None:
    assert list(OpenAPIV31SpecValidator(DOCUMENT).iter_errors()) == []
    broken = {**DOCUMENT, "paths": {"/v1/jobs/{job_id}": {"get": {"responses": {"200": {}}}}}}
    assert list(OpenAPIV31SpecValidator(broken).iter_errors()) != []


@pytest.mark.parametrize("operation", OPERATIONS, ids=name)
def test_every_operation_shows_what_is_sent_and_what_comes_back(
    operation: tuple[str, str, Any],
) -> None:
    """Where this fails for a new operation: its examples belong in service/openapi/examples.py."""
    method, path, described = operation
    assert described["summary"]
    assert described["description"]
    assert sendings(method, path, described), "a body without an example"
    for status, response in described["responses"].items():
        for media_type, content in response.get("content", {}).items():
            if status >= "400":
                assert content["examples"], status
            elif media_type in TELLING:
                assert "example" in content, (status, media_type)


@pytest.mark.slow
@pytest.mark.parametrize("operation", OPERATIONS, ids=name)
def test_every_example_of_an_answer_fits_its_schema(operation: tuple[str, str, Any]) -> None:
    for response in operation[2]["responses"].values():
        for content in response.get("content", {}).values():
            if "example" in content and content["schema"].get("type") != "string":
                checked(content["example"], content["schema"])
    for problem in DOCUMENT["components"]["examples"].values():
        checked(problem["value"], DOCUMENT["components"]["schemas"]["Problem"])


@pytest.mark.parametrize("operation", OPERATIONS, ids=name)
def test_every_example_is_answered_as_the_document_says(
    furnished: Any, operation: tuple[str, str, Any]
) -> None:
    method, path, described = operation
    for title, request in sendings(method, path, described):
        answer = furnished.client.request(**request)
        where = f"{title}: {answer.status_code} {answer.text[:300]}"
        assert answer.status_code < 400, where
        declared = described["responses"][str(answer.status_code)]
        media_type = answer.headers.get("content-type", "").partition(";")[0]
        if media_type:
            assert media_type in declared["content"], where
        if media_type == "application/json":
            shown = declared["content"][media_type]
            checked(answer.json(), shown["schema"])
            assert answer.json().keys() == shown["example"].keys(), where


def test_an_example_that_is_refused_would_be_seen(furnished: Any) -> None:
    refused = {"kind": "identification", "dataset": "ds_unknown"}
    ((_, request), *_) = sendings("post", "/v1/jobs", DOCUMENT["paths"]["/v1/jobs"]["post"])
    assert (
        furnished.client.request(**{**request, "content": json.dumps(refused)}).status_code == 422
    )


def test_every_kind_of_job_is_shown() -> None:
    shown = DOCUMENT["paths"]["/v1/jobs"]["post"]["requestBody"]["content"]["application/json"][
        "examples"
    ].values()
    assert {given["value"]["kind"] for given in shown} == set(KINDS)
