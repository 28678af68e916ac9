"""Numbers as text, with as many digits as their errors allow.

The functions are those of the service's page (`service/web/numbers.py`), word for word: one number
has the same digits there, in the report and here.
"""

import math

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_SMALLEST, _LARGEST = -3, 5
"""Decimal exponents outside of which a number is written with a power of ten."""


def plain(value: float | None, digits: int = 4) -> str:
    """Write a number as `0.01235` or `−1.2 × 10⁻⁷`; a dash if there is none."""
    if value is None or not math.isfinite(value):
        return "–"
    if value == 0:
        return "0"
    exponent = _exponent(float(f"{value:.{digits - 1}e}"))
    if _SMALLEST <= exponent < _LARGEST:
        return _signed(f"{value:.{max(0, digits - 1 - exponent)}f}")
    return _signed(f"{_shift(value, -exponent):.{digits - 1}f}") + power_of_ten(exponent)


def exact(value: float | None, digits: int = 5) -> str:
    """Write an exact number, such as a setting, without trailing zeros."""
    text = plain(value, digits)
    number, power, exponent = text.partition(" × ")
    return (number.rstrip("0").rstrip(".") if "." in number else number) + power + exponent


def with_error(value: float, error: float | None) -> str:
    """Write `0.875 ± 0.092`: the error to two significant digits, the value to the same place."""
    if error is None or not math.isfinite(error) or error <= 0:
        return plain(value)
    number, spread, exponent = measured(value, error)
    return f"({number} ± {spread}){power_of_ten(exponent)}" if exponent else f"{number} ± {spread}"


def measured(value: float, error: float) -> tuple[str, str, int]:
    """Write value and error to the same decimal place; return also their common power of ten."""
    exponent = _common_exponent(max(abs(value), error))
    scaled, spread = _shift(value, -exponent), _shift(error, -exponent)
    places = max(0, _places(spread))
    return _signed(f"{scaled:.{places}f}"), f"{spread:.{places}f}", exponent


def with_interval(
    value: float | None, ci: tuple[float | None, float | None] | None
) -> tuple[str, str]:
    """Write `13.1` and `10.0 to 17.9`; the second text is empty if there is no interval.

    All three numbers end at the second significant digit of half the interval's width. An estimate
    that so written is an end of its interval is said to be, and one that is exactly 0, why.
    """
    if value is None or ci is None or (ci[0] is None and ci[1] is None):
        return plain(value), ""
    low, high = ci
    ends = [end for end in ci if end is not None and math.isfinite(end)]
    half = abs(ends[1] - ends[0]) / 2 if len(ends) == 2 else abs(ends[0] - value) if ends else 0.0
    if half <= 1e-9 * abs(value):
        return plain(value), ""
    exponent = _common_exponent(max(abs(v) for v in (value, *ends)))
    places = max(0, _places(_shift(half, -exponent)))

    def text(number: float | None) -> str:
        return "…" if number is None else _signed(f"{_shift(number, -exponent):.{places}f}")

    power, middle = power_of_ten(exponent), text(value)
    end = {text(high): "upper", text(low): "lower"}.get(middle)
    said = f" (the estimate is its {end} end)" if end else ""
    # By symmetry, or because a term is missing: the other models have further terms.
    if end and not value:
        said = " (0 by the terms that were chosen, not by other likely ones)"
    # Zero needs no power of ten.
    shown = middle + power if middle.strip("0.") else "0"
    return shown, f"{text(low)} to {text(high)}{power}{said}"


def power_of_ten(exponent: int) -> str:
    """Write ` × 10⁻⁷`, or nothing for exponent 0."""
    return f" × 10{str(exponent).translate(_SUPERSCRIPTS)}" if exponent else ""


def _exponent(value: float) -> int:
    return math.floor(math.log10(abs(value))) if value else 0


def _common_exponent(largest: float) -> int:
    exponent = _exponent(largest)
    return 0 if _SMALLEST <= exponent < _LARGEST else exponent


def _places(error: float) -> int:
    """Return the decimal places that show two significant digits of an error."""
    return 1 - _exponent(float(f"{error:.1e}"))


def _shift(value: float, exponent: int) -> float:
    # Negative powers are applied by division, because 10**7 is exact and 10**-7 is not.
    return value * 10.0**exponent if exponent >= 0 else value / 10.0**-exponent


def _signed(text: str) -> str:
    if text.strip("-0.") == "":
        return text.lstrip("-")
    return text.replace("-", "−")
