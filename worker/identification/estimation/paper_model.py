"""The answer of the paper's preset, in the data's units, with the residuals of its model beside it.

Apart from the other answers because scikit-learn takes longer to import than most jobs to run.
"""

import numpy as np
from numpy.typing import NDArray

from worker.identification.checks.scalar_residuals import measure_residuals
from worker.identification.data.library import Library
from worker.identification.data.trajectories import block_edges, chunks
from worker.identification.estimation import paper
from worker.identification.estimation.problem import Problem
from worker.identification.findings import paper_preset
from worker.identification.identified_model import (
    Bounds,
    ComponentFit,
    IdentifiedModel,
    PathEntry,
    TermFit,
    coverage_of,
    histogram_of,
    process_of,
)
from worker.identification.sums.moment_cells import make_cells
from worker.identification.sums.rules import EULER

Floats = NDArray[np.float64]


def by_paper(problem: Problem, *, threshold: float = 0.25, bounds: Bounds) -> IdentifiedModel:
    """Algorithm 1, with the residuals of its model beside it. Raises what `identify_by_paper` raises."""
    data, scales, library, kernels = problem.data, problem.scales, problem.library, problem.kernels
    model = paper.identify_by_paper(data, scales, library, kernels, threshold=threshold)
    to_internal = np.array([[float(v) for v in row] for row in library.change_of_basis]).T
    b = to_internal @ model.drift.coefficients * scales.time / scales.unit
    a = to_internal @ model.diffusion.coefficients * scales.time / scales.unit**2
    cells = make_cells(kernels, scales)
    residuals = measure_residuals(
        chunks(data, scales, block_edges(data, 1)), EULER, library, cells, b, a
    )
    return IdentifiedModel(
        drift={"x": _sparse_component(model.drift, library)},
        diffusion={"x,x": _sparse_component(model.diffusion, library)},
        process=process_of(library, b, a, scales, bounds[0]),
        draws=None,
        findings=(paper_preset(),),
        residuals={"x": residuals},
        noise_variances=None,
        condition=None,
        coverage=coverage_of(kernels, kernels.at(cells.nodes()) @ residuals.count, scales),
        space=problem.space,
        rule="euler",
        histogram=histogram_of(residuals, scales),
    )


def _sparse_component(fit: paper.SparseFit, library: Library) -> ComponentFit:
    terms = tuple(
        TermFit(name, float(fit.coefficients[k]), k in fit.support)
        for k, name in enumerate(library.names)
    )
    active = {t.name: t.value for t in terms if t.active}
    return ComponentFit(
        terms, "lasso_cv+stlsq", (PathEntry(tuple(active), -float(fit.errors.min()), active),)
    )
