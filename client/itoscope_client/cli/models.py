"""The commands that use a model that was found: its plot, simulated paths, and source text."""

import sys
from pathlib import Path
from typing import Any

import click
import numpy as np

from itoscope_client.cli.options import address
from itoscope_client.cli.output import EXIT_STATUS, report_failure
from itoscope_client.client import Client
from itoscope_client.errors import InputError, needed
from itoscope_client.models.exports import FORMATS
from itoscope_client.models.model import Model
from itoscope_client.models.plots import PANELS

MODEL = "MODEL is a job's id, or a result as JSON that was saved with `--output`."


@click.command(epilog=f"{MODEL}\n\n{EXIT_STATUS}")
@click.argument("model")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Image: .png, .pdf or .svg (default MODEL.png).",
)
@click.option("--panel", type=click.Choice(list(PANELS)), help="Only this panel; one variable.")
@address
@report_failure
def plot(model: str, output: Path | None, panel: Any, url: str | None) -> None:
    """Draw MODEL beside its data, with confidence bands.

    \b
    Examples:
      itoscope plot job_06h1ve3u84qhrctvl7s0he79sg -o model.pdf
      itoscope plot result.json --panel drift
    """
    needed("matplotlib", "plot", extra="plot").use("agg")
    path = output or Path(f"{Path(model).stem}.png")
    _read(model, url).plot(panel=panel).savefig(path)
    click.echo(path)


@click.command(epilog=f"{MODEL}\n\n{EXIT_STATUS}")
@click.argument("model")
@click.option(
    "--format",
    "language",
    type=click.Choice(list(FORMATS)),
    default="python",
    show_default=True,
    help="Language of the source text.",
)
@click.option(
    "-o", "--output", default="-", metavar="FILE", help="Source file (default: standard output)."
)
@address
@report_failure
def export(model: str, language: Any, output: str, url: str | None) -> None:
    """Write drift and diffusion of MODEL as source text for another program.

    \b
    Examples:
      itoscope export job_06h1ve3u84qhrctvl7s0he79sg > model.py
      itoscope export result.json --format stan -o model.stan
    """
    text = _read(model, url).export(language)
    if output == "-":
        click.echo(text, nl=False)
        return
    Path(output).write_text(text, encoding="utf-8")
    click.echo(output)


@click.command(epilog=f"{MODEL}\n\n{EXIT_STATUS}")
@click.argument("model")
@click.option("--duration", type=float, metavar="TIME", help="Length of the paths.")
@click.option("--steps", type=click.IntRange(min=1), help="Number of samples, instead of a length.")
@click.option("--dt", type=float, metavar="TIME", help="Sampling interval (default: the data's).")
@click.option(
    "--paths", type=click.IntRange(min=1), default=1, show_default=True, help="Number of paths."
)
@click.option(
    "--start",
    metavar="NUMBERS",
    help="Initial state, x or x,y (default: drawn from the stationary distribution).",
)
@click.option("--seed", type=int, help="Seed of the random numbers: equal seeds give equal paths.")
@click.option(
    "-o", "--output", default="-", metavar="FILE", help="CSV file (default: standard output)."
)
@address
@report_failure
def simulate(
    model: str,
    duration: float | None,
    steps: int | None,
    dt: float | None,
    paths: int,
    start: str | None,
    seed: int | None,
    output: str,
    url: str | None,
) -> None:
    """Simulate paths of MODEL, as CSV with the columns path, t and the variables.

    Of a model of second order these are the positions.

    \b
    Examples:
      itoscope simulate job_06h1ve3u84qhrctvl7s0he79sg --duration 300 --seed 1 > path.csv
      itoscope simulate result.json --steps 1000 --dt 0.01 --paths 20 --start 0.5 -o paths.csv
    """
    try:
        first: Any = None if start is None else [float(x) for x in start.split(",")]
    except ValueError:
        raise InputError(f"--start is x, or x,y in two variables, not {start!r}") from None
    found = _read(model, url)
    seen = found.variables[: found.process.n_positions or None]
    if first is not None and len(first) not in (len(found.variables), len(seen)):
        names = ", ".join(found.variables)
        raise InputError(f"--start {start} has {len(first)} numbers; the variables are {names}")
    if first is not None and len(first) == 1:
        first = first[0]
    times, states = found.simulate(
        duration, dt=dt, n_steps=steps, n_paths=paths, start=first, seed=seed
    )
    samples = states.reshape(paths * len(times), -1)
    rows = np.column_stack(
        [np.repeat(np.arange(paths), len(times)), np.tile(times, paths), samples]
    )
    header = ",".join(["path", "t", *seen])
    to: Any = sys.stdout if output == "-" else output
    np.savetxt(
        to,
        rows,
        fmt=["%d", *["%.10g"] * (rows.shape[1] - 1)],
        delimiter=",",
        header=header,
        comments="",
    )


def _read(model: str, url: str | None) -> Model:
    """Return the model of a file, or else of a job."""
    if Path(model).is_file():
        return Model.from_json(Path(model))
    if not model.startswith("job_"):
        raise InputError(f"{model} is neither a file nor the id of a job: job_…")
    with Client(url) as client:
        return client.result(model)
