"""Forms made from the documents' JSON Schemas: label, meaning and allowed values of each field."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal

from contract.kinds import KINDS
from contract.kinds import Kind as JobKind
from service.openapi.schemas import schema

Kind = Literal[
    "choice", "flag", "number", "text", "names", "pair", "rows", "values", "sum", "region", "json"
]

BASIC = (
    "parameters/library/polynomial_degree",
    "parameters/dynamics",
    "parameters/selection/method",
    "parameters/measurement_noise",
    "parameters/measurement_noise/std_error",
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
    "parameters/constraints/known/diffusion": "Known terms of the diffusion",
    "parameters/constraints/required/diffusion": "Required terms of the diffusion",
    "parameters/constraints/excluded/diffusion": "Excluded terms of the diffusion",
    "parameters/constraints/bounds/diffusion": "Bounds of the diffusion’s coefficients",
    "parameters/constraints/equalities": "Equations among coefficients",
    "parameters/constraints/odd": "Odd dynamics",
    "parameters/constraints/gradient": "Drift with a potential",
    "analysis/passages": "Additional first-passage times",
    "analysis/committors": "Additional committors",
    "analysis/exits": "Exit from intervals",
    "analysis/eigenpairs": "Number of eigenvalues",
    "analysis/confidence": "Confidence level",
    "analysis/reflecting_ends": "Reflecting boundaries",
    "analysis/model_only": "Fit only",
    "parameters/selection/z_threshold": "Threshold of STLSQ",
    "windows/count": "Number of windows",
    "windows/length": "Window length",
    "windows/share": "Window length as a fraction of the record",
    "confidence": "Confidence level",
    "dt": "Sampling interval Δt",
    "id_column": "Trajectory ID column",
}
"""Labels of fields whose schema's title is not clear by itself."""
LEFT_OUT = ("parameters/selection/threshold", "parameters/seed")
"""Fields that are not shown: they belong to the paper's preset, or do not interest a reader."""
OF_EVERY_JOB = ("parameters/", "analysis/", "labels", "timeout_seconds", "webhook", "dataset")
"""Beginnings of the fields that are no kind's own, or that the page itself fills in."""
SWEPT = (
    "parameters/library/polynomial_degree",
    "parameters/dynamics",
    "parameters/selection/method",
    "parameters/sampling_rule",
    "parameters/measurement_noise",
    "parameters/kernels/count",
)
"""Fields of which a sweep may try several values."""
IN_A_FORM = (
    ('; `"kernels": "auto"` is short for this', ""),
    ("`null`:", "Blank:"),
    ("`generator` is then empty, and the", "The"),
    (", or the unit of each by the name or 1-based number of its column", ""),
    (
        " An object gives the standard error of the samples, which is then not estimated; "
        "of second-order dynamics in one coordinate only.",
        "",
    ),
    ("If true, the eigenfunctions are", "The eigenfunctions are"),
)
"""What the documents' descriptions call otherwise than a form does."""
ROWS = {
    "from to": "One per line: start, target.",
    "from low high": "One per line: start, lower end, upper end.",
}
"""How rows with these columns are written."""
REGIONS = "Points are written (0.5, 0), regions by their bounds: x < -0.8 to x > 0.8."
BY_VARIABLE: dict[str, tuple[Kind, str, str, str]] = {
    "parameters/periodic": ("number", "Period of {}, if it is an angle", "360", ""),
    "parameters/domain": (
        "pair",
        "Bounds of {}, if any",
        "-1..1",
        "Lower and upper bound. Without an upper one: 0..",
    ),
    "parameters/measurement_noise/std_error": (
        "number",
        "Known measurement error of {}",
        "0.02",
        "Standard error of the samples. Blank: not known.",
    ),
    "parameters/constraints/known/drift": (
        "sum",
        "Known terms of the drift of {}",
        "-x",
        "With their coefficients; all others are fitted.",
    ),
    "parameters/constraints/required/drift": (
        "names",
        "Required terms of the drift of {}",
        "x, x^3",
        "Part of the model, whatever the selection says.",
    ),
    "parameters/constraints/excluded/drift": (
        "names",
        "Excluded terms of the drift of {}",
        "x^2",
        "",
    ),
    "parameters/constraints/bounds/drift": (
        "region",
        "Bounds of coefficients in the drift of {}",
        "x^3 < 0",
        "Several are joined by “and”.",
    ),
    "analysis/inputs": (
        "number",
        "Value of {} in the analysis",
        "1.5",
        "Blank: its mean.",
    ),
}
"""Kind, label, example and description of the fields that hold a value for each variable."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a form.

    path      place of its value in the document: names separated by slashes
    kind      how its text becomes JSON, see static/form.js
    default   value that the service takes if none is given, as text
    value     value chosen at first
    words     words that may stand in place of a number
    whole     whether a number must be whole
    columns   for rows: the names of what stands in a row, in order
    prefix    start of its element's identifier, which tells the page's forms apart
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
    words: tuple[str, ...] = ()
    whole: bool = False
    columns: tuple[str, ...] = ()
    prefix: str = "f"
    alias: str = ""
    """Path under which a job may hold the same value: by the variable's standard name."""

    @property
    def id(self) -> str:
        """Identifier of the input element."""
        return f"{self.prefix}-" + self.path.replace("/", "-")


@dataclass(frozen=True, slots=True)
class KindForm:
    """What the form of one kind of job has of its own.

    title      what the kind does, in a few words
    fields     its fields
    analysis   whether it has the fields of the analysis
    """

    name: str
    title: str
    fields: tuple[Field, ...]
    analysis: bool


def kind_forms(*, groups: bool = True) -> list[KindForm]:
    """Return the kinds of job that start from data, with the fields that only they have.

    groups   whether the dataset has groups, without which some kinds are left out
    """
    kinds = (kind for kind in KINDS.values() if kind.needs_data)
    return [_kind_form(kind) for kind in kinds if groups or "groups" not in kind.job.model_fields]


def _kind_form(kind: JobKind) -> KindForm:
    of_kind = [f for f in _document("job-request", kind.job.__name__) if f.path != "kind"]
    own = [
        f
        for f in of_kind
        if not f.path.startswith(
            (*OF_EVERY_JOB, "data", "preset", "trajectories", "variants", "groups")
        )
    ]
    if "variants" in kind.job.model_fields:
        own += [_swept(f) for path in SWEPT for f in of_kind if f.path == path]
    title = re.split(r"[.:]", kind.job.__doc__ or kind.name)[0]
    return KindForm(kind.name, title, tuple(own), "analysis" in kind.job.model_fields)


def _swept(field: Field) -> Field:
    """Return the field of the values that a sweep tries of another field."""
    options = tuple(option for option in field.options if option)
    examples = options[:3] or (field.default, str(2 * int(field.default)))
    return Field(
        path=field.path.replace("parameters", "variants", 1),
        label=f"{field.label}: values to try",
        description=f"Separated by commas: {', '.join(options)}." if options else "",
        kind="values",
        example=", ".join(examples),
        words=(*options, *field.words),
        whole=field.whole,
    )


def analysis_fields() -> list[Field]:
    """Return the fields of the analysis of a given model that most people set."""
    wanted = ("analysis/passages", "analysis/exits", "analysis/eigenfunctions")
    every = _document("job-request", "GeneratorJob")
    return [replace(f, prefix="m") for f in every if f.path in wanted]


def job_fields(
    variables: Mapping[str, str], inputs: Mapping[str, str] | None = None
) -> tuple[list[Field], dict[str, list[Field]]]:
    """Return the basic fields of an identification, and the others by group.

    variables   symbol of each variable, by its standard name
    inputs      symbol of each input
    """
    every = [
        _said_of(f, variables)
        for f in _document("job-request", "IdentificationJob")
        if f.path.startswith(("parameters/", "analysis/"))
    ]
    basic = [f for path in BASIC for f in every if f.path == path]
    groups: dict[str, list[Field]] = {}
    for field in every:
        if field.path == "analysis/inputs":
            groups.setdefault("Derived quantities", []).extend(_by_variable(field, inputs or {}))
        elif field.path == "parameters/library/input_degree" and not inputs:
            continue
        elif field.path not in (*BASIC, *LEFT_OUT):
            made = _by_variable(field, variables)
            groups.setdefault(_heading(field.path.split("/")), []).extend(made)
    return [made for field in basic for made in _by_variable(field, variables)], groups


def _said_of(field: Field, variables: Mapping[str, str]) -> Field:
    """Say how places of several variables are written."""
    if field.kind != "rows" or len(variables) == 1 or "low" in field.columns:
        return field
    first = next(iter(variables.values()))
    said = f"{field.description} {REGIONS.replace('x', first)}"
    return replace(field, description=said, example=f"{first} < -0.8 to {first} > 0.8")


def layout_fields(*without: str) -> list[Field]:
    """Return the fields of a file's layout, except some."""
    return [field for field in _document("layout", None) if field.path not in without]


@cache
def labels() -> dict[str, str]:
    """Return the label of every parameter of an identification, by its path."""
    basic, groups = job_fields({"x": "x"}, {"u": "u"})
    fields = [*basic, *(field for group in groups.values() for field in group)]
    return {field.path: field.label for field in fields}


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
        if inside is None or any("enum" in option for option in given.get("anyOf", ())):
            yield _field(place, name, given, definitions)
        if inside is not None:
            yield from _fields(inside, definitions, place)


def _object(given: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any] | None:
    """Return the schema of the document that a field holds, if it holds one."""
    for option in (given, *given.get("anyOf", ())):
        found = definitions.get(option.get("$ref", "").rsplit("/", 1)[-1])
        if found is not None and "properties" in found:
            return dict(found)
    return None


def _field(path: str, name: str, given: dict[str, Any], definitions: dict[str, Any]) -> Field:
    options = [given, *given.get("anyOf", ())]
    choices = next(
        (tuple(str(v) for v in option["enum"]) for option in options if "enum" in option), ()
    )
    kind = _kind(options, bool(choices))
    default = given.get("default")
    columns = _columns(given, definitions)
    description, example = given.get("description", ""), next(iter(given.get("examples", ())), None)
    for written, said in IN_A_FORM:
        description = description.replace(written, said)
    if columns:
        kind, description = "rows", f"{description} {ROWS[' '.join(columns)]}"
        example = ", ".join(_text(example[0][column]) for column in columns) if example else ""
    chosen = ON_THE_PAGE.get(path, default)
    return Field(
        path=path,
        label=NAMED.get(path) or given.get("title", name),
        description=description,
        kind=kind,
        default=_text(default),
        options=choices if default is not None else ("", *choices),
        example=_text(example) or _text(default),
        unit=given.get("x-unit", ""),
        value=_text(chosen) if kind in ("choice", "flag") else "",
        words=tuple(str(option["const"]) for option in options if "const" in option),
        whole=any(option.get("type") == "integer" for option in options),
        columns=columns,
    )


def _columns(given: dict[str, Any], definitions: dict[str, Any]) -> tuple[str, ...]:
    """Return what stands in each row of a list of documents, in order; empty for other fields."""
    of_item = definitions.get(given.get("items", {}).get("$ref", "").rsplit("/", 1)[-1], {})
    named = tuple(of_item.get("properties", ()))
    return named if " ".join(named) in ROWS else ()


def _kind(options: Sequence[dict[str, Any]], choice: bool) -> Kind:
    types = {option.get("type") for option in options}
    if choice:
        return "choice"
    if "boolean" in types:
        return "flag"
    inside = [option.get("items", {}) for option in options]
    if "object" in types or any("$ref" in item or item.get("type") == "object" for item in inside):
        return "json"
    if "array" in types:
        return "pair" if any("prefixItems" in option for option in options) else "names"
    if types & {"integer", "number"}:
        return "number"
    return "text"


def _by_variable(field: Field, variables: Mapping[str, str]) -> Iterator[Field]:
    """Yield one field for each variable, if the field holds a value for each."""
    if field.path not in BY_VARIABLE:
        yield field
        return
    kind, label, example, description = BY_VARIABLE[field.path]
    for standard, name in list(variables.items())[:6]:
        yield Field(
            path=f"{field.path}/{name}",
            label=label.format(name),
            description=description,
            kind=kind,
            example=example.replace("x", name),
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
