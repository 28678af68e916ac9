"""Warnings about the domain: walls, coverage, kernels, and where the diffusion is not positive."""

from collections.abc import Iterator, Sequence

import numpy as np

from grammar.terms import variable_name
from worker.identification.checks.reflecting_boundaries import Walls
from worker.identification.checks.residual_sums import ResidualSums
from worker.identification.checks.visited_states import empty_arc, indefinite
from worker.identification.data.library import Library
from worker.identification.data.trajectories import Trajectories
from worker.identification.estimation.fit import Fit
from worker.identification.estimation.problem import Problem
from worker.identification.findings.finding import Finding
from worker.identification.selection.kernel_scores import KernelChoice, gain_of_narrower
from worker.identification.sums.kernels import Kernels

MATERIAL_GAIN = 1.5
"""Ratio of variances beyond which kernels are too wide: standard errors are a quarter larger."""

MOST_KERNELS = 100
"""Largest number of kernels that is compared with twice as many."""


def negative_diffusion(fit: Fit, problem: Problem) -> Iterator[Finding]:
    """Warn of a diffusion that is not positive at some of the data."""
    if isinstance(fit.residuals[0], ResidualSums):
        where = fit.residuals[0].negative
        estimate = fit.diffusion[0, 0].estimate
        if where is None or not estimate.support:
            return
        at_ends = problem.library.internal(np.array(where))
        error = np.linalg.norm(at_ends @ estimate.internal_factor, axis=1)
        # Noise that vanishes at the end of the data is fitted a little off the end.
        if np.any(at_ends @ estimate.internal < -2 * error):
            low, high = (problem.scales.origin + problem.scales.unit * y for y in where)
            yield Finding(
                "negative-diffusion",
                f"The fitted diffusion is not positive for some data between {low:.4g} and "
                f"{high:.4g}. Lower library.polynomial_degree, or declare the domain.",
                {"range": [low, high]},
            )
    elif fit.sample is not None:
        outside = indefinite(fit.sample.instrument, fit.sample.functions, fit.tensor)
        if outside is None:
            return
        library, variables = problem.library, problem.library.variables
        origins, units = np.array(library.origins), np.array(library.units)
        worst, bottom, top = (
            origins + units * y for y in (outside.worst, outside.low, outside.high)
        )
        at = ", ".join(f"{name} = {x:.4g}" for name, x in zip(variables, worst, strict=True))
        box = {
            name: [float(a), float(b)] for name, a, b in zip(variables, bottom, top, strict=True)
        }
        yield Finding(
            "negative-diffusion",
            "The fitted diffusion tensor is not positive semi-definite at "
            f"{100 * outside.share:.2g} % of the data, worst near {at}. Lower "
            "library.polynomial_degree, choose a simpler diffusion_structure, or declare the "
            "domain.",
            {
                "share": outside.share,
                "worst": dict(zip(variables, worst.tolist(), strict=True)),
                "range": box,
            },
        )


def sparse_coverage(fit: Fit) -> Iterator[Finding]:
    """Warn of kernels with few increments."""
    sparse, count = int((fit.kernel_weights < 10).sum()), len(fit.kernel_weights)
    if sparse > count // 2:
        narrower = " or a narrower kernels.range" if len(fit.raw) == 1 else ""
        yield Finding(
            "sparse-coverage",
            f"{sparse} of {count} kernels have fewer than ten increments. Use fewer kernels "
            f"(kernels.count){narrower}.",
            {"sparse": sparse},
        )


def kernels_not_chosen(choice: KernelChoice | None, n_kernels: int) -> Iterator[Finding]:
    """Warn where kernels were to be chosen and could not be."""
    if choice is not None and choice.chosen is None:
        reason = (
            "none of those tried distinguishes the library's terms"
            if choice.candidates
            else "there are too few samples"
        )
        yield Finding(
            "kernels-not-chosen",
            f"Kernels could not be chosen by cross-validation: {reason}. The default of "
            f"{n_kernels} kernels was used.",
        )


def wide_kernels(fit: Fit, library: Library) -> Iterator[Finding]:
    """Warn where the library of one variable varies faster than kernels not chosen for it."""
    statistics, kernels = fit.statistics, fit.instruments
    if (
        statistics is None
        or fit.variance is None
        or not isinstance(kernels, Kernels)
        or fit.choice is not None
    ):
        return
    if len(kernels.centres) <= MOST_KERNELS:
        functions = library.internal(statistics.nodes)
        gain = gain_of_narrower(
            kernels, statistics.nodes, functions, statistics.time, fit.variance, MATERIAL_GAIN
        )
        if gain > MATERIAL_GAIN:
            yield Finding(
                "wide-kernels",
                "Terms of the library vary within the width of a kernel, which averages out what "
                "distinguishes them; narrower kernels would determine the drift better. Set "
                'kernels to "auto", or raise kernels.count.',
                {"variance_ratio": min(float(gain), 1e6)},
            )


def reflecting_boundaries(walls: Walls, bounds: tuple[float, float]) -> Iterator[Finding]:
    """Warn of boundaries that reflect the path, declared or not.

    bounds   declared ends [state]
    """
    seen = [wall for wall in (walls.low, walls.high) if np.isfinite(wall)]
    undeclared = [
        wall
        for wall, end in ((walls.low, bounds[0]), (walls.high, bounds[1]))
        if np.isfinite(wall) and np.isinf(end)
    ]
    if seen:
        places = " and ".join(f"{wall:.4g}" for wall in seen)
        declare = (
            ""
            if not undeclared
            else " Declare the domain, so that the analysis of the model reflects it there too."
        )
        yield Finding(
            "wall",
            f"The path is reflected at {places}: it arrives there often and at full speed, as at a "
            "wall (a boundary, a detector's end). Increments that start near it were excluded, "
            "because drift and diffusion alone do not explain them." + declare,
            {"walls": seen, "undeclared": undeclared},
        )


def unvisited_arcs(data: Trajectories, periods: Sequence[float | None]) -> Iterator[Finding]:
    """Warn of angles with a wide arc without a sample."""
    for i, period in enumerate(periods):
        arc = None if period is None else empty_arc(data, i, period)
        if arc is not None:
            low, high = arc
            yield Finding(
                "unvisited",
                f"The angle {variable_name(i)} was never between {low:.4g} and {high:.4g} (its "
                f"period is {period:.6g}). A state there is unvisited: the model's values there "
                "are extrapolated, and its population and the rates into and out of it are "
                "unknown. Record longer, or start trajectories there.",
                {"variable": variable_name(i), "range": [low, high]},
            )
