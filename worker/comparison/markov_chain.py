"""Chain on even nodes for one coordinate: transition probabilities over any lag; equation (C1)."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import expm

from worker.comparison.lagged_pairs import on_even_nodes
from worker.generator.process import DiffusionProcess

Floats = NDArray[np.float64]

NODES = 240


@dataclass(frozen=True, slots=True, eq=False)
class BirthDeathChain:
    """Birth-and-death chain with the drift b and the diffusion a.

    nodes        (m,) even [state]; of a circle one turn, the first not repeated
    generator    (m, m) acts on functions of the nodes [1/time]
    period       of a circle [state]
    """

    nodes: Floats
    generator: Floats
    period: float | None
    _powers: dict[float, Floats] = field(default_factory=dict, repr=False)

    def transitions(self, time: float) -> Floats:
        """Return (m, m) transition probabilities, by squaring where half the time is known."""
        if time not in self._powers:
            half = self._powers.get(time / 2)
            self._powers[time] = expm(self.generator * time) if half is None else half @ half
        return self._powers[time]

    def at(self, table: Floats, x: Floats) -> Floats:
        """Interpolate functions given on the nodes (m, q) at states (n,): (n, q)."""
        step = self.nodes[1] - self.nodes[0]
        if self.period is not None:
            table = np.vstack([table, table[:1]])
            x = self.nodes[0] + np.mod(x - self.nodes[0], self.period)
        return np.asarray(
            on_even_nodes(
                np.ascontiguousarray(table), self.nodes[0], 1 / step, np.ascontiguousarray(x)
            )
        )

    def curvature(self, table: Floats) -> Floats:
        """Return the second derivative of functions on the nodes (m, q), at the nodes."""
        step = self.nodes[1] - self.nodes[0]
        if self.period is not None:
            return np.asarray(
                (np.roll(table, -1, axis=0) - 2 * table + np.roll(table, 1, axis=0)) / step**2
            )
        inner = (table[2:] - 2 * table[1:-1] + table[:-2]) / step**2
        return np.vstack([inner[:1], inner, inner[-1:]])


def birth_death_chain(process: DiffusionProcess, low: float, high: float) -> BirthDeathChain | None:
    """Return the chain on [low, high], reflected at both ends; on the whole circle for an angle.

    Rates up and down are ½a/h² ± ½b/h, which give drift and diffusion without an error where |b| h
    ≤ a; elsewhere, near an end where a vanishes, diffusion of |b| h is added. Return None where b
    or a is not finite at some node.

    Parameters
    ----------
    process : process of one coordinate
    low, high : ends of the interval [state]
    """
    period = process.periods[0]
    if period is not None:
        nodes = low + period * np.arange(NODES) / NODES
        step = period / NODES
    else:
        nodes = np.linspace(low, high, NODES)
        step = nodes[1] - nodes[0]
    with np.errstate(all="ignore"):
        b = process.drift(nodes[:, None])[:, 0]
        a = process.diffusion(nodes[:, None])[:, 0, 0].clip(min=0)
    if not (np.isfinite(b).all() and np.isfinite(a).all()):
        return None
    a = np.maximum(a, np.abs(b) * step)
    up, down = (a / step + b) / (2 * step), (a / step - b) / (2 * step)
    index = np.arange(NODES)
    generator = np.zeros((NODES, NODES))
    if period is not None:
        generator[index, (index + 1) % NODES] += up
        generator[index, (index - 1) % NODES] += down
    else:
        # A path that would step over the end is reflected: to the node inside.
        up[0], down[0] = up[0] + down[0], 0.0
        up[-1], down[-1] = 0.0, up[-1] + down[-1]
        generator[index[:-1], index[1:]] = up[:-1]
        generator[index[1:], index[:-1]] = down[1:]
    generator[index, index] = -generator.sum(axis=1)
    return BirthDeathChain(nodes, generator, period)
