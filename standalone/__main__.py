"""Command line `python -m standalone serve` and `python -m standalone demo`."""

import argparse
import signal
import sys
from pathlib import Path

from standalone.demo import EXAMPLE, demo
from standalone.errors import CannotStart, Failed
from standalone.serve import serve
from standalone.settings import StandaloneSettings
from storage.configuration import BadSettings, read


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
