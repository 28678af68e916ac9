"""Conditional moments g(X_t) → E[g(X_{t+τ}) | X_t] of the model: line, circle, plane, linear."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import expm
from scipy.sparse import csr_array
from scipy.sparse.linalg import expm_multiply

from worker.generator.linear.process import LinearProcess
from worker.generator.plane.finite_volumes import Coefficients, generator_matrix
from worker.generator.plane.grid import Grid
from worker.generator.plane.grid_refinement import Solution
from worker.generator.process import DiffusionProcess
from worker.identification.data.compiled import compiled

Floats = NDArray[np.float64]

NODES = 240
"""Number of nodes of a chain on the line."""
CELLS = 36
"""Number of cells along each axis of the plane."""
AROUND = 8
"""Cells by which a circle is continued, so that splines are smooth where it is cut."""


@compiled
def on_even_nodes(table: Floats, first: float, inverse_step: float, x: Floats) -> Floats:
    """Interpolate linearly on even nodes; beyond the ends, the end's value holds.

    Parameters
    ----------
    table : (m, q) values on the nodes
    first : first node [state]
    inverse_step : reciprocal distance of nodes [1/state]
    x : (n,) places [state]

    Returns
    -------
    the values (n, q)
    """
    out = np.empty((x.shape[0], table.shape[1]))
    last = table.shape[0] - 2
    for k in range(x.shape[0]):
        position = min(max((x[k] - first) * inverse_step, 0.0), last + 1.0)
        cell = min(int(position), last)
        part = position - cell
        for i in range(table.shape[1]):
            out[k, i] = table[cell, i] + part * (table[cell + 1, i] - table[cell, i])
    return out


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
        table, x = np.ascontiguousarray(table), np.ascontiguousarray(x)
        return np.asarray(on_even_nodes(table, self.nodes[0], 1 / step, x))

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


@dataclass(frozen=True, slots=True, eq=False)
class Observable:
    """Observable g of a variable: (z, z²), z = (x − middle)/deviation, or (cos, sin) of an angle.

    middle      value at which z is 0 [state]
    deviation   unit of z [state]
    period      of an angle [state]; None: no angle
    noise       variance of the measurement noise [state²]
    """

    middle: float
    deviation: float
    period: float | None = None
    noise: float = 0.0

    def values(self, x: Floats) -> Floats:
        """Return g (n, 2) at states x (n,)."""
        if self.period is not None:
            phase = 2 * np.pi / self.period * x
            return np.stack([np.cos(phase), np.sin(phase)], axis=1)
        z = (x - self.middle) / self.deviation
        return np.stack([z, z * z], axis=1)


class Prediction:
    """Expected changes of g for every variable.

    observables   observables of the variables, in their order
    """

    observables: tuple[Observable, ...]

    def covers(self, states: Floats) -> NDArray[np.bool_] | None:
        """Return (n,) flags of the states for which the model predicts; None: all."""
        return None

    def increments(self, variable: int, states: Floats, time: float) -> Floats:
        """Return E[g(X_{t+time}) − g(X_t)] given the states (n, d) at t: (n, 2).

        Where the states hold measurement noise, return the function whose expectation over the
        noise is that.
        """
        raise NotImplementedError


@dataclass(frozen=True, slots=True, eq=False)
class ChainPrediction(Prediction):
    """Prediction of one variable by a birth-and-death chain."""

    chain: BirthDeathChain
    observables: tuple[Observable, ...]

    def increments(self, variable: int, states: Floats, time: float) -> Floats:
        """Return the expected change on the nodes, interpolated at the states."""
        (observable,) = self.observables
        g = observable.values(self.chain.nodes)
        change = self.chain.transitions(time) @ g - g
        if observable.noise:
            change = change - observable.noise / 2 * self.chain.curvature(change)
        return self.chain.at(change, states[:, 0])


@dataclass(frozen=True, slots=True, eq=False)
class LinearPrediction(Prediction):
    """Prediction of a linear process in closed form.

    X_{t+τ} given X_t is Gaussian with mean m + e^{Jτ}(X_t − m) and covariance S − e^{Jτ} S e^{Jτ}ᵀ.
    """

    process: LinearProcess
    covariance: Floats
    observables: tuple[Observable, ...]

    def increments(self, variable: int, states: Floats, time: float) -> Floats:
        """Return the change of the Gaussian's two moments, less the share of the noise."""
        observable, row = self.observables[variable], expm(self.process.jacobian * time)[variable]
        mean = self.process.mean
        ahead = (mean[variable] + (states - mean) @ row - observable.middle) / observable.deviation
        here = (states[:, variable] - observable.middle) / observable.deviation
        spread = self.covariance[variable, variable] - row @ self.covariance @ row
        noise = np.array([m.noise for m in self.observables])
        constant = (spread - row**2 @ noise + noise[variable]) / observable.deviation**2
        return np.stack([ahead - here, ahead**2 + constant - here**2], axis=1)


@dataclass(frozen=True, eq=False)
class PlanePrediction(Prediction):
    """Prediction by the generator on cells.

    solution    chart, box and schemes of the fluxes
    grid        cells of the box
    generator   (n, n) acts on functions of the cells [1/time]
    observables    observables of the two variables
    """

    solution: Solution
    grid: Grid
    generator: csr_array
    observables: tuple[Observable, ...]
    _expected: dict[float, Floats] = field(default_factory=dict, repr=False)

    def covers(self, states: Floats) -> NDArray[np.bool_]:
        """Return (n,) flags of the states inside the box."""
        u = self._coordinates(states)
        inside = np.full(len(u), True)
        for k, axis in enumerate(self.grid.axes):
            inside &= (u[:, k] >= axis.edges[0]) & (u[:, k] <= axis.edges[-1])
        return inside

    def increments(self, variable: int, states: Floats, time: float) -> Floats:
        """Return (C1), corrected for noise by second differences over an eighth of a deviation."""
        start = self._at_cells()
        change = self._after(time) - start
        columns = change[:, 2 * variable : 2 * variable + 2]
        out = self._interpolated(columns, states)
        correction = np.zeros_like(out)
        for k, observable in enumerate(self.observables):
            if observable.noise:
                shift = np.zeros(states.shape[1])
                shift[k] = observable.deviation / 8
                around = self._interpolated(columns, states + shift) + self._interpolated(
                    columns, states - shift
                )
                correction += observable.noise / 2 * (around - 2 * out) / shift[k] ** 2
        return out - correction

    def _at_cells(self) -> Floats:
        x = self.solution.box.chart.state(self.grid.centres)
        return np.concatenate(
            [observable.values(x[:, k]) for k, observable in enumerate(self.observables)], axis=1
        )

    def _after(self, time: float) -> Floats:
        if time not in self._expected:
            earlier = max((t for t in self._expected if t < time), default=0.0)
            begin = self._expected[earlier] if earlier else self._at_cells()
            self._expected[time] = np.asarray(
                expm_multiply(self.generator * (time - earlier), begin)
            )
        return self._expected[time]

    def _interpolated(self, columns: Floats, states: Floats) -> Floats:
        # The import is a twentieth of a worker's start and serves planes alone.
        from scipy.ndimage import map_coordinates

        u = self._coordinates(states)
        index, around = [], []
        for k, axis in enumerate(self.grid.axes):
            centres = axis.centres
            wrapped = AROUND if axis.circle else 0
            if axis.circle:
                turn = axis.edges[-1] - axis.edges[0]
                centres = np.concatenate(
                    [centres[-AROUND:] - turn, centres, centres[:AROUND] + turn]
                )
            index.append(np.interp(u[:, k], centres, np.arange(len(centres), dtype=np.float64)))
            around.append((wrapped, wrapped))
        tables = (
            np.pad(column.reshape(self.grid.shape), around, mode="wrap") for column in columns.T
        )
        return np.stack(
            [map_coordinates(table, np.array(index), order=3, mode="nearest") for table in tables],
            axis=1,
        )

    def _coordinates(self, states: Floats) -> Floats:
        u = self.solution.box.chart.coordinates(states)
        for k, axis in enumerate(self.grid.axes):
            if axis.circle:
                low, high = axis.edges[0], axis.edges[-1]
                u[:, k] = low + np.mod(u[:, k] - low, high - low)
        return u


def plane_prediction(solution: Solution, observables: tuple[Observable, ...]) -> PlanePrediction:
    """Return the prediction of a solved model, whose transposed generator acts on functions."""
    grid = solution.box.grid(CELLS)
    matrix = generator_matrix(grid, Coefficients.of(solution.box.chart, grid), solution.schemes)
    return PlanePrediction(solution, grid, csr_array(matrix.T), observables)
