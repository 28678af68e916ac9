"""Passages and committors of models near a solved one: the solved numbers, moved by the difference on the coarsest cells."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from worker.generator.plane.passages.committor import moved_committor
from worker.generator.plane.passages.passage_mesh import Scene, with_process
from worker.generator.plane.passages.passage_moments import (
    LEVELS,
    Ground,
    Hit,
    log_moments,
)
from worker.generator.plane.passages.passages import SpatialCommittor, SpatialPassage
from worker.generator.process import DiffusionProcess, FloatArray
from worker.generator.quantities.committor import Committor
from worker.generator.quantities.regions import Region


@dataclass(frozen=True, slots=True)
class _Timed:
    """The passage of this number, and what its time was read from."""

    number: int
    scene: Scene
    hit: Hit


def sampled_times(
    processes: Sequence[DiffusionProcess], passages: Sequence[SpatialPassage]
) -> FloatArray:
    """(models, passages, 2) logarithms of the mean and of the standard deviation of each passage's time, by their ratio to the
    reference's; nan where the reference has none or the cells cannot tell."""
    logs = np.full((len(processes), len(passages), 2), np.nan)
    for together in _on_the_same_cells(passages):
        for row, process in zip(logs, processes, strict=True):
            first = together[0]
            try:
                ground = Ground.of(with_process(first.scene, process), LEVELS[0], first.hit.schemes)
                for timed in together:
                    own = log_moments(with_process(timed.scene, process), ground)
                    row[timed.number] = (
                        np.array([timed.hit.log_mean, timed.hit.log_deviation])
                        + own
                        - timed.hit.logs[0]
                    )
            except (RuntimeError, ValueError):
                # A draw far out in the coefficients' distribution may have no matrix to speak of.
                continue
    return logs


def sampled_committor(
    processes: Sequence[DiffusionProcess], committor: Committor
) -> FloatArray | None:
    """(models, n₀, n₁) values on the committor's grid, nan where the cells cannot tell; None without a committor."""
    if not isinstance(committor, SpatialCommittor) or not isinstance(committor.start, Region):
        return None
    values = np.full((len(processes), *committor.solved.values.shape), np.nan)
    for row, process in zip(values, processes, strict=True):
        try:
            row[:] = moved_committor(
                with_process(committor.scene, process), committor.start, committor.solved
            )
        except (RuntimeError, ValueError):
            continue
    return values


def _on_the_same_cells(passages: Sequence[SpatialPassage]) -> list[list[_Timed]]:
    """The timed passages, those together that have the same cells and schemes, such as the way there and the way back."""
    groups: dict[tuple[object, ...], list[_Timed]] = {}
    for number, passage in enumerate(passages):
        if passage.scene is None or passage.hit is None:
            continue
        chart, axes = passage.scene.chart, passage.scene.grid(LEVELS[0]).axes
        key = (
            passage.hit.schemes,
            chart.matrix.tobytes(),
            chart.origin.tobytes(),
            *(axis.edges.tobytes() for axis in axes),
        )
        groups.setdefault(key, []).append(_Timed(number, passage.scene, passage.hit))
    return list(groups.values())
