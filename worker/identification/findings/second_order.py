"""Warnings about a model of second order."""

from collections.abc import Iterator

from worker.identification.findings.finding import Finding
from worker.identification.second_order.estimator import SecondOrderFit, SecondOrderProblem


def second_order_findings(found: SecondOrderFit, problem: SecondOrderProblem) -> Iterator[Finding]:
    """Yield all warnings about a fit of second order.

    Parameters
    ----------
    found : fit
    problem : problem that it solves
    """
    names, units = problem.space.names, problem.space.positions.units
    variances = found.kicks.noise * units**2
    if variances.any():
        told = ", ".join(
            f"{s**0.5:.3g} in {name}"
            for name, s in zip(names[: len(variances)], variances.tolist(), strict=True)
        )
        yield Finding(
            "measurement-noise",
            f"The positions contain measurement noise: its standard deviation is {told}. Force and "
            "diffusion are corrected for it.",
            {"variances": dict(zip(names, variances.tolist(), strict=False))},
        )
