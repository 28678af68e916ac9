"""The interface as one HTML page, made from the OpenAPI document; it loads no other resource."""

from html import escape
from typing import Any

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
        _operation(method, path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    title = escape(document["info"]["title"])
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title} API</title><style>{_STYLE}</style></head><body>
<h1>{title} API</h1>
<p>{escape(document["info"]["summary"])}</p>
<p>{escape(document["info"]["description"])}</p>
<p>For programs: <a href="/openapi.json">openapi.json</a>,
<a href="/v1/schemas">JSON Schemas</a>.</p>
<pre>{escape(_EXAMPLE)}</pre>
{"".join(operations)}
</body></html>
"""


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
    heading = f"<code>{method.upper()} {escape(path)}</code> {escape(operation['summary'])}"
    return f"""<section><h2>{heading}</h2>
<p>{escape(operation.get("description", ""))}</p>{tables}</section>
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
        f"<tr><td><code>{escape(name)}</code></td><td>{escape(meaning)}</td></tr>"
        for name, meaning in rows
    )
    return f"<table><tr><th>{heading}</th></tr>{lines}</table>"
