"""One record → a model for every window along it."""

from contract.identification import IdentificationParameters
from contract.rolling import RollingWindows
from worker.identification.data.trajectories import Trajectories
from worker.identification.data.variables import check_unwrapped
from worker.identification.errors import DimensionNotSupported
from worker.jobs.parameters import bounds_of, period_of
from worker.jobs.univariate_setup import beside_walls, problem_of_one
from worker.progress import Report
from worker.rolling.rolling import Rolling, roll
from worker.rolling.windows import along


def roll_along(data: Trajectories, parameters: IdentificationParameters, asked: RollingWindows, report: Report) -> Rolling:
    """One record → coefficients, fixed points and spectral gap of windows along it. Raises IdentificationError."""
    report(0.05, "reading", f"{data.n_increments} increments")
    if data.dimension > 1:
        raise DimensionNotSupported(
            f"A window is moved along one variable, and the dataset has {data.dimension}.",
            hints=("Name one column in layout.state_columns and upload again.",),
        )
    period, bounds = period_of(parameters.periodic), bounds_of(parameters.domain)
    check_unwrapped(data, [period])
    windows = along(data, asked.count, asked.length, asked.share)
    problem = beside_walls(problem_of_one(data, parameters, report), bounds)
    return roll(problem, windows, rule=parameters.sampling_rule, noise=parameters.measurement_noise, bounds=bounds)
