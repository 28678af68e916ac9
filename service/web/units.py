"""Units of derived quantities, from those of state and time; None if a unit is not known."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

LONGEST_COLUMN = 24


@dataclass(frozen=True, slots=True)
class Units:
    """Units and column names by variable, and the unit of time."""

    state: Mapping[str, str | None]
    time: str | None = None
    columns: Mapping[str, str | None] = field(default_factory=dict)

    def label(self, name: str) -> str:
        """Return the variable with its column, such as `x: voltage`."""
        column = self.columns.get(name)
        return (
            name
            if not column or column == name
            else f"{name}: {self.column(name)[:LONGEST_COLUMN]}"
        )

    def column(self, name: str) -> str:
        """Return the column's name without the unit it may end with; `name` if there is none."""
        column, unit = self.columns.get(name) or name, self.state.get(name)
        for end in (f"({unit})", f"[{unit}]") if unit else ():
            column = column.removesuffix(end)
        return column.strip()

    def of_variable(self, name: str) -> str | None:
        """Return the unit [state]."""
        return self.state.get(name)

    def drift(self, name: str) -> str | None:
        """Return the unit [state/time]."""
        unit = self.state.get(name)
        return f"{_grouped(unit)}/{_grouped(self.time)}" if unit and self.time else None

    def diffusion(self, one: str, other: str) -> str | None:
        """Return the unit [state²/time]."""
        first, second = self.state.get(one), self.state.get(other)
        if not (first and second and self.time):
            return None
        product = (
            f"{_grouped(first)}²" if first == second else f"{_grouped(first)} {_grouped(second)}"
        )
        return f"{product}/{_grouped(self.time)}"

    def density(self, name: str) -> str | None:
        """Return the unit [1/state]."""
        unit = self.state.get(name)
        return f"1/{_grouped(unit)}" if unit else None

    def circulation(self, names: Sequence[str]) -> str | None:
        """Return the unit [state²/time]; two variables only."""
        return self.diffusion(names[0], names[1]) if len(names) == 2 else None

    def rate(self) -> str | None:
        """Return the unit [1/time]."""
        return f"1/{_grouped(self.time)}" if self.time else None


def _grouped(unit: str) -> str:
    return f"({unit})" if "/" in unit or " " in unit else unit
