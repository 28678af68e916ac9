"""What one upload may cost."""

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Limits:
    """Caps on the data, checked before memory is taken, and on the process that reads them."""

    numbers: int = 50_000_000
    """Samples times columns."""
    columns: int = 10_000
    """Columns of a text file: samples of one trajectory where rows are trajectories."""
    state_columns: int = 64
    trajectories: int = 1_000_000
    line_length: int = 1_048_576
    """Characters."""
    json_bytes: int = 64 * 2**20
    """JSON is parsed as a whole and takes some thirty times its size."""
    members: int = 10_000
    """Arrays of an npz file."""
    memory_bytes: int = 3 * 2**30
    """Address space of the reading process."""
    cpu_seconds: int = 90
    wall_seconds: float = 120.0

    def for_numbers(self, numbers: int) -> "Limits":
        """Of so many; memory and time, where they are more, in proportion."""
        more = max(1.0, numbers / self.numbers)
        return replace(
            self,
            numbers=numbers,
            memory_bytes=int(more * self.memory_bytes),
            cpu_seconds=int(more * self.cpu_seconds),
            wall_seconds=more * self.wall_seconds,
        )
