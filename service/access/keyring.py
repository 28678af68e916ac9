"""API keys of 256 random bits, of which a file keeps the SHA-256; it is read again when it changes.

A line is `tenant sha256 [scopes [name]]`. Scopes are `read`, `write` and `admin`, separated by
commas, or `revoked`; without any, they are `read` and `write`.
"""

import fcntl
import hashlib
import hmac
import os
import re
import secrets
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

SCOPES = ("read", "write", "admin")
"""Rights of a key: read its tenant's data; add, cancel and delete them; read the metrics."""
USUAL = frozenset({"read", "write"})

_TENANT = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
_NAME = re.compile(r"[A-Za-z0-9._-]{1,63}")
_LINE = re.compile(
    r"(?P<tenant>\S+) (?P<sha256>[0-9a-f]{64})(?: (?P<scopes>[a-z,]+)(?: (?P<name>\S+))?)?"
)
_REVOKED = "revoked"


class BadKeyFile(ValueError):
    """Error for an invalid line of the key file, or an invalid change to it."""


@dataclass(frozen=True, slots=True)
class Key:
    """An entry of the key file; a key without scopes is revoked.

    A revoked key gives no access, but while it is listed, requests without a key get none either.
    """

    tenant: str
    sha256: str
    scopes: frozenset[str] = USUAL
    name: str | None = None

    @property
    def id(self) -> str:
        """Identifier of the key in lists, for revoking it and for counting its requests."""
        return self.sha256[:12]

    @property
    def line(self) -> str:
        """The key as a line of the file."""
        scopes = ",".join(scope for scope in SCOPES if scope in self.scopes) or _REVOKED
        return " ".join((self.tenant, self.sha256, scopes, *([self.name] if self.name else [])))


@dataclass(frozen=True, slots=True)
class Keys:
    """All keys of the file, revoked ones included."""

    entries: tuple[Key, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.entries)

    def holder(self, key: str) -> Key | None:
        """Find the entry of a key; None if it is unknown or revoked.

        Every entry is compared, so that the time taken reveals nothing.
        """
        given = hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()
        found = None
        for entry in self.entries:
            if hmac.compare_digest(given, entry.sha256):
                found = entry
        return found if found is not None and found.scopes else None


def read(path: Path) -> Keys:
    """Read the keys in a file; none if there is no file. Raises BadKeyFile, OSError."""
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        return Keys()
    except UnicodeDecodeError:
        raise BadKeyFile(f"{path} is not a text file") from None
    lines = enumerate(text.splitlines(), 1)
    written = [(number, line) for number, line in lines if line.strip() and line[0] != "#"]
    return Keys(tuple(_parsed(path, number, line.strip()) for number, line in written))


class KeyRing:
    """The keys of a file, which is read again when it changes.

    If the file becomes invalid, the last valid keys stay in force.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stamp = self._look()
        self._keys = read(path)

    def current(self) -> Keys:
        """Return the keys now in force."""
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


def add(path: Path, tenant: str, scopes: Iterable[str] = USUAL, name: str | None = None) -> str:
    """Create a key for `tenant` and append its hash to the file; the key itself is not stored.

    Raises BadKeyFile, OSError.
    """
    if _TENANT.fullmatch(tenant) is None:
        raise BadKeyFile(f"a tenant is up to 63 lowercase letters, digits, - and _, not {tenant!r}")
    if name is not None and _NAME.fullmatch(name) is None:
        raise BadKeyFile(f"a key's name is up to 63 letters, digits, '.', - and _, not {name!r}")
    unknown = set(scopes) - set(SCOPES)
    if unknown or not scopes:
        given = ", ".join(sorted(unknown)) or "none"
        raise BadKeyFile(f"a key's scopes are some of {', '.join(SCOPES)}, not {given}")
    key = "ito_" + secrets.token_urlsafe(32)
    entry = Key(tenant, hashlib.sha256(key.encode()).hexdigest(), frozenset(scopes), name)
    with _sole_writer(path):
        read(path)  # a key added to an invalid file would never be in force
        with os.fdopen(
            os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "a", encoding="utf-8"
        ) as file:
            file.write(entry.line + "\n")
    return key


def revoke(path: Path, key_id: str) -> Key:
    """Revoke the key whose id begins with `key_id`.

    Raises BadKeyFile if not exactly one key's id does, OSError.
    """
    with _sole_writer(path):
        return _revoke(path, key_id)


def _revoke(path: Path, key_id: str) -> Key:
    found = [key for key in read(path).entries if key.id.startswith(key_id)] if key_id else []
    if len(found) != 1:
        raise BadKeyFile(
            f"{len(found) or 'no'} keys have an id that begins with {key_id!r}; `list` shows them"
        )
    revoked = replace(found[0], scopes=frozenset())
    kept = [
        revoked.line if found[0].sha256 in line else line
        for line in path.read_text("utf-8").splitlines()
    ]
    # The file is written elsewhere and moved into place, so the service never reads half of it.
    descriptor, aside = tempfile.mkstemp(dir=path.parent, prefix=".api-keys-")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write("\n".join(kept) + "\n")
        Path(aside).replace(path)
    except BaseException:
        Path(aside).unlink(missing_ok=True)
        raise
    return revoked


@contextmanager
def _sole_writer(path: Path) -> Iterator[None]:
    """Wait until nobody else changes the file, and keep others from it while inside.

    A key added while another was revoked was lost, 26 times of 400. The lock is on the folder,
    because revoking replaces the file.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path.parent, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _parsed(path: Path, number: int, line: str) -> Key:
    match = _LINE.fullmatch(line)
    scopes = (
        USUAL if match is None or match["scopes"] is None else frozenset(match["scopes"].split(","))
    )
    known = scopes <= set(SCOPES) or scopes == {_REVOKED}
    if match is None or not known or not _TENANT.fullmatch(match["tenant"]):
        raise BadKeyFile(
            f"{path}, line {number}: expected a tenant, a SHA-256 in hexadecimal and, if you like, "
            "scopes and a name"
        )
    return Key(match["tenant"], match["sha256"], scopes & set(SCOPES), match["name"])
