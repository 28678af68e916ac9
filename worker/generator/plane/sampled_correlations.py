"""Autocorrelation and power spectrum of models near a solved one: its own curves, moved by the difference on coarse cells."""

from dataclasses import dataclass, replace

import numpy as np

from worker.generator.line.spectrum import matched
from worker.generator.plane.box.coordinates import Chart
from worker.generator.plane.correlations import LevelModel, SmallModel, level_model
from worker.generator.plane.eigenmodes import ComplexArray
from worker.generator.plane.grid_refinement import Level, Solution
from worker.generator.process import FloatArray
from worker.generator.quantities.correlations import Memory

SAME = 1e-2
"""Relative distance up to which an eigenvalue of a small model is one of the cells' slowest."""


@dataclass(frozen=True, slots=True, eq=False)
class CoarseMemory:
    """The reference's memory, its small models on its coarsest cells, and its curves there.

    autocorrelation  (2, n)
    power_spectrum   (2, k) [state²·time]
    """

    solution: Solution
    memory: Memory
    model: LevelModel
    autocorrelation: FloatArray
    power_spectrum: FloatArray

    @classmethod
    def of(cls, solution: Solution, memory: Memory) -> "CoarseMemory | None":
        """None where the coarsest cells give none."""
        first, exact = solution.first, solution.numbers.rates
        own = matched(first.numbers.rates, exact)
        model = level_model(
            solution.box.chart, first, solution.schemes, solution.rate, float(exact[0].real)
        )
        return (
            None
            if model is None
            else cls(solution, memory, model, *_curves(model, own, exact, memory))
        )

    def moved(
        self, chart: Chart, level: Level, rates: ComplexArray
    ) -> tuple[FloatArray, FloatArray] | None:
        """(2, n) and (2, k) both curves of a model whose answer on the coarsest cells is `level`: the autocorrelation by the
        difference, the spectrum by the ratio; None where the cells give none.

        rates   (k,) the model's slowest rates, moved likewise [1/time]
        """
        exact = self.solution.numbers.rates
        own = matched(level.numbers.rates, exact)
        if not (np.isfinite(own).all() and rates[0].real > 0):
            return None
        model = level_model(
            chart,
            level,
            self.solution.schemes,
            self.solution.rate,
            float(rates[0].real),
            self.model,
        )
        if model is None:
            return None
        autocorrelation, power_spectrum = _curves(model, own, rates, self.memory)
        return (
            self.memory.autocorrelation + autocorrelation - self.autocorrelation,
            self.memory.power_spectrum * power_spectrum / self.power_spectrum,
        )


def _curves(
    model: LevelModel, own: ComplexArray, better: ComplexArray, memory: Memory
) -> tuple[FloatArray, FloatArray]:
    """Both curves at the lags and frequencies of the memory, with `better` in place of the level's `own` slowest rates (k,): a
    wave that decays and turns a little too fast is soon out of step with the one that it is compared with."""

    def corrected(small: SmallModel) -> SmallModel:
        rates = small.rates.copy()
        for rate, right in zip(own, better, strict=True):
            nearest = int(np.argmin(np.abs(small.rates - rate)))
            if abs(small.rates[nearest] - rate) < SAME * abs(rate):
                rates[nearest] = right
        return replace(small, rates=rates)

    first, second = (tuple(corrected(small) for small in models) for models in model.coordinates)
    right = LevelModel((first, second))
    return right.covariances(memory.lags) / right.covariances(np.zeros(1)), right.spectra(
        memory.frequencies
    )
