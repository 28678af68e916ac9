"""Output of the command: text for a terminal, messages of errors, and exit statuses."""

import functools
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, ParamSpec

import click

from itoscope_client.cli.words import on_command_line
from itoscope_client.client import Client
from itoscope_client.errors import ItoscopeError, JobCancelled, JobFailed, Problem, Unreachable
from itoscope_client.models import population
from itoscope_client.models.batch import Batch
from itoscope_client.models.comparison import Comparison, contrast_of
from itoscope_client.models.display import missing_distribution_reason, relaxation_rows
from itoscope_client.models.estimates import estimate_of
from itoscope_client.models.model import Model
from itoscope_client.models.numbers import exact, measured, plain, power_of_ten, with_interval
from itoscope_client.models.plan import Plan
from itoscope_client.models.rolling import Rolling, in_words
from itoscope_client.models.sweep import Sweep
from itoscope_client.waiting import WaitingTimedOut

P = ParamSpec("P")
REFUSED, INTERRUPTED = 1, 130
STATUS: Mapping[type[Exception], int] = {
    JobFailed: 3, JobCancelled: 4, WaitingTimedOut: 5, Unreachable: 6,
}  # fmt: skip
MOST_ROWS = 20
"""Largest number of windows that are printed."""
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

    With --json the message of a problem is JSON for programs, in the words of the API.
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
            text = "\n".join(["interrupted", *getattr(error, "__notes__", [])])
            click.echo(on_command_line(text), err=True)
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
        text = "\n".join([f"itoscope: {error}", *getattr(error, "__notes__", [])])
        click.echo(on_command_line(text), err=True)
    sys.exit(status)


def finished(client: Client, job: str, timeout: float | None, quiet: bool) -> dict[str, Any]:
    """Wait for a job of any kind, and return its result document."""
    record = client.watch(job, timeout=timeout, progress=not quiet)
    if record["state"] != "succeeded":
        client.wait(job, progress=False)  # raises what ended it
    return client.result_document(job)


def show(document: Mapping[str, Any], as_json: bool, output: Path | None) -> None:
    """Print a result in words, or as JSON, and write it to a file if one is given."""
    text = json.dumps(document, ensure_ascii=False, allow_nan=False)
    if output is not None:
        output.write_text(text, encoding="utf-8")
    click.echo(text if as_json else on_command_line(of_result(document)))


def of_result(document: Mapping[str, Any]) -> str:
    """Write the result of a job of any kind."""
    if "model" in document:
        return of_model(Model(document))
    if document.get("kind") == "rolling":
        return of_rolling(Rolling(document))
    if document.get("kind") == "plan":
        return of_plan(Plan(document))
    if document.get("kind") == "population":
        return of_population(population.Population(document))
    if document.get("kind") == "sweep":
        return of_sweep(Sweep(document))
    if document.get("kind") == "comparison":
        return of_comparison(Comparison(document))
    members = ", ".join(document)
    return f"a result of the kind {document.get('kind')}, with {members}; --json prints it"


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
    general = ["  dX = b dt + σ dW,  a = σσᵀ"] if model.order == 1 else []
    lines = ["", *general, *equations, ""]
    rows = [("term", "value", "± std. error", "95 % interval", "probability")]
    confidence = model.document["provenance"].get("analysis", {}).get("confidence")
    if confidence is not None:
        rows = [
            ("term", "value", "± std. error", f"{100 * confidence:g} % interval", "probability")
        ]
    for term in model.active_terms:
        value, error = exact(term.value, 4), "given" if term.known else ""
        if term.std_error:
            value, spread, exponent = measured(term.value, term.std_error)
            power = power_of_ten(exponent)
            value, error = value + power, f"± {spread}{power}"
        likely = "" if term.probability is None else f"{100 * term.probability:.0f} %"
        interval = "at its bound" if term.bound else with_interval(term.value, term.ci)[1]
        rows.append((term.name, value, error, interval, likely))
    # A model that was given has neither errors nor probabilities.
    filled = [k for k in range(len(rows[0])) if any(row[k] for row in rows[1:])]
    lines += _aligned([tuple(row[k] for k in filled) for row in rows], numbers=True)
    lines += ["", *_facts(model)]
    return "\n".join(lines + of_warnings(model.warnings))


def of_rolling(rolling: Rolling) -> str:
    """Write the spectral gap of the windows, of many evenly spaced ones, its trend and warnings."""
    count = len(rolling.gaps)
    every = -(-count // MOST_ROWS)
    times = rolling.correlation_times
    noise = ("correlation time", "") if times else ()
    rows: list[tuple[str, ...]] = [
        ("window", "spectral gap", "interval", "relaxation time", "", *noise)
    ]
    for n in range(0, count, every):
        gap, time = rolling.gaps[n], rolling.relaxation_times[n]
        if gap.value is None:
            rows.append((_window(rolling, n), "–", str(gap), "", "", *("",) * len(noise)))
            continue
        of_noise = times[n].texts if times else ()
        rows.append((_window(rolling, n), *gap.texts, *time.texts, *of_noise))
    lines = ["", f"  {in_words(rolling)}", "", *_aligned(rows)]
    if every > 1:
        lines.append(f"(one in {every} of {count} windows; --json prints all)")
    return "\n".join(lines + of_warnings(rolling.warnings))


def of_plan(plan: Plan) -> str:
    """Write a plan in words, what other sampling intervals take, and the simulated check."""
    rows = [("interval", "duration", "without noise", "samples")]
    for option in plan.document["options"]:
        best = " (best)" if option == plan.document["best"] else ""
        dt = plain(option["dt"], 2) + best
        durations = plain(option["duration"], 3), plain(option["clean_duration"], 3)
        rows.append((dt, *durations, str(option["samples"])))
    lines = ["", plan.message, "", *_aligned(rows, numbers=True), ""]
    check = plan.check
    if check.get("reason") is None:
        errors = (
            f"{name} {100 * check[name]:.2g} %"
            for name in ("predicted", "claimed", "realised")
            if check.get(name) is not None
        )
        n = check["records"]
        records = "one simulated record" if n == 1 else f"{n} simulated records"
        lines.append(f"Errors of {records} of {plain(check['duration'], 3)}: {', '.join(errors)}.")
    return "\n".join(lines + of_warnings(plan.warnings))


def of_population(found: population.Population) -> str:
    """Write mean and standard deviation of every number, the records apart, and warnings."""
    lines = ["", f"  {population.in_words(found)}", "", *_aligned(population.rows_of(found))]
    return "\n".join(lines + of_warnings(found.warnings))


def of_sweep(sweep: Sweep) -> str:
    """Write the model of every set of parameters, or why there is none, and its warnings."""
    lines = ["", *repr(sweep).removeprefix("<").removesuffix("\n>").splitlines(), ""]
    found: dict[str, list[str]] = {}
    for number, model in enumerate(sweep.models, start=1):
        for warning in () if model is None else model.warnings:
            found.setdefault(str(warning["code"]), []).append(str(number))
    lines += [f"warning: {code} (set {', '.join(sets)})" for code, sets in found.items()]
    return "\n".join(lines).rstrip()


def of_counts(counts: Mapping[str, int]) -> str:
    """Write the number of jobs in each state."""
    return ", ".join(f"{count} {state}" for state, count in counts.items() if count)


def of_batch(batch: Batch) -> str:
    """Write the states of a batch's jobs, and the models of its first records."""
    of_time = any("relaxation_time" in row["values"] for row in batch)
    rows: list[tuple[str, ...]] = [
        ("record", "state", "model", *(("relaxation time",) if of_time else ()))
    ]
    for number in range(min(len(batch), MOST_ROWS)):
        row = batch[number]
        values = row["values"]
        terms = [
            f"{name.replace('drift.', 'b_').replace('diffusion.', 'a_').replace(',', '')} = {value}"
            for name, value in values.items()
            if name.startswith(("drift.", "diffusion.")) and ":" not in name
        ]
        found = "; ".join(terms) or (row["error"] or {}).get("detail", "")
        time = values.get("relaxation_time")
        own = ("" if time is None else plain(time, 4),) if of_time else ()
        rows.append((str(row["record"]), row["state"] or "gone", found, *own))
    lines = ["", f"  {batch.batch_id}: {of_counts(batch.counts)}", "", *_aligned(rows)]
    if len(batch) > MOST_ROWS:
        lines.append(f"({MOST_ROWS} of {len(batch)} records; -o FILE saves the table as CSV)")
    return "\n".join(lines)


def of_comparison(comparison: Comparison) -> str:
    """Write what differs in sentences, a table of every difference, and the groups' equations."""
    lines = ["", *(f"  {sentence}" for sentence in comparison.document["summary"]), ""]
    rows = [("", "", "group", f"against {comparison.reference}", "p", "adjusted")]
    for row in comparison.table:
        p, adjusted = (plain(row[name], 2) for name in ("p_value", "adjusted_p_value"))
        rows.append((row["component"], row["what"], row["group"], contrast_of(row), p, adjusted))
    lines += _aligned(rows)
    for name, model in comparison.models.items():
        lines += ["", f"  {name}: {'; '.join(model.equations)}"]
    return "\n".join(lines + of_warnings(comparison.warnings))


def of_jobs(jobs: Sequence[Mapping[str, Any]], files: Mapping[str, str]) -> str:
    """Write one line for each job.

    files   name of the file of each dataset, by its id
    """
    if not jobs:
        return "no jobs"
    rows = [("job", "state", "kind", "file", "created", "labels")]
    for job in jobs:
        labels = " ".join(f"{name}={value}" for name, value in (job.get("labels") or {}).items())
        created = str(job["created_at"])[:19].replace("T", " ")
        file = files.get(job.get("dataset") or "", "–")
        rows.append((job["id"], job["state"], job["kind"], file, created, labels))
    return "\n".join(_aligned(rows))


def of_datasets(datasets: Sequence[Mapping[str, Any]]) -> str:
    """Write one line for each dataset."""
    if not datasets:
        return "no datasets"
    rows = [("dataset", "file", "samples", "created")]
    for dataset in datasets:
        created = str(dataset["created_at"])[:19].replace("T", " ")
        samples = str(dataset["report"]["n_samples"])
        rows.append((dataset["id"], dataset.get("label") or "–", samples, created))
    return "\n".join(_aligned(rows))


def of_warnings(warnings: Sequence[Mapping[str, Any]]) -> list[str]:
    """Write one line for each warning."""
    return [
        f"warning: {on_command_line(warning['message'])} ({warning['code']})"
        for warning in warnings
    ]


def _facts(model: Model) -> list[str]:
    if model.ergodic is False:
        return [f"no stationary distribution: {missing_distribution_reason(model)}"]
    rows: list[tuple[str, ...]] = []
    if model.coloured_noise is not None:
        time = estimate_of(model.coloured_noise["correlation_time"])
        rows.append(("correlation time of the noise u", *time.texts, ""))
    rows += [(f"analysed at {name}", plain(v, 4), "", "") for name, v in model.inputs.items()]
    rows += [(*row, "") for row in relaxation_rows(model)]
    for response in model.responses:
        name = f"of {response.variable} to the period {plain(response.period, 4)}"
        rows.append((f"gain {name}", *response.gain.texts, ""))
        rows.append((f"lag {name} [rad]", *response.lag.texts, ""))
    for passage in model.passages:
        time = passage.mean_time
        shown, interval = (f"none: {time.reason}", "") if time.value is None else time.texts
        name = f"mean time {_place(passage.start)} → {_place(passage.end)}"
        rows.append((name, shown, interval, passage.note))
    return [line.rstrip() for line in _aligned(rows)]


def _place(place: Any) -> str:
    if isinstance(place, Mapping):
        bounded = {name: ends for name, ends in place.items() if set(ends) != {None}}
        named = (f"{name} in {_interval(*ends)}" for name, ends in bounded.items())
        return " ".join(named) or "anywhere"
    if isinstance(place, int | float):
        return plain(place, 3)
    return f"({', '.join(plain(x, 3) for x in place)})"


def _interval(low: float | None, high: float | None) -> str:
    lower, upper = "−∞" if low is None else plain(low, 3), "∞" if high is None else plain(high, 3)
    return f"[{lower}, {upper}]"


def _window(rolling: Rolling, n: int) -> str:
    return f"{rolling.begins[n]:.4g} – {rolling.ends[n]:.4g}"


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
