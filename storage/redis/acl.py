"""The account of service and workers at Redis: what it may do, and no more.

`python -m storage.redis.acl --secrets FOLDER --access FOLDER --host NAME` makes a password where there is none yet, and leaves
`itoscope_redis_url` in the one folder, for service and workers, and `users.acl` in the other, for Redis.
`python -m storage.redis.acl` prints the rights.
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
    "-@all +@read +@write +@connection +@transaction +@pubsub +@scripting +@blocking -@dangerous -@admin +info +time"
)
"""Our records, Celery's queues; no other key, no listing of keys, no configuration, no flushing."""
HEALTH_USER = "health"
"""May ask whether Redis answers, without a password, and nothing else."""


def access_file(password: str) -> str:
    """The users of a Redis of our own, as its `aclfile` has them. It holds the password's SHA-256, not the password."""
    sha256 = hashlib.sha256(password.encode()).hexdigest()
    # Redis 8.0 reads its log of writes in the name of the default user, after every restart. Nobody may be that user, yet it may
    # do everything: without rights, all that a script or a transaction had written was left out, with a line in Redis's log.
    default = "user default off resetpass ~* &* +@all"
    return f"{default}\nuser {USER} on #{sha256} {RIGHTS}\nuser {HEALTH_USER} on nopass resetchannels -@all +ping\n"


def prepare(secrets_dir: Path, access_dir: Path, host: str) -> None:
    """Write both files. A password that is there is kept; the rights are always this version's. Raises OSError."""
    place = secrets_dir / "itoscope_redis_url"
    try:
        password = urlsplit(place.read_text("utf-8").strip()).password
    except FileNotFoundError:
        password = None
    if not password:
        password = secrets.token_hex(32)
        _write(place, f"redis://{USER}:{password}@{host}:6379/0\n", 0o400)
    # Redis reads it as a user of its own; nothing in it opens anything.
    _write(access_dir / "users.acl", access_file(password), 0o444)


def _write(place: Path, text: str, mode: int) -> None:
    """Aside and moved into place: whoever reads it has the whole."""
    descriptor, aside = tempfile.mkstemp(dir=place.parent)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(aside, mode)
    Path(aside).replace(place)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; 0, or 2 with one line on standard error."""
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
