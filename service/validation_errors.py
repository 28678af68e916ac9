"""Pydantic's findings in the user's words: which field is wrong and why; never its value."""

from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from contract.kinds import KINDS
from contract.problems import ProblemError

MOST = 20
"""Largest number of faults in one response."""

_QUOTED = [f"`{name}`" for name in KINDS]
_ANY_KIND = f"{', '.join(_QUOTED[:-1])} or {_QUOTED[-1]}"
_WORDS = {
    "missing": "is required",
    "extra_forbidden": "is not a known field",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_parsing": "must be a number",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "dict_type": "must be an object",
    "tuple_type": "must be a list",
    "string_unicode": "must be text of valid Unicode characters",
    "union_tag_invalid": f"`kind` must be {_ANY_KIND}",
    "union_tag_not_found": f"`kind` is required: {_ANY_KIND}",
}

_LIMITS = {
    "too_short": ("least", "min_length", "item"),
    "too_long": ("most", "max_length", "item"),
    "string_too_short": ("least", "min_length", "character"),
    "string_too_long": ("most", "max_length", "character"),
}

_Place = tuple[str | int, ...]


def pointer(*place: str | int) -> str:
    """Return a JSON Pointer in fragment form (RFC 6901), e.g. `#/parameters/kernels/count`."""
    return "#" + "".join(
        "/" + str(token)[:200].replace("~", "~0").replace("/", "~1") for token in place
    )


def document_faults(error: ValidationError, given: Any, *inside: str) -> tuple[ProblemError, ...]:
    """List the faults of the document `given`, at most `MOST` and one for each field.

    inside    place of the document in an enclosing one
    """
    found: dict[_Place, list[str]] = {}
    for place, finding in _of_the_best_alternative(error, given):
        words = _words(finding)
        if words not in found.setdefault(place, []):
            found[place].append(words)
    return tuple(
        ProblemError(detail=" or ".join(words), pointer=pointer(*inside, *place))
        for place, words in list(found.items())[:MOST]
    )


def parameter_faults(findings: Sequence[Any]) -> tuple[ProblemError, ...]:
    """List the faults of path, query and header parameters."""
    places = [
        # What follows the name are positions in a repeated parameter.
        (each["loc"][0], [step for step in each["loc"] if isinstance(step, str)][-1], _words(each))
        for each in findings
    ]
    return tuple(
        ProblemError(detail=f"{kind} parameter `{name[:200]}`: {words}")
        for kind, name, words in places[:MOST]
    )


def _words(finding: Any) -> str:
    if finding["type"] == "literal_error":
        return "must be " + str(finding["ctx"]["expected"])
    if (limits := _limits(finding)) is not None:
        return limits
    message = str(_WORDS.get(finding["type"], finding["msg"]))[:300].removeprefix("Value error, ")
    theirs = "Input should be"
    return "must be" + message.removeprefix(theirs) if message.startswith(theirs) else message


def _limits(finding: Any) -> str | None:
    """Say how many items or characters are allowed; None where their number is not at fault."""
    if finding["type"] not in _LIMITS:
        return None
    bound, name, noun = _LIMITS[finding["type"]]
    number = finding["ctx"][name]
    return f"must have at {bound} {number} {noun}{'' if number == 1 else 's'}"


def _of_the_best_alternative(error: ValidationError, given: Any) -> list[tuple[_Place, Any]]:
    """Keep, for an object that matches none of several models, the findings of the nearest one."""
    located = [
        (_located(finding["loc"], given), finding)
        for finding in error.errors(include_url=False, include_input=False)
    ]
    tally: dict[tuple[_Place, str], int] = {}
    for (_, alternative), _finding in located:
        if alternative is not None:
            tally[alternative] = tally.get(alternative, 0) + 1
    best: dict[_Place, str] = {}
    for (place, tag), count in tally.items():
        if place not in best or count < tally[place, best[place]]:
            best[place] = tag
    return [
        (place, finding)
        for (place, alternative), finding in located
        if alternative is None or best[alternative[0]] == alternative[1]
    ]


def _located(location: Sequence[str | int], given: Any) -> tuple[_Place, tuple[_Place, str] | None]:
    """Return the place in the document that pydantic means, and the alternative it tried there.

    Pydantic's locations hold names of its own (of a union's members, say) besides those of the
    document.
    """
    place: _Place = ()
    alternative: tuple[_Place, str] | None = None
    value = given
    if isinstance(given, dict) and location and location[0] == given.get("kind"):
        location = location[1:]
    for depth, token in enumerate(location):
        inside, below = _step(value, token)
        if inside:
            value = below
            place = (*place, token)
        elif isinstance(value, dict) and isinstance(token, str) and token != "[key]":
            if depth == len(location) - 1:
                place = (*place, token)
            else:
                alternative = (place, token)
    return place, alternative


def _step(value: Any, token: str | int) -> tuple[bool, Any]:
    """Return whether the document has a member `token`, and its value."""
    if isinstance(value, dict):
        return token in value, value.get(token)
    if isinstance(value, list) and isinstance(token, int) and token < len(value):
        return True, value[token]
    return False, None
