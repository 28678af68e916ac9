"""The commands that start a job, one for each kind."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from itoscope_client.cli.options import (
    JSON_EXAMPLE,
    Component,
    Label,
    Parsed,
    analyses,
    analysis_of,
    bounded,
    fits,
    giving,
    laid_out,
    layout_of,
    reads,
    starts,
    together,
    with_bounds,
)
from itoscope_client.cli.output import EXIT_STATUS, finished, of_dataset, report_failure, show
from itoscope_client.cli.words import on_command_line
from itoscope_client.client import Client
from itoscope_client.kinds import (
    comparing,
    generating,
    identification,
    is_dataset_id,
    planning,
    populating,
    rolling,
    sweeping,
)
from itoscope_client.waiting import how_to_resume


@click.command(epilog=EXIT_STATUS)
@reads
@fits
@giving("preset", "--preset", type=click.Choice(["paper"]), help="Algorithm 1 of the source paper.")
@analyses
@starts
@report_failure
def identify(
    parameters: Any,
    preset: Any,
    passage: Sequence[tuple[float, float]],
    analysis: Sequence[dict[str, Any]],
    labels: Sequence[tuple[str, str]],
    timeout_seconds: float | None,
    **options: Any,
) -> None:
    """Identify drift and diffusion from the trajectories in FILE.

    CSV, TXT, JSON, NPY, NPZ, Parquet and Arrow are sent as they are; HDF5, MATLAB, Zarr, netCDF,
    xvg and compressed files are converted here.

    \b
    Examples:
      itoscope identify data.csv --dt 0.01
      itoscope identify voltage.csv --orientation rows --dt 1.5e-4 --degree 1
      itoscope identify track.csv --dynamics second-order
      itoscope identify bead.csv --passage -1 1 --label experiment=trap-17
      itoscope identify indices.nc --state-columns Nino34,WWV --dt 1 --time-unit month
      itoscope identify data.csv --json | jq .model.drift.x.expression
      job=$(itoscope identify huge.npy --dt 1e-5 --detach) && itoscope watch $job
    """
    wanted = analysis_of(analysis, passage)
    _of_file(
        identification(parameters, wanted, preset, dict(labels) or None, timeout_seconds), **options
    )


@click.command(epilog=EXIT_STATUS)
@reads
@giving(
    "windows.count", "--count", type=click.IntRange(min=1), help="Number of windows (default 50)."
)
@giving(
    "windows.share",
    "--share",
    type=float,
    help="Length of a window as a share of the time series (default 0.2).",
)
@giving(
    "windows.length",
    "--length",
    type=float,
    metavar="TIME",
    help="Length of a window, instead of --share.",
)
@giving(
    "confidence",
    "--confidence",
    type=float,
    help="Confidence level of the intervals (default 0.95).",
)
@fits
@starts
@report_failure
def roll(
    count: int | None,
    share: float | None,
    length: float | None,
    confidence: float | None,
    parameters: Any,
    labels: Sequence[tuple[str, str]],
    timeout_seconds: float | None,
    **options: Any,
) -> None:
    """Fit a window moved along the time series of one variable in FILE.

    \b
    Examples:
      itoscope roll lake.csv --count 50 --share 0.2
      itoscope roll lake.csv --state-columns turbidity --length 2000
    """
    asked = {"count": count, "share": share, "length": length}
    windows: Any = {name: value for name, value in asked.items() if value is not None}
    _of_file(
        rolling(windows or None, parameters, confidence, dict(labels) or None, timeout_seconds),
        **options,
    )


@click.command(epilog=EXIT_STATUS)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@laid_out
@giving(
    "confidence",
    "--confidence",
    type=float,
    help="Confidence level of the intervals (default 0.95).",
)
@fits
@starts
@report_failure
def population(
    files: Sequence[str],
    confidence: float | None,
    parameters: Any,
    labels: Sequence[tuple[str, str]],
    timeout_seconds: float | None,
    detach: bool,
    output: Path | None,
    timeout: float | None,
    quiet: bool,
    url: str | None,
    as_json: bool,
    **layout: Any,
) -> None:
    """Estimate how coefficients differ between the records in FILE.

    With several files (or ids of datasets), the records are the trajectories of all of them.

    \b
    Examples:
      itoscope population voltage.csv --orientation rows --dt 1.5e-4 --degree 1
      itoscope population tracks.csv --id-column particle --dt 0.05
      itoscope population cell-*.csv --dt 0.01
    """
    job = populating(parameters, confidence, dict(labels) or None, timeout_seconds)
    with Client(url) as client:
        ids = []
        for file in files:
            if is_dataset_id(file):
                ids.append(file)
                continue
            dataset = client.upload(Path(file), **layout_of(layout))
            if not as_json:
                click.echo(of_dataset(dataset, Path(file).name), err=detach)
            ids.append(str(dataset["id"]))
        job |= {"dataset": ids[0]} if len(ids) == 1 else {"datasets": ids}
        _submitted(client, job, detach, output, timeout, quiet, as_json)


@click.command(epilog=EXIT_STATUS)
@reads
@giving(
    "variants",
    "--over",
    type=Parsed(),
    multiple=True,
    required=True,
    help=f"Parameters of one model: {JSON_EXAMPLE}. Repeat it for each model.",
)
@fits
@analyses
@starts
@report_failure
def sweep(
    over: Sequence[Any],
    parameters: Any,
    passage: Sequence[tuple[float, float]],
    analysis: Sequence[dict[str, Any]],
    labels: Sequence[tuple[str, str]],
    timeout_seconds: float | None,
    **options: Any,
) -> None:
    """Identify one model from FILE for each of several sets of parameters.

    \b
    Example:
      itoscope sweep data.csv --over '{"library": {"polynomial_degree": 3}}' \\
                              --over '{"selection": {"method": "pastis"}}'
    """
    wanted = analysis_of(analysis, passage)
    _of_file(sweeping(over, parameters, wanted, dict(labels) or None, timeout_seconds), **options)


models = together(
    click.argument("model", required=False),
    giving(
        "model.drift",
        "--drift",
        type=Component("x"),
        multiple=True,
        help="Drift: 'x - x^3', or of each variable: 'x=-x + 2*y'.",
    ),
    giving(
        "model.diffusion",
        "--diffusion",
        type=Component("x,x"),
        multiple=True,
        help="Diffusion a = σσᵀ: 0.25, or of each pair: 'x,y=0.1'.",
    ),
    bounded("model"),
)
"""The model of a job: another job's, or terms."""


@click.command(epilog=EXIT_STATUS)
@click.argument("file", required=False, type=click.Path(path_type=Path))
@giving(
    "groups",
    "--group",
    "groups",
    type=Label(),
    multiple=True,
    help="A group and a file of its data, or the id of a dataset: control=a.csv. Repeat it for "
    "each group, and for several files of one group.",
)
@giving("reference", "--reference", metavar="NAME", help="Group that the others are compared with.")
@laid_out
@fits
@analyses
@starts
@report_failure
def compare(
    file: Path | None,
    groups: Sequence[tuple[str, str]],
    reference: str | None,
    parameters: Any,
    passage: Sequence[tuple[float, float]],
    analysis: Sequence[dict[str, Any]],
    labels: Sequence[tuple[str, str]],
    timeout_seconds: float | None,
    detach: bool,
    output: Path | None,
    timeout: float | None,
    quiet: bool,
    url: str | None,
    as_json: bool,
    **layout: Any,
) -> None:
    """Compare groups: which coefficients and which time scales differ.

    The groups are files, or the groups of FILE, which --group-column names.

    \b
    Examples:
      itoscope compare --group control=a.csv --group treated=b.csv --dt 0.01
      itoscope compare cells.csv --group-column condition --reference control
    """
    if (file is None) == (not groups):
        raise click.UsageError("give the groups with --group, or a FILE with --group-column")
    wanted = analysis_of(analysis, passage)
    job = comparing(reference, parameters, wanted, dict(labels) or None, timeout_seconds)
    with Client(url) as client:

        def uploaded(path: Path) -> str:
            dataset = client.upload(path, **layout_of(layout))
            if not as_json:
                click.echo(of_dataset(dataset, path.name), err=detach)
            return str(dataset["id"])

        if file is not None:
            job["dataset"] = uploaded(file)
        else:
            job["groups"] = {name: [] for name, _ in groups}
            for name, data in groups:
                known = data if is_dataset_id(data) else uploaded(Path(data))
                job["groups"][name].append(known)
        _submitted(client, job, detach, output, timeout, quiet, as_json)


@click.command(epilog=EXIT_STATUS)
@models
@analyses
@starts
@report_failure
def generator(
    model: str | None,
    drift: Sequence[tuple[str, dict[str, float]]],
    diffusion: Sequence[tuple[str, dict[str, float]]],
    periodic: Sequence[tuple[str, str]],
    domain: Sequence[tuple[str, Any]],
    passage: Sequence[tuple[float, float]],
    analysis: Sequence[dict[str, Any]],
    labels: Sequence[tuple[str, str]],
    timeout_seconds: float | None,
    detach: bool,
    output: Path | None,
    timeout: float | None,
    quiet: bool,
    url: str | None,
    as_json: bool,
) -> None:
    """Analyse a model given by its terms, or the MODEL of an earlier job.

    MODEL is a job's id, or the terms as JSON or @FILE.

    \b
    Examples:
      itoscope generator --drift 'x - x^3' --diffusion 0.25 --passage -1 1
      itoscope generator --drift 'x=-x + y' --drift 'y=-y' --diffusion x,x=2 --diffusion y,y=1
      itoscope generator job_06h1ve3u84qhrctvl7s0he79sg --passage -0.5 0.5
      itoscope generator @model.json
    """
    source = _model(model, drift, diffusion, periodic, domain)
    job = generating(source, analysis_of(analysis, passage), dict(labels) or None, timeout_seconds)
    with Client(url) as client:
        _submitted(client, job, detach, output, timeout, quiet, as_json)


@click.command(epilog=EXIT_STATUS)
@models
@giving(
    "target.quantity",
    "--quantity",
    type=click.Choice(["relaxation_time", "passage", "variance", "coefficient", "difference"]),
    default="relaxation_time",
    show_default=True,
    help="Quantity that is wanted.",
)
@giving(
    "target.precision",
    "--precision",
    type=float,
    help="Wanted standard error, as a fraction of the value (default 0.1).",
)
@giving("target.from", "--from", "start_state", type=float, help="Start of the passage.")
@giving("target.to", "--to", "end_state", type=float, help="End of the passage.")
@giving("target.component", "--component", help="Component of the coefficient: x, or x,x.")
@giving("target.term", "--term", help="Term of the coefficient: x^3.")
@giving("target.other", "--other", type=float, help="Value to tell the coefficient from.")
@giving("target.power", "--power", type=float, help="Power of that test (default 0.9).")
@giving("target.level", "--level", type=float, help="Level of that test (default 0.05).")
@giving(
    "noise",
    "--noise",
    type=float,
    help="Standard deviation of the measurement noise (default: that of the model's data).",
)
@giving("dt", "--dt", type=float, multiple=True, help="Sampling interval to try. May be repeated.")
@giving(
    "trajectory_duration",
    "--trajectory-duration",
    type=float,
    help="Duration of every trajectory (default: one for all).",
)
@giving("start", "--start", type=float, help="State at which every trajectory begins.")
@giving("max_duration", "--max-duration", type=float, help="Longest duration you can record.")
@giving("seed", "--seed", type=int, help="Seed of the simulated records.")
@starts
@report_failure
def plan(
    model: str | None,
    drift: Sequence[tuple[str, dict[str, float]]],
    diffusion: Sequence[tuple[str, dict[str, float]]],
    periodic: Sequence[tuple[str, str]],
    domain: Sequence[tuple[str, Any]],
    quantity: str,
    precision: float | None,
    start_state: float | None,
    end_state: float | None,
    component: str | None,
    term: str | None,
    other: float | None,
    power: float | None,
    level: float | None,
    noise: float | None,
    dt: Sequence[float],
    trajectory_duration: float | None,
    start: float | None,
    max_duration: float | None,
    seed: int | None,
    labels: Sequence[tuple[str, str]],
    timeout_seconds: float | None,
    detach: bool,
    output: Path | None,
    timeout: float | None,
    quiet: bool,
    url: str | None,
    as_json: bool,
) -> None:
    """Plan a measurement: how long and how often to record.

    MODEL is a job's id, or the terms as JSON or @FILE.

    \b
    Examples:
      itoscope plan job_06h1ve3u84qhrctvl7s0he79sg --quantity passage --precision 0.05
      itoscope plan --drift 'x - x^3' --diffusion 0.5 --noise 0.1 --max-duration 1000
      itoscope plan job_06h1ve3u84qhrctvl7s0he79sg --quantity coefficient --component x --term x^3
    """
    given = {
        "quantity": quantity, "precision": precision, "from": start_state, "to": end_state,
        "component": component, "term": term, "other": other, "power": power, "level": level,
    }  # fmt: skip
    target: Any = {name: value for name, value in given.items() if value is not None}
    job = planning(
        _model(model, drift, diffusion, periodic, domain),
        target,
        None,
        None,
        noise=noise,
        dt=list(dt) or None,
        trajectory_duration=trajectory_duration,
        start=start,
        max_duration=max_duration,
        seed=seed,
        labels=dict(labels) or None,
        timeout_seconds=timeout_seconds,
    )
    with Client(url) as client:
        _submitted(client, job, detach, output, timeout, quiet, as_json)


def _model(
    model: str | None,
    drift: Sequence[tuple[str, dict[str, float]]],
    diffusion: Sequence[tuple[str, dict[str, float]]],
    periodic: Sequence[tuple[str, str]],
    domain: Sequence[tuple[str, Any]],
) -> Any:
    """Return the model of a job. Raises UsageError."""
    if (model is None) == (not drift and not diffusion):
        raise click.UsageError("give a MODEL, or its terms with --drift and --diffusion")
    if model is None and not (drift and diffusion):
        raise click.UsageError("a model has both --drift and --diffusion")
    source: Any = {"drift": dict(drift), "diffusion": dict(diffusion)}
    if model is not None:
        by_terms = model.startswith(("{", "@"))
        source = Parsed().convert(model, None, None) if by_terms else model
    if periodic or domain:
        if isinstance(source, str):
            raise click.UsageError("--periodic and --domain are for a model given by its terms")
        source = with_bounds(source, periodic, domain)
    return source


def _of_file(
    job: dict[str, Any],
    file: Path,
    detach: bool,
    output: Path | None,
    timeout: float | None,
    quiet: bool,
    url: str | None,
    as_json: bool,
    **layout: Any,
) -> None:
    """Upload the file, submit the job, wait, and show the result."""
    with Client(url) as client:
        dataset = client.upload(file, **layout_of(layout))
        if not as_json:
            click.echo(of_dataset(dataset, file.name), err=detach)
        asked = {**job, "dataset": dataset["id"]}
        _submitted(client, asked, detach, output, timeout, quiet, as_json)


def _submitted(
    client: Client,
    job: Mapping[str, Any],
    detach: bool,
    output: Path | None,
    timeout: float | None,
    quiet: bool,
    as_json: bool,
) -> None:
    record = client.submit(job)
    if not detach:
        show(finished(client, record["id"], timeout, quiet), as_json, output)
        return
    click.echo(json.dumps(record, ensure_ascii=False) if as_json else record["id"])
    if not as_json:
        click.echo(on_command_line(how_to_resume(record["id"])), err=True)
