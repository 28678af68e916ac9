"""The demonstration: start everything in a temporary folder, identify one model over HTTP, stop."""

import os
import sys
import tempfile
from pathlib import Path

from standalone.errors import Failed, last_lines
from standalone.preflight import free_port
from standalone.serve import ROOT, installation
from standalone.settings import StandaloneSettings
from standalone.supervisor import Program

EXAMPLE = ROOT / "examples" / "double_well.csv"
CLIENT = ROOT / "examples" / "identify.py"


def demo(file: Path, *, verbose: bool) -> bool:
    """Run the demonstration; return False where a signal stopped it. Raise CannotStart, Failed."""
    with tempfile.TemporaryDirectory(prefix="itoscope-demo-") as folder:
        settings = StandaloneSettings(
            host="127.0.0.1",
            port=free_port(),
            data_dir=Path(folder),
            redis_url=None,
            api_key_file=None,
        )
        with installation(settings, verbose=verbose) as running:
            supervisor = running.supervisor
            if supervisor.stopping:
                return False
            print(f"Itoscope is running at {running.url}", flush=True)
            # A proxy set for the outside world knows no way to this machine's loopback.
            environment = {**os.environ, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
            command = (sys.executable, str(CLIENT), str(file), "--url", running.url)
            client = supervisor.start(
                Program("client", command, environment, Path.cwd(), log=None, ends=True)
            )
            if not supervisor.watch(until=lambda: client.process.poll() is not None):
                return False
            if client.process.returncode != 0:
                for name in ("service", "worker"):
                    print(
                        f"--- end of {name}.log",
                        last_lines(running.logs / f"{name}.log", 15),
                        sep="\n",
                        file=sys.stderr,
                    )
                raise Failed(f"the client ended with exit status {client.process.returncode}")
            return True
