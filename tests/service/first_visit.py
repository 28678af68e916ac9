"""What a browser loads that was never here, and what a fresh process must make for it:
`python -m tests.service.first_visit`."""

import gzip
import json
import posixpath
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

import jinja2
from fastapi.testclient import TestClient
from pydantic import TypeAdapter

from service.app import create_app
from service.routes import pages
from service.settings import ServiceSettings

MAKING = ((jinja2.Environment, "compile"), (TypeAdapter, "json_schema"), (gzip, "compress"))
"""What takes long, and is done once a process."""


def first_visit(get: Callable[[str], Any]) -> Iterator[Any]:
    """The answers to all that it asks for: the page, what the page names, and what its modules
    import."""
    page = get("/")
    yield page
    addresses = re.findall(r'(?:src|href)="(/static[^"]+)"', page.text)
    for address in addresses:  # which grow meanwhile
        answer = get(address)
        yield answer
        for name in re.findall(
            r"^(?:import|export) [^;]*? from '(\.[^']+)';", answer.text, flags=re.MULTILINE
        ):
            imported = posixpath.normpath(posixpath.join(posixpath.dirname(address), name))
            if imported not in addresses:
                addresses.append(imported)


def made_by(visit: Callable[[], object]) -> dict[str, int]:
    """How often each of MAKING was called, and how many modules were imported."""
    made = {name: 0 for _, name in MAKING}
    originals = [(owner, name, getattr(owner, name)) for owner, name in MAKING]

    def counting(name: str, original: Any) -> Callable[..., Any]:
        def called(*given: Any, **named: Any) -> Any:
            made[name] += 1
            return original(*given, **named)

        return called

    for owner, name, original in originals:
        setattr(owner, name, counting(name, original))
    loaded = set(sys.modules)
    try:
        visit()
    finally:
        for owner, name, original in originals:
            setattr(owner, name, original)
    return {**made, "modules": len(set(sys.modules) - loaded)}


def main(*, prepared: bool) -> None:
    """Print how many things were asked for, and what was made for them, as JSON."""
    if not prepared:
        pages.prepare = lambda: None
    app = create_app(ServiceSettings(redis_url="redis://127.0.0.1:1/0"))  # no page needs it
    with TestClient(app, base_url="http://127.0.0.1") as client:
        client.get("/readyz")  # as whoever starts a service asks before anybody comes
        answers: list[Any] = []
        made = made_by(lambda: answers.extend(first_visit(client.get)))
    assert all(answer.status_code == 200 for answer in answers)
    print(json.dumps({"asked": len(answers), **made}))


if __name__ == "__main__":
    main(prepared="--unprepared" not in sys.argv)
