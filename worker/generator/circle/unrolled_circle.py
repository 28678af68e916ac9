"""One turn of a circle on panels, which may be cut open at any of their edges."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from worker.generator.errors import InvalidDomainError
from worker.generator.line.domain.boundaries import classify_end
from worker.generator.line.domain.domain_scan import choose_window
from worker.generator.line.landscape import Landscape
from worker.generator.line.panels import build_landscape
from worker.generator.process import ScalarProcess


@dataclass(frozen=True, slots=True, eq=False)
class UnrolledCircle:
    """One turn [low, low + period) of a process.

    model           the coefficients between reflecting ends at the cut; only ever integrated, never
                    simulated
    landscape       ψ over the turn
    potential_gain  ψ gained in one turn, 0 where the process is in equilibrium
    """

    model: ScalarProcess
    period: float
    landscape: Landscape
    potential_gain: float

    def cut_at(self, at: float) -> Landscape:
        """Return the turn from `at` on, on any turn of it an edge of the panels [state]."""
        here = self.landscape
        beginnings = here.edges[:-1]
        away = np.abs(np.mod(beginnings - at + self.period / 2, self.period) - self.period / 2)
        first = int(np.argmin(away))
        base, low, high, exponent, order, log_a = (
            np.roll(array, -first, axis=0)
            for array in (here.base, here.low, here.high, here.exponent, here.order, here.log_a)
        )
        later = np.arange(len(base)) >= len(base) - first
        psi = np.roll(here.psi, -first, axis=0) + np.where(later, self.potential_gain, 0.0)[:, None]
        base = base + np.where(later, self.period, 0.0) + (at - beginnings[first])
        return Landscape(base, low, high, exponent, order, psi, log_a)


def unroll(model: ScalarProcess, low: float, points: Iterable[float] = ()) -> UnrolledCircle:
    """Cut the circle at `low`, with panels that break at `points`, on any turn [state].

    Parameters
    ----------
    model : process on a circle
    low : where the turn starts [state]
    points : breaks [state]

    Raises
    ------
    InvalidDomainError
        a is not positive all the way round.
    """
    assert model.period is not None
    period = model.period
    line = replace(model, bounds=(low, low + period), period=None)
    window = choose_window(line, None, for_noise=True)
    if not np.all(window.diffusion > 0):
        at = float(window.points[np.argmin(window.diffusion)])
        raise InvalidDomainError(
            f"the diffusion is not positive at x = {at:g}, which an angle must pass; give other "
            "terms"
        )
    ends = classify_end(line, window, -1), classify_end(line, window, 1)
    breaks = (low + float(np.mod(point - low, period)) for point in points)
    landscape = build_landscape(line, window, ends, (*line.bounds, *breaks), (), np.inf)
    # Panels meet without a jump, so ψ at either end of the turn is that of the first and the last
    # panel.
    edges = landscape.psi_and_log_a(landscape.edges[[0, -1]])[0]
    return UnrolledCircle(line, period, landscape, float(edges[1] - edges[0]))
