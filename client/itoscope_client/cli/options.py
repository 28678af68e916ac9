"""Options that several commands have, and the types of their values."""

import inspect
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, cast

import click

from itoscope_client.inputs import LayoutOptions
from itoscope_client.inputs.upload import SEVERAL

Command = Callable[..., None]
Decorator = Callable[[Command], Command]
JSON_EXAMPLE = '\'{"library": {"polynomial_degree": 3}}\''


class Parsed(click.ParamType):  # type: ignore[type-arg]
    """A JSON object in the command line, or @FILE that contains it."""

    name = "JSON"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Parse the object, or fail with a message."""
        if not isinstance(value, str):
            return value
        try:
            text = Path(value[1:]).read_text(encoding="utf-8") if value.startswith("@") else value
            parsed = json.loads(text)
        except (OSError, ValueError) as error:
            self.fail(f"{error}. Write it like {JSON_EXAMPLE}, or @FILE", param, ctx)
        if not isinstance(parsed, dict):
            self.fail("it must be an object: {…}", param, ctx)
        return parsed


class Label(click.ParamType):  # type: ignore[type-arg]
    """A pair NAME=VALUE, divided at the first `=` or at the last one."""

    name = "NAME=VALUE"

    def __init__(self, *, last: bool = False) -> None:
        self.last = last

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Split the pair, or fail with a message."""
        text = str(value)
        name, equals, rest = text.rpartition("=") if self.last else text.partition("=")
        if not equals or not name:
            self.fail(f"{value!r} is not NAME=VALUE", param, ctx)
        return name, rest


class Bounds(click.ParamType):  # type: ignore[type-arg]
    """The bounds of a variable, `x=-2,2`; an end that is left out is open: `x=0,`."""

    name = "NAME=LOW,HIGH"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Split name and ends, or fail with a message."""
        if not isinstance(value, str):
            return value
        name, _, ends = value.partition("=")
        try:
            low, high = (float(end) if end.strip() else None for end in ends.split(","))
        except ValueError:
            self.fail(f"{value!r} is not NAME=LOW,HIGH; for an open end x=0, or x=,0", param, ctx)
        return name, [low, high]


class Limits(click.ParamType):  # type: ignore[type-arg]
    """Bounds of a coefficient, `x^3<0`, `0<x<2`, or of one of several variables, `y=x>0`."""

    name = "[NAME=]BOUNDS"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Split component, term and bounds, or fail with a message."""
        if not isinstance(value, str):
            return value
        name, equals, rest = value.replace(" ", "").rpartition("=")
        numbers, term = re.split("[<>]", rest), None
        ends: dict[str, float | None] = {"<": None, ">": None}
        try:
            if len(numbers) == 3 and rest.count("<") == 2:
                ends, term = {">": float(numbers[0]), "<": float(numbers[2])}, numbers[1]
            elif len(numbers) == 2:
                ends["<" if "<" in rest else ">"], term = float(numbers[1]), numbers[0]
        except ValueError:
            term = None
        if not term:
            self.fail(f"{rest!r} is no bound. Write it like 'x^3<0' or '0<x<2'", param, ctx)
        return (name if equals else "x"), {term: [ends[">"], ends["<"]]}


class Component(click.ParamType):  # type: ignore[type-arg]
    """A component of drift or diffusion, `x - x^3`, or of one of several variables, `y=-2*x`."""

    name = "[NAME=]SUM"

    def __init__(self, alone: str) -> None:
        self.alone = alone

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Split the sum into its terms with their coefficients, or fail with a message."""
        if not isinstance(value, str):
            return value
        name, equals, rest = value.rpartition("=")
        terms = terms_of_sum(rest)
        if terms is None:
            self.fail(f"{rest!r} is no sum of terms. Write it like 'x - 0.5*x^3'", param, ctx)
        return (name if equals else self.alone), terms


_NUMBER = r"\d+(?:\.\d*)?(?:e[+-]?\d+)?|\.\d+(?:e[+-]?\d+)?"
_COEFFICIENT = re.compile(rf"({_NUMBER})(?:\*(?!\*)|$)", re.IGNORECASE)
_EXPONENT = re.compile(r"(?:^|[^\w.])[\d.]+e$", re.IGNORECASE)


def terms_of_sum(text: str) -> dict[str, float] | None:
    """Split `x - 0.5*x^3` into its terms with their coefficients; None for an empty term.

    Only signs outside of parentheses divide it. The terms themselves are checked by the service.
    """
    pieces, depth = [""], 0
    for character in text.replace(" ", ""):
        depth += {"(": 1, ")": -1}.get(character, 0)
        before = pieces[-1]
        divides = character in "+-" and depth == 0 and before.strip("+-") != ""
        if divides and before[-1] not in "*/^" and not _EXPONENT.search(before):
            pieces.append(character)
        else:
            pieces[-1] += character
    found: dict[str, float] = {}
    for piece in pieces:
        term = piece.lstrip("+-")
        sign = -1.0 if piece[: len(piece) - len(term)].count("-") % 2 else 1.0
        number = _COEFFICIENT.match(term)
        name = (term[number.end() :] or "1") if number else term
        if not term:
            return None
        found[name] = found.get(name, 0.0) + sign * float(number[1] if number else 1)
    return found


class Named(click.ParamType):  # type: ignore[type-arg]
    """Terms of a component, `x,x^3`, or of one of several variables, `y=x`."""

    name = "[NAME=]TERMS"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Split component and terms, or fail with a message."""
        if not isinstance(value, str):
            return value
        name, equals, rest = value.rpartition("=")
        terms = [term.strip() for term in rest.split(",")]
        if not all(terms):
            self.fail(f"{rest!r} is no list of terms. Write it like 'x,x^3'", param, ctx)
        return (name if equals else "x"), terms


class StandardError(click.ParamType):  # type: ignore[type-arg]
    """A standard error of all samples, `0.02`, or of those of a variable, `x=0.02`."""

    name = "[NAME=]NUMBER"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Split name and number, or fail with a message."""
        if not isinstance(value, str):
            return value
        name, _, number = value.rpartition("=")
        try:
            return name or None, float(number)
        except ValueError:
            self.fail(f"{value!r} is no number. Write it like 0.02, or x=0.02", param, ctx)


def together(*decorators: Callable[[Any], Any]) -> Decorator:
    """Combine decorators, of which the first is shown first in the help."""

    def decorate(command: Command) -> Command:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return decorate


class Giving(click.Option):
    """An option that gives a field of a request.

    field   the field in the words of the API: parameters.library.polynomial_degree
    """

    def __init__(self, *names: Any, field: str, **how: Any) -> None:
        super().__init__(*names, **how)
        self.field = field


def giving(field: str, *names: str, **how: Any) -> Decorator:
    """Return an option that gives the field."""
    return click.option(*names, cls=Giving, field=field, **how)


def labelled(purpose: str) -> Decorator:
    """Return the option of labels, whose help begins with their purpose."""
    said = f"{purpose} May be repeated."
    return click.option("--label", "labels", type=Label(), multiple=True, help=said)


def bounded(of: str) -> Decorator:
    """Return the options of the variables of a document: `parameters`, or a `model`."""
    return together(
        giving(
            f"{of}.periodic", "--periodic", type=Label(), multiple=True,
            help="An angle and its period: x=360. May be repeated.",
        ),
        giving(
            f"{of}.domain", "--domain", type=Bounds(), multiple=True,
            help="Known bounds of a variable: x=-2,2, or x=0, for an open end. May be repeated.",
        ),
    )  # fmt: skip


address = click.option("--url", envvar="ITOSCOPE_URL", metavar="URL", help="The service's address.")
saves = click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="FILE",
    help="Also write the result as JSON.",
)  # fmt: skip
common = together(
    click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs."), address
)
"""Options of every command."""
waits = together(
    click.option("-q", "--quiet", is_flag=True, help="No progress bar."),
    click.option(
        "--timeout",
        type=click.FloatRange(min=0),
        metavar="SECONDS",
        help="Stop waiting after this time.",
    ),
)
"""Options of commands that wait for a job."""
starts = together(
    labelled("Your own label for the job."),
    giving(
        "timeout_seconds", "--time-limit", "timeout_seconds", type=click.FloatRange(min=1),
        metavar="SECONDS", help="Time limit of the job on the worker (default 600).",
    ),
    click.option("--detach", is_flag=True, help="Submit the job, print its id and exit."),
    saves,
    waits,
    common,
)  # fmt: skip
"""Options of commands that start a job."""
laid_out = together(
    giving(
        "layout.dt", "--dt", type=float, metavar="TIME",
        help="Sampling interval, for files without a time column.",
    ),
    giving(
        "layout.time_column", "--time-column", metavar="NAME",
        help="Column, dimension or array that holds the sample times.",
    ),
    giving(
        "layout.id_column", "--id-column", metavar="NAME",
        help="Column or dimension that identifies trajectories."
    ),
    giving(
        "layout.state_columns", "--state-columns", metavar="NAMES",
        help="State variables, separated by commas: x,y."
    ),
    giving(
        "layout.ignored_columns", "--ignored-columns", metavar="NAMES",
        help="Columns to leave out, separated by commas."
    ),
    giving(
        "layout.group_column", "--group-column", metavar="NAME",
        help="Column that names the group (condition) of each trajectory."
    ),
    giving(
        "layout.input_columns", "--input-columns", metavar="NAMES",
        help="Columns of signals that drive the states, separated by commas."
    ),
    giving(
        "layout.error_columns", "--error-columns", metavar="NAMES",
        help="Columns with the standard error of each sample, separated by commas."
    ),
    giving(
        "layout.orientation", "--orientation", type=click.Choice(["columns", "rows"]),
        help="rows: each row of the table is one trajectory.",
    ),
    giving(
        "layout.axes", "--axes", metavar="LETTERS",
        help="Axes of an array: n trajectory, t time, d state variable; e.g. ntd.",
    ),
    giving(
        "layout.time_unit", "--time-unit", metavar="UNIT",
        help="Unit of time; calendar time stamps are converted to it (s, min, h, day, year).",
    ),
    giving(
        "layout.state_unit", "--state-unit", "state_units", multiple=True,
        metavar="[COLUMN=]UNIT",
        help="Unit of the state, or of one column: Position=nm; a label. May be repeated.",
    ),
    giving(
        "layout.state_names", "--state-name", "state_names", type=Label(last=True), multiple=True,
        help="Word for a column in equations and plots: Position=height. May be repeated.",
    ),
    giving(
        "layout.gap_factor", "--gap-factor", type=float, metavar="NUMBER",
        help="A step longer than this many sampling intervals divides the time series.",
    ),
)  # fmt: skip
"""Options of the layout of a file."""
reads = together(click.argument("file", type=click.Path(path_type=Path)), laid_out)
"""The file of data, and the options of its layout."""
known_terms = together(
    giving(
        "parameters.constraints.known", "--known", "known", type=Component("x"), multiple=True,
        help="Terms of the drift with their known coefficients: '-x', or of each variable: "
        "'y=-2*x'; of the diffusion: 'x,x=0.25'. May be repeated.",
    ),
    giving(
        "parameters.constraints.required", "--required", "required", type=Named(), multiple=True,
        help="Terms that are part of the drift: 'x,x^3', 'y=x'; of the diffusion: 'x,x=1'.",
    ),
    giving(
        "parameters.constraints.excluded", "--excluded", "excluded", type=Named(), multiple=True,
        help="Terms that are no part of it, written in the same way.",
    ),
    giving(
        "parameters.constraints.bounds", "--bounds", "bounds", type=Limits(), multiple=True,
        help="Bounds of a coefficient: 'x^3<0', '0<x<2', 'y=x>0'. May be repeated.",
    ),
    giving(
        "parameters.constraints.odd", "--odd", "odd", is_flag=True, default=None,
        help="x → −x changes nothing: odd drift, even diffusion.",
    ),
    giving(
        "parameters.constraints.gradient", "--gradient", "gradient", is_flag=True, default=None,
        help="The drift is the slope of a potential.",
    ),
    giving(
        "parameters.measurement_noise.std_error", "--measurement-error", "measurement_error",
        type=StandardError(), multiple=True,
        help="Known standard error of the samples: 0.02, or of each variable: x=0.02.",
    ),
    giving(
        "parameters.exposure", "--exposure", "exposure", type=float, metavar="TIME",
        help="Time over which each sample is an average.",
    ),
)  # fmt: skip
"""What is known before the fit."""


def _collected(command: Command) -> Command:
    """Merge the options of `fits` into one argument, `parameters`; None where none are given."""

    @wraps(command)
    def with_parameters(**given: Any) -> None:
        own = {name: given.pop(name) for name in inspect.signature(parameters_of).parameters}
        command(parameters=parameters_of(**own), **given)

    return with_parameters


fits = together(
    giving(
        "parameters.library.polynomial_degree", "--degree", type=click.IntRange(0, 10),
        help="Highest degree of the candidate terms.",
    ),
    giving(
        "parameters.dynamics", "--dynamics",
        type=click.Choice(["auto", "first-order", "second-order", "coloured-noise"]),
        help="second-order: the file has positions; force and friction are fitted.",
    ),
    bounded("parameters"),
    known_terms,
    giving(
        "parameters", "--parameters", type=Parsed(), multiple=True,
        help="All other parameters as JSON, or @FILE. May be repeated.",
    ),
    _collected,
)  # fmt: skip
"""Parameters of an identification, which the command gets merged."""
analyses = together(
    giving(
        "analysis.passages", "--passage", type=(float, float), multiple=True, metavar="FROM TO",
        help="A mean first-passage time to compute. May be repeated.",
    ),
    giving(
        "analysis", "--analysis", type=Parsed(), multiple=True,
        help="All other quantities to compute as JSON, or @FILE. May be repeated.",
    ),
)  # fmt: skip
"""Quantities to derive from a model."""


def layout_of(options: Mapping[str, Any]) -> LayoutOptions:
    """Return the layout that the options of `laid_out` say, as lists and maps of columns.

    Raise click.UsageError for units of which some have a column and others not.
    """
    given = dict(options)
    units, names = given.pop("state_units"), given.pop("state_names")
    for several in SEVERAL:
        given[several] = None if given[several] is None else given[several].split(",")
    if len(units) == 1 and "=" not in units[0]:
        given["state_unit"] = units[0]
    elif units:
        pairs = [unit.rpartition("=") for unit in units]
        if not all(column for column, _, _ in pairs):
            raise click.UsageError("Give one --state-unit for all, or COLUMN=UNIT in each.")
        given["state_unit"] = {column: unit for column, _, unit in pairs}
    return cast(LayoutOptions, {**given, "state_names": dict(names) or None})


def parameters_of(
    parameters: Sequence[Mapping[str, Any]],
    degree: int | None,
    dynamics: str | None,
    periodic: Sequence[tuple[str, str]],
    domain: Sequence[tuple[str, Any]],
    known: Sequence[tuple[str, Any]],
    required: Sequence[tuple[str, Any]],
    excluded: Sequence[tuple[str, Any]],
    bounds: Sequence[tuple[str, Any]],
    odd: bool | None,
    gradient: bool | None,
    measurement_error: Sequence[tuple[str | None, float]],
    exposure: float | None,
) -> Any:
    """Merge the options of `fits` into the parameters; None where none are given."""
    named = {"known": known, "required": required, "excluded": excluded, "bounds": bounds}
    own = {
        "library": {"polynomial_degree": degree},
        "dynamics": dynamics,
        "constraints": {
            **{name: _by_component(values) for name, values in named.items()},
            "odd": odd,
            "gradient": gradient,
        },
        "measurement_noise": {"std_error": _by_variable(measurement_error)},
        "exposure": exposure,
    }
    return with_bounds(merged((*parameters, _given(own))), periodic, domain) or None


def _by_component(named: Iterable[tuple[str, Any]]) -> dict[str, Any] | None:
    """Return terms by component, those of pairs of variables apart; None where there are none."""
    found: dict[str, dict[str, Any]] = {}
    for name, terms in named:
        component = ",".join(part.strip() for part in name.split(","))
        of = found.setdefault("diffusion" if "," in component else "drift", {})
        if isinstance(terms, Mapping):
            of.setdefault(component, {}).update(terms)
        else:
            of.setdefault(component, []).extend(terms)
    return found or None


def _by_variable(errors: Sequence[tuple[str | None, float]]) -> float | dict[str, float] | None:
    """Return one standard error, or those by variable. Raise click.UsageError for a mixture."""
    named = {name: error for name, error in errors if name is not None}
    if not errors or len(named) == len(errors):
        return named or None
    if len(errors) > 1:
        raise click.UsageError("Give one --measurement-error for all variables, or NAME= in each.")
    return errors[0][1]


def _given(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a document says, without what is None or says nothing."""
    whole = {
        name: _given(value) if isinstance(value, Mapping) else value
        for name, value in document.items()
    }
    return {name: value for name, value in whole.items() if value is not None and value != {}}


def with_bounds(
    document: Mapping[str, Any],
    periodic: Sequence[tuple[str, str]],
    domain: Sequence[tuple[str, Any]],
) -> dict[str, Any]:
    """Merge the options of `bounded` into a document."""
    periods = {name: float(period) for name, period in periodic}
    own = {"periodic": periods, "domain": dict(domain)}
    return merged((document, {name: value for name, value in own.items() if value}))


def analysis_of(given: Sequence[Mapping[str, Any]], passage: Sequence[tuple[float, float]]) -> Any:
    """Merge the passages into the analysis; None where nothing is asked."""
    analysis = merged(given)
    if passage:
        asked = [{"from": start, "to": end} for start, end in passage]
        analysis["passages"] = [*analysis.get("passages", ()), *asked]
    return analysis or None


def merged(documents: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Merge documents object by object; of a value that several give, the last is taken."""
    whole: dict[str, Any] = {}
    for document in documents:
        for name, value in document.items():
            both = isinstance(value, Mapping) and isinstance(whole.get(name), Mapping)
            whole[name] = merged((whole[name], value)) if both else value
    return whole
