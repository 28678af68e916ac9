"""The commands, their options and their help."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import click

from itoscope_client.cli.output import EXIT_STATUS, of_dataset, of_jobs, of_model, report_failure
from itoscope_client.client import Client, version
from itoscope_client.inputs import LayoutOptions
from itoscope_client.kinds import identification
from itoscope_client.models.model import Model
from itoscope_client.waiting import how_to_resume

ENVIRONMENT = """\b
Environment:
  ITOSCOPE_URL       address of the service (default http://127.0.0.1:8000)
  ITOSCOPE_API_KEY   API key, if the service requires one; it is never an argument, \
which other users could read"""


class Parsed(click.ParamType):  # type: ignore[type-arg]
    """A JSON object in the command line, or @FILE that contains it."""

    name = "JSON"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Parse the object, or fail with a message."""
        if not isinstance(value, str):
            return value
        example = '\'{"library": {"polynomial_degree": 3}}\''
        try:
            text = Path(value[1:]).read_text(encoding="utf-8") if value.startswith("@") else value
            parsed = json.loads(text)
        except (OSError, ValueError) as error:
            self.fail(f"{error}. Write it like {example}, or @FILE", param, ctx)
        if not isinstance(parsed, dict):
            self.fail("it must be an object: {…}", param, ctx)
        return parsed


class Label(click.ParamType):  # type: ignore[type-arg]
    """A pair NAME=VALUE."""

    name = "NAME=VALUE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Split the pair, or fail with a message."""
        name, equals, rest = str(value).partition("=")
        if not equals or not name:
            self.fail(f"{value!r} is not NAME=VALUE", param, ctx)
        return name, rest


address = click.option("--url", envvar="ITOSCOPE_URL", metavar="URL", help="The service's address.")


def saves(command: Callable[..., None]) -> Callable[..., None]:
    """Add the option that writes the result to a file."""
    file = click.Path(path_type=Path)
    said = "Also write the result as JSON."
    return click.option("-o", "--output", type=file, metavar="FILE", help=said)(command)


def labelled(purpose: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return the option of labels, whose help begins with their purpose."""
    said = f"{purpose} May be repeated."
    return click.option("--label", "labels", type=Label(), multiple=True, help=said)


def common(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of every command."""
    as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
    return address(as_json(command))


def waits(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of commands that wait for a job."""
    quiet = click.option("-q", "--quiet", is_flag=True, help="No progress bar.")
    seconds = click.FloatRange(min=0)
    stop = "Stop waiting after this time."
    timeout = click.option("--timeout", type=seconds, metavar="SECONDS", help=stop)
    return timeout(quiet(command))


def laid_out(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that say how a file is laid out."""
    options = (
        click.option(
            "--dt",
            type=float,
            metavar="TIME",
            help="Sampling interval, for files without a time column.",
        ),
        click.option(
            "--time-column",
            metavar="NAME",
            help="Column, dimension or array that holds the sample times.",
        ),
        click.option(
            "--id-column", metavar="NAME", help="Column or dimension that identifies trajectories."
        ),
        click.option(
            "--state-columns", metavar="NAMES", help="State variables, separated by commas: x,y."
        ),
        click.option(
            "--ignored-columns", metavar="NAMES", help="Columns to leave out, separated by commas."
        ),
        click.option(
            "--orientation",
            type=click.Choice(["columns", "rows"]),
            help="rows: each row of the table is one trajectory.",
        ),
        click.option(
            "--axes",
            metavar="LETTERS",
            help="Axes of an array: n trajectory, t time, d state variable; e.g. ntd.",
        ),
        click.option(
            "--time-unit",
            metavar="UNIT",
            help="Unit of time; calendar time stamps are converted to it (s, min, h, day, year).",
        ),
        click.option("--state-unit", metavar="UNIT", help="Unit of the state; a label."),
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.group(
    epilog=f"{ENVIRONMENT}\n\n{EXIT_STATUS}",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(version(), prog_name="itoscope")
def itoscope() -> None:
    """Identify the stochastic differential equation behind measured trajectories.

    \b
    Examples:
      itoscope identify data.csv --dt 0.01
      itoscope identify track.h5 --state-columns /x --time-column /t
      itoscope jobs --state running
      itoscope report JOB -o report.html
    """


@itoscope.command(epilog=EXIT_STATUS)
@click.argument("file", type=click.Path(path_type=Path))
@laid_out
@click.option("--degree", type=click.IntRange(0, 10), help="Highest degree of the candidate terms.")
@click.option(
    "--periodic",
    type=Label(),
    multiple=True,
    help="An angle and its period: x=360. May be repeated.",
)
@click.option("--preset", type=click.Choice(["paper"]), help="Algorithm 1 of the source paper.")
@click.option("--parameters", type=Parsed(), help="All other parameters as JSON, or @FILE.")
@click.option(
    "--passage",
    type=(float, float),
    multiple=True,
    metavar="FROM TO",
    help="A mean first-passage time to compute. May be repeated.",
)
@labelled("Your own label for the job.")
@click.option("--detach", is_flag=True, help="Submit the job, print its id and exit.")
@saves
@waits
@common
@report_failure
def identify(
    file: Path,
    degree: int | None,
    periodic: Sequence[tuple[str, str]],
    preset: str | None,
    parameters: dict[str, Any] | None,
    passage: Sequence[tuple[float, float]],
    labels: Sequence[tuple[str, str]],
    detach: bool,
    output: Path | None,
    timeout: float | None,
    quiet: bool,
    url: str | None,
    as_json: bool,
    **layout: Any,
) -> None:
    """Identify drift and diffusion from the trajectories in FILE.

    CSV, TXT, JSON, NPY, NPZ, Parquet and Arrow are sent as they are; HDF5, MATLAB, Zarr, netCDF,
    xvg and compressed files are converted here.

    \b
    Examples:
      itoscope identify data.csv --dt 0.01
      itoscope identify voltage.csv --orientation rows --dt 1.5e-4 --degree 1
      itoscope identify bead.csv --passage -1 1 --label experiment=trap-17
      itoscope identify indices.nc --state-columns Nino34,WWV --dt 1 --time-unit month
      itoscope identify data.csv --json | jq .model.drift.x.expression
      job=$(itoscope identify huge.npy --dt 1e-5 --detach) && itoscope watch $job
    """
    with Client(url) as client:
        dataset = client.upload(file, **_layout(layout))
        if not as_json:
            click.echo(of_dataset(dataset, file.name), err=detach)
        passages = [{"from": start, "to": end} for start, end in passage]
        wanted = {"passages": passages} if passages else None
        own = _parameters(parameters, degree, periodic)
        job = identification(own, wanted, preset, dict(labels) or None)
        record = client.submit({**job, "dataset": dataset["id"]})
        if detach:
            click.echo(json.dumps(record, ensure_ascii=False) if as_json else record["id"])
            if not as_json:
                click.echo(how_to_resume(record["id"]), err=True)
            return
        model = client.wait(record["id"], timeout=timeout, progress=not quiet)
        _show(model.document, as_json, output)


@itoscope.command(epilog=EXIT_STATUS)
@click.argument("dataset")
@laid_out
@common
@report_failure
def read(dataset: str, url: str | None, as_json: bool, **layout: Any) -> None:
    """Read the uploaded file of DATASET again under another layout, and print the new id.

    \b
    Example:
      itoscope read ds_9tq4m2k7h3xa5c6e --state-columns Position --dt 0.01
    """
    with Client(url) as client:
        found = client.read(dataset, **_layout(layout))
    if as_json:
        click.echo(json.dumps(found, ensure_ascii=False))
        return
    click.echo(of_dataset(found, found["label"] or dataset), err=True)
    click.echo(found["id"])


@itoscope.command(epilog=EXIT_STATUS)
@click.argument("job")
@waits
@common
@report_failure
def watch(job: str, timeout: float | None, quiet: bool, url: str | None, as_json: bool) -> None:
    """Wait for JOB with a progress bar, then print its result.

    \b
    Example:
      itoscope watch job_06h1ve3u84qhrctvl7s0he79sg --timeout 600
    """
    with Client(url) as client:
        record = client.watch(job, timeout=timeout, progress=not quiet)
        if record["state"] != "succeeded":
            client.wait(job, progress=False)  # raises what ended it
        _show(client.result_document(job), as_json, None)


@itoscope.command(epilog=EXIT_STATUS)
@click.argument("job")
@saves
@common
@report_failure
def result(job: str, output: Path | None, url: str | None, as_json: bool) -> None:
    """Print the result of JOB, which must have succeeded.

    \b
    Example:
      itoscope result job_06h1ve3u84qhrctvl7s0he79sg --json > result.json
    """
    with Client(url) as client:
        _show(client.result_document(job), as_json, output)


@itoscope.command(epilog=EXIT_STATUS)
@click.argument("job")
@click.option(
    "-o", "--output", metavar="FILE", help="Output file (default JOB.html); - for standard output."
)
@address
@report_failure
def report(job: str, output: str | None, url: str | None) -> None:
    """Save the report of JOB as one HTML file with plots, which opens offline.

    \b
    Example:
      itoscope report job_06h1ve3u84qhrctvl7s0he79sg -o trap-17.html
    """
    with Client(url) as client:
        page = client.report(job)
    if output == "-":
        click.echo(page)
        return
    path = Path(output or f"{job}.html")
    path.write_text(page, encoding="utf-8")
    click.echo(f"{path} ({len(page.encode()) / 1000:.0f} kB)")


@itoscope.command(epilog=EXIT_STATUS)
@click.option(
    "--state",
    type=click.Choice(["queued", "running", "succeeded", "failed", "cancelled"]),
    help="Only jobs in this state.",
)
@click.option("--kind", help="Only jobs of this kind: identification, generator, …")
@click.option("--dataset", metavar="ID", help="Only jobs on this dataset.")
@labelled("Only jobs with this label.")
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="Maximum number of jobs.",
)
@common
@report_failure
def jobs(
    state: str | None,
    kind: str | None,
    dataset: str | None,
    labels: Sequence[tuple[str, str]],
    limit: int,
    url: str | None,
    as_json: bool,
) -> None:
    """List your jobs, newest first.

    \b
    Examples:
      itoscope jobs --state running
      itoscope jobs --label experiment=trap-17 --json | jq -r '.[].id'
    """
    with Client(url) as client:
        found = client.jobs(
            state=state, kind=kind, dataset=dataset, labels=dict(labels), limit=limit
        )
    click.echo(json.dumps(found, ensure_ascii=False) if as_json else of_jobs(found))


@itoscope.command(epilog=EXIT_STATUS)
@click.argument("job")
@common
@report_failure
def cancel(job: str, url: str | None, as_json: bool) -> None:
    """End JOB, which has not ended; one that has stays as it is.

    \b
    Example:
      itoscope cancel job_06h1ve3u84qhrctvl7s0he79sg
    """
    with Client(url) as client:
        record = client.cancel(job)
    plain = f"{record['id']} is {record['state']}"
    click.echo(json.dumps(record, ensure_ascii=False) if as_json else plain)


def _layout(options: dict[str, Any]) -> LayoutOptions:
    """Return the layout that the options say, with names of columns as lists."""
    lists = ("state_columns", "ignored_columns")
    named = {name: options[name].split(",") for name in lists if options[name] is not None}
    return cast(LayoutOptions, {**options, **named})


def _show(document: Mapping[str, Any], as_json: bool, output: Path | None) -> None:
    """Print a result: one model in words, other results as JSON."""
    text = json.dumps(document, ensure_ascii=False, allow_nan=False)
    if output is not None:
        output.write_text(text, encoding="utf-8")
    in_words = not as_json and "model" in document
    click.echo(of_model(Model(document)) if in_words else text)


def _parameters(
    given: dict[str, Any] | None, degree: int | None, periodic: Sequence[tuple[str, str]]
) -> dict[str, Any] | None:
    """Merge the shorter options into the parameters."""
    parameters = dict(given or {})
    if degree is not None:
        parameters["library"] = {**parameters.get("library", {}), "polynomial_degree": degree}
    if periodic:
        periods = {name: float(period) for name, period in periodic}
        parameters["periodic"] = {**parameters.get("periodic", {}), **periods}
    return parameters or None
