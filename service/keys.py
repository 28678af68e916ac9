"""API keys: 256 random bits each, known to the service by their SHA-256 only.

`python -m service.keys new [--tenant NAME]` prints a fresh key, once.
`python -m service.keys ensure` makes the first key, if there is none, and leaves it in `<data dir>/first-api-key`.
"""

import argparse
import hashlib
import hmac
import os
import re
import secrets
import sys
from dataclasses import dataclass
from pathlib import Path

from service.settings import ServiceSettings

_LINE = re.compile(r"([a-z0-9][a-z0-9_-]{0,62}) ([0-9a-f]{64})")


class BadKeyFile(ValueError):
    """A line of the key file says nothing we understand."""


@dataclass(frozen=True, slots=True)
class Keys:
    """The tenant and hash of every key."""

    entries: tuple[tuple[str, str], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.entries)

    def tenant_of(self, key: str) -> str | None:
        """Whose key this is. Looks at every entry, so that time tells nothing."""
        given = hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()
        tenant = None
        for owner, known in self.entries:
            if hmac.compare_digest(given, known):
                tenant = owner
        return tenant


def read(path: Path) -> Keys:
    """The keys in a file of lines `tenant sha256`; none where there is no file. Raises BadKeyFile, OSError."""
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        return Keys()
    except UnicodeDecodeError:
        raise BadKeyFile(f"{path} is not a text file") from None
    entries = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line.strip())
        if match is None:
            raise BadKeyFile(f"{path}, line {number}: expected a tenant and a SHA-256 in hexadecimal")
        entries.append((match[1], match[2]))
    return Keys(tuple(entries))


class KeyRing:
    """The keys of a file, read again when it changes. A file that turns bad leaves the last good keys in force."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stamp = self._look()
        self._keys = read(path)

    def current(self) -> Keys:
        """The keys in force now."""
        stamp = self._look()
        if stamp != self._stamp:
            try:
                self._keys = read(self._path)
            except (BadKeyFile, OSError):
                return self._keys
            self._stamp = stamp
        return self._keys

    def _look(self) -> tuple[int, int, int] | None:
        try:
            status = self._path.stat()
        except OSError:
            return None
        return status.st_ino, status.st_size, status.st_mtime_ns


def add(path: Path, tenant: str) -> str:
    """Make a key for `tenant` and append its hash to the file. The key itself is kept nowhere."""
    if _LINE.fullmatch(f"{tenant} {'0' * 64}") is None:
        raise BadKeyFile(f"a tenant is lowercase letters, digits, - and _, not {tenant!r}")
    key = "ito_" + secrets.token_urlsafe(32)
    path.parent.mkdir(parents=True, exist_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "a", encoding="utf-8") as file:
        file.write(f"{tenant} {hashlib.sha256(key.encode()).hexdigest()}\n")
    return key


def ensure(settings: ServiceSettings) -> None:
    """Where there is no key yet, make one and leave it in `<data dir>/first-api-key`, readable by its owner only."""
    if read(settings.key_file):
        return
    place = settings.data_dir / "first-api-key"
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    with os.fdopen(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(add(settings.key_file, "default") + "\n")


def main(arguments: list[str] | None = None) -> int:
    """The command line; 0, or 2 with one line on standard error."""
    parser = argparse.ArgumentParser(prog="python -m service.keys", description="Make API keys.")
    commands = parser.add_subparsers(dest="command", required=True)
    new = commands.add_parser("new", help="make a key and print it, once")
    new.add_argument("--tenant", default="default", help="whose data the key opens")
    commands.add_parser("ensure", help="make the first key if there is none")
    chosen = parser.parse_args(arguments)
    settings = ServiceSettings()
    try:
        if chosen.command == "new":
            print(add(settings.key_file, chosen.tenant))
        else:
            ensure(settings)
    except (BadKeyFile, OSError) as error:
        print(f"itoscope: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
