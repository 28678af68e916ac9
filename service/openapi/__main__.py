"""The committed copies of the OpenAPI document and of the JSON Schemas, and the reference page made from them.

`python -m service.openapi` writes openapi/openapi.json, openapi/schemas/ and docs/reference.md; with `--check` it only says what
differs.
`python -m service.openapi --release VERSION` keeps the document as released: nothing that is in it may go away any more.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from packaging.version import InvalidVersion, Version

from service.app import create_app
from service.openapi import schema_reference
from service.openapi.schemas import schemas
from service.settings import ServiceSettings

FOLDER = Path(__file__).parents[2] / "openapi"
RELEASED = FOLDER / "released"


def files(app: FastAPI) -> dict[Path, str]:
    """The generated files, by their path from `openapi/`."""
    documents = {Path("openapi.json"): app.openapi()}
    documents |= {Path("schemas", f"{name}.json"): schema for name, schema in schemas().items()}
    texts = {path: json.dumps(value, indent=2, ensure_ascii=False) + "\n" for path, value in documents.items()}
    return texts | {Path("..", "docs", "reference.md"): schema_reference.page(schemas())}


def last_release() -> dict[str, Any]:
    """The document as it was last released."""
    last = max(RELEASED.glob("*.json"), key=lambda path: Version(path.stem))
    released: dict[str, Any] = json.loads(last.read_text("utf-8"))
    return released


def _version(text: str) -> Version:
    try:
        return Version(text)
    except InvalidVersion:
        raise argparse.ArgumentTypeError(f"{text!r} is no version") from None


def main(arguments: list[str] | None = None) -> int:
    """The command line; 1 where `--check` finds a difference."""
    parser = argparse.ArgumentParser(prog="python -m service.openapi", description="Write the interface's committed documents.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 where a committed file differs")
    parser.add_argument("--release", metavar="VERSION", type=_version, help="keep the document as that of a release, too")
    chosen = parser.parse_args(arguments)
    check, app = chosen.check, create_app(ServiceSettings())
    if chosen.release is not None:
        RELEASED.mkdir(parents=True, exist_ok=True)
        (RELEASED / f"{chosen.release}.json").write_text(json.dumps(app.openapi(), ensure_ascii=False) + "\n", "utf-8")
    stale = []
    for path, text in files(app).items():
        place = FOLDER / path
        if not place.exists() or place.read_text("utf-8") != text:
            stale.append(path)
            if not check:
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(text, "utf-8")
    for path in stale:
        print(f"{'differs' if check else 'written'}: openapi/{path}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
