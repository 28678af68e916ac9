"""The command `itoscope`."""

import sys


def main() -> None:
    """Run the command; where click is not installed, say how to install it."""
    try:
        import click  # noqa: F401
    except ImportError:
        print(
            "itoscope: the command needs click: pip install 'itoscope-client[cli]'", file=sys.stderr
        )
        sys.exit(1)
    from itoscope_client.cli.commands import itoscope

    itoscope(prog_name="itoscope")
