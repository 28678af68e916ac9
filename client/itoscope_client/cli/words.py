"""Messages in the words of the command: its options for fields, its commands for addresses.

Messages are written for those who send requests. What an option gives is said where it is defined.
"""

import json
import re
from collections.abc import Mapping
from functools import cache

from itoscope_client.cli.options import Giving, Parsed
from itoscope_client.inputs import LayoutOptions
from itoscope_client.requests import JOBS, fields_of

ADDRESSES = (
    (r"\bGET /v1/(jobs|datasets) lists (?:your jobs|your datasets|yours|them)\b",
     r"`itoscope \1` lists yours"),
    (r"`?\bGET /v1/(jobs|datasets)\b(?!/)`?", r"`itoscope \1`"),
    (r"\bGET /v1/jobs/(\S+) and Prefer: wait=\d+", r"`itoscope watch \1`"),
    (r"`?\bPrefer: wait=\d+`?", "`itoscope watch JOB`"),
    (r"\bPOST /v1/jobs/(\S+)/cancel\b", r"`itoscope cancel \1`"),
    (r"\bDELETE /v1/jobs/\{id\}", "`itoscope delete JOB`"),
    (r"\bDELETE /v1/datasets/\{id\}", "`itoscope delete DATASET`"),
    (r"\bPOST /v1/datasets\b(?!/)", "`itoscope identify FILE`"),
    (r"\bThe JSON Schema of jobs is at /v1/schemas/job-request\.",
     "Every parameter is described at the service's address, under /docs."),
    (r"\bGET /docs lists the addresses\.", "Check the address of the service: --url."),
    (r" ?For new jobs, an Idempotency-Key makes this safe\.", ""),
    (r"\bSend `?Authorization: Bearer <key>`?\.", "Set ITOSCOPE_API_KEY to your key."),
    (r"\bclient\.wait\('\S+?'\) or `(itoscope watch \S+)`", r"`\1`"),
    (r"\bclient\.wait_batch\('\S+?'\) or `(itoscope batch \S+)`", r"`\1`"),
    (r"\bclient\.cancel_batch\('(\S+?)'\)", r"`itoscope cancel \1`"),
    (r"\bGET /v1/batches lists your batches\.", "The list of batches is on the page."),
    (r"\bPOST /v1/batches/(\S+)/cancel\b", r"`itoscope cancel \1`"),
    (r"\bThe JSON Schema of batches is at /v1/schemas/batch-request\.",
     "The help of `itoscope batch` has examples."),
    (r"\bclient\.cancel\('(\S+?)'\)", r"`itoscope cancel \1`"),
)  # fmt: skip
"""What the command says instead of addresses, headers and methods: a pattern, its replacement."""
BEFORE = r"(?<![\w.\-\"'{/])"
"""Names in JSON, in paths and in options are left as they are."""
QUOTED = r"(?:=| to | )([\"'`])([\w.,-]+)\2"
EQUAL = r"=\[?([^\s\"'`\[\](){}]*[^\s\"'`\[\](){}.,;:])\]?"


def on_command_line(text: str) -> str:
    """Write a message in the words of the command."""
    for pattern, said in ADDRESSES:
        text = re.sub(pattern, said, text)
    names = _names()
    clear = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    short = "|".join(name for name in _short() if name not in names)
    any_name = rf"{BEFORE}`?({clear}|{short})`?"

    def plain(found: re.Match[str]) -> str:
        return _spelled(found[1]) or found[0]

    def valued(found: re.Match[str]) -> str:
        return _spelled(found[1], found[found.lastindex or 0]) or found[0]

    def paired(found: re.Match[str]) -> str:
        return _spelled(found[1], f"{found[2]}={found[3]}") or found[0]

    def nested(found: re.Match[str]) -> str:
        return _spelled(".".join((found[1], *re.findall(r'"(\w+)"', found[2])))) or found[0]

    text = re.sub(r"(?<!\S)#/(\S+?)(?=:?\s|:?$)", lambda found: place(found[1]), text)
    text = re.sub(rf"`?{any_name} \{{\"?([^\s\":]+)\"?: ([^}}]+)\}}`?", paired, text)
    text = re.sub(rf"{BEFORE}(parameters|analysis|windows)=(\{{\S.*\}}|…)", nested, text)
    text = re.sub(rf"{any_name}{QUOTED}", valued, text)
    text = re.sub(rf"{any_name}{EQUAL}", valued, text)
    text = re.sub(rf"{BEFORE}`?({clear})`?(?!\w|\.\w| = )", plain, text)
    text = re.sub(rf"`({short})`", plain, text)
    layout = "|".join(LayoutOptions.__annotations__)
    said_of_layout = rf"\b((?:[Gg]ive|[Oo]mit|with) )({layout})\b(?! =)"
    text = re.sub(said_of_layout, lambda found: found[1] + (_spelled(found[2]) or found[2]), text)
    return re.sub(rf"{BEFORE}({layout})(?= (?:says|must be) )", plain, text)


def place(pointer: str) -> str:
    """Write the place of a fault, a JSON Pointer without `#/`: the option, and what is inside."""
    parts = pointer.removeprefix("job/").split("/")  # of a batch, whose jobs are alike
    for n in range(len(parts), 0, -1):
        option = _spelled(".".join(parts[:n]))
        if option:
            return option + (f" ({'/'.join(parts[n:])})" if parts[n:] else "")
    return f"#/{pointer}"


@cache
def options() -> Mapping[str, Giving]:
    """Return the option that gives each field, of all commands."""
    from itoscope_client.cli.commands import itoscope  # these print messages themselves

    found = (each for command in itoscope.commands.values() for each in command.params)
    return {option.field: option for option in found if isinstance(option, Giving)}


@cache
def fields() -> tuple[str, ...]:
    """Return every field of a job or a layout that an option gives, alone or within JSON."""
    paths = [path for kind in JOBS.values() for path in fields_of(kind)]
    paths += [("layout", name) for name in LayoutOptions.__annotations__]
    named = dict.fromkeys(".".join(path) for path in paths)
    return tuple(field for field in named if _giving(field))


@cache
def _names() -> Mapping[str, str]:
    """Return the field of every name that can mean nothing else.

    A parameter may be named with or without the document that holds it.
    """
    found: dict[str, str] = {}
    for field in fields():
        _, _, rest = field.partition(".")
        last = field.rpartition(".")[2]
        if "." in field:
            found.setdefault(field, field)
        if "." in rest:
            found.setdefault(rest, field)
        if "_" in last:
            found.setdefault(last, field)
    return found


@cache
def _short() -> Mapping[str, str]:
    """Return the field of every name that is an English word, too: `axes`, `domain`."""
    found: dict[str, str] = {}
    for field in fields():
        first, _, rest = field.partition(".")
        if "." not in rest and first in ("layout", "parameters", field):
            found.setdefault(rest or first, field)
    return found


def _giving(field: str) -> tuple[Giving, list[str]] | None:
    """Return the option of a field, or of a document that holds it, and the path within."""
    parts = field.split(".")
    for n in range(len(parts), 0, -1):
        option = options().get(".".join(parts[:n]))
        if option is not None:
            return option, parts[n:]
    return None


def _spelled(name: str, value: str | None = None) -> str | None:
    """Write how the command gives a field; None where it is none of the command's."""
    field = _names().get(name) or _short().get(name) or name
    if field not in fields():
        return None
    found = _giving(field)
    assert found is not None
    option, inside = found
    flag = next(each for each in option.opts if each.startswith("--"))
    if not isinstance(option.type, Parsed):
        return flag if value is None else f"`{flag} {value}`"
    text = "…" if value is None else value if _is_json(value) else json.dumps(value)
    for part in reversed(inside):
        text = f'{{"{part}": {text}}}'
    return f"`{flag} '{text}'`" if inside or value is not None else flag


def _is_json(value: str) -> bool:
    try:
        json.loads(value)
    except ValueError:
        return False
    return True
