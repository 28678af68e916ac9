"""Models that differ from the reference by more than its panels bear: steeper far out, or less smooth near the data's ends."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from worker.generator.landscape import Landscape
from worker.generator.quadrature import subdivision
from worker.generator.sample import DEPTH, exits_of
from worker.generator.shared_panels import Frame, Models, falling

DEEP = 150.0
"""Fall of the log-density from its peak beyond which a model may as well fall gently: what is there counts for e^−150."""
LOW = 20.0
"""Fall of the reference's log-density from its peak up to which its panels are cut for models that need finer ones."""
PARTS = 4
NEAR = 1.4 * DEPTH
"""Fall of the reference's log-density from its peak up to which most models need panels."""


def without_depths(models: Models, landscape: Landscape, frame: Frame, chosen: NDArray[np.bool_]) -> Models:
    """The models, the chosen of them with a density that falls gently from where it is as good as zero, so that floating numbers
    hold it; `landscape` is theirs."""
    height = (landscape.psi - landscape.log_a).max(axis=-1)
    b, a = models.b.copy(), models.a.copy()
    # A density beyond floating numbers cannot fall gently; a model so tall does not fit and is analysed alone. The peak itself
    # is seen however tall: e^(10⁶⁰) has no digits left for DEEP.
    for model in np.flatnonzero(chosen & np.isfinite(height).all(axis=1)):
        seen = np.flatnonzero(height[model] >= height[model].max() - DEEP)
        for side, rows, last in (
            (-1, slice(0, int(seen[0])), a[model, seen[0], 0]),
            (1, slice(int(seen[-1]) + 1, None), a[model, seen[-1], -1]),
        ):
            a[model, rows] = last
            b[model, rows] = falling(frame, side, rows, last)
    return replace(models, b=b, a=a)


def near(frame: Frame) -> Frame:
    """Without the panels so far out that only few models, wider than the reference, need them to have fallen by `DEPTH`."""
    landscape = frame.landscape
    height = (landscape.psi - landscape.log_a).max(axis=-1)
    needed = height > height.max() - NEAR
    places = [point.at[0] for point in frame.inside] + [x for exit_ in exits_of(frame.reference) for x in exit_]
    needed[landscape.panel_of(np.array([*places, *(frame.kept or ())]))] = True
    # A panel that ends at a wall, and those of a reference whose other places are not known here, are not left out.
    for column, at in ((0, 0), (1, -1)):
        if frame.kept is None or np.isfinite([frame.bounds[column], frame.reference.domain[column]]).any():
            needed[at] = True
    seen = np.flatnonzero(needed)
    rows = slice(int(seen[0]), int(seen[-1]) + 1)
    arrays = ("base", "low", "high", "exponent", "order", "psi", "log_a")
    return replace(frame, landscape=replace(landscape, **{name: getattr(landscape, name)[rows] for name in arrays}))


def finer(landscape: Landscape) -> Landscape:
    """The reference on panels of a quarter of their length wherever its density is not negligible: nothing new but room for the
    models. Without singular parts."""
    height = (landscape.psi - landscape.log_a).max(axis=-1)
    parts = np.where(height > height.max() - LOW, PARTS, 1)
    from_panel = np.repeat(np.arange(len(parts)), parts)
    part = np.arange(len(from_panel)) - np.repeat(np.cumsum(parts) - parts, parts)
    count = parts[from_panel]
    low = landscape.low[from_panel] + 2 * landscape.half[from_panel] * part / count
    high = landscape.low[from_panel] + 2 * landscape.half[from_panel] * (part + 1) / count
    _, matrix = subdivision(PARTS, landscape.psi.shape[-1])
    tables = []
    for table in (landscape.psi, landscape.log_a):
        cut = (table @ matrix.T).reshape(len(parts), PARTS, -1)
        tables.append(np.where((count > 1)[:, None], cut[from_panel, np.minimum(part, PARTS - 1)], table[from_panel]))
    zero = np.zeros(len(from_panel))
    return replace(
        landscape, base=landscape.base[from_panel], low=low, high=high, exponent=zero, order=zero, psi=tables[0], log_a=tables[1]
    )
