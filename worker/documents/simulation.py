"""The part of a result document that describes simulated paths of a model."""

from contract import results
from worker.generator.quantities.stationary import Simulated, SimulatedLaw


def simulated_of(law: SimulatedLaw) -> results.SimulatedLaw:
    """Write the simulated distribution, every number with its Monte Carlo standard error."""
    plain = results.SimulatedLaw(
        n_paths=law.n_paths,
        n_escaped=law.n_escaped,
        duration=law.duration,
        step=law.step,
        reason=law.reason,
    )
    found = law.estimates
    if found is None:
        return plain
    return plain.model_copy(
        update={
            "step_error": found.step_error,
            "mean": _row(found.mean),
            "covariance": tuple(_row(row) for row in found.covariance),
            "skewness": _row(found.skewness),
            "kurtosis": _row(found.kurtosis),
            "integrated_times": _row(found.integrated_times),
            "marginals": tuple(
                results.SimulatedMarginal(
                    edges=tuple(m.edges.tolist()),
                    density=tuple(m.density.tolist()),
                    std_error=tuple(m.std_error.tolist()),
                )
                for m in found.marginals
            ),
        }
    )


def _row(numbers: tuple[Simulated | None, ...]) -> tuple[results.Simulated | None, ...]:
    return tuple(
        None if n is None else results.Simulated(value=n.value, std_error=n.std_error)
        for n in numbers
    )
