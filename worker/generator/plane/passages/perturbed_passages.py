"""Passages and committors of models near an analysed one, on the coarsest cells of the other."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from worker.generator.plane.passages.committor import LEVELS as COMMITTOR_LEVELS
from worker.generator.plane.passages.committor import at_corners
from worker.generator.plane.passages.passage_mesh import with_process
from worker.generator.plane.passages.passage_moments import LEVELS, DiscreteProcess, log_moments
from worker.generator.plane.passages.passages import Solved
from worker.generator.process import DiffusionProcess
from worker.generator.quantities.committor import Committed, Committor
from worker.generator.quantities.passage import SpatialPassage
from worker.generator.quantities.passage_time import Timing
from worker.generator.quantities.regions import Region


def passages_near(
    process: DiffusionProcess, passages: Sequence[SpatialPassage], solved: Sequence[Solved | None]
) -> Iterator[SpatialPassage]:
    """Yield a report's passages for another process.

    Passages on the same cells, such as the way there and the way back, share what they can.

    Parameters
    ----------
    process : process
    passages : passages of the report
    solved : domain and schemes of each of them, None where it has no time
    """
    discretised: dict[tuple[object, ...], DiscreteProcess] = {}
    for passage, on in zip(passages, solved, strict=True):
        if on is None:
            yield replace(passage, mean_time=Timing(None), deviation=None)
            continue
        mesh = with_process(on.mesh, process)
        chart, axes = mesh.chart, mesh.grid(LEVELS[0]).axes
        key = (
            on.schemes,
            chart.matrix.tobytes(),
            chart.origin.tobytes(),
            *(axis.edges.tobytes() for axis in axes),
        )
        if key not in discretised:
            discretised[key] = DiscreteProcess.of(mesh, LEVELS[0], on.schemes)
        mean, deviation = (
            Timing(None) if np.isnan(log) else Timing.from_log(float(log))
            for log in log_moments(mesh, discretised[key])
        )
        yield replace(passage, mean_time=mean, deviation=deviation)


def committors_near(
    process: DiffusionProcess, committors: Sequence[Committor], solved: Sequence[Solved | None]
) -> Iterator[Committor]:
    """Yield a report's committors for another process.

    Parameters
    ----------
    process : process
    committors : committors of the report
    solved : domain and schemes of each of them, None where there is none
    """
    for committor, on in zip(committors, solved, strict=True):
        if on is None or committor.found is None or not isinstance(committor.start, Region):
            yield committor
            continue
        values = at_corners(
            with_process(on.mesh, process), committor.start, COMMITTOR_LEVELS[0], on.schemes
        )
        yield replace(committor, found=Committed(committor.found.grid, values))
