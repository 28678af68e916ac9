"""One coordinate as a chain on even nodes, whose transition probabilities over any lag are a small matrix; equation (C1)."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import expm

from worker.comparison.lagged_pairs import on_even_nodes
from worker.generator.process import DiffusionProcess

Floats = NDArray[np.float64]

NODES = 240


@dataclass(frozen=True, slots=True, eq=False)
class Chain:
    """The generator of a birth-and-death chain that has b and a for drift and noise.

    nodes        (m,) even [state]; of a circle one turn, the first not repeated
    generator    (m, m) acts on functions of the nodes [1/time]
    period       of a circle [state]
    """

    nodes: Floats
    generator: Floats
    period: float | None
    _powers: dict[float, Floats] = field(default_factory=dict, repr=False)

    def transitions(self, time: float) -> Floats:
        """(m, m) probabilities to go from node to node within that time; where half of it is known, by squaring."""
        if time not in self._powers:
            half = self._powers.get(time / 2)
            self._powers[time] = expm(self.generator * time) if half is None else half @ half
        return self._powers[time]

    def at(self, table: Floats, x: Floats) -> Floats:
        """Functions given on the nodes (m, q) at states (n,): (n, q)."""
        step = self.nodes[1] - self.nodes[0]
        if self.period is not None:
            table, x = (
                np.vstack([table, table[:1]]),
                self.nodes[0] + np.mod(x - self.nodes[0], self.period),
            )
        return np.asarray(
            on_even_nodes(
                np.ascontiguousarray(table), self.nodes[0], 1 / step, np.ascontiguousarray(x)
            )
        )

    def curvature(self, table: Floats) -> Floats:
        """Second derivative of functions on the nodes (m, q), at the nodes."""
        step = self.nodes[1] - self.nodes[0]
        if self.period is not None:
            return np.asarray(
                (np.roll(table, -1, axis=0) - 2 * table + np.roll(table, 1, axis=0)) / step**2
            )
        inner = (table[2:] - 2 * table[1:-1] + table[:-2]) / step**2
        return np.vstack([inner[:1], inner, inner[-1:]])


def chain_of(process: DiffusionProcess, low: float, high: float) -> Chain | None:
    """The chain on [low, high], which turns back at both ends; all the way round where the coordinate is an angle.

    Rates up and down are ½a/h² ± ½b/h, which give drift and noise without an error where |b| h ≤ a; elsewhere, near an end
    where a vanishes, noise of |b| h is added. None where b or a is not finite at some node.
    """
    period = process.periods[0]
    if period is not None:
        nodes = low + period * np.arange(NODES) / NODES
        step = period / NODES
    else:
        nodes = np.linspace(low, high, NODES)
        step = nodes[1] - nodes[0]
    with np.errstate(all="ignore"):
        b, a = (
            process.drift(nodes[:, None])[:, 0],
            process.diffusion(nodes[:, None])[:, 0, 0].clip(min=0),
        )
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
    return Chain(nodes, generator, period)
