"""The parts of an answer that rest on no data."""

from worker.generator.quantities.barrier import Barrier
from worker.generator.quantities.fixed_point import FixedPoint
from worker.generator.quantities.passage import Passage


def extrapolated_beyond(
    fixed: tuple[FixedPoint, ...],
    barriers: tuple[Barrier, ...],
    passages: tuple[Passage, ...],
    observed: tuple[float, float] | None,
) -> tuple[str, ...]:
    """Return one sentence for every well, barrier and passage outside the observed range.

    Parameters
    ----------
    fixed, barriers, passages : of the report
    observed : where the data were [state]; None gives no sentence
    """
    if observed is None:
        return ()
    low, high = observed

    def seen(*points: float) -> bool:
        return all(low <= point <= high for point in points)

    unseen = f"outside the observed range [{low:.6g}, {high:.6g}]: extrapolation"
    wells = [
        f"the well at x = {point.at[0]:.6g} lies {unseen}"
        for point in fixed
        if point.stable and not seen(*point.at)
    ]
    tops = dict.fromkeys(barrier.over for barrier in barriers if not seen(barrier.over))
    return (
        *wells,
        *(f"the barrier at x = {top:.6g} lies {unseen}" for top in tops),
        *(
            f"the passage from x = {passage.start:.6g} to {passage.to:.6g} runs {unseen}"
            for passage in passages
            if not seen(passage.start, passage.to)
        ),
    )


def extrapolated_outside(
    fixed: tuple[FixedPoint, ...], observed: tuple[tuple[float, float], ...] | None
) -> tuple[str, ...]:
    """Return one sentence for every stable fixed point outside the observed ranges."""
    if observed is None:
        return ()
    return tuple(
        f"the well at ({', '.join(f'{value:.6g}' for value in point.at)}) lies outside the "
        "observed ranges: extrapolation"
        for point in fixed
        if point.stable
        and not all(low <= x <= high for x, (low, high) in zip(point.at, observed, strict=True))
    )
