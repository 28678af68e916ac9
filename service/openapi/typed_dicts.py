"""The documents of a request as Python's TypedDicts, for completion and checks in the client."""

import json
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

Schema = Mapping[str, Any]
WIDTH = 100
HEAD = '''"""The documents of a job's request, as the service declares them.

Generated from the JSON Schema `job-request` by `python -m service.openapi`; do not edit.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Required, TypedDict
'''
_BETWEEN = "\n\n\n"
_PLAIN = {
    "integer": "int",
    "number": "float",
    "string": "str",
    "boolean": "bool",
    "null": "None",
    "object": "Mapping[str, Any]",
    "array": "Sequence[Any]",
}


def typed_dicts(schema: Schema) -> str:
    """Write a module with a TypedDict for every object of a schema, and a table of the jobs.

    schema   JSON Schema of a job request, a union with one object for each kind
    """
    parts: Mapping[str, Schema] = schema["$defs"]
    classes = [_written(name, parts[name]) for name in _in_order(parts)]
    kinds = {
        kind: reference.rsplit("/", 1)[-1]
        for kind, reference in schema["discriminator"]["mapping"].items()
    }
    rows = "".join(f'    "{kind}": {name},\n' for kind, name in sorted(kinds.items()))
    table = f"JOBS: Mapping[str, Any] = {{\n{rows}}}"
    said = '"""Type of the request of each kind of job."""\n'
    head = f"{HEAD}\n" if classes[0].startswith("class") else HEAD
    return f"{head}\n{_BETWEEN.join([*classes, table])}\n{said}"


def _in_order(parts: Mapping[str, Schema]) -> list[str]:
    """Sort the objects so that each comes after those that it refers to."""
    done: dict[str, None] = {}

    def visit(name: str) -> None:
        for other in _references(parts[name]):
            visit(other)
        done.setdefault(name)

    for name in sorted(parts):
        visit(name)
    return list(done)


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, inside in value.items():
            if key == "$ref":
                yield inside.rsplit("/", 1)[-1]
            else:
                yield from _references(inside)
    elif isinstance(value, list):
        for inside in value:
            yield from _references(inside)


def _written(name: str, part: Schema) -> str:
    """Write one object; a field called `from` needs the call, because it is no identifier."""
    fields = part["properties"]
    required = part.get("required", ())
    types = {
        field: f"Required[{_type(of)}]" if field in required else _type(of)
        for field, of in fields.items()
    }
    if "from" in fields:
        rows = "".join(_row(field, kind) for field, kind in types.items())
        return "\n".join(
            [
                f'{name} = TypedDict(\n    "{name}",\n    {{\n{rows}    }},\n    total=False,\n)',
                *_quoted(part.get("description", ""), ""),
            ]
        )
    lines = [f"class {name}(TypedDict, total=False):"]
    lines += [*_quoted(part.get("description", ""), "    "), ""]
    for field, kind in types.items():
        lines += [f"    {field}: {kind}", *_quoted(_described(fields[field]), "    ")]
    return "\n".join(lines)


def _row(field: str, kind: str) -> str:
    """Write a field in a call, on three lines where it is long."""
    row = f'        "{field}": {kind},\n'
    if len(row) <= WIDTH or not kind.endswith("]"):
        return row
    outer, inner = kind[:-1].split("[", 1)
    return f'        "{field}": {outer}[\n            {inner}\n        ],\n'


def _described(of: Schema) -> str:
    text = str(of.get("description", ""))
    if "default" not in of or isinstance(of["default"], dict | list) or of["default"] is None:
        return text
    return f"{text} Default: {_json(of['default'])}."


def _quoted(text: str, indent: str) -> list[str]:
    """Write a text as a docstring, its paragraphs wrapped."""
    if not text:
        return []
    paragraphs = [
        textwrap.wrap(
            paragraph, WIDTH - len(indent), break_long_words=False, break_on_hyphens=False
        )
        for paragraph in f'"""{text}'.split("\n\n")
    ]
    last = paragraphs[-1]
    alone = len(paragraphs) == 1
    if alone and len(last[-1]) + 3 <= WIDTH - len(indent) and not last[-1].endswith('"'):
        last[-1] += '"""'
    else:
        last.append('"""')
    found: list[str] = []
    for paragraph in paragraphs:
        found += [*([""] if found else []), *(f"{indent}{line}" for line in paragraph)]
    return found


def _type(of: Schema) -> str:
    if "$ref" in of:
        return str(of["$ref"].rsplit("/", 1)[-1])
    if "const" in of:
        return f"Literal[{_json(of['const'])}]"
    if "enum" in of:
        return f"Literal[{', '.join(map(_json, of['enum']))}]"
    for several in ("anyOf", "oneOf"):
        if several in of:
            return " | ".join(dict.fromkeys(_type(one) for one in of[several]))
    if "prefixItems" in of:
        return f"Sequence[{' | '.join(dict.fromkeys(_type(one) for one in of['prefixItems']))}]"
    if of.get("type") == "array" and of.get("items"):
        return f"Sequence[{_type(of['items'])}]"
    if isinstance(of.get("additionalProperties"), Mapping):
        return f"Mapping[str, {_type(of['additionalProperties'])}]"
    return _PLAIN.get(of.get("type", ""), "Any")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
