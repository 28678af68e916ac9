"""Relaxation rates: the non-zero eigenvalues of −L."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from worker.generator.process import FloatArray, read_only
from worker.generator.quantities.kinds import CURVE, POSITIVE
from worker.generator.quantities.outcomes import Reason

OVERTONE = 0.1
"""Distance of a ratio of frequencies from a whole number within which it counts as one."""


@dataclass(frozen=True, slots=True, eq=False)
class Spectrum:
    """Non-zero eigenvalues of −L, slowest first; equations (G10)–(G12).

    eigenvalues       (k,) complex in general, real on the line [1/time]
    eigenfunctions    (k, n_points) right eigenfunctions on the density's grid, of unit norm under
                      the stationary distribution; or None
    relative_error    (k,) estimated from the last two levels of extrapolation
    reasons           why there are fewer eigenvalues than asked for, or only approximate ones
    """

    eigenvalues: Annotated[NDArray[np.complex128], POSITIVE]
    eigenfunctions: Annotated[FloatArray | None, CURVE]
    relative_error: FloatArray
    reasons: tuple[Reason, ...] = ()

    @property
    def relaxation_times(self) -> FloatArray:
        """(k,) 1/re λ [time]."""
        return read_only(1 / self.eigenvalues.real)

    @property
    def overtones(self) -> NDArray[np.bool_]:
        """(k,) whether a complex eigenvalue is an overtone of a slower one.

        An overtone turns a whole number of times, two or more, faster than the slower one and
        decays at least half as fast again. It says nothing that the slower one does not.
        """
        re, im = self.eigenvalues.real, np.abs(self.eigenvalues.imag)
        with np.errstate(divide="ignore", invalid="ignore"):
            times = im[:, None] / im[None, :]
            whole = (np.round(times) >= 2) & (np.abs(times - np.round(times)) < OVERTONE)
        return np.asarray(
            np.any(whole & (im > 0)[None, :] & (re[:, None] >= 1.5 * re[None, :]), axis=1)
        )
