"""Who uses what will go away is told so by every answer, refusals included; nobody else is."""

from datetime import UTC, date, datetime
from typing import Any

import pytest
from fastapi.testclient import TestClient

from contract.base import Deprecation, Document
from contract.datasets import Layout
from contract.identification import IdentificationParameters, LibraryParameters
from service.app import create_app
from service.errors import Refusal
from service.openapi import interface
from service.responses import deprecation
from service.settings import ServiceSettings

OLD = Deprecation(date(2027, 1, 1), "https://example.org/instead", sunset=date(2028, 1, 1))
OLDER = Deprecation(date(2026, 6, 1), "https://example.org/older")


@pytest.fixture(scope="module")
def client() -> Any:
    """An application with an operation that is deprecated and one that is not."""
    app = create_app(ServiceSettings())

    @app.get("/v1/old", summary="Old", openapi_extra=OLD.extra)
    async def old(refused: bool = False) -> str:
        """Do not begin to use it."""
        if refused:
            raise Refusal("not-found", "Gone.")
        return "old"

    @app.get("/v1/new", summary="New")
    async def new() -> str:
        """Use it."""
        return "new"

    interface.install(app)
    with TestClient(app, base_url="http://127.0.0.1") as client:
        yield client


@pytest.mark.parametrize("query", ["", "?refused=true"])
def test_every_answer_of_a_deprecated_operation_says_since_when_until_when_and_what_instead(
    client: Any, query: str
) -> None:
    answer = client.get(f"/v1/old{query}")
    assert answer.headers["deprecation"] == f"@{int(datetime(2027, 1, 1, tzinfo=UTC).timestamp())}"
    assert answer.headers["sunset"] == "Sat, 01 Jan 2028 00:00:00 GMT"
    assert (
        answer.headers["link"]
        == '<https://example.org/instead>; rel="deprecation"; type="text/html"'
    )


def test_no_other_operation_says_so(client: Any) -> None:
    assert not {"deprecation", "sunset", "link"} & client.get("/v1/new").headers.keys()


def test_the_document_marks_it_and_declares_the_headers(client: Any) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    assert paths["/v1/old"]["get"]["deprecated"] is True
    assert paths["/v1/old"]["get"]["x-deprecation"] == {
        "since": "2027-01-01", "link": "https://example.org/instead", "sunset": "2028-01-01"
    }  # fmt: skip
    for response in paths["/v1/old"]["get"]["responses"].values():
        assert response["headers"].keys() >= {"Deprecation", "Sunset", "Link"}
    assert "deprecated" not in paths["/v1/new"]["get"]


def test_a_deprecated_field_is_told_of_where_the_caller_gave_it(
    service: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        IdentificationParameters.model_fields["seed"], "json_schema_extra", OLD.extra
    )
    monkeypatch.setattr(
        LibraryParameters.model_fields["extra_terms"], "json_schema_extra", OLDER.extra
    )
    body = {"kind": "identification", "dataset": service.upload()}

    def told(**fields: object) -> Any:
        return service.client.post("/v1/jobs", json={**body, **fields}).headers

    assert "deprecation" not in told()
    assert "deprecation" not in told(preset="paper"), "the preset's fields are not the caller's"
    assert told(parameters={"seed": 1})["sunset"] == "Sat, 01 Jan 2028 00:00:00 GMT"
    monkeypatch.setattr(Layout.model_fields["state_unit"], "json_schema_extra", OLD.extra)
    for address, noted in (
        ("/v1/datasets?state_unit=nm", True),
        ("/v1/datasets?time_unit=s", False),
    ):
        assert (
            "deprecation" in service.client.post(address, content=b"0,1\n1,2\n").headers
        ) == noted
    both = told(parameters={"seed": 0, "library": {"extra_terms": ["x^5"]}})
    assert both["deprecation"] == f"@{int(datetime(2026, 6, 1, tzinfo=UTC).timestamp())}"
    assert both.get_list("link") == [
        f'<{one.link}>; rel="deprecation"; type="text/html"' for one in (OLDER, OLD)
    ]


def test_deprecated_fields_are_found_inside_lists_and_maps() -> None:
    class Inner(Document):
        new: int = 0
        old: int = 0

    class Outer(Document):
        listed: tuple[Inner, ...]
        named: dict[str, Inner]

    Inner.model_fields["old"].json_schema_extra = OLD.extra  # type: ignore[assignment]
    for listed, named, times in (
        ([{"new": 1}], {}, 0),
        ([{"new": 1}, {"old": 1}], {}, 1),
        ([], {"a": {"old": 1}}, 1),
    ):
        given = {"listed": listed, "named": named}
        assert len(list(deprecation.used(Outer.model_validate(given), given))) == times
