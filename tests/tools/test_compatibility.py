"""Released interfaces stay compatible for callers of the last release, and breaks are noticed."""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from service.openapi import __main__
from tools.compatibility import breaks
from tools.release import last_release

Document = dict[str, Any]
LIBRARY, JOB = "LibraryParameters", "/v1/jobs/{job_id}"
# `test_openapi.py` sees that it is the application's own.
DOCUMENT: Document = json.loads((__main__.FOLDER / "openapi.json").read_text("utf-8"))
JOBS = DOCUMENT["paths"]["/v1/jobs"]


def test_nothing_that_was_released_is_gone() -> None:
    """Check the committed release; until 0.1.0 is out, `tools.release 0.1.0` accepts a break."""
    assert breaks(last_release(), DOCUMENT) == []


def changed(change: Callable[[Document], object]) -> list[str]:
    """The breaks that a change makes."""
    document = copy.deepcopy(DOCUMENT)
    change(document)
    assert document != DOCUMENT, "the change changes nothing"
    return breaks(DOCUMENT, document)


def schema(document: Document, name: str) -> Document:
    found: Document = document["components"]["schemas"][name]
    return found


def field(document: Document, name: str, member: str) -> Document:
    found: Document = schema(document, name)["properties"][member]
    return found


def parameter(document: Document, path: str, method: str, name: str) -> Document:
    return next(
        given for given in document["paths"][path][method]["parameters"] if given["name"] == name
    )


BREAKAGE: dict[str, tuple[Callable[[Document], object], str]] = {
    "an operation's path is gone": (
        lambda d: d["paths"].pop("/v1/jobs/{job_id}/cancel"), "cancel is gone"),
    "a method is gone": (
        lambda d: d["paths"]["/v1/jobs/{job_id}"].pop("delete"),
        "DELETE /v1/jobs/{job_id} is gone"),
    "a field of an answer is gone": (
        lambda d: schema(d, "JobRecord")["properties"].pop("progress"), "/progress is gone"),
    "a field deep in an answer is gone": (
        lambda d: schema(d, "Eigenvalue")["properties"].pop("period"), "/period is gone"),
    "a field of an answer may be missing": (
        lambda d: schema(d, "JobRecord")["required"].remove("state"), "/state may be missing"),
    "a field of a request is gone": (
        lambda d: schema(d, LIBRARY)["properties"].pop("extra_terms"), "extra_terms is gone"),
    "a request needs another field": (
        lambda d: schema(d, "ModelTerms")["required"].append("domain"), "/domain is required now"),
    "a value of a request is gone": (
        lambda d: field(d, "SelectionParameters", "method")["enum"].remove("stlsq"), "'stlsq'"),
    "a value of an answer is gone": (
        lambda d: field(d, "JobRecord", "state")["enum"].remove("cancelled"), "'cancelled'"),
    "a type of a request is another": (
        lambda d: field(d, LIBRARY, "polynomial_degree").update(type="string"), "string"),
    "a type of an answer is another": (
        lambda d: field(d, "DatasetReport", "n_samples").update(type="number"), "is number"),
    "an answer may be null": (
        lambda d: field(d, "DatasetReport", "duration").update(
            type=None, anyOf=[{"type": "number"}, {"type": "null"}]),
        "null"),
    "a number of a request is bounded closer": (
        lambda d: field(d, LIBRARY, "polynomial_degree").update(maximum=6), "maximum is 6"),
    "a text of a request has a form": (
        lambda d: field(d, "IdentificationJob", "labels").update(maxProperties=3), "maxProperties"),
    "what is left out means another thing": (
        lambda d: field(d, "IdentificationParameters", "estimator").update(default="paper"),
        "left out was 'efficient'"),
    "a status is gone": (
        lambda d: d["paths"]["/v1/jobs"]["post"]["responses"].pop("200"),
        "200 is no longer declared"),
    "a failure is gone": (
        lambda d: d["paths"]["/v1/jobs/{job_id}/result"]["get"]["responses"].pop("410"), "410"),
    "a form of an answer is gone": (
        lambda d: d["paths"]["/v1/jobs/{job_id}/result"]["get"]["responses"]["200"][
            "content"].pop("application/x-npz"),
        "npz"),
    "a form of a request is gone": (
        lambda d: d["paths"]["/v1/jobs"]["post"]["requestBody"]["content"].pop(
            "multipart/form-data"),
        "multipart"),
    "a header of an answer is gone": (
        lambda d: d["paths"]["/v1/jobs"]["post"]["responses"]["202"]["headers"].pop("Location"),
        "Location"),
    "a parameter is gone": (
        lambda d: d["paths"]["/v1/jobs"]["get"]["parameters"].pop(0), "limit is gone"),
    "a parameter is needed": (
        lambda d: parameter(d, "/v1/jobs", "post", "Idempotency-Key").update(required=True),
        "is required now"),
    "another parameter is needed": (
        lambda d: d["paths"]["/healthz"]["get"].update(
            parameters=[{"name": "a", "in": "path", "required": True}]),
        "required"),
    "a kind of result is gone": (lambda d: schema(d, "Result")["anyOf"].pop(1), "GeneratorResult"),
    "a kind of job is gone": (
        lambda d: schema(d, "JobRequest")["oneOf"].pop(0), "IdentificationJob"),
    "a key is always needed": (
        lambda d: d["paths"]["/v1/jobs"]["get"].update(security=[{"key": []}]), "a key"),
    "an operation is called otherwise": (
        lambda d: d["paths"]["/v1/jobs"]["get"].update(operationId="jobs"), "listJobs"),
}  # fmt: skip


@pytest.mark.parametrize("what", BREAKAGE)
def test_what_breaks_callers_is_seen(what: str) -> None:
    change, said = BREAKAGE[what]
    found = changed(change)
    assert found, what
    assert any(said in sentence for sentence in found), found


ADDITIONS: dict[str, Callable[[Document], object]] = {
    "an operation": lambda d: d["paths"].update({"/v1/models": JOBS}),
    "an optional field of a request":
        lambda d: schema(d, LIBRARY)["properties"].update(new={"type": "string"}),
    "a field of an answer":
        lambda d: schema(d, "JobRecord")["properties"].update(new={"type": "string"}),
    "a value": lambda d: field(d, "JobRecord", "state")["enum"].append("paused"),
    "an optional parameter":
        lambda d: d["paths"]["/v1/jobs"]["get"]["parameters"].append(
            {"name": "a", "in": "query", "schema": {}}),
    "a status":
        lambda d: d["paths"]["/v1/jobs"]["get"]["responses"].update(
            {"304": {"description": "Unchanged."}}),
    "a wider bound": lambda d: field(d, LIBRARY, "polynomial_degree").update(maximum=20),
    "a wider type of a request":
        lambda d: parameter(d, "/v1/jobs", "get", "limit")["schema"].update(type="number"),
    "a narrower type of an answer":
        lambda d: field(d, "DatasetReport", "duration").update(type="integer"),
    "a null that is no longer answered":
        lambda d: field(d, "JobRecord", "dataset").update(anyOf=[{"type": "string"}]),
    "a field of an answer that is always there":
        lambda d: schema(d, "JobRecord")["required"].append("attempt"),
    "a kind of job":
        lambda d: schema(d, "JobRequest")["oneOf"].append(
            {"type": "object", "properties": {"kind": {"const": "new"}}}),
    "a kind of result":
        lambda d: schema(d, "Result")["anyOf"].append(
            {"type": "object", "title": "New", "properties": {}}),
    "words": lambda d: schema(d, "JobRecord").update(description="Another.", title="Another"),
    "a deprecation": lambda d: d["paths"]["/v1/jobs"]["get"].update(deprecated=True),
}  # fmt: skip


@pytest.mark.parametrize("what", ADDITIONS)
def test_what_is_added_breaks_nobody(what: str) -> None:
    assert changed(ADDITIONS[what]) == []
