"""The scan of the line: a centre and a length, from the model alone in any units."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from worker.generator.errors import InvalidDomainError, UndefinedCoefficientsError
from worker.generator.numerics.roots import roots, separators
from worker.generator.process import FloatArray, ScalarFunction, ScalarProcess, value, values

DOUBLINGS = 100
"""Number of times the scan doubles its distance from the centre: 30 decades."""


@dataclass(frozen=True, slots=True)
class Window:
    """Centre, scale and scan of the domain.

    centre    a point inside the domain, at a stable fixed point or in the middle of the data
              [state]
    scale     the length on which drift beats noise, or noise changes [state]
    points    (n,) increasing points of the domain's interior, denser near the centre and towards
              finite ends [state]
    drift     (n,) b there
    diffusion (n,) a there
    """

    centre: float
    scale: float
    points: FloatArray
    drift: FloatArray
    diffusion: FloatArray


def choose_window(
    model: ScalarProcess,
    observed: tuple[float, float] | None,
    asked: Sequence[float] = (),
    *,
    for_noise: bool = False,
) -> Window:
    """Choose centre, scale and scan of the domain.

    Parameters
    ----------
    model : process in one coordinate
    observed : where the data were [state]; None without data
    asked : states that are asked about: where to begin if neither data nor a fixed point tell
        [state]
    for_noise : only zeros of the noise are searched for, not those of the drift

    Raises
    ------
    InvalidDomainError
        The observed range is reversed or misses the domain.
    UndefinedCoefficientsError
        A coefficient is not finite near the centre.
    """
    low, high = model.bounds
    if observed is not None:
        inside = max(observed[0], low), min(observed[1], high)
        if not inside[0] < inside[1]:
            raise InvalidDomainError(
                f"the observed range [{observed[0]:g}, {observed[1]:g}] has no length inside the "
                f"domain [{low:g}, {high:g}]; "
                "check both, or leave the domain open"
            )
        centre, scale = (inside[0] + inside[1]) / 2, (inside[1] - inside[0]) / 4
    elif np.isfinite(low) and np.isfinite(high):
        centre, scale = low + (high - low) / 2, (high - low) / 4
    else:
        fixed, anywhere = _anchor(model)
        centre = anywhere if fixed is None else fixed
        if fixed is None and len(asked) and min(asked) < max(asked):
            centre = (min(asked) + max(asked)) / 2
        scale = min(_scale(model, centre), min(abs(end - centre) for end in model.bounds) / 2)
    points = _separating(model, centre, scale, (model.a,) if for_noise else (model.b, model.a))
    b, a = values(model.b, points), values(model.a, points)
    finite = np.isfinite(a) & np.isfinite(b)
    if not finite[np.abs(points - centre) <= 8 * scale].all():
        raise UndefinedCoefficientsError(
            f"drift or diffusion is not a finite number between {centre - 8 * scale:g} and "
            f"{centre + 8 * scale:g}; "
            "check the model's terms, or give the domain"
        )
    return Window(centre, scale, points[finite], b[finite], a[finite])


def _scan(bounds: tuple[float, float], centre: float, scale: float) -> FloatArray:
    doubling = scale * 2.0 ** np.arange(-20, DOUBLINGS, 0.5)
    pieces = [
        centre - doubling,
        centre + doubling,
        np.linspace(centre - 4 * scale, centre + 4 * scale, 193),
    ]
    # Zero is where noise ends most often, and only there can terms vanish exactly.
    points = np.unique(
        np.concatenate([[0.0], *pieces, *_towards_ends(bounds, centre, np.arange(0.0, 40, 0.25))])
    )
    return points[(points > bounds[0]) & (points < bounds[1])]


def _separating(
    model: ScalarProcess, centre: float, scale: float, functions: Sequence[ScalarFunction]
) -> FloatArray:
    """Return the scan, with points between zeros of these functions that it would step over.

    Where data and centre are must not decide which of the zeros are found.
    """
    points = _scan(model.bounds, centre, scale)
    # Not at the centre, which is a fixed point where no data say otherwise.
    doublings = scale * 2.0 ** np.arange(-1, DOUBLINGS)
    octaves = np.concatenate([centre - 1.07 * doublings[::-1], centre + 0.93 * doublings])
    breaks = np.unique(
        np.concatenate([octaves, *_towards_ends(model.bounds, centre, np.arange(1.0, 40))])
    )
    breaks = np.append(
        points[0], np.append(breaks[(breaks > points[0]) & (breaks < points[-1])], points[-1])
    )
    found = [separators(partial(values, function), breaks) for function in functions]
    return np.unique(np.concatenate([points, breaks, *found]))


def _towards_ends(
    bounds: tuple[float, float], centre: float, halvings: FloatArray
) -> list[FloatArray]:
    return [
        end + inwards * abs(centre - end) * 2.0**-halvings
        for end, inwards in zip(bounds, (1, -1), strict=True)
        if np.isfinite(end)
    ]


def _anchor(model: ScalarProcess) -> tuple[float | None, float]:
    # A stable fixed point at any magnitude: the drift changes from pushing up to pushing down.
    low, high = model.bounds
    decades = 10.0 ** np.arange(-30, 30, 0.25)
    origin = low if np.isfinite(low) else high if np.isfinite(high) else 0.0
    points = np.concatenate([origin - decades[::-1], [origin], origin + decades])
    points = np.unique(points[(points > low) & (points < high)])
    b = values(model.b, points)
    usable = np.isfinite(b)
    points, b = points[usable], b[usable]
    found, stable = roots(model, points, b)
    if not len(found):
        inside = (
            origin
            if low < origin < high
            else origin + (_scale(model, origin) if origin == low else -_scale(model, origin))
        )
        return None, inside
    return float(min(found[stable] if stable.any() else found, key=abs)), origin


def _scale(model: ScalarProcess, centre: float) -> float:
    # The shortest distance over which 2bδ/a reaches 1 or a doubles: the size of the well, or of the
    # noise's own variation.
    low, high = model.bounds
    distances = 2.0 ** np.arange(-100, 100, 0.5)
    distances = distances[distances > 1e-13 * abs(centre)]
    a_centre = value(model.a, centre)
    reached = np.full(len(distances), False)
    for x in (centre - distances, centre + distances):
        inside = (x > low) & (x < high)
        b, a = values(model.b, x), values(model.a, x)
        with np.errstate(all="ignore"):
            steep = 2 * np.abs(b) * distances >= np.abs(a)
            changed = (np.abs(a) >= 2 * abs(a_centre)) | (np.abs(a) <= 0.5 * abs(a_centre))
        reached |= inside & np.isfinite(a) & np.isfinite(b) & (steep | changed)
    if not reached.any():
        return abs(centre) or 1.0
    return float(distances[np.argmax(reached)])
