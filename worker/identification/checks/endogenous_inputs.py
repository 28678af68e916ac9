"""Test whether inputs share the noise of the states: they are then no inputs."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from worker.identification.data.library import Library
from worker.identification.data.windows import Space, Stretch

Floats = NDArray[np.float64]

SIGNIFICANT, MATERIAL = 5.0, 0.02
"""Standard errors, and correlation, from which an input's increments share the states' noise."""


@dataclass(frozen=True, slots=True)
class SharedNoise:
    """Correlation of a state's residuals with an input's increments.

    variable, number   numbers of the state and of the input
    correlation        in the same step
    z                  of it, in standard errors
    """

    variable: int
    number: int
    correlation: float
    z: float

    @property
    def shared(self) -> bool:
        """Whether the correlation is significant and material."""
        return abs(self.z) > SIGNIFICANT and abs(self.correlation) > MATERIAL


def shared_noise(
    walk: Iterable[Stretch], space: Space, library: Library, drift: Floats, n_inputs: int
) -> SharedNoise:
    """Return the most significant correlation of residuals with increments of inputs, (M70).

    An input that the experiment sets is independent of the noise; one that answers to the states
    within a sampling interval, or shares their noise, is not.

    Parameters
    ----------
    walk : pairs of samples
    space, library : internal units and terms
    drift : (d, J) internal coefficients
    n_inputs : number of recorded inputs
    """
    d = space.dimension
    inputs = slice(d, d + n_inputs)
    product, square, r2, u2 = (np.zeros((d, n_inputs)) for _ in range(4))
    for stretch in walk:
        before, after = stretch.points[0], stretch.points[1]
        b = library.internal(stretch.y) @ drift.T
        residual = stretch.displacements(space)[0] - stretch.steps[0][:, None] / 2 * (
            b[before] + b[after]
        )
        moved = stretch.y[after, inputs] - stretch.y[before, inputs]
        product += residual.T @ moved
        square += (residual**2).T @ moved**2
        r2 += (residual**2).sum(axis=0)[:, None]
        u2 += (moved**2).sum(axis=0)
    z = np.divide(product, np.sqrt(square), out=np.zeros_like(product), where=square > 0)
    size = np.sqrt(r2 * u2)
    correlation = np.divide(product, size, out=np.zeros_like(product), where=size > 0)
    p, k = np.unravel_index(int(np.argmax(np.abs(z))), z.shape)
    return SharedNoise(int(p), int(k), float(correlation[p, k]), float(z[p, k]))
