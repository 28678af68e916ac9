"""Options that several commands have, and the types of their values."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import click

from itoscope_client.inputs import LayoutOptions

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
    """A pair NAME=VALUE."""

    name = "NAME=VALUE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Split the pair, or fail with a message."""
        name, equals, rest = str(value).partition("=")
        if not equals or not name:
            self.fail(f"{value!r} is not NAME=VALUE", param, ctx)
        return name, rest


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


def together(*decorators: Callable[[Any], Any]) -> Decorator:
    """Combine decorators, of which the first is shown first in the help."""

    def decorate(command: Command) -> Command:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return decorate


def labelled(purpose: str) -> Decorator:
    """Return the option of labels, whose help begins with their purpose."""
    said = f"{purpose} May be repeated."
    return click.option("--label", "labels", type=Label(), multiple=True, help=said)


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
    click.option("--detach", is_flag=True, help="Submit the job, print its id and exit."),
    saves,
    waits,
    common,
)
"""Options of commands that start a job."""
laid_out = together(
    click.option(
        "--dt", type=float, metavar="TIME",
        help="Sampling interval, for files without a time column.",
    ),
    click.option(
        "--time-column", metavar="NAME",
        help="Column, dimension or array that holds the sample times.",
    ),
    click.option(
        "--id-column", metavar="NAME", help="Column or dimension that identifies trajectories."
    ),
    click.option(
        "--state-columns", metavar="NAMES", help="State variables, separated by commas: x,y."
    ),
    click.option(
        "--ignored-columns", metavar="NAMES", help="Columns to leave out, separated by commas."
    ),
    click.option(
        "--orientation", type=click.Choice(["columns", "rows"]),
        help="rows: each row of the table is one trajectory.",
    ),
    click.option(
        "--axes", metavar="LETTERS",
        help="Axes of an array: n trajectory, t time, d state variable; e.g. ntd.",
    ),
    click.option(
        "--time-unit", metavar="UNIT",
        help="Unit of time; calendar time stamps are converted to it (s, min, h, day, year).",
    ),
    click.option("--state-unit", metavar="UNIT", help="Unit of the state; a label."),
)  # fmt: skip
"""Options of the layout of a file."""
reads = together(click.argument("file", type=click.Path(path_type=Path)), laid_out)
"""The file of data, and the options of its layout."""
fits = together(
    click.option(
        "--degree", type=click.IntRange(0, 10), help="Highest degree of the candidate terms."
    ),
    click.option(
        "--periodic", type=Label(), multiple=True,
        help="An angle and its period: x=360. May be repeated.",
    ),
    click.option("--parameters", type=Parsed(), help="All other parameters as JSON, or @FILE."),
)  # fmt: skip
"""Parameters of an identification."""
analyses = together(
    click.option(
        "--passage", type=(float, float), multiple=True, metavar="FROM TO",
        help="A mean first-passage time to compute. May be repeated.",
    ),
    click.option(
        "--analysis", type=Parsed(), help="All other quantities to compute as JSON, or @FILE."
    ),
)  # fmt: skip
"""Quantities to derive from a model."""


def layout_of(options: Mapping[str, Any]) -> LayoutOptions:
    """Return the layout that the options of `laid_out` say, with names of columns as lists."""
    lists = ("state_columns", "ignored_columns")
    named = {name: options[name].split(",") for name in lists if options[name] is not None}
    return cast(LayoutOptions, {**options, **named})


def parameters_of(
    given: Mapping[str, Any] | None, degree: int | None, periodic: Sequence[tuple[str, str]]
) -> Any:
    """Merge the shorter options into the parameters; None where none are given."""
    parameters = dict(given or {})
    if degree is not None:
        parameters["library"] = {**parameters.get("library", {}), "polynomial_degree": degree}
    if periodic:
        periods = {name: float(period) for name, period in periodic}
        parameters["periodic"] = {**parameters.get("periodic", {}), **periods}
    return parameters or None


def analysis_of(given: Mapping[str, Any] | None, passage: Sequence[tuple[float, float]]) -> Any:
    """Merge the passages into the analysis; None where nothing is asked."""
    analysis = dict(given or {})
    if passage:
        asked = [{"from": start, "to": end} for start, end in passage]
        analysis["passages"] = [*analysis.get("passages", ()), *asked]
    return analysis or None
