"""The command that runs the same job on many records."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from itoscope_client.cli.options import (
    analyses,
    analysis_of,
    common,
    fits,
    labelled,
    laid_out,
    layout_of,
    waits,
)
from itoscope_client.cli.output import EXIT_STATUS, of_batch, report_failure
from itoscope_client.cli.words import on_command_line
from itoscope_client.client import Client
from itoscope_client.errors import InputError
from itoscope_client.waiting import how_to_resume

_KNOWN = ("batch_", "ds_")


@click.command(epilog=EXIT_STATUS)
@click.argument("records", metavar="FILE...|DATASET|BATCH", nargs=-1, required=True)
@laid_out
@fits
@analyses
@click.option("--model-only", is_flag=True, help="Drift and diffusion only: a tenth of the time.")
@click.option("--name", metavar="TEXT", help="Your own words for the batch.")
@labelled("Your own label for every job.")
@click.option("--retry", is_flag=True, help="Start the failed jobs of BATCH again.")
@click.option("--detach", is_flag=True, help="Submit the batch, print its id and exit.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Also write the table as CSV.",
)
@waits
@common
@report_failure
def batch(
    records: Sequence[str],
    parameters: Any,
    passage: Sequence[tuple[float, float]],
    analysis: Sequence[dict[str, Any]],
    model_only: bool,
    name: str | None,
    labels: Sequence[tuple[str, str]],
    retry: bool,
    detach: bool,
    output: Path | None,
    timeout: float | None,
    quiet: bool,
    url: str | None,
    as_json: bool,
    **layout: Any,
) -> None:
    """Identify a model of each record, and print the table.

    Each of several files is a record; of one file (a ZIP archive, a table with identities), or of a
    DATASET, each trajectory. With the id of a BATCH, wait for it.

    \b
    Examples:
      itoscope batch traps/*.csv --dt 0.01 --model-only -o table.csv
      itoscope batch tracks.csv --id-column particle
      batch=$(itoscope batch traps/*.csv --detach) && itoscope batch $batch
      itoscope batch batch_06h1ve3u84qhrctvl7s0he79sg --retry
    """
    with Client(url) as client:
        if records[0].startswith("batch_"):
            if len(records) > 1:
                raise click.UsageError("Give one BATCH.")
            batch_id = records[0]
            if retry:
                client.retry_batch(batch_id)
        elif retry:
            raise click.UsageError("--retry is for a BATCH.")
        else:
            wanted = analysis_of(
                (*analysis, *([{"model_only": True}] if model_only else [])), passage
            )
            batch_id = client.batch(
                _records(records),
                parameters=parameters,
                analysis=wanted,
                labels=dict(labels) or None,
                label=name,
                wait=False,
                **layout_of(layout),
            ).batch_id
        if detach:
            click.echo(batch_id)
            click.echo(on_command_line(how_to_resume(batch_id)), err=True)
            return
        found = client.wait_batch(batch_id, timeout=timeout, progress=not quiet)
        if output is not None:
            output.write_text(client.batch_table(batch_id), encoding="utf-8", newline="")
    document: Mapping[str, Any] = found.document
    click.echo(json.dumps(document, ensure_ascii=False) if as_json else of_batch(found))


def _records(given: Sequence[str]) -> Any:
    """Return what the client takes: one file or dataset, or a list of files."""
    if len(given) == 1:
        return given[0] if given[0].startswith(_KNOWN) else Path(given[0])
    for each in given:
        if each.startswith(_KNOWN) and not Path(each).exists():
            raise InputError(f"{each} is an id: give files, or one id alone")
    return [Path(each) for each in given]
