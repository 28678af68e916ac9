"""The interface as described: complete, committed, true."""

import json
from typing import Any

import jsonschema
import pytest

from service.openapi import __main__, schemas

METHODS = {"get", "post", "delete", "put", "patch"}


def test_committed_files_equal_the_applications(service: Any) -> None:
    for path, text in __main__.files(service.client.app).items():
        committed = (__main__.FOLDER / path).read_text("utf-8")
        assert committed == text, f"{path} is stale: run python -m service.openapi"


def test_no_schema_file_is_left_over(service: Any) -> None:
    written = {
        path.name for path in __main__.files(service.client.app) if path.parent.name == "schemas"
    }
    assert {path.name for path in (__main__.FOLDER / "schemas").iterdir()} == written


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
            assert failures or path in ("/healthz", "/v1/schemas", "/v1/presets"), where
            for status in failures:
                assert set(operation["responses"][status]["content"]) == {
                    "application/problem+json"
                }, where
            if method == "post" and path in ("/v1/jobs", "/v1/datasets"):
                assert "multipart/form-data" in operation["requestBody"]["content"]


def test_every_reference_leads_somewhere(service: Any) -> None:
    document = service.client.app.openapi()
    text = json.dumps(document)
    for name in set(text.split('"#/components/schemas/')[1:]):
        assert name.split('"')[0] in document["components"]["schemas"]


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(schemas.names()))
def test_schemas_are_valid_and_served(service: Any, name: str) -> None:
    schema = service.client.get(f"/v1/schemas/{name}").json()
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$id"] == f"urn:itoscope:schema:{name}"
    listed = service.client.get("/v1/schemas").json()["items"]
    assert {"name": name, "href": f"/v1/schemas/{name}"} in listed
    assert service.client.get(f"/v1/schemas/{name.removesuffix('-1.0')}").json() == schema
    assert service.client.get(f"/v1/schemas/{name}-1.0").status_code == 404


@pytest.mark.parametrize("name", sorted(schemas.names()))
def test_every_field_says_what_it_means(name: str) -> None:
    assert [place for place, field, defs in fields(name) if not explained(field, defs)] == []


def test_a_field_without_a_word_is_found() -> None:
    schema = {
        "properties": {
            "a": {"type": "number"},
            "b": {"$ref": "#/$defs/B"},
            "c": {"description": "C."},
        },
        "$defs": {"B": {}},
    }
    assert [place for place, field, defs in _fields(schema) if not explained(field, defs)] == [
        "/a",
        "/b",
    ]


@pytest.mark.parametrize(
    "name",
    ["identification-parameters-1.0", "analysis-parameters-1.0", "job-request-1.0", "layout-1.0"],
)
def test_a_form_can_be_made_from_the_schema(name: str) -> None:
    """Whatever a field is, a person can be told its name, and a program its unit, and what might be
    put there."""
    for place, field, _ in fields(name):
        assert "title" in field or "$ref" in field, place
        assert not field.get("title", "A").islower(), place
        chosen = (
            any(word in field for word in ("enum", "const", "$ref"))
            or field.get("type") == "boolean"
        )
        assert chosen or "examples" in field or field.get("default") not in (None, [], {}), place
    units = {
        place.rsplit("/", 1)[-1]: field["x-unit"]
        for place, field, _ in fields(name)
        if "x-unit" in field
    }
    assert (
        units.items()
        >= {
            "identification-parameters-1.0": {
                "bandwidth": "state",
                "range": "state",
                "domain": "state",
                "periodic": "state",
            },
            "analysis-parameters-1.0": {"from": "state", "to": "state", "low": "state"},
            "job-request-1.0": {
                "timeout_seconds": "s",
                "drift": "state/time",
                "diffusion": "state²/time",
                "times": "time",
            },
            "layout-1.0": {"dt": "time"},
        }[name].items()
    )


@pytest.mark.parametrize("name", sorted(schemas.names()))
def test_examples_and_defaults_are_what_the_schema_allows(name: str) -> None:
    given = 0
    for place, field, defs in fields(name):
        checker = jsonschema.Draft202012Validator({**field, "$defs": defs})
        for value in (
            *field.get("examples", ()),
            *([field["default"]] if "default" in field else ()),
        ):
            assert checker.is_valid(value), (place, value)
            given += 1
    assert given or name in ("dataset-1.0", "problem-1.0")


def test_presets_say_what_they_stand_for(service: Any) -> None:
    (paper,) = service.client.get("/v1/presets").json()["items"]
    assert paper["name"] == "paper"
    body = {"kind": "identification", "dataset": service.upload()}
    by_name = service.client.post("/v1/jobs/validate", json={**body, "preset": "paper"}).json()[
        "request"
    ]["parameters"]
    spelled_out = service.client.post(
        "/v1/jobs/validate", json={**body, "parameters": paper["parameters"]}
    ).json()["request"]
    assert by_name == paper["parameters"] == spelled_out["parameters"]


def fields(name: str) -> list[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Every field of a document and of what it holds: its place, its schema, what it may refer
    to."""
    return _fields(schemas.schemas()[name])


def _fields(schema: dict[str, Any]) -> list[tuple[str, dict[str, Any], dict[str, Any]]]:
    defs = schema.get("$defs", {})
    return [
        (f"{model}/{name}", field, defs)
        for model, described in (("", schema), *defs.items())
        for name, field in described.get("properties", {}).items()
    ]


def explained(field: dict[str, Any], defs: dict[str, Any]) -> bool:
    """Whether it has a description of its own, or is a document that has one."""
    kind = defs.get(field.get("$ref", "").rsplit("/", 1)[-1], {})
    return bool(field.get("description") or kind.get("description"))


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
    assert 'href="/docs"' in service.client.get("/").text


def test_a_result_may_be_that_of_every_kind_of_job() -> None:
    """Each kind that can be asked for has its result among those that `GET …/result` declares."""
    components = json.loads((__main__.FOLDER / "openapi.json").read_text("utf-8"))["components"][
        "schemas"
    ]
    declared = {
        components[one["$ref"].rsplit("/", 1)[1]]["properties"]["kind"]["const"]
        for one in components["Result"]["anyOf"]
    }
    assert declared == set(components["JobRequest"]["discriminator"]["mapping"])
