"""The kernels among which cross-validation chooses: pairs of a centre count and a bandwidth."""

from dataclasses import dataclass

from worker.identification.data.trajectories import Scales
from worker.identification.sums.kernels import Kernels, make_kernels
from worker.identification.sums.moment_cells import Cells, make_cells

COUNTS = (6, 12, 25, 50, 100, 200)
"""Kernel counts that are tried: the default 50 and its neighbours by factors of two."""

NARROWER, WIDER = 2, 1
"""Bandwidths tried with each count: its own default, the next two counts', the one before's.

The narrower ones leave gaps between the kernels; kernels that overlap more than the wider one's add
nothing."""


@dataclass(frozen=True, slots=True, eq=False)
class KernelGrid:
    """Candidates on the same range; they differ in count and bandwidth.

    candidates   by count, then by bandwidth, both ascending
    """

    candidates: tuple[Kernels, ...]

    def cells(self, scales: Scales) -> Cells:
        """Make cells that reach as far as the widest kernels, fine enough for the narrowest."""
        by_width = sorted(self.candidates, key=lambda kernels: kernels.bandwidth)
        narrow, wide = make_cells(by_width[0], scales), make_cells(by_width[-1], scales)
        reach = wide.width * wide.count
        count = max(1, round(reach / narrow.width + 0.5))
        return Cells(wide.low, reach / count, count)


def make_grid(
    scales: Scales,
    *,
    bandwidth: float | None = None,
    centre_range: tuple[float, float] | None = None,
    period: float | None = None,
) -> KernelGrid:
    """Make the grid of candidates.

    Parameters
    ----------
    scales : scales of the variable
    bandwidth : the only bandwidth that is tried [state]; None: several
    centre_range : first and last centre [state]; None: by default
    period : period of an angle [state]; None on the line
    """

    def kernels(count: int, width: float | None = None) -> Kernels:
        return make_kernels(
            scales, count=count, bandwidth=width, centre_range=centre_range, period=period
        )

    if bandwidth is not None:
        return KernelGrid(tuple(kernels(count, bandwidth) for count in COUNTS))
    widths = [kernels(count).bandwidth * scales.unit for count in COUNTS]
    return KernelGrid(
        tuple(
            kernels(count, widths[j])
            for i, count in enumerate(COUNTS)
            for j in reversed(range(len(COUNTS)))
            if i - WIDER <= j <= i + NARROWER
        )
    )
