"""The account of service and workers at Redis, with the least rights that suffice.

`python -m storage.redis.acl --secrets FOLDER --access FOLDER --host NAME` makes a password where
there is none yet, and leaves `itoscope_redis_url` in the one folder, for service and workers, and
`users.acl` in the other, for Redis. `python -m storage.redis.acl` prints the rights.
"""

import argparse
import hashlib
import os
import secrets
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

USER = "itoscope"
RIGHTS = (
    "~job:* ~jobs:* ~idem:* ~tenant:* ~celery* ~unacked* ~_kombu* &* "
    "-@all +@read +@write +@connection +@transaction +@pubsub +@scripting +@blocking "
    "-@dangerous -@admin +info +time"
)
"""Rights to our records and Celery's queues; not to list keys, configure or flush."""
HEALTH_USER = "health"
"""User who may ask without a password whether Redis answers, and nothing else."""


def access_file(password: str) -> str:
    """Return the `aclfile` of a Redis of our own, with the SHA-256 of the password only."""
    sha256 = hashlib.sha256(password.encode()).hexdigest()
    # Redis 8.0 reads its log of writes as the default user after every restart. Nobody can log in
    # as that user, yet it keeps all rights: without them, Redis left out all that a script or a
    # transaction had written, with a line in its log.
    default = "user default off resetpass ~* &* +@all"
    return (
        f"{default}\nuser {USER} on #{sha256} {RIGHTS}\n"
        f"user {HEALTH_USER} on nopass resetchannels -@all +ping\n"
    )


def prepare(secrets_dir: Path, access_dir: Path, host: str) -> None:
    """Write both files, but keep a password; the rights are this version's. Raise OSError."""
    place = secrets_dir / "itoscope_redis_url"
    try:
        password = urlsplit(place.read_text("utf-8").strip()).password
    except FileNotFoundError:
        password = None
    if not password:
        password = secrets.token_hex(32)
        _write(place, f"redis://{USER}:{password}@{host}:6379/0\n", 0o400)
    # Redis runs as another user, who must be able to read the file; its content opens nothing.
    _write(access_dir / "users.acl", access_file(password), 0o444)


def _write(place: Path, text: str, mode: int) -> None:
    """Write the text aside and move it into place: no reader sees half of it."""
    descriptor, aside = tempfile.mkstemp(dir=place.parent)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(aside, mode)
    Path(aside).replace(place)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return 0, or 2 with one line on standard error."""
    parser = argparse.ArgumentParser(
        prog="python -m storage.redis.acl", description="The account at Redis."
    )
    parser.add_argument("--secrets", type=Path, help="folder for itoscope_redis_url")
    parser.add_argument("--access", type=Path, help="folder for users.acl")
    parser.add_argument(
        "--host", default="redis", help="name under which service and workers find Redis"
    )
    chosen = parser.parse_args(arguments)
    if (chosen.secrets is None) != (chosen.access is None):
        parser.error("--secrets and --access belong together")
    if chosen.secrets is None:
        print(RIGHTS)
        return 0
    try:
        prepare(chosen.secrets, chosen.access, chosen.host)
    except OSError as error:
        print(f"itoscope: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
