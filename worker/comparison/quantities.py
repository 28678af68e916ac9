"""Derived quantities of several groups: ratios with intervals, and tests of their equality."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import chi2

from worker.analysis import Analysed
from worker.generator.quantities.passages import Passage, SpatialPassage
from worker.generator.quantities.regions import Place
from worker.generator.quantities.report import GeneratorReport

Floats = NDArray[np.float64]
Kind = Literal["relaxation-time", "period", "passage-time", "mean", "variance", "mean-velocity"]


ROUNDING = 1e-9
"""Width of a mean's interval, in standard deviations, up to which it is rounding."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """What is compared.

    kind       what it is
    number     number of the passage, or of the variable
    wells      whether the passage is one between neighbouring wells
    places     start and target of the passage, in the group that others are compared with
    variable   name of the variable whose mean, variance or mean velocity it is
    """

    kind: Kind
    number: int = 0
    wells: bool = False
    places: tuple[Place, Place] | None = None
    variable: str = ""


@dataclass(frozen=True, slots=True)
class GroupQuantity:
    """Quantity in one group, with its confidence interval."""

    value: float
    interval: tuple[float, float]


@dataclass(frozen=True, slots=True)
class ComparedQuantity:
    """Quantity that several groups have.

    groups      by name, those that have it
    logarithm   whether it is positive, and its ratios are compared rather than its differences
    contrasts   ratio or difference of every further group to the first, with its interval
    p_value     of the test that it is equal in all groups
    """

    groups: Mapping[str, GroupQuantity]
    logarithm: bool
    contrasts: Mapping[str, GroupQuantity]
    p_value: float


def compared(
    groups: Mapping[str, GroupQuantity], confidence: float, *, logarithm: bool
) -> ComparedQuantity | None:
    """Compare a quantity between groups by the widths of its intervals, equation (M59).

    Returns None where fewer than two groups have it.

    Parameters
    ----------
    groups : quantity by group; the first is what others are compared with
    confidence : coverage of the intervals
    logarithm : whether ratios are compared
    """
    known = {
        name: q
        for name, q in groups.items()
        if np.isfinite((q.value, *q.interval)).all()
        and (not logarithm or min(q.value, *q.interval) > 0)
        and q.interval[1] > q.interval[0]
    }
    if len(known) < 2:
        return None
    z = float(ndtri((1 + confidence) / 2))
    scale = np.log if logarithm else np.asarray
    values = np.array([float(scale(q.value)) for q in known.values()])
    errors = np.array(
        [float(scale(q.interval[1]) - scale(q.interval[0])) / (2 * z) for q in known.values()]
    )
    weights = 1 / errors**2
    mean = weights @ values / weights.sum()
    statistic = float(weights @ (values - mean) ** 2)
    back = np.exp if logarithm else np.asarray
    contrasts = {}
    for name, value, error in zip(list(known)[1:], values[1:], errors[1:], strict=True):
        away, reach = value - values[0], z * float(np.hypot(error, errors[0]))
        contrasts[name] = GroupQuantity(
            float(back(away)), (float(back(away - reach)), float(back(away + reach)))
        )
    return ComparedQuantity(known, logarithm, contrasts, float(chi2.sf(statistic, len(known) - 1)))


def quantities_of(
    analysed: Analysed, names: Sequence[str], n_asked: int, like: Analysed
) -> dict[Quantity, GroupQuantity]:
    """Return the quantities of a group that are compared.

    Passages between wells are those of another group where each well has one well near to it.
    Their intervals hold the error of where the wells are: without it p < 0.05 in 7.5 ± 1.2 % of
    null pairs.

    Parameters
    ----------
    analysed : analysis of the group's model
    names : names of the variables
    n_asked : number of passages that were asked for
    like : analysis of the group that others are compared with
    """
    report, spread = analysed.generator, analysed.spread
    found: dict[Quantity, GroupQuantity] = {}
    if spread is None:
        return found

    def add(quantity: Quantity, value: float | None, *path: str | int) -> None:
        interval = spread.range(*path)
        if value is not None and interval is not None:
            found[quantity] = GroupQuantity(float(value), interval)

    if report.spectrum is not None and len(report.spectrum.eigenvalues):
        slowest = report.spectrum.eigenvalues[0]
        rate = spread.range("spectrum", "eigenvalues", "re", 0)
        if rate is not None and slowest.real > 0 and rate[0] > 0:
            found[Quantity("relaxation-time")] = GroupQuantity(
                1 / float(slowest.real), (1 / rate[1], 1 / rate[0])
            )
        turning = spread.range("spectrum", "eigenvalues", "im", 0)
        if turning is not None and slowest.imag and turning[0] * turning[1] > 0:
            short, long = sorted(2 * np.pi / abs(end) for end in turning)
            period = 2 * np.pi / abs(float(slowest.imag))
            found[Quantity("period")] = GroupQuantity(period, (short, long))
    room = "passages" if len(names) == 1 else "between"
    passages, others = _passages(analysed), _passages(like)
    if not _same_wells(report, like.generator):
        passages = passages[:n_asked]
    for i, (passage, other) in enumerate(zip(passages, others, strict=False)):
        wells = i >= n_asked
        quantity = Quantity("passage-time", i, wells, (other.start, other.to))
        moving = isinstance(passage, Passage) and passage.between_wells is not None
        timed = "between_wells" if wells and moving else "mean_time"
        add(quantity, passage.mean_time.value, room, i, timed)
    add(Quantity("mean-velocity", variable=names[0]), report.mean_velocity, "mean_velocity")
    stationary = report.stationary
    if stationary is not None:
        for i, name in enumerate(names):
            here = ("stationary", "covariance", i, i)
            mean, variance = stationary.mean[i], stationary.covariance[i][i]
            ends = spread.range("stationary", "mean", i)
            # A mean that is zero by symmetry has an interval of rounding errors.
            if ends is not None and ends[1] - ends[0] > ROUNDING * np.sqrt(variance or 0.0):
                add(Quantity("mean", i, variable=name), mean, "stationary", "mean", i)
            add(Quantity("variance", i, variable=name), variance, *here)
    return found


def _passages(analysed: Analysed) -> tuple[Passage | SpatialPassage, ...]:
    return *analysed.generator.passages, *analysed.generator.between


def _same_wells(report: GeneratorReport, other: GeneratorReport) -> bool:
    """Return whether each stable point of one coordinate is nearest to that of the same number."""
    wells, others = (
        np.array([point.at[0] for point in one.fixed_points if point.stable])
        for one in (report, other)
    )
    if len(wells) != len(others) or not len(wells):
        return False
    nearest = np.abs(wells[:, None] - others).argmin(axis=1)
    return bool((nearest == np.arange(len(wells))).all())
