"""Passages and committors between places of the plane, of a model near one that was analysed, on the other's coarsest cells."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from worker.generator.plane.passages.committor import LEVELS as COMMITTOR_LEVELS
from worker.generator.plane.passages.committor import at_corners
from worker.generator.plane.passages.passage_mesh import with_process
from worker.generator.plane.passages.passage_moments import LEVELS, Ground, log_moments
from worker.generator.plane.passages.passages import Solved
from worker.generator.process import DiffusionProcess
from worker.generator.quantities.passages import Committed, Committor, SpatialPassage, Timing
from worker.generator.quantities.regions import Region


def passages_near(
    process: DiffusionProcess, passages: Sequence[SpatialPassage], solved: Sequence[Solved | None]
) -> Iterator[SpatialPassage]:
    """The same passages of another process; those on the same cells, such as the way there and the way back, share what they can.

    solved   what each of the passages was read from, None where it has no time
    """
    grounds: dict[tuple[object, ...], Ground] = {}
    for passage, on in zip(passages, solved, strict=True):
        if on is None:
            yield replace(passage, mean_time=Timing(None), deviation=None)
            continue
        scene = with_process(on.scene, process)
        chart, axes = scene.chart, scene.grid(LEVELS[0]).axes
        key = (
            on.schemes,
            chart.matrix.tobytes(),
            chart.origin.tobytes(),
            *(axis.edges.tobytes() for axis in axes),
        )
        if key not in grounds:
            grounds[key] = Ground.of(scene, LEVELS[0], on.schemes)
        mean, deviation = (
            Timing(None) if np.isnan(log) else Timing.from_log(float(log))
            for log in log_moments(scene, grounds[key])
        )
        yield replace(passage, mean_time=mean, deviation=deviation)


def committors_near(
    process: DiffusionProcess, committors: Sequence[Committor], solved: Sequence[Solved | None]
) -> Iterator[Committor]:
    """The same committors of another process.

    solved   what each of the committors was read from, None where there is none
    """
    for committor, on in zip(committors, solved, strict=True):
        if on is None or committor.found is None or not isinstance(committor.start, Region):
            yield committor
            continue
        values = at_corners(
            with_process(on.scene, process), committor.start, COMMITTOR_LEVELS[0], on.schemes
        )
        yield replace(committor, found=Committed(committor.found.grid, values))
