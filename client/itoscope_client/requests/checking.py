"""The check of a job's names by the types of `documents.py`, with what was probably meant."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from types import UnionType
from typing import (
    Any,
    Literal,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from itoscope_client.errors import InputError
from itoscope_client.requests.documents import JOBS

D = TypeVar("D", bound=Mapping[str, Any])
Place = tuple[str, ...]
ARGUMENTS = (
    "parameters", "analysis", "preset", "windows", "labels", "confidence", "timeout_seconds",
)  # fmt: skip
"""Fields of a job that are arguments of the client's methods."""


def checked(given: D, kind: Any, *place: str) -> D:
    """Return a document as it is. Raises InputError for a name or a word that it does not know.

    kind    TypedDict of the document
    place   path of the document in the arguments, for the message
    """
    faults = list(_faults(given, kind, place))
    if faults:
        raise InputError("\n".join(faults))
    return given


def belonging(name: str) -> str:
    """Write where a name, perhaps misspelt, belongs in a job: `parameters={"seed": …}`."""
    every = (path for kind in JOBS.values() for path in fields_of(kind))
    paths = {path[-1]: path for path in every if path[0] in ARGUMENTS}
    near = _near(name, paths)
    if near is None:
        return ""
    first, *rest = paths[near]
    inside = "…"
    for part in reversed(rest):
        inside = f'{{"{part}": {inside}}}'
    return f"{first}={inside}"


def fields_of(document: Any, *above: str) -> Iterator[Place]:
    """Yield the path of every field of a document, and of the documents in it."""
    for name, kind in _fields(document).items():
        yield (*above, name)
        for each in (kind, *get_args(kind)):
            if is_typeddict(each):
                yield from fields_of(each, *above, name)


def did_you_mean(word: str, known: Iterable[str], otherwise: str = "") -> str:
    """Write what a word was probably meant to be, or else what there is."""
    listed = list(known)
    near = _near(word, listed)
    meant = repr(near) if near else otherwise
    return f"did you mean {meant}?" if meant else f"known are {', '.join(listed)}"


def _faults(given: Any, kind: Any, place: Place) -> Iterator[str]:
    """Yield what is wrong with the names and the words in a value of a type."""
    union = get_origin(kind) in (Union, UnionType)
    alternatives = get_args(kind) if union else (kind,)
    inside = {get_origin(each): get_args(each) for each in alternatives}
    match given:
        case str() if Literal in inside and str not in alternatives:
            if given not in inside[Literal]:
                said = did_you_mean(given, inside[Literal])
                yield f"{'.'.join(place)} cannot be {given!r}; {said}"
        case Mapping():
            documents = [each for each in alternatives if is_typeddict(each)]
            if documents:
                # Of several documents the one with the most of the names is meant.
                yield from _faults_of_fields(
                    given, max(documents, key=lambda each: len(given.keys() & _fields(each))), place
                )
            elif Mapping in inside:
                for name, value in given.items():
                    yield from _faults(value, inside[Mapping][1], (*place, str(name)))
        case list() | tuple() if Sequence in inside:
            for number, value in enumerate(given):
                yield from _faults(value, inside[Sequence][0], (*place, str(number)))


def _faults_of_fields(given: Mapping[str, Any], document: Any, place: Place) -> Iterator[str]:
    known = _fields(document)
    for name, value in given.items():
        if name in known:
            yield from _faults(value, known[name], (*place, name))
        else:
            said = did_you_mean(str(name), known, belonging(str(name)))
            yield f"{'.'.join((*place, str(name)))} is not a known field; {said}"


def _near(word: str, known: Iterable[str]) -> str | None:
    return next(iter(get_close_matches(word, list(known), n=1, cutoff=0.7)), None)


@cache
def _fields(document: Any) -> dict[str, Any]:
    """Return the type of each field, as far as a job's arguments hold them."""
    return get_type_hints(document)
