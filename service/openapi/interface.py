"""The OpenAPI document of the application, and the page that shows it to people."""

import json
import re
from html import escape
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from pydantic import TypeAdapter

from contract.batches import BatchRequest
from contract.datasets import Layout
from contract.kinds import JOB_REQUEST, AnyResult
from contract.problems import problem
from contract.records import JobEvent
from service.errors import CODES, PROBLEM_JSON
from service.openapi import examples
from service.responses.representations import headers

VERSION = "1.0"
"""Version of the interface: /v1 changes only by addition."""

_HAND_MADE: dict[str, TypeAdapter[Any]] = {
    "JobRequest": JOB_REQUEST,
    "BatchRequest": TypeAdapter(BatchRequest),
    "JobEvent": TypeAdapter(JobEvent),
    "Layout": TypeAdapter(Layout),
    "Result": TypeAdapter(AnyResult),
}
"""Schemas of bodies that FastAPI does not know, because the routes read or write them."""

_TAGS = {
    "datasets": "Uploaded trajectories: what was read from them, and a preview.",
    "jobs": "Identifications and analyses: submit, follow, cancel and fetch the result.",
    "batches": "The same job for each of many records, and the table of the results.",
    "webhooks": "Messages that the service sends when a job has ended.",
    "schemas": "JSON Schemas of the documents, and presets of parameters.",
    "health": "State of the service for orchestrators and monitors.",
}

_DESCRIPTION = """Upload trajectories, start a job, follow its progress and fetch the model.
Every error response is a problem document (RFC 9457) with a stable `code`, the invalid fields and
hints."""


_JOB_ENDED = {
    "summary": "A job has ended",
    "description": "The job's record, as returned by `GET /v1/jobs/{job_id}`, sent to the job's "
    "`webhook`. It is signed according to Standard Webhooks with the secret from "
    "`/v1/webhooks/secret`. It is delivered at least once, always with the same `webhook-id`. "
    "Respond with 2xx within five seconds; otherwise delivery is repeated for three days. 410 "
    "stops it.",
    "operationId": "jobEnded",
    "tags": ["webhooks"],
    "parameters": [
        {
            "name": name,
            "in": "header",
            "required": True,
            "description": description,
            "schema": {"type": "string"},
        }
        for name, description in {
            "webhook-id": "Identifier of this message, the same for every delivery.",
            "webhook-timestamp": "Time of sending, in seconds since 1970.",
            "webhook-signature": "`v1,` followed by the base64 HMAC-SHA256 of id, timestamp and "
            "body, joined by full stops.",
        }.items()
    ],
    "requestBody": {
        "required": True,
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/JobRecord"}}},
    },
    "responses": {
        "2XX": {"description": "The message was received."},
        "410": {"description": "Stop delivery of this message."},
    },
}
_REQUEST_ID = headers(X_Request_Id="Identifier of this request in the logs.")
_DEPRECATION = headers(
    Deprecation="Date of deprecation (RFC 9745).",
    Sunset="Date from which this may be removed (RFC 8594).",
    Link='Explanation of the deprecation and what to use instead: `rel="deprecation"`.',
)


def operation_id(route: APIRoute) -> str:
    """Name an operation after its function: `submitJob` for `submit_job`."""
    first, *words = route.name.split("_")
    return first + "".join(word.capitalize() for word in words)


def document(app: FastAPI) -> dict[str, Any]:
    """Build the OpenAPI 3.1 document of the application."""
    made = get_openapi(
        title=app.title,
        version=app.version,
        summary=app.summary,
        description=_DESCRIPTION,
        routes=app.routes,
        separate_input_output_schemas=False,
        tags=[{"name": name, "description": text} for name, text in _TAGS.items()],
        servers=[{"url": "/", "description": "The service that this document came from."}],
        license_info={"name": "BSD 3-Clause", "identifier": "BSD-3-Clause"},
    )
    components = made["components"]["schemas"]
    for name, adapter in _HAND_MADE.items():
        schema = adapter.json_schema(ref_template="#/components/schemas/{model}")
        components.update(schema.pop("$defs", {}))
        components[name] = schema
    for schema in components.values():
        _plain(schema)
    for name in ("HTTPValidationError", "ValidationError"):
        del components[name]  # FastAPI's own; the problem document replaces them
    made["components"]["schemas"] = dict(sorted(components.items()))
    made["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
    for path, operations in made["paths"].items():
        for operation in operations.values():
            _finish(path, operation)
    made["webhooks"] = {"job-ended": {"post": _JOB_ENDED}}
    whole: dict[str, Any] = json.loads(json.dumps(made))  # routes share parts of it
    _add_examples(whole)
    return whole


def _plain(schema: Any) -> None:
    """Write a schema so that generators of clients and linters understand it.

    A tuple repeats its parts as `items`, though its `maxItems` allows no more: Spectral asks for
    them, and neither it nor openapi-python-client understands `false`. A default that only
    repeats the defaults of the schema it refers to is left out: openapi-python-client drops the
    whole object for it. One word among other types is an `enum`: as a `const` the same generator
    reads nothing but this word.
    """
    if isinstance(schema, list):
        for part in schema:
            _plain(part)
    elif isinstance(schema, dict):
        if "prefixItems" in schema:
            parts = schema["prefixItems"]
            alike = all(part == parts[0] for part in parts)
            schema["items"] = parts[0] if alike else {"anyOf": parts}
        if isinstance(schema.get("default"), dict) and ("$ref" in schema or "anyOf" in schema):
            del schema["default"]
        for one in schema.get("anyOf", ()):
            if "const" in one:
                one["enum"] = [one.pop("const")]
        for part in schema.values():
            _plain(part)


def _finish(path: str, operation: dict[str, Any]) -> None:
    """Add the problems' media type, the common headers and the need for a key to an operation."""
    operation["responses"]["500"] = {"description": "An error of the service's own."}
    for status, response in operation["responses"].items():
        if len(response.get("content", {})) > 1 and not response["content"].get(
            "application/json", {"": ""}
        ).get("schema"):
            # FastAPI adds it where it does not know the response.
            del response["content"]["application/json"]
        response["headers"] = response.get("headers", {}) | _REQUEST_ID
        if status >= "400":
            response["content"] = {
                PROBLEM_JSON: {"schema": {"$ref": "#/components/schemas/Problem"}}
            }
        if operation.get("deprecated"):
            response["headers"] |= _DEPRECATION
    if "401" in operation["responses"]:
        operation["security"] = [{"key": []}, {}]


def _add_examples(made: dict[str, Any]) -> None:
    """Add the examples of requests, responses and problems to the document."""
    by_status: dict[str, dict[str, Any]] = {}
    for code, (status, title) in CODES.items():
        if status == 405:  # no answer of an operation
            continue
        value = problem(status, code, title, f"{title}.").model_dump(mode="json")
        made["components"].setdefault("examples", {})[code] = {"summary": title, "value": value}
        by_status.setdefault(str(status), {})[code] = {"$ref": f"#/components/examples/{code}"}
    for path, operations in made["paths"].items():
        for method, operation in operations.items():
            for parameter in operation.get("parameters", []):
                if parameter["in"] == "path":
                    parameter["example"] = examples.PATH[parameter["name"]]
            for media_type, given in examples.REQUESTS.get((method, path), {}).items():
                named = {name: {"value": value} for name, value in given.items()}
                operation["requestBody"]["content"][media_type]["examples"] = named
            for answered, answers in examples.RESPONSES.get((method, path), {}).items():
                for media_type, value in answers.items():
                    operation["responses"][answered]["content"][media_type]["example"] = value
            for failure, response in operation["responses"].items():
                if failure >= "400":
                    response["content"][PROBLEM_JSON]["examples"] = by_status[failure]


def install(app: FastAPI) -> None:
    """Serve the document at /openapi.json; it is built once."""
    made: dict[str, Any] = {}

    def cached() -> dict[str, Any]:
        if not made:
            made.update(document(app))
        return made

    app.openapi = cached  # type: ignore[method-assign]


_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 56rem; margin: 2rem auto; padding: 0 1rem }
code, pre { font: 14px/1.4 ui-monospace, monospace } body { color: #222; background: #fff }
pre { background: #f4f4f4; padding: .75rem; overflow-x: auto }
section { border-top: 1px solid #ddd; margin-top: 1.5rem } h2 { font-size: 1.1rem }
th, td { text-align: left; padding: .1rem 1rem .1rem 0; vertical-align: top }
@media (prefers-color-scheme: dark) {
  body { color: #ddd; background: #161616 } pre { background: #222 }
  section { border-color: #444 } a { color: #8bf }
}
"""

_EXAMPLE = r"""curl -F file=@trajectory.csv -F 'job={"kind": "identification"}' \
     -H 'Prefer: wait=60' ADDRESS/v1/jobs
curl ADDRESS/v1/jobs/JOB/result"""


def page(document: dict[str, Any]) -> str:
    """Build the HTML that lists every operation with its parameters, bodies and responses."""
    operations = [
        (method, path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    index = "".join(
        f'<li><a href="#{operation["operationId"]}">{_heading(method, path)}</a>'
        for method, path, operation in operations
    )
    title = escape(document["info"]["title"])
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title} API</title><style>{_STYLE}</style></head><body>
<nav aria-label="Site"><a href="/">{title}</a></nav><main>
<h1>{title} API</h1>
<p>{escape(document["info"]["summary"])}</p>
<p>{_prose(document["info"]["description"])}</p>
<p>For programs: <a href="/openapi.json">openapi.json</a>,
<a href="/v1/schemas">JSON Schemas</a>.</p>
<pre>{escape(_EXAMPLE)}</pre>
<nav aria-label="Operations"><ul>{index}</ul></nav>
{"".join(_operation(*operation) for operation in operations)}
</main></body></html>
"""


def _prose(text: str) -> str:
    """Write text with words in backticks as HTML."""
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", escape(text))


def _heading(method: str, path: str) -> str:
    return f"<code>{method.upper()} {escape(path)}</code>"


def _operation(method: str, path: str, operation: dict[str, Any]) -> str:
    parameters = [
        (f"{parameter['name']} ({parameter['in']})", parameter.get("description", ""))
        for parameter in operation.get("parameters", [])
    ]
    bodies = [
        (media_type, _shape(content))
        for media_type, content in operation.get("requestBody", {}).get("content", {}).items()
    ]
    answers = [
        (status, response["description"]) for status, response in operation["responses"].items()
    ]
    tables = _table("Parameters", parameters) + _table("Body", bodies) + _table("Answers", answers)
    heading = f"{_heading(method, path)} {escape(operation['summary'])}"
    return f"""<section id="{operation["operationId"]}"><h2>{heading}</h2>
<p>{_prose(operation.get("description", ""))}</p>{tables}</section>
"""


def _shape(content: dict[str, Any]) -> str:
    schema = content.get("schema", {})
    if "$ref" in schema:
        return str(schema["$ref"]).rsplit("/", 1)[-1]
    return ", ".join(schema.get("properties", ())) or "the file itself"


def _table(heading: str, rows: list[tuple[str, str]]) -> str:
    if not rows:
        return ""
    lines = "".join(
        f"<tr><td><code>{escape(name)}</code></td><td>{_prose(meaning)}</td></tr>"
        for name, meaning in rows
    )
    return f"<table><tr><th>{heading}</th></tr>{lines}</table>"
