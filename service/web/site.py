"""Templates and static files, and the policies that restrict them in a browser."""

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from service.web import mathml, numbers, sentences, words

FOLDER = Path(__file__).parent
EXAMPLE = FOLDER.parents[1] / "examples" / "double_well.csv"
"""Example time series for new users."""
MEDIA_TYPES = {
    ".js": "text/javascript",
    ".css": "text/css",
    ".csv": "text/csv",
    ".svg": "image/svg+xml",
}
PLOTTING = (
    "ticks.js", "pens.js", "layers.js", "whole.js", "elements.js", "readout.js", "rows.js",
    "saving.js", "simulation.js", "figures.js",
)  # fmt: skip
"""Scripts that draw plots, in the order in which they can be joined to one file."""

PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Content security policy of the page: everything from this service, nothing inline."""


@dataclass(frozen=True, slots=True)
class Asset:
    """A static file."""

    body: bytes
    media_type: str


@cache
def assets() -> Mapping[str, Asset]:
    """Read the static files, by their path such as `style.css`.

    Only these are ever served, so no path of a request reaches the disk.
    """
    root = FOLDER / "static"
    files = {
        path.relative_to(root).as_posix(): path
        for path in root.rglob("*")
        if path.suffix in MEDIA_TYPES
    }
    if EXAMPLE.exists():
        files["double_well.csv"] = EXAMPLE
    return {
        name: Asset(path.read_bytes(), MEDIA_TYPES[path.suffix])
        for name, path in sorted(files.items())
    }


@cache
def version() -> str:
    """Return a hash of the static files, so that browsers may cache each version forever."""
    digest = hashlib.sha256()
    for name, asset in assets().items():
        digest.update(name.encode() + b"\0" + asset.body)
    return digest.hexdigest()[:12]


def static(name: str) -> str:
    """Return the address of a static file."""
    assert name in assets(), name
    return f"/static/{version()}/{name}"


@cache
def environment() -> Environment:
    """Build the environment of the templates; text is escaped unless it is our own markup."""
    made = Environment(
        loader=FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals.update(static=static, has_example="double_well.csv" in assets(), version=version)
    made.filters.update(
        plain=numbers.plain,
        count=numbers.count,
        turn=numbers.turn,
        percent=numbers.percent,
        size=numbers.size,
        seconds=numbers.seconds,
        term=mathml.term,
        heading=sentences.heading_of,
        data=json_block,
        on_page=words.on_page,
    )
    return made


def rendered(template: str, /, **values: Any) -> str:
    """Fill in a template with these values."""
    return environment().get_template(template).render(**values)


def json_block(value: Any) -> Markup:
    """Write JSON for a script element, so that nothing in it can end the element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


@cache
def bundle() -> str:
    """Join the plotting scripts to one module without imports, for the self-contained report."""
    parts = []
    for name in PLOTTING:
        source = assets()[f"plots/{name}"].body.decode()
        source = re.sub(r"^import .*?;\n", "", source, flags=re.MULTILINE | re.DOTALL)
        parts.append(re.sub(r"^export ", "", source, flags=re.MULTILINE))
    return "\n".join(parts)


def hash_of(text: str) -> str:
    """Return the name of an inline script or style in a content security policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
