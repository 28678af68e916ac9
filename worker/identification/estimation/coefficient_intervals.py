"""Confidence intervals of coefficients that two sampling rules describe equally well."""

import math

from scipy.optimize import brentq
from scipy.special import ndtr, ndtri


def confidence_interval(
    value: float, std_error: float, shift: float, confidence: float
) -> tuple[float, float]:
    """Return an interval that covers the truth whichever of two sampling rules is right, (M34).

    The construction is that of Imbens and Manski (2004).

    Parameters
    ----------
    value : coefficient by one rule
    std_error : standard error by either rule
    shift : coefficient by the other rule, less `value`
    confidence : probability that the interval covers the truth
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
