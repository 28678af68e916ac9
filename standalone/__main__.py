"""Command line `python -m standalone serve` and `python -m standalone demo`.

The demonstration starts everything in a temporary folder, identifies one model over HTTP, stops.
"""

import argparse
import os
import signal
import sys
import tempfile
from pathlib import Path

from standalone.errors import CannotStart, Failed, last_lines
from standalone.preflight import free_port
from standalone.serve import ROOT, StandaloneSettings, installation, serve
from standalone.supervisor import Program
from storage.configuration import BadSettings, read

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


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return the exit status.

    It is 0 after a stop by signal, 1 where a part failed, 2 where the machine or the settings do
    not allow a start, and 130 where the demonstration was interrupted.
    """
    parser = argparse.ArgumentParser(prog="standalone", description="Itoscope on one machine.")
    commands = parser.add_subparsers(dest="command", required=True)
    serving = commands.add_parser("serve", help="run until Ctrl-C or SIGTERM")
    showing = commands.add_parser("demo", help="identify one model over HTTP, print it, and stop")
    showing.add_argument(
        "file",
        nargs="?",
        type=Path,
        default=EXAMPLE,
        help="trajectories to upload (default: the double well)",
    )
    for command in (serving, showing):
        command.add_argument(
            "--verbose",
            action="store_true",
            help="logs to the terminal instead of <data folder>/logs",
        )
    options = parser.parse_args(arguments)

    interrupted = 128 + signal.SIGINT
    try:
        if options.command == "serve":
            serve(read(StandaloneSettings), verbose=options.verbose)
            return 0
        return 0 if demo(options.file.absolute(), verbose=options.verbose) else interrupted
    except (BadSettings, CannotStart) as error:
        print(f"itoscope: {error}", file=sys.stderr)
        return 2
    except Failed as error:
        if error.log_end:
            print(f"--- end of {error.log}", error.log_end, "---", sep="\n", file=sys.stderr)
        print(f"itoscope: {error}; everything else was stopped", file=sys.stderr)
        return 1
    except KeyboardInterrupt:  # before anything was started
        return interrupted


if __name__ == "__main__":
    sys.exit(main())
