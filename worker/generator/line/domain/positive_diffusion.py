"""The part of the domain around the data where the noise is positive."""

from dataclasses import dataclass, replace

import numpy as np

from worker.generator.errors import InvalidDomainError
from worker.generator.line.domain.domain_scan import Window, choose_window
from worker.generator.process import (
    DiffusionProcess,
    FloatArray,
    ScalarProcess,
    scalar_view,
    values,
)

END_MARGIN = 1e-6
"""Distance to a finite end, in scales of the window, within which a sign of a counts as
rounding."""
TOUCHING = 1e-9
"""Ratio of a minimum of a to its surroundings below which it counts as a zero."""


@dataclass(frozen=True, slots=True)
class NarrowedProcess:
    """Process restricted to where its noise is positive.

    process    the restricted process; its domain ends where it was cut
    cut_below  where the domain was cut below the data; None where it was not [state]
    cut_above  where it was cut above [state]
    """

    process: ScalarProcess
    cut_below: float | None
    cut_above: float | None

    @property
    def sentences(self) -> tuple[str, ...]:
        """What was cut, in words."""
        return tuple(
            f"the fitted diffusion is not positive {word} x = {cut:.6g}, outside the data; the "
            "analysis ends there"
            for word, cut in (("below", self.cut_below), ("above", self.cut_above))
            if cut is not None
        )


def zeros_of_diffusion(model: ScalarProcess, window: Window) -> tuple[float | None, float | None]:
    """Return the nearest zeros of a below and above the centre: crossed or touched [state].

    Both are the centre where a is not positive there already. Ends of the domain are no zeros.
    """
    points, a = window.points, window.diffusion
    margin = np.zeros_like(points)
    for end in model.bounds:
        if np.isfinite(end):
            margin = np.where(
                np.abs(points - end) <= END_MARGIN * min(abs(end - window.centre), window.scale),
                1.0,
                margin,
            )
    points, a = points[margin == 0], a[margin == 0]
    middle = int(np.argmin(np.abs(points - window.centre)))
    if a[middle] <= 0:
        return window.centre, window.centre
    return _nearest_zero(model, points[middle::-1], a[middle::-1]), _nearest_zero(
        model, points[middle:], a[middle:]
    )


def _nearest_zero(model: ScalarProcess, points: FloatArray, a: FloatArray) -> float | None:
    """Return the first point away from points[0], where a is positive, at which it is not."""
    crossings = np.flatnonzero(a <= 0)
    crossing = int(crossings[0]) if len(crossings) else len(points)
    minima = 1 + np.flatnonzero((a[1:-1] < a[:-2]) & (a[1:-1] < a[2:]))
    for index in minima[minima < crossing - 1]:
        touched = _touching_zero(
            model, points[index - 1], points[index + 1], max(a[index - 1], a[index + 1])
        )
        if touched is not None:
            return touched
    if crossing == len(points):
        return None
    positive, negative = float(points[crossing - 1]), float(points[crossing])
    if a[crossing] == 0:
        return negative
    while abs(negative - positive) > 2 * np.spacing(max(abs(positive), abs(negative))):
        x = np.linspace(positive, negative, 34)[1:-1]
        first = (
            int(np.argmax(values(model.a, x) <= 0)) if np.any(values(model.a, x) <= 0) else len(x)
        )
        positive, negative = (
            (float(x[first - 1]) if first else positive),
            (float(x[first]) if first < len(x) else negative),
        )
    return negative


def _touching_zero(model: ScalarProcess, low: float, high: float, level: float) -> float | None:
    for _ in range(8):
        x = np.linspace(low, high, 33)
        a = values(model.a, x)
        lowest = int(np.clip(np.argmin(a), 1, 31))
        if a[lowest] <= TOUCHING * level:
            return float(x[lowest])
        low, high = float(x[lowest - 1]), float(x[lowest + 1])
    return None


def narrowed_to_positive(process: DiffusionProcess, around: tuple[float, float]) -> NarrowedProcess:
    """Return the process on the connected part of its domain where a > 0 around the data's middle.

    Raises InvalidDomainError where a is not positive in the middle of the data `around` [state],
    and for an empty range.
    """
    model = scalar_view(process)
    window = choose_window(model, around, for_noise=True)
    below, above = zeros_of_diffusion(model, window)
    if below is not None and below == above:
        raise InvalidDomainError(
            f"the diffusion is not positive at x = {window.centre:g}, in the middle of the data; "
            "refit with fewer terms"
        )
    low, high = model.bounds
    bounds = (low if below is None else below, high if above is None else above)
    return NarrowedProcess(replace(model, bounds=bounds), below, above)


def reflecting_interval(
    model: ScalarProcess, observed: tuple[float, float] | None
) -> tuple[float, float] | None:
    """Return the places of reflecting ends: the data's range, or a finite domain, or None."""
    low, high = (
        model.bounds
        if observed is None
        else (max(observed[0], model.bounds[0]), min(observed[1], model.bounds[1]))
    )
    return (low, high) if np.isfinite(low) and np.isfinite(high) and low < high else None
