"""The OpenAPI documents of past releases. Nothing in the newest of them may be removed.

`python -m tools.release VERSION` stores the interface's document as that of a release.
"""

import argparse
import json
import sys
from typing import Any

from packaging.version import InvalidVersion, Version

from service.app import create_app
from service.openapi.__main__ import FOLDER
from service.settings import ServiceSettings

RELEASED = FOLDER / "released"


def last_release() -> dict[str, Any]:
    """Read the document of the latest release."""
    last = max(RELEASED.glob("*.json"), key=lambda path: Version(path.stem))
    released: dict[str, Any] = json.loads(last.read_text("utf-8"))
    return released


def main(arguments: list[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.release", description=__doc__)
    parser.add_argument("version", type=_version)
    version = parser.parse_args(arguments).version
    document = create_app(ServiceSettings()).openapi()
    RELEASED.mkdir(parents=True, exist_ok=True)
    text = json.dumps(document, ensure_ascii=False) + "\n"
    (RELEASED / f"{version}.json").write_text(text, "utf-8")
    return 0


def _version(text: str) -> Version:
    try:
        return Version(text)
    except InvalidVersion:
        raise argparse.ArgumentTypeError(f"{text!r} is no version") from None


if __name__ == "__main__":
    sys.exit(main())
