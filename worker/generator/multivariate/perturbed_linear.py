"""Analysis of models near a linear process that was analysed, in closed form.

A model that is not linear itself is replaced by the linear one with the same mean slope, drift and
noise under the analysed process's distribution, which is right to first order.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from worker.generator.errors import GeneratorError
from worker.generator.line.spectrum import matched
from worker.generator.linear.correlations import LinearCorrelations
from worker.generator.linear.fixed_points import fixed_points_near
from worker.generator.linear.perturbed_model import without_law_near
from worker.generator.linear.process import LinearProcess, gaussian_density, mean_linear_view
from worker.generator.plane.passages.passages import Solved, committors_near, passages_near
from worker.generator.process import DiffusionProcess, FloatArray
from worker.generator.quantities.correlations import Correlations, times_of
from worker.generator.quantities.report import GeneratorReport
from worker.generator.quantities.stationary import MultivariateDistribution


@dataclass(frozen=True, slots=True, eq=False)
class PerturbedLinearAnalysis:
    """Analysis of models near an analysed one, at its lags and frequencies and on its grid.

    report      report of the analysed model; it has a stationary distribution and a spectrum
    passages    domain and schemes of each of its passages, None where it has no time
    committors  domain and schemes of each of its committors, None where there is none
    """

    report: GeneratorReport
    passages: tuple[Solved | None, ...] = ()
    committors: tuple[Solved | None, ...] = ()

    def __call__(self, process: DiffusionProcess) -> GeneratorReport:
        """Return the report of a process; without a distribution where the process has none."""
        report = self.report
        law, spectrum, correlations = report.stationary, report.spectrum, report.correlations
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
            passages = report.between[: len(self.passages)]
            committors = report.committors[: len(self.committors)]
            rates = linear.rates(len(spectrum.eigenvalues))
            return replace(
                without_law_near(process, report, ergodic=True),
                between=tuple(passages_near(process, passages, self.passages)),
                committors=tuple(committors_near(process, committors, self.committors)),
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
                spectrum=replace(spectrum, eigenvalues=matched(rates, spectrum.eigenvalues)),
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
            # The matrix of a draw from the far tail of the coefficients' distribution may be
            # singular.
            return without_law_near(process, report)

    def has_distribution(self, processes: Sequence[DiffusionProcess]) -> NDArray[np.bool_]:
        """Return whether each process has a stationary distribution: (n,)."""
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
        mean, covariance = (np.array(part, dtype=float) for part in (law.mean, law.covariance))
        if self.report.approximation is None:
            return mean_linear_view(process, mean, covariance)
        return _next_to(process, mean, np.sqrt(np.diag(covariance)))


def _covariance_of(linear: LinearProcess) -> FloatArray | None:
    """Return the stationary covariance (d, d); None where there is no density."""
    covariance = linear.covariance
    return covariance if covariance is not None and linear.has_density(covariance) else None


def _next_to(
    process: DiffusionProcess, mean: FloatArray, scale: FloatArray
) -> LinearProcess | None:
    """Linearise the process at the stable fixed point that Newton's method reaches from `mean`."""
    stable = [point for point in fixed_points_near(process, mean[None], scale) if point.stable]
    if not stable:
        return None
    at = np.array(stable[0].at)
    return LinearProcess(
        process.drift_jacobian(at[None])[0], process.diffusion(at[None])[0], at, np.zeros(len(at))
    )
