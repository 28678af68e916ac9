"""The committed copies of the OpenAPI document, the JSON Schemas and what is made from them.

`python -m service.openapi` writes openapi/openapi.json, openapi/schemas/, docs/reference.md and the
client's documents.py; with `--check` it only says what differs.
"""

import argparse
import json
import sys
from pathlib import Path

from fastapi import FastAPI

from contract.results import SCHEMA_VERSION
from service.app import create_app
from service.openapi.schemas import reference_page, schemas
from service.openapi.typed_dicts import typed_dicts
from service.settings import ServiceSettings

FOLDER = Path(__file__).parents[2] / "openapi"
REFERENCE = Path("..", "docs", "reference.md")
CLIENT = Path("..", "client", "itoscope_client", "requests", "documents.py")


def files(app: FastAPI) -> dict[Path, str]:
    """Generate the text of every file, by its path from `openapi/`."""
    all_schemas = schemas()
    documents = {Path("openapi.json"): app.openapi()}
    documents |= {Path("schemas", f"{name}.json"): of for name, of in all_schemas.items()}
    texts = {
        path: json.dumps(value, indent=2, ensure_ascii=False) + "\n"
        for path, value in documents.items()
    }
    jobs = all_schemas[f"job-request-{SCHEMA_VERSION}"]
    return texts | {REFERENCE: reference_page(all_schemas), CLIENT: typed_dicts(jobs)}


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return 1 if `--check` finds a difference."""
    parser = argparse.ArgumentParser(
        prog="python -m service.openapi", description="Write the interface's committed documents."
    )
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 where a committed file differs"
    )
    check = parser.parse_args(arguments).check
    stale = []
    for path, text in files(create_app(ServiceSettings())).items():
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
