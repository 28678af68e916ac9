"""Forms made from the documents' JSON Schemas: label, meaning and allowed values of each field."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from service.openapi.schemas import schema

Kind = Literal["choice", "flag", "number", "text", "names", "pair", "json"]

BASIC = (
    "parameters/library/polynomial_degree",
    "parameters/selection/method",
    "parameters/measurement_noise",
    "parameters/periodic",
    "parameters/domain",
    "analysis/passages",
)
"""Fields that most people set; all others are collapsed."""
ON_THE_PAGE = {"analysis/eigenfunctions": True}
"""Values that the page requests although they are not the default, because it draws the result."""
NAMED = {
    "parameters/selection/method": "Selection method",
    "parameters/kernels/count": "Number of kernels",
    "parameters/kernels/range": "Range of kernel centres",
    "analysis/passages": "Additional first-passage times",
    "analysis/committors": "Additional committors",
    "analysis/exits": "Exit from intervals",
    "analysis/eigenpairs": "Number of eigenvalues",
    "analysis/confidence": "Confidence level",
    "analysis/reflecting_ends": "Reflecting boundaries",
    "analysis/model_only": "Fit only",
    "parameters/selection/z_threshold": "Threshold of STLSQ",
    "dt": "Sampling interval Δt",
    "id_column": "Trajectory ID column",
}
"""Labels of fields whose schema's title is not clear by itself."""
LEFT_OUT = ("parameters/selection/threshold", "parameters/seed")
"""Fields that are not shown: they belong to the paper's preset, or do not interest a reader."""
BY_VARIABLE: dict[str, tuple[Kind, str]] = {
    "parameters/periodic": ("number", "Period of {}, if periodic"),
    "parameters/domain": ("pair", "Bounds of {}, if any"),
}


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a form.

    path      place of its value in the document: names separated by slashes
    kind      how its text becomes JSON, see static/form.js
    default   value that the service takes if none is given, as text
    value     value chosen at first
    """

    path: str
    label: str
    description: str
    kind: Kind
    default: str = ""
    options: tuple[str, ...] = ()
    example: str = ""
    unit: str = ""
    value: str = ""
    prefix: str = "f"
    """Start of the identifier, which tells forms on one page apart."""
    alias: str = ""
    """Path under which a job may hold the same value: by the variable's standard name."""

    @property
    def id(self) -> str:
        """Identifier of the input element."""
        return f"{self.prefix}-" + self.path.replace("/", "-")


def job_fields(variables: Mapping[str, str]) -> tuple[list[Field], dict[str, list[Field]]]:
    """Return the basic fields of an identification, and the others by group.

    variables   symbol of each variable, by its standard name
    """
    every = [
        f
        for f in _document("job-request", "IdentificationJob")
        if f.path.startswith(("parameters/", "analysis/"))
    ]
    basic = [f for path in BASIC for f in every if f.path == path]
    groups: dict[str, list[Field]] = {}
    for field in every:
        if field.path not in (*BASIC, *LEFT_OUT):
            groups.setdefault(_heading(field.path.split("/")), []).append(field)
    return [made for field in basic for made in _by_variable(field, variables)], groups


def layout_fields(*without: str) -> list[Field]:
    """Return the fields of a file's layout, except some."""
    return [field for field in _document("layout", None) if field.path not in without]


def _heading(steps: Sequence[str]) -> str:
    if len(steps) > 2:
        return steps[1].replace("_", " ").capitalize()
    return "Estimation" if steps[0] == "parameters" else "Derived quantities"


@cache
def _document(name: str, definition: str | None) -> tuple[Field, ...]:
    whole = schema(name)
    assert whole is not None
    definitions = whole.get("$defs", {})
    return tuple(_fields(definitions[definition] if definition else whole, definitions, ""))


def _fields(described: dict[str, Any], definitions: dict[str, Any], path: str) -> Iterator[Field]:
    for name, given in described.get("properties", {}).items():
        place = f"{path}/{name}" if path else name
        inside = _object(given, definitions)
        if inside is None:
            yield _field(place, name, given)
        else:
            yield from _fields(inside, definitions, place)


def _object(given: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any] | None:
    """Return the schema of the document that a field holds, if it holds one."""
    for option in (given, *given.get("anyOf", ())):
        found = definitions.get(option.get("$ref", "").rsplit("/", 1)[-1])
        if found is not None and "properties" in found:
            return dict(found)
    return None


def _field(path: str, name: str, given: dict[str, Any]) -> Field:
    options = [given, *given.get("anyOf", ())]
    choices = next(
        (tuple(str(v) for v in option["enum"]) for option in options if "enum" in option), ()
    )
    kind = _kind(options, bool(choices))
    default = given.get("default")
    chosen = ON_THE_PAGE.get(path, default)
    return Field(
        path=path,
        label=NAMED.get(path) or given.get("title", name),
        description=given.get("description", ""),
        kind=kind,
        default=_text(default),
        options=choices if default is not None else ("", *choices),
        example=_text(next(iter(given.get("examples", ())), None)) or _text(default),
        unit=given.get("x-unit", ""),
        value=_text(chosen) if kind in ("choice", "flag") else "",
    )


def _kind(options: Sequence[dict[str, Any]], choice: bool) -> Kind:
    types = {option.get("type") for option in options}
    if choice:
        return "choice"
    if "boolean" in types:
        return "flag"
    if "array" in types:
        items = [option.get("items", {}).get("type") for option in options]
        return "names" if "string" in items else "json"
    if types & {"integer", "number"}:
        return "number"
    return "text" if "string" in types else "json"


def _by_variable(field: Field, variables: Mapping[str, str]) -> Iterator[Field]:
    """Yield one field for each variable, if the field holds a value for each."""
    if field.path not in BY_VARIABLE:
        yield field
        return
    kind, label = BY_VARIABLE[field.path]
    for standard, name in list(variables.items())[:6]:
        yield Field(
            path=f"{field.path}/{name}",
            label=label.format(name),
            description="",
            kind=kind,
            example="360" if kind == "number" else "0, …",
            unit=field.unit,
            alias=f"{field.path}/{standard}",
        )


def _text(value: Any) -> str:
    if value is None or value == [] or value == {}:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(v, str) for v in value):
        return ", ".join(value)
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return json.dumps(value)
