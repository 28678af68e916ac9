"""Second differences of a record's windows, and what drift or force leave of them."""

from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from worker.identification.data.trajectories import Trajectories
from worker.identification.second_order.even_windows import EvenWindows

Floats = NDArray[np.float64]

FEW = 0.1
"""Number of levels in samples of windows up to which values are rounded."""

DRIVEN = 0.02
"""Share of increments that other variables leave, below which these are their velocities."""


@dataclass(frozen=True, slots=True, eq=False)
class RecordWindows:
    """Record, its windows, their increments, and the periods of its variables."""

    data: Trajectories
    windows: EvenWindows
    increments: Floats
    periods: tuple[float | None, ...]

    def is_rounded(self) -> bool:
        """Check whether values lie on few levels; a median filter repeats any value."""
        states = self.windows.states[:, :, 0]
        return len(np.unique(states)) < FEW * states.size

    def second_differences(self) -> Floats:
        """Compute second differences, without the first two of a window; (n_windows, n, d)."""
        return np.asarray(np.diff(self.increments, axis=1)[:, 2:])

    def places(self) -> Floats:
        """Compute the states as variables of a regression: scaled, or cosine and sine."""
        columns = []
        for p, period in enumerate(self.periods):
            x = self.windows.states[:, :, p]
            if period is not None:
                angle = 2 * np.pi * x * self.windows.units[p] / period
                columns += [np.cos(angle), np.sin(angle)]
            else:
                columns.append(np.clip((x - x.mean()) / max(float(x.std()), 1e-300), -6, 6))
        return np.stack(columns, axis=-1)

    def without_drift(self) -> Floats:
        """Compute differences of increments less what the state one sample before lets expect.

        The noise of that sample has no part in the increment, so it causes no correlation.
        """
        places, moves = self.places(), self.increments[:, 1:]
        degree = {1: 3, 2: 3, 3: 2, 4: 2}.get(places.shape[-1], 1)
        rest = moves - _expected(_monomials(places[:, :-2], degree), moves)
        return np.asarray(np.diff(rest, axis=1)[:, 1:])

    def without_force(self, earlier: int) -> Floats:
        """Compute second differences less what position and velocity before let expect.

        Parameters
        ----------
        earlier : 1, or 2 for a velocity that shares no noise with the second difference
        """
        places, end = self.places(), self.windows.states.shape[1]
        velocities = np.clip(self.increments / self.increments.std(axis=(0, 1)), -6, 6)
        before = np.concatenate(
            [
                places[:, 3 - earlier : end - 1 - earlier],
                velocities[:, 2 - earlier : end - 2 - earlier],
            ],
            axis=-1,
        )[:, : self.windows.n]
        k = before.shape[-1]
        series = self.second_differences()
        return np.asarray(
            series - _expected(_monomials(before, 3 if k <= 4 else 2 if k <= 6 else 1), series)
        )

    def driven(self) -> tuple[int, ...]:
        """Find variables whose increments follow from the others' mean states, as of positions."""
        states = (self.windows.states[:, 1:] + self.windows.states[:, :-1]) / 2
        return tuple(
            p
            for p in range(len(self.periods))
            if len(self.periods) > 1
            and self.increments[:, :, p].any()
            and _share_left(
                _monomials(np.delete(states, p, axis=-1), 1), self.increments[:, :, p : p + 1]
            )
            < DRIVEN
        )


def _monomials(variables: Floats, degree: int) -> Floats:
    """Compute monomials up to a degree; (…, k) → (…, n_monomials)."""
    columns = [np.ones(variables.shape[:-1])]
    for total in range(1, degree + 1):
        for chosen in combinations_with_replacement(range(variables.shape[-1]), total):
            columns.append(variables[..., list(chosen)].prod(axis=-1))
    return np.stack(columns, axis=-1)


def _expected(features: Floats, values: Floats) -> Floats:
    """Regress values on features over all windows; (m, k, f), (m, k, d) → (m, k, d)."""
    rows = features.reshape(-1, features.shape[-1])
    gram = rows.T @ rows
    gram += np.diag(np.where(np.diag(gram) > 0, 1e-10 * np.diag(gram), 1.0))
    weights = np.linalg.solve(gram, rows.T @ values.reshape(-1, values.shape[-1]))
    return np.asarray(features @ weights)


def _share_left(features: Floats, values: Floats) -> float:
    """Compute the share of values' mean square that features leave."""
    left = values - _expected(features, values)
    return float(np.mean(left**2) / max(float(np.mean(values**2)), 1e-300))
