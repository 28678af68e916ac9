"""Output of the command: text for a terminal, messages of errors, and exit statuses."""

import functools
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, ParamSpec

import click

from itoscope_client.errors import ItoscopeError, JobCancelled, JobFailed, Problem, Unreachable
from itoscope_client.models.display import missing_distribution_reason, relaxation_rows
from itoscope_client.models.model import Model
from itoscope_client.models.numbers import measured, plain, power_of_ten, with_interval
from itoscope_client.waiting import WaitingTimedOut

P = ParamSpec("P")
REFUSED, INTERRUPTED = 1, 130
STATUS: Mapping[type[Exception], int] = {
    JobFailed: 3, JobCancelled: 4, WaitingTimedOut: 5, Unreachable: 6,
}  # fmt: skip
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
        except (ItoscopeError, OSError, ValueError) as error:
            _end(error, next((STATUS[k] for k in STATUS if isinstance(error, k)), REFUSED), kwargs)
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


def of_dataset(dataset: Mapping[str, Any], name: str) -> str:
    """Write what was read from a file."""
    report = dataset["report"]
    variables = ", ".join(_variable(v) for v in report["variables"])
    n = report["n_trajectories"]
    trajectories = f"{n} {'trajectory' if n == 1 else 'trajectories'}"
    dt = f"dt = {report['dt']['median']:g} {report.get('time_unit') or ''}".rstrip()
    samples = f"{report['n_samples']} samples of {variables} in {trajectories}"
    lines = [f"{name} is {dataset['id']}: {samples}, {dt}"]
    return "\n".join(lines + of_warnings(report.get("warnings", ())))


def of_model(model: Model) -> str:
    """Write a model's equations, coefficients with errors, times and warnings."""
    equations = (f"  {equation}" for equation in model.equations)
    lines = ["", "  dX = b dt + σ dW,  a = σσᵀ", *equations, ""]
    rows = [("term", "value", "± std. error", "95 % interval", "probability")]
    confidence = model.document["provenance"].get("analysis", {}).get("confidence")
    if confidence is not None:
        rows = [
            ("term", "value", "± std. error", f"{100 * confidence:g} % interval", "probability")
        ]
    for term in model.active_terms:
        value, error = plain(term.value), ""
        if term.std_error:
            value, spread, exponent = measured(term.value, term.std_error)
            power = power_of_ten(exponent)
            value, error = value + power, f"± {spread}{power}"
        likely = "" if term.probability is None else f"{100 * term.probability:.0f} %"
        rows.append((term.name, value, error, with_interval(term.value, term.ci)[1], likely))
    lines += _aligned(rows, numbers=True)
    lines += ["", *_facts(model)]
    return "\n".join(lines + of_warnings(model.warnings))


def of_jobs(jobs: Sequence[Mapping[str, Any]]) -> str:
    """Write one line for each job."""
    if not jobs:
        return "no jobs"
    rows = [("job", "state", "kind", "created", "labels")]
    for job in jobs:
        labels = " ".join(f"{name}={value}" for name, value in (job.get("labels") or {}).items())
        created = str(job["created_at"])[:19].replace("T", " ")
        rows.append((job["id"], job["state"], job["kind"], created, labels))
    return "\n".join(_aligned(rows))


def of_warnings(warnings: Sequence[Mapping[str, Any]]) -> list[str]:
    """Write one line for each warning."""
    return [f"warning: {warning['message']} ({warning['code']})" for warning in warnings]


def _facts(model: Model) -> list[str]:
    if model.ergodic is False:
        return [f"no stationary distribution: {missing_distribution_reason(model)}"]
    rows: list[tuple[str, ...]] = [(*row, "") for row in relaxation_rows(model)]
    for passage in model.passages:
        time = passage.mean_time
        shown, interval = (f"none: {time.reason}", "") if time.value is None else time.texts
        name = f"mean time {_place(passage.start)} → {_place(passage.end)}"
        rows.append((name, shown, interval, passage.note))
    return [line.rstrip() for line in _aligned(rows)]


def _place(place: Any) -> str:
    if isinstance(place, Mapping):
        return " ".join(f"{name} in {_interval(*ends)}" for name, ends in place.items())
    if isinstance(place, int | float):
        return plain(place, 3)
    return f"({', '.join(plain(x, 3) for x in place)})"


def _interval(low: float | None, high: float | None) -> str:
    lower, upper = "−∞" if low is None else plain(low, 3), "∞" if high is None else plain(high, 3)
    return f"[{lower}, {upper}]"


def _variable(variable: Mapping[str, Any]) -> str:
    name, column = variable.get("symbol", variable["name"]), variable.get("column")
    return f"{name} ({column})" if column and column != name else str(name)


def _aligned(rows: Sequence[tuple[str, ...]], *, numbers: bool = False) -> list[str]:
    """Align the columns of rows; with `numbers`, right-align all but the first."""
    if not rows:
        return []
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(w) if numbers and k else cell.ljust(w)
            for k, (cell, w) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return lines
