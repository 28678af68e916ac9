"""The command line that manages API keys, `python -m service.access COMMAND`.

`new [--tenant NAME] [--scope read]… [--name NAME]` prints a new key, once.
`list` shows the entry of every key, `revoke ID` revokes one.
`ensure` creates the first key if there is none, and writes it to `<data dir>/first-api-key`.
"""

import argparse
import os
import sys

from service.access import keyring
from service.access.keyring import SCOPES, USUAL, BadKeyFile
from service.settings import ServiceSettings
from storage.configuration import BadSettings, read


def ensure(settings: ServiceSettings) -> None:
    """Create the first key if there is none, and write it to `<data dir>/first-api-key`.

    Only the file's owner can read it.
    """
    if keyring.read(settings.key_file):
        return
    place = settings.data_dir / "first-api-key"
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    with os.fdopen(
        os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8"
    ) as file:
        file.write(keyring.add(settings.key_file, "default", SCOPES) + "\n")


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return 0, or 2 after one line on standard error."""
    chosen = _parser().parse_args(arguments)
    try:
        settings = read(ServiceSettings)
        match chosen.command:
            case "new":
                scopes = chosen.scope or USUAL
                print(keyring.add(settings.key_file, chosen.tenant, scopes, chosen.name))
            case "list":
                for key in keyring.read(settings.key_file).entries:
                    rights = ",".join(scope for scope in SCOPES if scope in key.scopes) or "revoked"
                    print(f"{key.id}  {key.tenant:<20} {rights:<16} {key.name or ''}".rstrip())
            case "revoke":
                key = keyring.revoke(settings.key_file, chosen.id)
                print(f"{key.id} of {key.tenant} opens nothing any more")
            case _:
                ensure(settings)
    except (BadKeyFile, BadSettings, OSError) as error:
        print(f"itoscope: {error}", file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m service.access", description="Manage API keys."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    new = commands.add_parser("new", help="make a key and print it, once")
    new.add_argument("--tenant", default="default", help="whose data the key opens")
    new.add_argument(
        "--scope",
        action="append",
        choices=SCOPES,
        help="what it may do, once or more; read and write if not said",
    )
    new.add_argument("--name", help="what you call it, for the list")
    commands.add_parser("list", help="show the id, tenant, scopes and name of every key")
    revoke = commands.add_parser("revoke", help="take every right from a key, at once")
    revoke.add_argument("id", help="its id, or the beginning of it, as `list` shows it")
    commands.add_parser("ensure", help="make the first key if there is none")
    return parser


if __name__ == "__main__":
    sys.exit(main())
