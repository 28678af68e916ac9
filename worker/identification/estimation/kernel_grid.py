"""The kernels among which cross-validation chooses: pairs of a centre count and a bandwidth."""

from dataclasses import dataclass

from worker.identification.data.trajectories import Scales
from worker.identification.sums.kernels import Cells, Kernels, make_cells, make_kernels

COUNTS = (6, 12, 25, 50, 100, 200)
"""The default 50 and its neighbours by factors of two."""

NARROWER, WIDER = 2, 1
"""A count is tried with its own default bandwidth, with those of the next two counts, which leave gaps between the kernels, and
with that of the count before. Kernels that overlap more add nothing to that count's own."""


@dataclass(frozen=True, slots=True, eq=False)
class KernelGrid:
    """Candidates on the same range; they differ in count and bandwidth.

    candidates   by count, then by bandwidth, both ascending
    """

    candidates: tuple[Kernels, ...]

    def cells(self, scales: Scales) -> Cells:
        """Cells that serve every candidate: as far as the widest kernels reach, fine enough for the narrowest."""
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
    """Arguments as for `make_kernels`; a given bandwidth [state] is the only one tried."""

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
