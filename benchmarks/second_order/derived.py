"""Derived quantities of second order, the period and an escape time, and their intervals."""

from functools import cache

import numpy as np

from benchmarks.second_order.systems import SYSTEMS, System
from contract.generator import AnalysisParameters, ModelTerms
from worker import pipeline
from worker.analysis import Analysed, AnalysisSettings
from worker.generator.process import DiffusionProcess
from worker.identification.data.trajectories import Trajectories
from worker.identification.identified_model import IdentifiedModel
from worker.jobs.parameters import analysis_settings_of, process_of

PATHS = {
    "period": ("spectrum", "eigenvalues", "im", 0),
    "escape": ("between", 0, "mean_time"),
}
"""Path of each quantity's interval; that of the period is of 2π over it."""

Quantity = tuple[float, tuple[float, float] | None]
"""Value, and its 95 % interval."""


def asked() -> AnalysisSettings:
    """Return the analysis with a passage from x ≤ −1 to x ≥ 1."""
    passage = {"from": {"x": [None, -1.0]}, "to": {"x": [1.0, None]}}
    return analysis_settings_of(AnalysisParameters.model_validate({"passages": [passage]}))


def derived_of(
    model: IdentifiedModel, data: Trajectories, names: tuple[str, ...]
) -> dict[str, Quantity]:
    """Return what the analysis of a job says of these quantities."""
    return _quantities(pipeline.analyse(model, data, asked(), lambda *_: None), names)


@cache
def exact(system: str, names: tuple[str, ...]) -> dict[str, float]:
    """Return the quantities of a system."""
    analysed = pipeline.analyse_terms(_process(SYSTEMS[system]), asked(), lambda *_: None)
    return {name: value for name, (value, _) in _quantities(analysed, names).items()}


def _quantities(analysed: Analysed, names: tuple[str, ...]) -> dict[str, Quantity]:
    report, spread = analysed.generator, analysed.spread
    out: dict[str, Quantity] = {}
    for name in names:
        interval = None if spread is None else spread.range(*PATHS[name])
        if name == "period":
            value = None if report.spectrum is None else abs(report.spectrum.eigenvalues[0].imag)
            if value:
                if interval is not None:
                    low, high = sorted(2 * np.pi / abs(end) for end in interval)
                    interval = low, high
                out[name] = 2 * np.pi / value, interval
        elif report.between and report.between[0].mean_time.value is not None:
            out[name] = report.between[0].mean_time.value, interval
    return out


def _process(system: System) -> DiffusionProcess:
    velocities = dict(
        zip(("x",) if system.dimension == 1 else ("x", "y"), system.force, strict=True)
    )
    drift = {**{x: {v: 1.0} for x, v in velocities.items()}, **system.force}
    diffusion = {pair: {"1": value} for pair, value in system.a.items()}
    return process_of(ModelTerms.model_validate({"drift": drift, "diffusion": diffusion}))
