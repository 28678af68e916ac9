"""The exit statuses of the command, and the messages of its errors."""

import functools
import json
import sys
from collections.abc import Callable
from typing import Any, NoReturn, ParamSpec

import click

from itoscope_client.errors import ItoscopeError, JobCancelled, JobFailed, Problem, Unreachable
from itoscope_client.waiting import WaitingTimedOut

P = ParamSpec("P")
REFUSED, FAILED, CANCELLED, NOT_YET, UNREACHABLE, INTERRUPTED = 1, 3, 4, 5, 6, 130
EXIT_STATUS = """\b
Exit status:
  0    success
  1    refused: the file, the job or the key; the message says what to try
  2    wrong usage
  3    the job failed
  4    the job was cancelled
  5    --timeout has passed; the job continues
  6    no response from the service
  130  interrupted; a submitted job continues"""


def report_failure(command: Callable[P, None]) -> Callable[P, None]:
    """Make a command end with a message on standard error and an exit status where it fails.

    With --json the message of a problem is JSON.
    """

    @functools.wraps(command)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except JobFailed as error:
            _end(error, FAILED, kwargs)
        except JobCancelled as error:
            _end(error, CANCELLED, kwargs)
        except WaitingTimedOut as error:
            _end(error, NOT_YET, kwargs)
        except Unreachable as error:
            _end(error, UNREACHABLE, kwargs)
        except (ItoscopeError, OSError, ValueError) as error:
            _end(error, REFUSED, kwargs)
        except KeyboardInterrupt as error:
            if sys.stderr.isatty():
                click.echo(err=True)  # leave the progress bar's line
            click.echo("\n".join(["interrupted", *getattr(error, "__notes__", [])]), err=True)
            sys.exit(INTERRUPTED)

    return wrapped


def _end(error: Exception, status: int, options: dict[str, Any]) -> NoReturn:
    if options.get("as_json") and isinstance(error, Problem):
        document = {
            "code": error.code, "status": error.status, "detail": error.detail,
            "hints": error.hints,
            "errors": [{"detail": each.detail, "pointer": each.pointer} for each in error.errors],
        }  # fmt: skip
        click.echo(json.dumps(document, ensure_ascii=False), err=True)
    else:
        click.echo("\n".join([f"itoscope: {error}", *getattr(error, "__notes__", [])]), err=True)
    sys.exit(status)
