"""The interface as described: complete, committed, true."""

import json
from typing import Any

import jsonschema
import pytest

from service import openapi, schemas

METHODS = {"get", "post", "delete", "put", "patch"}


def test_committed_files_equal_the_applications(service: Any) -> None:
    for path, text in openapi.files(service.client.app).items():
        committed = (openapi.FOLDER / path).read_text("utf-8")
        assert committed == text, f"{path} is stale: run python -m service.openapi"


def test_no_schema_file_is_left_over(service: Any) -> None:
    written = {path.name for path in openapi.files(service.client.app) if path.parent.name == "schemas"}
    assert {path.name for path in (openapi.FOLDER / "schemas").iterdir()} == written


def test_every_operation_says_what_it_does_and_how_it_fails(service: Any) -> None:
    document = service.client.get("/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            where = f"{method} {path}"
            assert method in METHODS
            assert operation["summary"], where
            assert operation["description"], where
            failures = [status for status in operation["responses"] if status >= "400"]
            assert failures or path in ("/healthz", "/v1/schemas"), where
            for status in failures:
                assert set(operation["responses"][status]["content"]) == {"application/problem+json"}, where
            if method == "post" and path in ("/v1/jobs", "/v1/datasets"):
                assert "multipart/form-data" in operation["requestBody"]["content"]


def test_every_reference_leads_somewhere(service: Any) -> None:
    document = service.client.app.openapi()
    text = json.dumps(document)
    for name in set(text.split('"#/components/schemas/')[1:]):
        assert name.split('"')[0] in document["components"]["schemas"]


@pytest.mark.parametrize("name", sorted(schemas.schemas()))
def test_schemas_are_valid_and_served(service: Any, name: str) -> None:
    schema = service.client.get(f"/v1/schemas/{name}").json()
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$id"] == f"urn:itoscope:schema:{name}"
    listed = service.client.get("/v1/schemas").json()["items"]
    assert {"name": name, "href": f"/v1/schemas/{name}"} in listed


def test_answers_fit_the_schemas_they_claim(service: Any) -> None:
    dataset = service.client.get(f"/v1/datasets/{service.upload()}").json()
    jsonschema.validate(dataset, schemas.schema("dataset"))
    jsonschema.validate(service.client.get("/nowhere").json(), schemas.schema("problem"))
    request = service.client.get(f"/v1/jobs/{service.job()}").json()["request"]
    jsonschema.validate(request, schemas.schema("job-request"))
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**request, "colour": "red"}, schemas.schema("job-request"))


def test_page_for_people_lists_every_operation_and_loads_nothing(service: Any) -> None:
    page = service.client.get("/docs")
    assert page.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert "<script" not in page.text
    assert "//" not in page.text.replace("<!doctype", "")
    for path, operations in service.client.app.openapi()["paths"].items():
        for method in operations:
            assert f"{method.upper()} {path}" in page.text
    assert service.client.get("/", follow_redirects=False).headers["location"] == "/docs"
