"""The group of all commands."""

import click

from itoscope_client.cli import batches, jobs, models, starting
from itoscope_client.cli.output import EXIT_STATUS
from itoscope_client.client import version

ENVIRONMENT = """\b
Environment:
  ITOSCOPE_URL       address of the service (default http://127.0.0.1:8000)
  ITOSCOPE_API_KEY   API key, if the service requires one; it is never an argument, \
which other users could read"""


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
      itoscope compare --group control=a.csv --group treated=b.csv
      itoscope generator --drift 'x - x^3' --diffusion 0.25
      itoscope batch traps/*.csv --dt 0.01 -o table.csv
      itoscope jobs --state running
      itoscope report JOB -o report.html
      itoscope plot JOB -o model.pdf
      itoscope export JOB --format julia -o model.jl
    """


for command in (
    starting.identify, starting.compare, starting.population, starting.roll, starting.sweep,
    starting.generator, starting.plan, batches.batch, jobs.read, jobs.watch, jobs.result,
    jobs.report, models.plot, models.simulate, models.export, jobs.jobs, jobs.datasets, jobs.cancel,
    jobs.delete,
):  # fmt: skip
    itoscope.add_command(command)
