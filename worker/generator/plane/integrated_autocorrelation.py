"""How long the coordinates of the plane remember, from one grid and in one number each."""

import numpy as np
from scipy.sparse import csc_array

from worker.generator.plane.box.coordinates import Chart
from worker.generator.plane.eigenmodes import factorised
from worker.generator.plane.grid import Grid
from worker.generator.plane.grid_refinement import Level
from worker.generator.process import FloatArray


def integrated_times_on(chart: Chart, level: Level) -> FloatArray:
    """(2,) ∫_0^∞ C dt of each coordinate's autocorrelation on the level's cells, equation (G54) [time]. Raises RuntimeError where
    the matrix cannot be factorised."""
    masses = (level.density * level.grid.volumes).ravel()
    # L has the law for its kernel: with one cell's mass held at zero the equation has one solution, and any serves.
    keep = np.delete(np.arange(len(masses)), int(np.argmax(masses)))
    solver = factorised(csc_array(level.matrix[keep][:, keep]))
    times = []
    for functions in functions_of(chart, level.grid):
        integral = variance = 0.0
        for function in functions:
            away = function - masses @ function
            integral -= float(away[keep] @ solver.solve((masses * away)[keep]))
            variance += float(masses @ away**2)
        times.append(integral / variance)
    return np.array(times)


def functions_of(chart: Chart, grid: Grid) -> list[list[FloatArray]]:
    """Each coordinate at the cells' centres (n,), an angle by its cosine and sine."""
    x = chart.state(grid.centres)
    return [
        [x[:, axis]]
        if period is None
        else [wave(2 * np.pi * x[:, axis] / period) for wave in (np.cos, np.sin)]
        for axis, period in enumerate(chart.process.periods)
    ]
