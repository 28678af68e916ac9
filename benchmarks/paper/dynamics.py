"""Generator of a model given by its terms; every model is analysed once."""

from functools import cache

import numpy as np

from benchmarks.paper.runs import Model
from benchmarks.recovery import Floats
from worker.generator.analysis import Analysis, GeneratorReport, analysis
from worker.generator.line import stationary
from worker.generator.line.perturbed_model import PerturbedLineAnalysis
from worker.generator.request import autocorrelation as correlation_of
from worker.identification.symbolic_process import SymbolicProcess, from_terms


@cache
def analysis_of(model: Model, passages: tuple[tuple[float, float], ...] = ()) -> Analysis:
    """Return the analysis of a job."""
    process = SymbolicProcess(from_terms(dict(model.drift)), from_terms(dict(model.diffusion)))
    return analysis(process, passages=passages)


def report_of(model: Model, passages: tuple[tuple[float, float], ...] = ()) -> GeneratorReport:
    """Return the report of a job's analysis."""
    return analysis_of(model, passages).report


def density_at(model: Model, x: Floats) -> Floats:
    """Return the stationary density at states (n,); nan for a model without one."""
    perturbed = analysis_of(model).perturbed
    near = None if perturbed is None else perturbed.geometry
    landscape = near.landscape if isinstance(near, PerturbedLineAnalysis) else None
    return np.full(x.shape, np.nan) if landscape is None else stationary.density_at(landscape, x)


def gap_of(model: Model) -> float:
    """Return λ₁ [1/time]; nan for a model without a stationary distribution."""
    spectrum = report_of(model).spectrum
    return (
        float(spectrum.eigenvalues[0].real)
        if spectrum is not None and len(spectrum.eigenvalues)
        else np.nan
    )


def autocorrelation(model: Model, lags: Floats) -> Floats:
    """Return the model's autocorrelation at lags (n,) [time]; nan if it is not stationary."""
    found = correlation_of(report_of(model), lags)
    return np.full(lags.shape, np.nan) if found is None else np.asarray(found[0])


def total_variation(first: Model, second: Model) -> float:
    """Return ½ ∫ |π₁ − π₂| dx."""
    x = np.linspace(-8, 8, 16_001)
    return float(0.5 * np.trapezoid(np.abs(density_at(first, x) - density_at(second, x)), x))
