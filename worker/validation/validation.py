"""Validation of the identified model with its data: the place to start reading."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from worker.generator.linear.process import linear_view
from worker.generator.plane.grid_refinement import Solution
from worker.generator.quantities.outcomes import Reason
from worker.generator.quantities.report import GeneratorReport
from worker.generator.quantities.stationary import MultivariateDistribution, StationaryDistribution
from worker.identification.data.trajectories import Scales, Trajectories
from worker.identification.findings.derived import (
    autocorrelation_differs,
    stationary_density_differs,
    wrong_at_longer_times,
)
from worker.identification.findings.finding import Finding
from worker.identification.identified_model import Histogram, IdentifiedModel
from worker.identification.symbolic_process import SymbolicProcess
from worker.validation.autocorrelation import Autocorrelation, compare_autocorrelation, not_compared
from worker.validation.chapman_kolmogorov import LagTest, lag_tests
from worker.validation.conditional_moments import (
    ChainPrediction,
    LinearPrediction,
    Observable,
    Prediction,
    birth_death_chain,
    plane_prediction,
)
from worker.validation.sample_blocks import MOST, EvenSamples, gather, thinned

Floats = NDArray[np.float64]

ALARM = 1e-3
"""Probability, over all lags and variables together, below which a difference is significant."""
MATERIAL = 0.02
"""Reported difference in standard deviations or variances; of an autocorrelation twice that."""
BLOCKS = 30
"""Number of blocks, into each of which the longest lag of the test fits eight times."""
MOSTLY_EVEN = 0.5
"""Share of equal steps from which the clock counts as even."""
LARGE_DISTANCE = 0.5
"""Reported total variation; a right model has that of its histogram's noise."""
MARGIN = 0.2
"""Margin of a chain on the line, on each side, as a share of the observed range."""
MOST_IN_THE_PLANE = 50_000
"""Most samples at which a function given on cells is interpolated."""
UNBOUNDED_LAGS = 64
"""Longest lag, in sampling intervals, of the test of a model that has no relaxation time."""
SAMPLES_ON_A_LEVEL = 3
"""Mean number of samples on a value from which the values are on a grid."""
SAME_LEVEL = 1e-9
"""Distance of values, over their range, up to which they are one."""
BINS = 16
"""Number of bins along each of two coordinates in the total variation."""


@dataclass(frozen=True, slots=True, eq=False)
class Validation:
    """Results of the validation.

    chapman_kolmogorov   tests by variable and lag; empty where `reason` says why
    autocorrelation      by variable
    total_variation      between the stationary densities, 0 to 1; None without both
    share                share of the record's samples that were used
    findings             warnings for the reader of the model
    """

    chapman_kolmogorov: tuple[LagTest, ...] = ()
    autocorrelation: tuple[Autocorrelation, ...] = ()
    total_variation: float | None = None
    share: float = 0.0
    reason: str | None = None
    findings: tuple[Finding, ...] = ()


def validate(
    data: Trajectories,
    answer: IdentifiedModel,
    generator: GeneratorReport,
    solution: Solution | None = None,
) -> Validation:
    """Compare a model with its data: Chapman–Kolmogorov test, autocorrelation and total variation.

    Parameters
    ----------
    data : record from which the model was identified
    answer : identified model
    generator : analysis of the model's generator
    solution : cells from which the report of two variables was read
    """
    scales = answer.space.scales
    relaxation = None if generator.spectrum is None else _slowest(generator)
    longest = _longest_lag(scales[0], relaxation)
    most = MOST if solution is None else MOST_IN_THE_PLANE
    sample = gather(data, scales[0].time, int(np.ceil(longest / scales[0].time)), most)
    distance = _total_variation(sample, answer, generator)
    reason = _not_comparable(sample, answer)
    prediction = None if reason is not None else _prediction(answer, scales, solution)
    if prediction is None:
        reason = reason or _no_prediction(answer)
        findings = tuple(_density_findings(distance))
        return Validation((), (), distance, sample.share, reason, findings)
    # Secants are no velocities: over two sampling intervals they hold a third of the kicks between,
    # and a right double well of second order failed the test.
    recorded = answer.n_recorded
    tests = (
        ()
        if recorded < len(answer.drift)
        else tuple(lag_tests(sample, prediction, longest, _first_lag(answer, sample.step)))
    )
    slow = sample if relaxation is None else thinned(data, sample.step, relaxation, most)
    autocorrelations = tuple(
        _autocorrelations(slow, prediction, generator, relaxation, scales[0].duration)
    )[:recorded]
    findings = (*_findings(tests, autocorrelations), *_density_findings(distance))
    reason = None if tests else _not_tested(answer, scales[0])
    return Validation(tests, autocorrelations, distance, sample.share, reason, findings)


def _no_prediction(answer: IdentifiedModel) -> str:
    if len(answer.drift) == 1:
        return "drift or diffusion is not finite at an observed state"
    if len(answer.drift) == 2:
        return (
            "the model has no stationary distribution in the plane, which conditional means require"
        )
    return "in three or more variables, conditional means are computed for a linear model only"


def _slowest(generator: GeneratorReport) -> float | None:
    assert generator.spectrum is not None
    times = generator.spectrum.relaxation_times
    return float(times[0]) if len(times) else None


def _longest_lag(scales: Scales, relaxation: float | None) -> float:
    """Return about a relaxation time, as far as blocks of the record are long enough [time]."""
    wanted = UNBOUNDED_LAGS * scales.time if relaxation is None else max(relaxation, scales.time)
    return float(min(wanted, max(scales.duration / (8 * BLOCKS), scales.time)))


def _not_comparable(sample: EvenSamples, answer: IdentifiedModel) -> str | None:
    codes = {finding.code for finding in answer.findings}
    if sample.even < MOSTLY_EVEN:
        return "sampling is irregular, so there are no pairs of samples a fixed time apart"
    if "no-noise" in codes:
        return (
            "there is no noise: the time series is deterministic, "
            "so there is no distribution to compare"
        )
    for code, why in (
        ("motion-blur", "every sample is an average over an exposure (motion blur)"),
        (
            "quantised",
            "the values are quantised more coarsely "
            "than the process moves in one sampling interval",
        ),
    ):
        if code in codes:
            return f"{why}, so that the state itself was not observed"
    return None


def _first_lag(answer: IdentifiedModel, step: float) -> int:
    """Return the shortest lag from which on the model is valid [steps]."""
    least = [f.details["least_step"] for f in answer.findings if "least_step" in f.details]
    return max(1, int(np.ceil(max((float(str(v)) for v in least), default=0.0) / step - 1e-6)))


def _prediction(
    answer: IdentifiedModel, scales: tuple[Scales, ...], solution: Solution | None
) -> Prediction | None:
    variances = answer.noise_variances or {}
    noise = [max(variances.get(name, 0.0), 0.0) for name in answer.drift]
    periods = answer.process.periods
    observables = tuple(
        Observable(s.mean, s.deviation, p, v)
        for s, p, v in zip(scales, periods, noise, strict=True)
    )
    if isinstance(answer.process, SymbolicProcess):
        return _line_prediction(answer, answer.process, observables)
    middle = np.array([s.mean for s in scales])
    linear = linear_view(answer.process, middle, np.array([s.deviation for s in scales]))
    if linear is not None and linear.covariance is not None:
        return LinearPrediction(linear, linear.covariance, observables)
    return None if solution is None else plane_prediction(solution, observables)


def _line_prediction(
    answer: IdentifiedModel, process: SymbolicProcess, observables: tuple[Observable, ...]
) -> Prediction | None:
    """Return the prediction of one variable; None where drift or diffusion is not finite."""
    scales = answer.scales
    (low, high), margin = process.bounds, MARGIN * (scales.high - scales.low)
    walls = [
        float(w)
        for f in answer.findings
        if f.code == "wall"
        for w in f.details["walls"]  # type: ignore[attr-defined]
    ]
    first, last = max(low, scales.low - margin), min(high, scales.high + margin)
    for wall in walls:
        if abs(wall - scales.low) < abs(wall - scales.high):
            first = max(first, wall)
        else:
            last = min(last, wall)
    # A term such as log(x) may end just beyond the data.
    for ends in ((first, last), (max(low, scales.low), min(high, scales.high))):
        chain = birth_death_chain(process, *ends)
        if chain is not None:
            return ChainPrediction(chain, observables)
    return None


def _autocorrelations(
    sample: EvenSamples,
    prediction: Prediction,
    generator: GeneratorReport,
    relaxation: float | None,
    duration: float,
) -> Iterator[Autocorrelation]:
    for variable, observable in enumerate(prediction.observables):
        if isinstance(generator.correlations, Reason):
            yield not_compared(generator.correlations.sentence)
        elif generator.correlations is None or relaxation is None:
            yield not_compared("the model's own autocorrelation is not known")
        else:
            yield compare_autocorrelation(
                sample, observable, variable, generator.correlations.functions, relaxation, duration
            )


def _total_variation(
    sample: EvenSamples, answer: IdentifiedModel, generator: GeneratorReport
) -> float | None:
    histogram = answer.histogram
    if histogram is not None:
        if answer.process.periods[0] is None:
            x = sample.states[:, 0]
            edges = between_levels(x, len(histogram.counts))
            if edges is not None:
                histogram = Histogram(np.histogram(x, edges)[0].astype(float), edges)
        return total_variation_on_the_line(histogram, generator.stationary)
    if answer.n_recorded < len(answer.drift):
        return total_variation_of_positions(sample.states, generator.stationary)
    return total_variation_in_the_plane(sample.states, answer.process.periods, generator.stationary)


def _not_tested(answer: IdentifiedModel, scales: Scales) -> str:
    if answer.n_recorded < len(answer.drift):
        return (
            "conditional means of positions depend on velocities, which were not recorded; the "
            "autocorrelation of the positions is compared"
        )
    return (
        f"the time series ({scales.duration:.4g}) is too short to be divided into blocks "
        "for an error estimate"
    )


def _density_findings(distance: float | None) -> Iterator[Finding]:
    """Report a stationary density that is not where the data are."""
    if distance is not None and distance > LARGE_DISTANCE:
        yield stationary_density_differs(distance)


def _findings(
    tests: tuple[LagTest, ...], autocorrelations: tuple[Autocorrelation, ...]
) -> Iterator[Finding]:
    """Report a model that is wrong at longer times than it was fitted at."""
    failed = [
        t
        for t in tests
        if t.p_value * len(tests) < ALARM and max(t.mean_difference, t.spread_difference) > MATERIAL
    ]
    if failed:
        worst = max(failed, key=lambda test: max(test.mean_difference, test.spread_difference))
        differences = worst.mean_difference, worst.spread_difference
        yield wrong_at_longer_times(
            worst.lag, *differences, worst.p_value, [test.lag for test in failed]
        )
        return
    different = [
        a
        for a in autocorrelations
        if a.p_value is not None
        and a.p_value * len(autocorrelations) < ALARM
        and a.difference > 2 * MATERIAL
    ]
    if different:
        worst_of = max(different, key=lambda a: a.difference)
        yield autocorrelation_differs(worst_of.difference, worst_of.p_value or 0.0)


def between_levels(x: Floats, most: int) -> Floats | None:
    """Return edges of bins half-way between the levels of values on a grid; None without a grid.

    Bins finer than the grid are empty in between: a right double well on levels of a tenth of its
    standard deviation had a distance of 0.64.

    Parameters
    ----------
    x : (n,) values
    most : number of bins at most; neighbouring levels are joined
    """
    levels = np.unique(x)
    if len(levels) > 1:
        # Levels that differ by rounding are one.
        levels = levels[np.diff(levels, prepend=-np.inf) > SAME_LEVEL * (levels[-1] - levels[0])]
    if not 1 < len(levels) < len(x) / SAMPLES_ON_A_LEVEL:
        return None
    middles = (levels[1:] + levels[:-1]) / 2
    ends = levels[0] - (middles[0] - levels[0]), levels[-1] + (levels[-1] - middles[-1])
    edges = np.concatenate([ends[:1], middles, ends[1:]])
    joined = edges[:: -(-len(levels) // most)]
    return joined if joined[-1] == edges[-1] else np.append(joined, edges[-1])


def total_variation_on_the_line(
    histogram: Histogram, law: StationaryDistribution | MultivariateDistribution | None
) -> float | None:
    """Return (C6), ½ Σ |data's share − model's| over bins; None without a stationary density."""
    if law is None or not histogram.counts.sum():
        return None
    mass = _integrals(law.grid[0], law.density[:, None], histogram.edges)[:, 0]
    return _distance(histogram.counts / histogram.counts.sum(), mass)


def total_variation_in_the_plane(
    states: Floats,
    periods: tuple[float | None, ...],
    law: StationaryDistribution | MultivariateDistribution | None,
) -> float | None:
    """Return the total variation in the plane; None without a stationary density.

    It is summed over BINS² rectangles of the density's grid and what lies outside.

    Parameters
    ----------
    states : (n, 2) samples [state]
    periods : period of each variable that is an angle [state], else None
    law : stationary distribution of the model
    """
    if law is None or len(law.grid) != 2 or law.density.ndim != 2:
        return None
    edges = [np.linspace(grid[0], grid[-1], BINS + 1) for grid in law.grid]
    x = np.array(states)
    for k, period in enumerate(periods):
        if period is not None:
            x[:, k] = edges[k][0] + np.mod(x[:, k] - edges[k][0], period)
    counts = np.histogram2d(x[:, 0], x[:, 1], bins=edges)[0]
    density = law.density
    for k in (0, 1):
        density = np.moveaxis(_integrals(law.grid[k], np.moveaxis(density, k, 0), edges[k]), 0, k)
    return _distance(counts / len(x), density)


def total_variation_of_positions(
    states: Floats, law: StationaryDistribution | MultivariateDistribution | None
) -> float | None:
    """Return the total variation of a position's density, over BINS and what lies outside.

    Secants scatter more than velocities where there is measurement noise.

    Parameters
    ----------
    states : (n, 2) positions and secants
    law : stationary distribution of the model of position and velocity
    """
    if law is None or len(law.grid) != 2 or law.density.ndim != 2:
        return None
    x, v = law.grid
    edges = np.linspace(x[0], x[-1], BINS + 1)
    density = law.density.sum(axis=1, keepdims=True) * (v[1] - v[0])
    counts = np.histogram(states[:, 0], edges)[0]
    return _distance(counts / len(states), _integrals(x, density, edges)[:, 0])


def _integrals(grid: Floats, density: Floats, edges: Floats) -> Floats:
    """Return the integrals (bins, m) over each bin of functions (n, m) given on a grid (n,)."""
    steps = np.diff(grid)[:, None] * (density[1:] + density[:-1]) / 2
    mass = np.concatenate([np.zeros((1, density.shape[1])), np.cumsum(steps, axis=0)])
    return np.diff(np.stack([np.interp(edges, grid, column) for column in mass.T], axis=1), axis=0)


def _distance(data: Floats, model: Floats) -> float:
    """Return the total variation of shares in bins; shares outside count as different."""
    outside = max(0.0, 1 - float(model.sum())) + max(0.0, 1 - float(data.sum()))
    return float(min(1.0, 0.5 * (np.abs(data - model).sum() + outside)))
