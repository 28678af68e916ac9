"""The problems that users read for the errors that the core raises."""

from contract.problems import Problem, problem
from worker.generator.errors import GeneratorError
from worker.identification.errors import IdentificationError


class JobProblem(Exception):
    """The job cannot be done; the problem says why."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.detail)
        self.problem = problem


TITLES: dict[str, str] = {
    "too-few-samples": "Not enough samples",
    "constant-data": "The data do not vary",
    "values-out-of-range": "The values are too large or too small",
    "collinear-variables": "The variables depend on each other",
    "wrapped-variable": "A variable is an angle",
    "unsuitable-input": "An input or a forcing cannot be used",
    "dimension-not-supported": "Number of variables not supported",
    "sampling-too-coarse": "The sampling interval is too long",
    "second-order-dynamics": "The process is of second order",
    "not-second-order": "The process is not of second order",
    "no-correlation-time": "No correlation time of the noise",
    "no-data-under-kernels": "No data under the kernels",
    "unknown-term": "Invalid term",
    "invalid-library": "The library does not fit the data",
    "invalid-windows": "The windows do not fit the time series",
}


def of_core(error: IdentificationError | GeneratorError) -> Problem:
    """Return the problem of a core error, with status 422: data or model do not allow an answer."""
    message = str(error)
    return problem(
        422,
        error.code,
        TITLES.get(error.code, "The data or model cannot be analysed"),
        message[:1].upper() + message[1:],
        *getattr(error, "hints", ()),
    )
