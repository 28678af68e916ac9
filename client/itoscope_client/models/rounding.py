"""Numbers as text, with as many digits as their errors justify."""

import math


def rounded(value: float | None, ci: tuple[float | None, float | None] | None = None) -> str:
    """Write a number with two digits of its interval's half-width, or else with four digits."""
    if value is None or not math.isfinite(value):
        return "–"
    low, high = ci or (None, None)
    width = (high - low) / 2 if low is not None and high is not None else 0.0
    if width > 0 and value != 0 and math.isfinite(width):
        digits = min(
            9, max(1, 2 + math.floor(math.log10(abs(value))) - math.floor(math.log10(width)))
        )
        return f"{value:.{digits}g}" if abs(value) < 10**digits or digits > 5 else f"{value:.4g}"
    return f"{value:.4g}"


def interval(ci: tuple[float | None, float | None] | None) -> str:
    """Write an interval as `[0.69, 1.06]`, with ∞ for an open end."""
    if ci is None:
        return ""
    low, high = ci
    digits = 3
    if low is not None and high is not None and high > low:
        largest = max(abs(low), abs(high))
        digits = min(
            9, max(3, 2 + math.floor(math.log10(largest)) - math.floor(math.log10(high - low)))
        )
    lower = "−∞" if low is None else f"{low:.{digits}g}"
    upper = "∞" if high is None else f"{high:.{digits}g}"
    return f"[{lower}, {upper}]"


def with_error(value: float, std_error: float | None) -> str:
    """Write a number with its standard error as `0.87 ± 0.09`, with two digits of the error."""
    if not std_error or not math.isfinite(std_error):
        return f"{value:.4g}"
    decimals = 1 - math.floor(math.log10(std_error))
    if -3 <= decimals <= 6:
        return f"{value:.{max(0, decimals)}f} ± {std_error:.{max(0, decimals)}f}"
    return f"{rounded(value, (value - std_error, value + std_error))} ± {std_error:.2g}"
