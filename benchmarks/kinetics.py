"""Do the intervals of rates, times and moments hold the truth, and what do they cost?

    python -m benchmarks.kinetics [--repetitions 100] [--jobs 1] [--only SETTING ...]
    python -m benchmarks.kinetics --time

Independent sets of paths, integrated finely and sampled, through the identification and the
analysis of a job with its defaults. One row a quantity: how many of the 95 % intervals hold the
number of the true model, with the binomial error; how many lie below and above it; the intervals'
median width and the estimate's mean and rms error, relative to the truth (of a mean and of a fixed
point, relative to the standard deviation). One more row a setting: exact supports and shares of
ergodic samples. The bar, 90 to 98 %, is for the gap and the escape times of the double well at T =
4 000. With --time: CPU seconds of the whole analysis.
"""

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from scipy.integrate import cumulative_trapezoid
from threadpoolctl import threadpool_limits

from benchmarks.kinetics_paths import paths_of
from benchmarks.measured import each
from benchmarks.recovery import rms
from contract.generator import AnalysisParameters, ModelTerms, PassageRequest
from contract.identification import IdentificationParameters, LibraryParameters, SelectionParameters
from worker import pipeline
from worker.analysis import Analysed
from worker.generator.process import FloatArray
from worker.generator.quantities.correlations import Correlations
from worker.generator.quantities.report import GeneratorReport
from worker.generator.quantities.stationary import StationaryDistribution
from worker.generator.uncertainty.intervals import Band, Intervals
from worker.identification.data.trajectories import Trajectories, from_arrays
from worker.identification.identified_model import IdentifiedModel
from worker.jobs.parameters import analysis_settings_of, process_of, settings_of

Terms = dict[str, float]
Pair = tuple[float, float]
Numbers = dict[str, tuple[float | None, Pair | None]]
"""Value and interval by quantity."""


@dataclass(frozen=True)
class Setting:
    """Paths of one model and their analysis; the intervals of `barred` quantities must hold."""

    drift: Terms
    diffusion: Terms
    duration: float = 4_000.0
    n_paths: int = 1
    noise: float = 0.0
    dt: float = 0.01
    asked: tuple[Pair, ...] = ()
    parameters: IdentificationParameters = field(default_factory=IdentificationParameters)
    barred: tuple[str, ...] = ()


WELLS: Terms = {"x": 1, "x^3": -1}
QUARTER: Terms = {"1": 0.25}
TILTED: Terms = {"1": 0.1, "x": 1, "x^3": -1}
CURVED: Terms = {"1": 0.25, "x^2": 0.25}
SIX: Terms = {"x": -1.5, "x^3": 5, "x^5": -2.5}
BETWEEN: tuple[Pair, ...] = ((-1, 1), (1, -1), (-1, 0), (0, 1), (1, 0.5))
ALL_TERMS = IdentificationParameters(
    library=LibraryParameters(polynomial_degree=4), selection=SelectionParameters(method="none")
)

SETTINGS = {
    "double well": Setting(WELLS, QUARTER, asked=BETWEEN, barred=("gap", "-1→1", "1→-1")),
    "double well, T = 1 000": Setting(WELLS, QUARTER, 1_000, asked=BETWEEN),
    "double well, T = 16 000": Setting(WELLS, QUARTER, 16_000, asked=BETWEEN),
    "double well, 30 paths": Setting(WELLS, QUARTER, n_paths=30, asked=BETWEEN),
    "double well, noise 0.05": Setting(WELLS, QUARTER, noise=0.05, asked=BETWEEN),
    "double well, at 0.1": Setting(WELLS, QUARTER, dt=0.1, asked=BETWEEN),
    "double well, all terms to x^4": Setting(WELLS, QUARTER, asked=BETWEEN, parameters=ALL_TERMS),
    "slightly tilted": Setting({"1": 0.03, **WELLS}, QUARTER, asked=((-1, 1), (1, -1))),
    "tilted": Setting(TILTED, QUARTER, asked=((-0.9456, 1.0467), (1.0467, -0.9456))),
    "tilted, T = 500": Setting(TILTED, QUARTER, 500, asked=((-0.9456, 1.0467), (1.0467, -0.9456))),
    "Ornstein-Uhlenbeck": Setting({"x": -1}, {"1": 0.49}, asked=((-1, 1), (1, 0))),
    "Ornstein-Uhlenbeck, T = 100": Setting({"x": -1}, {"1": 0.49}, 100, asked=((-1, 1), (1, 0))),
    "multiplicative": Setting({"x": -2}, CURVED, asked=((-0.5, 0.5), (0.5, 0))),
    "multiplicative, T = 200": Setting({"x": -2}, CURVED, 200, asked=((-0.5, 0.5), (0.5, 0))),
    "three wells": Setting(
        SIX,
        {"1": 0.3},
        asked=((-1.2, 0), (0, 1.2)),
        parameters=IdentificationParameters(library=LibraryParameters(polynomial_degree=6)),
    ),
}


@dataclass(frozen=True)
class Answered:
    """Result of one repetition: (value, interval) by quantity; None where there is none."""

    found: Numbers
    exact: bool
    ergodic_share: float | None
    seconds: float


def name_of(pair: Pair) -> str:
    """Return the label of a passage."""
    return f"{pair[0]:g}→{pair[1]:g}"


def on_curves(report: GeneratorReport, spread: Intervals, truth: GeneratorReport) -> Numbers:
    """Return value and interval of each curve at a place that does not depend on the estimate."""
    found: Numbers = {}
    correlations, known = report.correlations, truth.correlations
    if (
        isinstance(correlations, Correlations)
        and isinstance(known, Correlations)
        and known.integrated_times[0].value is not None
    ):
        time = known.integrated_times[0].value
        correlation, power = (
            spread.band("correlations", "autocorrelation", 0),
            spread.band("correlations", "power_spectrum", 0),
        )
        found["C(τ)"] = at(time, correlations.lags, correlations.autocorrelation[0], correlation)
        corner = 1 / (2 * np.pi * time)
        found["S(1/2πτ)"] = at(
            corner, correlations.frequencies, correlations.power_spectrum[0], power
        )
        found["S(0)"] = at(0.0, correlations.frequencies, correlations.power_spectrum[0], power)
    if isinstance(report.stationary, StationaryDistribution):
        band = spread.band("stationary", "density")
        for x in (0.0, 0.5):
            found[f"π({x:g})"] = at(x, report.stationary.grid[0], report.stationary.density, band)
    if len(report.fixed_points) == len(truth.fixed_points):
        for k, point in enumerate(report.fixed_points):
            found[f"fixed point {k + 1}"] = (point.at[0], spread.range("fixed_points", k, "at", 0))
    if len(report.barriers) == len(truth.barriers):
        for k, barrier in enumerate(report.barriers):
            found[f"ΔV {k + 1}"] = (barrier.height, spread.range("barriers", k, "height"))
            found[f"ΔΦ {k + 1}"] = (
                barrier.height_over_noise,
                spread.range("barriers", k, "height_over_noise"),
            )
    return found


def at(
    x: float, grid: FloatArray, values: FloatArray, band: Band | None
) -> tuple[float, Pair | None]:
    """Return value and interval of a curve at x."""
    value, *ends = (float(np.interp(x, grid, curve)) for curve in (values, *(band or ())))
    return value, (ends[0], ends[1]) if band else None


def numbers_of(
    report: GeneratorReport, spread: Intervals, asked: tuple[Pair, ...], truth: GeneratorReport
) -> Numbers:
    """Return value and interval of every quantity that has both."""
    found: Numbers = on_curves(report, spread, truth)
    if report.spectrum is not None:
        for k, rate in enumerate(report.spectrum.eigenvalues[:3]):
            found["gap" if k == 0 else f"rate {k + 1}"] = (
                float(rate.real),
                spread.range("spectrum", "eigenvalues", "re", k),
            )
    if isinstance(report.stationary, StationaryDistribution):
        found["mean"] = (report.stationary.mean[0], spread.range("stationary", "mean", 0))
        found["variance"] = (
            report.stationary.covariance[0][0],
            spread.range("stationary", "covariance", 0, 0),
        )
    default = 0
    for i, passage in enumerate(report.passages):
        label = name_of(asked[i]) if i < len(asked) else f"default {(default := default + 1)}"
        found[label] = (passage.mean_time.value, spread.range("passages", i, "mean_time"))
        if i < len(asked):
            found[f"Kramers {label}"] = (
                passage.kramers.value,
                spread.range("passages", i, "kramers"),
            )
            if passage.deviation is not None:
                found[f"sd {label}"] = (
                    passage.deviation.value,
                    spread.range("passages", i, "deviation"),
                )
            if passage.quantiles:
                middle = len(passage.quantiles) // 2
                found[f"median {label}"] = (
                    passage.quantiles[middle],
                    spread.range("passages", i, "quantiles", middle),
                )
    return found


def wanted(setting: Setting) -> AnalysisParameters:
    """Return the parameters of a setting's analysis."""
    return AnalysisParameters(
        passages=tuple(PassageRequest(**{"from": low, "to": high}) for low, high in setting.asked)
    )


def truth_of(setting: Setting) -> GeneratorReport:
    """Return the analysis of the true model."""
    model = ModelTerms(drift={"x": setting.drift}, diffusion={"x,x": setting.diffusion})
    return pipeline.analyse_terms(
        process_of(model), analysis_settings_of(wanted(setting)), lambda *_: None
    ).generator


def identified(seed: int, name: str) -> tuple[IdentifiedModel, Trajectories]:
    """Simulate one set of paths; return the identification and the data."""
    setting = SETTINGS[name]
    law = truth_of(setting).stationary
    assert isinstance(law, StationaryDistribution)
    random = np.random.default_rng([list(SETTINGS).index(name), seed])
    below = cumulative_trapezoid(law.density, law.grid[0], initial=0)
    start = np.interp(random.random(setting.n_paths), below / below[-1], law.grid[0])
    n_samples = round(setting.duration / setting.n_paths / setting.dt) + 1
    paths = paths_of(
        setting.drift,
        setting.diffusion,
        start,
        n_samples=n_samples,
        dt=setting.dt,
        seed=int(random.integers(2**31)),
    )
    paths = paths + setting.noise * random.standard_normal(paths.shape)
    data = from_arrays(list(paths), setting.dt)
    with threadpool_limits(1):
        # With the same draws in each repetition, their chance would be shared by every interval.
        parameters = setting.parameters.model_copy(update={"seed": seed})
        answer = pipeline.identify(data, settings_of(parameters), lambda *_: None)
    return answer, data


def analysed_in(
    answer: IdentifiedModel, data: Trajectories, asked: AnalysisParameters
) -> tuple[Analysed, float]:
    """Return the analysis of a job, and its CPU time [s]."""
    with threadpool_limits(1):
        begun = time.process_time()
        analysed = pipeline.analyse(answer, data, analysis_settings_of(asked), lambda *_: None)
        return analysed, time.process_time() - begun


def repetition(seed: int, name: str) -> Answered:
    """Run one set of paths through the pipeline of a job."""
    setting = SETTINGS[name]
    answer, data = identified(seed, name)
    analysed, seconds = analysed_in(answer, data, wanted(setting))
    exact = (
        answer.drift["x"].active().keys() == setting.drift.keys()
        and answer.diffusion["x,x"].active().keys() == setting.diffusion.keys()
    )
    share = None if analysed.spread is None else analysed.spread.ergodic_share
    return Answered(
        numbers_of(
            analysed.generator, analysed.spread or Intervals({}), setting.asked, truth_of(setting)
        ),
        exact,
        share,
        seconds,
    )


def rows_of(name: str, answers: list[Answered], misses: list[str]) -> Iterator[str]:
    """Yield the rows of a setting's table, and collect the missed bars."""
    setting, truth = SETTINGS[name], truth_of(SETTINGS[name])
    assert truth.stationary is not None
    deviation = float(np.sqrt(truth.stationary.covariance[0][0] or np.nan))
    for quantity, (true, _) in numbers_of(truth, Intervals({}), setting.asked, truth).items():
        given = [a.found.get(quantity, (None, None)) for a in answers]
        intervals = np.array([i for _, i in given if i is not None]).reshape(-1, 2)
        if true is None or not len(intervals):
            yield f"{name:30}{quantity:16} no interval"
            continue
        size = deviation if quantity.startswith(("mean", "fixed point")) else abs(true)
        rounding = 1e-9 * size
        below, above = (
            np.count_nonzero(off > rounding)
            for off in (true - intervals[:, 1], intervals[:, 0] - true)
        )
        held = 1 - (below + above) / len(intervals)
        errors = [(value - true) / size for value, _ in given if value is not None]
        width = float(np.median(intervals[:, 1] - intervals[:, 0])) / size
        error = 100 * float(np.sqrt(0.95 * 0.05 / len(intervals)))
        yield (
            f"{name:30}{quantity:16}{100 * held:6.1f} ± {error:3.1f} %  of {len(intervals):4d}  "
            f"below {below:3d}  above {above:3d}{100 * width:9.2f} "
            f"%{100 * float(np.mean(errors)):+8.2f} %{100 * rms(errors):8.2f} %"
        )
        if quantity in setting.barred and not 0.90 <= held <= 0.98:
            misses.append(f"{name}, {quantity}: {100 * held:.0f} % of the intervals hold the truth")
    shares = [a.ergodic_share for a in answers if a.ergodic_share is not None]
    yield (
        f"{name:30}exact supports {sum(a.exact for a in answers)} of {len(answers)}; ergodic share "
        f"{np.mean(shares):.3f} on average, {min(shares):.2f} at least; analysis "
        f"{np.median([a.seconds for a in answers]):.2f} s CPU"
    )


def coverage(names: list[str], repetitions: int, jobs: int) -> list[str]:
    """Print the table; return the missed bars."""
    misses: list[str] = []
    print(f"{'setting':30}{'quantity':16}{'held':>14}{'':>32}{'width':>11}{'bias':>10}{'rms':>10}")
    for name in names:
        answers = each(partial(repetition, name=name), range(repetitions), jobs)
        print(*rows_of(name, answers, misses), sep="\n", flush=True)
    return misses


def times(names: list[str]) -> None:
    """Print CPU seconds of the whole analysis, without and with the passages of the setting."""
    print(f"{'setting':30}{'nothing asked':>16}{'passages asked':>20}")
    for name in names:
        answer, data = identified(0, name)
        asked = wanted(SETTINGS[name])
        row = f"{name:30}"
        for request in (AnalysisParameters(), asked):
            analysed_in(answer, data, request)  # compiled, and the caches are warm
            seconds = min(analysed_in(answer, data, request)[1] for _ in range(3))
            row += f"{seconds:14.2f} s"
        print(f"{row} ({len(asked.passages)})", flush=True)


def main() -> int:
    """Print the tables; return 1 where a bar is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repetitions", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", nargs="+", choices=SETTINGS, default=list(SETTINGS))
    parser.add_argument("--time", action="store_true", help="CPU seconds of the analysis instead")
    options = parser.parse_args()
    if options.time:
        times(options.only)
        return 0
    misses = coverage(options.only, options.repetitions, options.jobs)
    print(*misses or ["every bar is met"], sep="\n")
    return 1 if misses else 0


if __name__ == "__main__":
    sys.exit(main())
