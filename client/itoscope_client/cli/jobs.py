"""The commands that follow, show, list and end jobs, and read a dataset again."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from itoscope_client.cli.options import (
    address,
    common,
    labelled,
    laid_out,
    layout_of,
    saves,
    waits,
)
from itoscope_client.cli.output import (
    EXIT_STATUS,
    finished,
    of_counts,
    of_dataset,
    of_datasets,
    of_jobs,
    report_failure,
    show,
)
from itoscope_client.client import Client
from itoscope_client.errors import NotFound


@click.command(epilog=EXIT_STATUS)
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
        show(finished(client, job, timeout, quiet), as_json, None)


@click.command(epilog=EXIT_STATUS)
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
        show(client.result_document(job), as_json, output)


@click.command(epilog=EXIT_STATUS)
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


@click.command(epilog=EXIT_STATUS)
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
        files = {} if as_json else _files(client, found)
    click.echo(json.dumps(found, ensure_ascii=False) if as_json else of_jobs(found, files))


@click.command(epilog=EXIT_STATUS)
@click.argument("job")
@common
@report_failure
def cancel(job: str, url: str | None, as_json: bool) -> None:
    """End JOB, which has not ended; of a batch, the jobs that no worker has begun.

    \b
    Examples:
      itoscope cancel job_06h1ve3u84qhrctvl7s0he79sg
      itoscope cancel batch_06h1ve3u84qhrctvl7s0he79sg
    """
    with Client(url) as client:
        if job.startswith("batch_"):
            record = client.cancel_batch(job)
            plain = f"{record['id']}: {of_counts(record['counts'])}"
        else:
            record = client.cancel(job)
            plain = f"{record['id']} is {record['state']}"
    click.echo(json.dumps(record, ensure_ascii=False) if as_json else plain)


@click.command(epilog=EXIT_STATUS)
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="Maximum number of datasets.",
)
@common
@report_failure
def datasets(limit: int, url: str | None, as_json: bool) -> None:
    """List your datasets, newest first.

    \b
    Example:
      itoscope datasets --limit 5
    """
    with Client(url) as client:
        found = client.datasets(limit=limit)
    click.echo(json.dumps(found, ensure_ascii=False) if as_json else of_datasets(found))


@click.command(epilog=EXIT_STATUS)
@click.argument("ids", metavar="JOB|BATCH|DATASET...", nargs=-1, required=True)
@address
@report_failure
def delete(ids: Sequence[str], url: str | None) -> None:
    """Delete each JOB with its result, BATCH with its jobs, or DATASET with its file.

    Results of a dataset are kept.

    \b
    Example:
      itoscope delete job_06h1ve3u84qhrctvl7s0he79sg ds_9tq4m2k7h3xa5c6e
    """
    with Client(url) as client:
        for each in ids:
            if each.startswith("ds_"):
                client.delete_dataset(each)
            elif each.startswith("batch_"):
                client.delete_batch(each)
            else:
                client.delete_job(each)
            click.echo(f"{each} is deleted")


def _files(client: Client, jobs: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the name of the file of each job's dataset, as far as it is kept."""
    wanted = {str(job["dataset"]) for job in jobs if job.get("dataset")}
    kept = client.datasets() if wanted else []
    for dataset_id in wanted - {dataset["id"] for dataset in kept}:
        with suppress(NotFound):
            kept.append(client.dataset(dataset_id))
    return {dataset["id"]: dataset.get("label") or dataset["id"] for dataset in kept}


@click.command(epilog=EXIT_STATUS)
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
        found = client.read(dataset, **layout_of(layout))
    if as_json:
        click.echo(json.dumps(found, ensure_ascii=False))
        return
    click.echo(of_dataset(found, found["label"] or dataset), err=True)
    click.echo(found["id"])
