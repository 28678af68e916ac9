"""Models that differ from the reference by more than its panels bear: steeper far out, or less smooth near the data's ends."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from worker.generator.line.landscape import Landscape
from worker.generator.line.panels import MAX_RISE
from worker.generator.numerics.quadrature import subdivision
from worker.generator.process import FloatArray
from worker.generator.uncertainty.batch_mesh import Frame, Models, falling
from worker.generator.uncertainty.sampled_model import DEPTH, exits_of

DEEP = 150.0
"""Fall of the log-density from its peak beyond which a model may as well fall gently: what is there counts for e^−150."""
LOW = 20.0
"""Fall of the reference's log-density from its peak up to which its panels are cut for models that need finer ones."""
PARTS, MOST_PARTS = 4, 64
NEAR = 1.4 * DEPTH
"""Fall of the log-density from its peak up to which most models need panels."""
COUNTS = 25.0
"""Fall of the reference's log-density from its peak beyond which nothing counts in its own rates and times."""

Bools = NDArray[np.bool_]


def without_depths(models: Models, landscape: Landscape, frame: Frame, chosen: Bools) -> Models:
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
    return _on_panels(frame, _rows_of(frame, _needed(frame.landscape, NEAR)))


def with_room(frame: Frame, models: Landscape) -> Frame:
    """The panels that these models, which did not fit on the frame's, need, as short as they need them. The reference keeps what
    counts in its numbers.

    models   theirs, on the frame's panels
    """
    rows = _rows_of(frame, _needed(frame.landscape, COUNTS) | _needed(models, NEAR))
    shared = _on_panels(frame, rows)
    return replace(
        shared, landscape=_finer(shared.landscape, models.psi[:, rows], models.log_a[:, rows])
    )


def _needed(landscape: Landscape, fall: float) -> Bools:
    """(P,) panels where the log-density of any of the models is at most `fall` below its peak."""
    heights = np.atleast_2d((landscape.psi - landscape.log_a).max(axis=-1))
    heights = heights[np.isfinite(heights).all(axis=1)]
    return np.asarray(
        np.any(heights > heights.max(axis=1, keepdims=True, initial=-np.inf) - fall, axis=0)
    )


def _rows_of(frame: Frame, needed: Bools) -> slice:
    """From the first to the last panel that is needed or has to be there."""
    kept = needed.copy()
    places = [point.at[0] for point in frame.inside] + [
        x for exit_ in exits_of(frame.reference) for x in exit_
    ]
    kept[frame.landscape.panel_of(np.array([*places, *(frame.kept or ())]))] = True
    # A panel that ends at a wall, and those of a reference whose other places are not known here, are not left out.
    for column, at in ((0, 0), (1, -1)):
        if (
            frame.kept is None
            or np.isfinite([frame.bounds[column], frame.reference.domain[column]]).any()
        ):
            kept[at] = True
    seen = np.flatnonzero(kept)
    return slice(int(seen[0]), int(seen[-1]) + 1)


def _on_panels(frame: Frame, rows: slice) -> Frame:
    arrays = ("base", "low", "high", "exponent", "order", "psi", "log_a")
    landscape = replace(
        frame.landscape, **{name: getattr(frame.landscape, name)[rows] for name in arrays}
    )
    return replace(frame, landscape=landscape)


def _finer(landscape: Landscape, psi: FloatArray, log_a: FloatArray) -> Landscape:
    """The reference on panels of a quarter of their length wherever its density is not negligible, and so short that no model,
    with ψ and log a (m, P, ORDER), falls by much over one where it has probability. Without singular parts."""
    height = (landscape.psi - landscape.log_a).max(axis=-1)
    parts = np.where(height > height.max() - LOW, PARTS, 1)
    heights = (psi - log_a).max(axis=-1)
    with np.errstate(invalid="ignore"):
        seen = heights > heights.max(axis=-1, keepdims=True, initial=-np.inf) - DEEP
        rise = np.where(seen, np.ptp(psi, axis=-1), 0.0).max(axis=0, initial=0.0)
    parts = np.maximum(
        parts, 2 ** np.ceil(np.log2(np.clip(rise / MAX_RISE, 1, MOST_PARTS))).astype(np.int64)
    )
    from_panel = np.repeat(np.arange(len(parts)), parts)
    part = np.arange(len(from_panel)) - np.repeat(np.cumsum(parts) - parts, parts)
    count = parts[from_panel]
    low = landscape.low[from_panel] + 2 * landscape.half[from_panel] * part / count
    high = landscape.low[from_panel] + 2 * landscape.half[from_panel] * (part + 1) / count
    order = landscape.psi.shape[-1]
    own_psi, own_log_a = landscape.psi[from_panel], landscape.log_a[from_panel]
    for several in np.unique(parts[parts > 1]):
        _, matrix = subdivision(int(several), order)
        for table, cut in ((landscape.psi, own_psi), (landscape.log_a, own_log_a)):
            cut[count == several] = (table[parts == several] @ matrix.T).reshape(-1, order)
    zero = np.zeros(len(from_panel))
    base = landscape.base[from_panel]
    return replace(
        landscape,
        base=base,
        low=low,
        high=high,
        exponent=zero,
        order=zero,
        psi=own_psi,
        log_a=own_log_a,
    )
