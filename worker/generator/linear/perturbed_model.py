"""A model of several coordinates near one whose law and rates are those of a linear process: the same report in closed form."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from worker.generator.errors import GeneratorError
from worker.generator.line.spectrum import matched
from worker.generator.linear.correlations import LinearCorrelations
from worker.generator.linear.fixed_points import fixed_points_near
from worker.generator.linear.perturbed_report import without_law_near
from worker.generator.linear.process import LinearProcess, gaussian_density, linear_view
from worker.generator.plane.passages.passages import Solved
from worker.generator.plane.passages.perturbed_passages import committors_near, passages_near
from worker.generator.process import DiffusionProcess, FloatArray
from worker.generator.quantities.correlations import Correlations, times_of
from worker.generator.quantities.report import GeneratorReport
from worker.generator.quantities.stationary import MultivariateDistribution


@dataclass(frozen=True, slots=True, eq=False)
class PerturbedLinearAnalysis:
    """Analyses models like one that was analysed, at its lags and frequencies and on its grid.

    report      of the one that was analysed; it has a law and a spectrum
    passages    what each of its passages was read from, None where it has no time
    committors  what each of its committors was read from, None where there is none
    """

    report: GeneratorReport
    passages: tuple[Solved | None, ...] = ()
    committors: tuple[Solved | None, ...] = ()

    def __call__(self, process: DiffusionProcess) -> GeneratorReport:
        """The report of a process; without a law where the process has none."""
        report, law, spectrum, correlations = (
            self.report,
            self.report.stationary,
            self.report.spectrum,
            self.report.correlations,
        )
        assert isinstance(law, MultivariateDistribution)
        assert spectrum is not None
        try:
            linear = self._linear(process)
            if linear is None:
                return without_law_near(process, report, ergodic=True)
            covariance = _covariance_of(linear)
            if covariance is None:
                return without_law_near(process, report)
            own = LinearCorrelations(linear.jacobian, covariance)
            return replace(
                without_law_near(process, report, ergodic=True),
                between=tuple(
                    passages_near(process, report.between[: len(self.passages)], self.passages)
                ),
                committors=tuple(
                    committors_near(
                        process, report.committors[: len(self.committors)], self.committors
                    )
                ),
                stationary=replace(
                    law,
                    mean=tuple(linear.mean.tolist()),
                    covariance=tuple(map(tuple, covariance.tolist())),
                    skewness=(None,) * len(law.mean),
                    kurtosis=(None,) * len(law.mean),
                    density=gaussian_density(linear.mean, covariance, law.grid)
                    if law.density.size
                    else law.density,
                    circulation=linear.circulation(covariance),
                    entropy_production=linear.entropy_production(covariance),
                ),
                spectrum=replace(
                    spectrum,
                    eigenvalues=matched(
                        linear.rates(len(spectrum.eigenvalues)), spectrum.eigenvalues
                    ),
                ),
                correlations=None
                if not isinstance(correlations, Correlations)
                else replace(
                    correlations,
                    autocorrelation=own.autocorrelation(correlations.lags),
                    power_spectrum=own.power_spectrum(correlations.frequencies),
                    integrated_times=times_of(own.integrated_times),
                    functions=own,
                ),
            )
        except (GeneratorError, RuntimeError, ValueError):
            # A draw far out in the coefficients' distribution may have no matrix to speak of.
            return without_law_near(process, report)

    def has_distribution(self, processes: Sequence[DiffusionProcess]) -> NDArray[np.bool_]:
        """(n,) whether each process has a law."""
        found = []
        for process in processes:
            try:
                linear = self._linear(process)
                found.append(linear is None or _covariance_of(linear) is not None)
            except (GeneratorError, np.linalg.LinAlgError):
                found.append(False)
        return np.array(found, dtype=bool)

    def _linear(self, process: DiffusionProcess) -> LinearProcess | None:
        law = self.report.stationary
        assert isinstance(law, MultivariateDistribution)
        mean = np.array(law.mean, dtype=float)
        scale = np.sqrt(np.diag(np.array(law.covariance, dtype=float)))
        return (
            linear_view(process, mean, scale)
            if self.report.approximation is None
            else _next_to(process, mean, scale)
        )


def _covariance_of(linear: LinearProcess) -> FloatArray | None:
    """(d, d) of the law; None where there is none with a density."""
    covariance = linear.covariance
    return covariance if covariance is not None and linear.has_density(covariance) else None


def _next_to(
    process: DiffusionProcess, mean: FloatArray, scale: FloatArray
) -> LinearProcess | None:
    """The linear process next to the process' own stable fixed point, near the mean of the other's law."""
    stable = [point for point in fixed_points_near(process, mean[None], scale) if point.stable]
    if not stable:
        return None
    at = np.array(stable[0].at)
    return LinearProcess(
        process.drift_jacobian(at[None])[0], process.diffusion(at[None])[0], at, np.zeros(len(at))
    )
