"""An estimate of a job's computing time from the number of increments, variables and terms.

It rests on measurements on one core (`python -m benchmarks.speed`, `benchmarks.plane`) and is right
to a factor of about three: enough to distinguish jobs of seconds from jobs of minutes.
"""

from math import comb

from contract.datasets import Dataset
from contract.generator import ModelTerms
from contract.identification import IdentificationParameters
from contract.jobs import DataJob, GeneratorJob, Job

START = 0.3
ONE_VARIABLE = 8e-8
"""Seconds per increment in one variable."""
SEVERAL = 1.6e-7
"""Seconds per increment and term in several variables."""
ALGORITHM_1 = 3e-6
"""Seconds per increment with the paper's estimator."""
ANALYSIS = {1: 1.0, 2: 15.0}
"""Seconds for the generator, by the number of variables; three and more take little."""


def estimated_seconds(job: Job, dataset: Dataset | None) -> float:
    """Estimate the computing time on one core [s].

    dataset   the data of a job that starts from data

    A model of an earlier job counts as a model of one variable.
    """
    variables, fits = 1, 0.0
    if isinstance(job, DataJob):
        assert dataset is not None
        variables = len(dataset.report.variables)
        fits = sum(
            dataset.report.n_increments * _increment(given, variables)
            for given in job.parameter_sets().values()
        )
    elif isinstance(job, GeneratorJob) and isinstance(job.model, ModelTerms):
        variables = len(job.model.drift)
    return START + fits + job.analyses * ANALYSIS.get(variables, 3.0)


def _increment(parameters: IdentificationParameters, variables: int) -> float:
    if parameters.estimator == "paper":
        return ALGORITHM_1
    if variables == 1:
        return ONE_VARIABLE
    library = parameters.library
    terms = comb(
        variables + library.polynomial_degree, variables
    ) + 2 * library.fourier_harmonics * len(parameters.periodic)
    return SEVERAL * (terms + len(library.extra_terms)) * variables / 2
