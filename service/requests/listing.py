"""The queries of lists: the page, and the filters of the list of jobs."""

from typing import Annotated, Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from pydantic import Field, ValidationError

from contract.base import Document
from contract.jobs import Labels
from contract.kinds import KindName
from contract.records import State
from storage.listing import JobFilter

_LABEL = "label."


class Page(Document):
    """One page of a list."""

    limit: Annotated[int, Field(ge=1, le=200)] = 50
    """Number of entries per page."""
    cursor: Annotated[str, Field(max_length=200)] | None = None
    """Value of `next_cursor` from the previous page."""


class JobPage(Page):
    """A page of the list of jobs, with filters."""

    state: State | None = None
    """Only jobs in this state."""
    kind: KindName | None = None
    """Only jobs of this kind."""
    dataset: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    """Only jobs that use the dataset with this id."""
    labels: Labels = {}
    """Only jobs with these labels, as `label.NAME=VALUE`; repeat for several labels."""

    @property
    def wanted(self) -> JobFilter:
        """Filter that the jobs in the list pass."""
        return JobFilter(self.state, self.kind, self.dataset, self.labels)


async def job_page(request: Request) -> JobPage:
    """Read the requested page from the query. Raises RequestValidationError."""
    given: dict[str, Any] = {}
    labels: dict[str, str] = {}
    for name, value in request.query_params.multi_items():
        key = name.removeprefix(_LABEL)
        here = labels if name.startswith(_LABEL) else given
        if key in here or name == "labels":
            fault = "is given as `label.NAME=VALUE`" if name == "labels" else "may be given once"
            raise RequestValidationError(
                [{"type": "repeated", "loc": ("query", name), "msg": fault}]
            )
        here[key] = value
    try:
        return JobPage.model_validate({**given, "labels": labels})
    except ValidationError as error:
        raise RequestValidationError(
            [{**found, "loc": ("query", *_as_sent(found["loc"]))} for found in error.errors()]
        ) from None


def _as_sent(location: tuple[int | str, ...]) -> tuple[int | str, ...]:
    labelled = location[0] == "labels" and len(location) > 1
    return (_LABEL + str(location[1]),) if labelled else location


def parameters() -> list[dict[str, Any]]:
    """List the query's parameters for the OpenAPI document."""
    described = []
    for name, schema in JobPage.model_json_schema()["properties"].items():
        parameter = {"name": name, "in": "query", "required": False}
        parameter |= {"description": schema.pop("description"), "schema": schema}
        if name == "labels":
            # With this style, each member of the object is a parameter of its own.
            parameter |= {"style": "form", "explode": True}
            schema["propertyNames"] = {"pattern": r"^label\."}
            schema["examples"] = [{"label.experiment": "trap-17"}]
        described.append(parameter)
    return described
