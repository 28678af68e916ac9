"""Numbers and units as text; digits are chosen only here, as many as the errors allow.

Everything is plain text with typographic signs (− × ⁻), without HTML.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

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


def turn(period: float) -> str:
    """Write the period of an angle: `360`, `2π`."""
    return "2π" if math.isclose(period, 2 * math.pi, rel_tol=1e-9) else exact(period)


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


def count(number: int) -> str:
    """Write `6 000 000` with thin spaces, from five digits on."""
    return f"{number:,}".replace(",", "\u202f") if number >= 10_000 else str(number)


def percent(share: float) -> str:
    """Write a fraction as `0.7 %` or `12 %`."""
    value = 100 * share
    return f"{value:.0f} %" if value >= 10 or value == 0 else f"{plain(value, 2)} %"


def size(n_bytes: int) -> str:
    """Write a number of bytes as `84 kB`."""
    for unit, power in (("GB", 9), ("MB", 6), ("kB", 3)):
        if n_bytes >= 10**power:
            return f"{plain(n_bytes / 10**power, 3)} {unit}"
    return f"{n_bytes} bytes"


def seconds(duration: float) -> str:
    """Write a duration as `0.4 s`, `3 min 20 s` or `2 h 5 min`."""
    if duration < 60:
        return f"{plain(duration, 2)} s" if duration < 10 else f"{duration:.0f} s"
    whole = round(duration)
    hours, minutes, rest = whole // 3600, whole % 3600 // 60, whole % 60
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


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


LONGEST_LABEL = 24


@dataclass(frozen=True, slots=True)
class Units:
    """Units and labels by variable, and the unit of time.

    positions   position of each velocity that is a variable
    """

    state: Mapping[str, str | None]
    time: str | None = None
    labels: Mapping[str, str | None] = field(default_factory=dict)
    positions: Mapping[str, str] = field(default_factory=dict)

    def label(self, name: str) -> str:
        """Return the variable, with its column where that has another name: `S_P: S&P`."""
        label = self.labels.get(name) or name
        return name if label == name else f"{name}: {label[:LONGEST_LABEL]}"

    def of_variable(self, name: str) -> str | None:
        """Return the unit [state]; of a velocity [state/time]."""
        unit = self._length(name)
        return self._per_time(unit, 1) if name in self.positions else unit

    def drift(self, name: str) -> str | None:
        """Return the unit [state/time]; of a velocity, whose drift is a force, [state/time²]."""
        return self._per_time(self._length(name), 1 + (name in self.positions))

    def diffusion(self, one: str, other: str) -> str | None:
        """Return the unit [state²/time]; of two velocities [state²/time³]."""
        first, second = self._length(one), self._length(other)
        if not (first and second):
            return None
        product = (
            f"{_grouped(first)}²" if first == second else f"{_grouped(first)} {_grouped(second)}"
        )
        power = 1 + (one in self.positions) + (other in self.positions)
        return self._per_time(product, power, product=True)

    def density(self, name: str) -> str | None:
        """Return the unit [1/state]; of a velocity [time/state]."""
        unit = self._length(name)
        if name not in self.positions or not unit:
            return f"1/{_grouped(unit)}" if unit else None
        return f"{_grouped(self.time)}/{_grouped(unit)}" if self.time else None

    def _length(self, name: str) -> str | None:
        """Return the unit of a variable, or of a velocity's position."""
        return self.state.get(self.positions.get(name, name))

    def _per_time(self, unit: str | None, power: int, *, product: bool = False) -> str | None:
        """Write a unit over a power of that of time; a product needs no parentheses."""
        if not unit or not self.time:
            return None
        times = "" if power == 1 else str(power).translate(_SUPERSCRIPTS)
        return f"{unit if product else _grouped(unit)}/{_grouped(self.time)}{times}"

    def circulation(self, names: Sequence[str]) -> str | None:
        """Return the unit [state²/time]; two variables only."""
        return self.diffusion(names[0], names[1]) if len(names) == 2 else None

    def rate(self) -> str | None:
        """Return the unit [1/time]."""
        return f"1/{_grouped(self.time)}" if self.time else None


def _grouped(unit: str) -> str:
    return f"({unit})" if "/" in unit or " " in unit else unit
