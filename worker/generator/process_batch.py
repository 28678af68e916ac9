"""Many processes that differ in coefficients only are evaluated all at once."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from worker.generator.process import DiffusionProcess, FloatArray, scalar_view, values


@runtime_checkable
class Family(Protocol):
    """A sequence of m processes in one coordinate, all on the same domain."""

    def drifts(self, x: FloatArray) -> FloatArray:
        """b of each at x: (n,) → (m, n) [state/time]."""
        ...

    def diffusions(self, x: FloatArray) -> FloatArray:
        """a of each at x: (n,) → (m, n) [state²/time]."""
        ...

    def among(self, rows: Sequence[int]) -> Sequence[DiffusionProcess]:
        """Those of these numbers: a family again."""
        ...


def among(processes: Sequence[DiffusionProcess], rows: Sequence[int]) -> Sequence[DiffusionProcess]:
    """Those of these numbers."""
    return (
        processes.among(rows) if isinstance(processes, Family) else [processes[row] for row in rows]
    )


def coefficients_at(
    processes: Sequence[DiffusionProcess], x: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """b and a of m processes of one coordinate at x (n,), each (m, n); overflow gives inf or nan silently."""
    if isinstance(processes, Family):
        with np.errstate(all="ignore"):
            return processes.drifts(x), processes.diffusions(x)
    models = [scalar_view(process) for process in processes]
    shape = len(models), len(x)
    b, a = (
        [values(function, x) for function in functions]
        for functions in ((m.b for m in models), (m.a for m in models))
    )
    return np.array(b).reshape(shape), np.array(a).reshape(shape)
