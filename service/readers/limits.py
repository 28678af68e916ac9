"""Limits on what one upload may cost."""

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on the data, checked before memory is allocated, and on the process that reads."""

    numbers: int = 50_000_000
    """Number of samples times number of columns."""
    columns: int = 10_000
    """Columns of a text file, which are the samples of a trajectory where rows are trajectories."""
    state_columns: int = 64
    trajectories: int = 1_000_000
    line_length: int = 1_048_576
    """Characters in one line of a text file."""
    json_bytes: int = 64 * 2**20
    """Size of a JSON file; it is parsed as a whole and then takes about thirty times its size."""
    members: int = 10_000
    """Arrays in an npz file; arrays, cells and fields in a MAT file."""
    memory_bytes: int = 3 * 2**30
    """Address space of the reading process [byte]."""
    cpu_seconds: int = 90
    wall_seconds: float = 120.0

    def for_numbers(self, numbers: int) -> "Limits":
        """Return the limits for data of `numbers`; memory and time grow in proportion to them."""
        factor = max(1.0, numbers / self.numbers)
        return replace(
            self,
            numbers=numbers,
            memory_bytes=int(factor * self.memory_bytes),
            cpu_seconds=int(factor * self.cpu_seconds),
            wall_seconds=factor * self.wall_seconds,
        )
