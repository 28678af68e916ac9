"""Confidence intervals of coefficients that two sampling rules describe equally well."""

import math

from scipy.optimize import brentq
from scipy.special import ndtr, ndtri


def confidence_interval(
    value: float, std_error: float, shift: float, confidence: float
) -> tuple[float, float]:
    """An interval that holds the truth with this probability whichever of the rules is the right one, equation (M34).

    The value by one rule is `value`, by the other value + shift; both have the same standard error (Imbens and Manski 2004).
    """
    distance = abs(shift) / std_error
    two_sided, one_sided = float(ndtri((1 + confidence) / 2)), float(ndtri(confidence))
    if not math.isfinite(distance):
        width = one_sided
    elif distance > 0:
        width = float(
            brentq(
                lambda c: ndtr(c + distance) - ndtr(-c) - confidence,
                one_sided - 1e-9,
                two_sided + 1e-9,
            )
        )
    else:
        width = two_sided
    return min(value, value + shift) - width * std_error, max(
        value, value + shift
    ) + width * std_error
