"""Derived quantities of several groups: ratios with intervals, and tests of their equality."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import chi2

from worker.analysis import Analysed
from worker.generator.quantities.passages import Passage, SpatialPassage

Floats = NDArray[np.float64]


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


def quantities_of(analysed: Analysed, names: Sequence[str]) -> dict[str, GroupQuantity]:
    """Return the quantities of a group that are compared, by what they are.

    Parameters
    ----------
    analysed : analysis of the group's model
    names : names of the variables
    """
    report, spread = analysed.generator, analysed.spread
    found: dict[str, GroupQuantity] = {}
    if spread is None:
        return found

    def add(what: str, value: float | None, *path: str | int) -> None:
        interval = spread.range(*path)
        if value is not None and interval is not None:
            found[what] = GroupQuantity(float(value), interval)

    if report.spectrum is not None and len(report.spectrum.eigenvalues):
        slowest = report.spectrum.eigenvalues[0]
        rate = spread.range("spectrum", "eigenvalues", "re", 0)
        if rate is not None and slowest.real > 0 and rate[0] > 0:
            found["relaxation time"] = GroupQuantity(
                1 / float(slowest.real), (1 / rate[1], 1 / rate[0])
            )
    for room in ("passages", "between"):
        passages: Sequence[Passage | SpatialPassage] = getattr(report, room)
        for i, passage in enumerate(passages):
            label = f"passage {i + 1}" if room == "passages" else f"passage between wells {i + 1}"
            add(label, passage.mean_time.value, room, i, "mean_time")
    stationary = report.stationary
    if stationary is not None:
        for i, name in enumerate(names):
            here = ("stationary", "covariance", i, i)
            add(f"stationary mean of {name}", stationary.mean[i], "stationary", "mean", i)
            add(f"stationary variance of {name}", stationary.covariance[i][i], *here)
    return found
