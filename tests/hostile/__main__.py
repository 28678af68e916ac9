"""Every hostile upload, and requests generated from the description of the interface.

`python -m tests.hostile [--examples 100]` has exit status 1 where an answer is 5xx or undeclared,
memory grows, or an ordinary job does not run afterwards.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from standalone.preflight import free_port
from tests.acceptance.served import Served
from tests.hostile.siege import besiege, memory, serving_process
from tests.hostile.uploads import hostile_uploads

CHECKS = (
    "not_a_server_error,status_code_conformance,"
    "content_type_conformance,response_schema_conformance"
)
MOST_MEMORY = 400e6


def send_generated_requests(url: str, examples: int, folder: Path) -> int:
    """Run schemathesis, which prints what it sends, and return its exit status."""
    program = Path(sys.executable).with_name("schemathesis")
    command = [program, "run", f"{url}/openapi.json", "--checks", CHECKS]
    more = ["--max-examples", str(examples)]
    more += ["--phases", "coverage,fuzzing", "--request-timeout", "70", "--seed", "1", "--no-color"]
    return subprocess.run([*command, *more], cwd=folder).returncode


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.hostile", description="Send everything that is wrong."
    )
    parser.add_argument(
        "--examples",
        type=int,
        default=100,
        help="largest number of generated requests for each operation",
    )
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        served = Served(Path(folder) / "data", free_port()).wait_until_ready()
        try:
            service = serving_process(served)
            idle = memory(service)
            refused = send_generated_requests(served.url, chosen.examples, Path(folder))
            siege = besiege(served, hostile_uploads())
            grown = memory(service) - idle
        finally:
            served.stop()
    print(
        f"{siege.sent} hostile uploads, the slowest answer after {siege.slowest:.1f} s; canary: "
        f"{siege.canary}"
    )
    print(f"the service grew by {max(grown, siege.grown) / 1e6:.0f} MB")
    for breach in siege.breaches:
        print(breach)
    too_much = max(grown, siege.grown) > MOST_MEMORY
    return int(bool(refused or siege.breaches or siege.canary != "succeeded" or too_much))


if __name__ == "__main__":
    sys.exit(main())
