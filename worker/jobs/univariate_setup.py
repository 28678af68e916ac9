"""Data of one variable and a job's parameters → the problem that the estimator is given."""

from dataclasses import replace
from typing import Any

from contract.identification import IdentificationParameters
from worker.identification.checks.markov_tests import check_consecutive_samples, some_pairs
from worker.identification.checks.reflecting_boundaries import find_walls
from worker.identification.data.library import make_library
from worker.identification.data.nonpolynomial_terms import check_values
from worker.identification.data.trajectories import Trajectories, measure_scales
from worker.identification.estimation.cell_equations import Problem
from worker.identification.estimation.kernel_grid import make_grid
from worker.identification.sums.block_sums import Summing, sums_here
from worker.identification.sums.kernels import DEFAULT_COUNT, make_kernels
from worker.jobs.parameters import criterion_of, library_options, period_of
from worker.progress import Report


def problem_of_one(
    data: Trajectories,
    parameters: IdentificationParameters,
    report: Report,
    summing: Summing = sums_here,
) -> Problem:
    """Scales, library and kernels of these data. Raises IdentificationError."""
    period = period_of(parameters.periodic)
    scales = measure_scales(data, period)
    check_consecutive_samples(some_pairs(data, scales, period), scales)
    report(0.15, "identifying", "summing over the increments")
    library = make_library(scales, **library_options(parameters), period=period)
    check_values(data, library)
    placed: dict[str, Any] = {
        "bandwidth": None
        if parameters.kernels.bandwidth == "auto"
        else parameters.kernels.bandwidth,
        "centre_range": None if parameters.kernels.range == "auto" else parameters.kernels.range,
        "period": period,
    }
    count = parameters.kernels.count
    return Problem(
        data,
        scales,
        library,
        make_kernels(scales, count=DEFAULT_COUNT if count == "auto" else count, **placed),
        criterion_of(parameters),
        period,
        grid=make_grid(scales, **placed) if count == "auto" else None,
        diffusion_degree=parameters.library.diffusion_degree,
        summing=summing,
    )


def beside_walls(problem: Problem, bounds: tuple[float, float]) -> Problem:
    """The same, with the walls that the data show; on a circle there are none."""
    return (
        problem
        if problem.period is not None
        else replace(problem, walls=find_walls(problem.data, bounds))
    )
