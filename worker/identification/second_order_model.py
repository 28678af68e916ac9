"""The identified model of second order in the data's own units: dx = v dt, dv = F dt + σ dW."""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from worker.identification.component_fit import component_of, known_velocity
from worker.identification.data.library import Library
from worker.identification.data.preconditions import check_independent, check_unwrapped
from worker.identification.data.trajectories import Trajectories
from worker.identification.data.windows import measure_space
from worker.identification.errors import (
    DimensionNotSupported,
    InvalidLibrary,
    NoCorrelationTime,
    NotSecondOrder,
)
from worker.identification.estimation.setup import Settings, constraints_of, given_noise_of
from worker.identification.findings.constraints import contradicted, restrictions_contradicted
from worker.identification.findings.finding import Finding
from worker.identification.findings.measurement import errors_averaged
from worker.identification.findings.second_order import (
    REJECTED,
    REMEMBERED,
    about_coarse,
    about_velocities,
    is_of_second_order,
    second_order_findings,
)
from worker.identification.identified_model import (
    N_DRAWS,
    Bounds,
    ColouredNoiseFit,
    IdentifiedModel,
)
from worker.identification.model_sampling import DrawnModels, draw_models
from worker.identification.second_order.coarse_fit import fit_coarse
from worker.identification.second_order.coloured_noise import (
    ColouredNoise,
    coloured_noise,
    restricted,
)
from worker.identification.second_order.equations import overlap
from worker.identification.second_order.estimator import (
    SecondOrderFit,
    SecondOrderProblem,
    fit,
)
from worker.identification.second_order.linear.fit import polish_linear
from worker.identification.second_order.linear.frame import may_fit_linear
from worker.identification.second_order.phase_space import (
    PhaseSpace,
    force_library,
    measure_phase_space,
    unwrapped,
)
from worker.identification.second_order.polishing import may_polish, polish
from worker.identification.sums.block_sums import Summing, sums_here
from worker.identification.sums.window_products import Pair
from worker.identification.symbolic_process import SymbolicProcess
from worker.identification.symbolic_system import Field, SymbolicSystem, field_from_internal
from worker.progress import Report, creeping

Floats = NDArray[np.float64]

SAMPLES_OF_VELOCITIES = 20_000
"""Samples from which mean friction and memory of the velocities are computed."""

UNLIKE = 0.25
"""Mean square of the difference of a force from that of coloured noise, in its own, from which it
is another one."""

NEARLY_BLUR = (
    "Neighbouring increments are correlated, by a velocity that is forgotten within about one "
    "sampling interval, or nearly as well by motion blur. Set parameters.dynamics to second-order "
    "for a linear force on this velocity."
)
"""What is said of a record that `second-order` answers, and `auto` in first order."""

UNDETERMINED = 0.5
"""Relative standard error of the noise's correlation rate from which there is none."""


def second_order_model(
    data: Trajectories,
    settings: Settings,
    report: Report,
    summing: Summing = sums_here,
    *,
    doubted: bool = False,
) -> IdentifiedModel:
    """Identify force and diffusion of the velocities from positions. Raises IdentificationError.

    Velocities that the closed form does not resolve are left to the likelihood of a linear force.

    Parameters
    ----------
    data : positions
    settings : settings of the identification
    report : receives the progress
    summing : takes the sums over all the data, here or in several processes, with the same result
        to the last bit
    doubted : whether increments look like those of first order, so that only the likelihood may
        tell otherwise
    """
    problem = second_order_problem(data, settings, report, summing)
    positions, space, library = problem.space.positions, problem.space, problem.library
    found, about = _fitted(problem, settings, doubted=doubted)
    noise = coloured_noise(problem, found) if data.dimension == 1 and found.shape.half else None
    if settings.dynamics == "coloured-noise":
        noise = _checked(noise, data.dimension)
        found = _of_coloured_noise(problem, found, noise)
    d, names = space.dimension, space.names
    component = partial(
        component_of, coarse=None, library=library, method=settings.criterion.method, order=1
    )
    bounds = tuple(settings.bounds.get(name, (-np.inf, np.inf)) for name in names)
    to_force, to_diffusion = space.to_force, space.to_diffusion
    variances = found.kicks.noise * positions.units**2
    residuals = {names[d + i]: found.residuals.apart(i, 2 * found.shape.half) for i in range(d)}
    return IdentifiedModel(
        drift={
            **{names[i]: known_velocity(names[d + i]) for i in range(d)},
            **{
                names[d + i]: component(found.force[i], factor=float(to_force[i])) for i in range(d)
            },
        },
        diffusion={
            f"{names[d + p]},{names[d + q]}": component(selected, factor=float(to_diffusion[p, q]))
            for (p, q), selected in found.diffusion.items()
        },
        process=_process(
            space,
            library,
            np.stack([s.estimate.internal for s in found.force]),
            {pair: s.estimate.internal for pair, s in found.diffusion.items()},
            bounds,
        ),
        draws=_draws(space, library, found, bounds, settings.seed),
        findings=(
            *about,
            *contradicted(
                [
                    *(
                        (f"drift {names[d + i]}", found.force[i], float(to_force[i]))
                        for i in range(d)
                    ),
                    *(
                        (
                            f"diffusion {names[d + p]},{names[d + q]}",
                            a,
                            float(to_diffusion[p, q]),
                        )
                        for (p, q), a in found.diffusion.items()
                    ),
                ],
                library,
            ),
            *restrictions_contradicted(found.restrictions),
            *(errors_averaged(problem.given_noise) if problem.given_noise else ()),
            *second_order_findings(
                found, problem, noise, residuals, restricted=settings.dynamics == "coloured-noise"
            ),
        ),
        residuals=residuals,
        noise_variances=None
        if settings.measurement_noise == "none"
        else dict(zip(names[:d], variances.tolist(), strict=True)),
        condition=found.condition,
        coverage=None,
        restrictions=found.restrictions,
        space=space.state,
        rule="trapezoid",
        order=2,
        coloured_noise=_in_units(noise, found, space, settings)
        if noise is not None and settings.dynamics == "coloured-noise"
        else None,
    )


def _fitted(
    problem: SecondOrderProblem, settings: Settings, *, doubted: bool
) -> tuple[SecondOrderFit, tuple[Finding, ...]]:
    """Fit by the closed form and the likelihood, and say what the record tells of velocities."""
    found = fit(problem)
    memory = _memory(problem, found)
    about = tuple(about_velocities(_friction(problem, found), memory))
    if settings.dynamics != "coloured-noise" and (doubted or memory < REMEMBERED):
        linear = may_fit_linear(problem) and problem.given_noise is None
        coarse = fit_coarse(problem) if linear else None
        if coarse is not None:
            friction, auto = _friction(problem, coarse.fit), settings.dynamics == "auto"
            if is_of_second_order(coarse, friction, strict=auto):
                return coarse.fit, tuple(about_coarse(coarse, problem, memory))
            if auto and is_of_second_order(coarse, friction, strict=False):
                raise NotSecondOrder(NEARLY_BLUR)
    if doubted or (about and settings.dynamics == "auto"):
        raise NotSecondOrder(about[0].message if about else "The record shows no velocity.")
    if may_polish(problem):
        found = polish(problem, found)
    elif problem.space.dimension > 1 and may_fit_linear(problem):
        found = polish_linear(problem, found)
    return found, about


def second_order_problem(
    data: Trajectories, settings: Settings, report: Report, summing: Summing = sums_here
) -> SecondOrderProblem:
    """Make scales and library for these positions. Raises IdentificationError.

    Parameters
    ----------
    data : positions
    settings : settings of the identification
    report : receives the progress
    summing : takes the sums over all the data
    """
    check_independent(data)
    positions = measure_space(data, settings.periods_in(data.dimension))
    check_unwrapped(data, positions)
    report(0.15, "identifying", "summing over the windows")
    space = measure_phase_space(data, positions)
    library = force_library(
        space, settings.polynomial_degree, settings.fourier_harmonics, settings.candidates
    )
    if settings.noise_errors is not None and not holds_noise(data, settings):
        raise InvalidLibrary(
            "Of second-order dynamics in several coordinates measurement noise is estimated, and "
            "not held.",
            hints=("Leave parameters.measurement_noise out.",),
        )
    return SecondOrderProblem(
        data,
        space,
        library,
        settings.criterion,
        settings.diffusion_degree,
        settings.measurement_noise,
        creeping(report),
        summing,
        constraints_of(settings, library, space.to_force, space.to_diffusion, space.dimension),
        given_noise_of(data, settings, positions) if holds_noise(data, settings) else None,
    )


def holds_noise(data: Trajectories, settings: Settings) -> bool:
    """Check whether measurement noise that is known is held: in one coordinate."""
    return data.dimension == 1 and settings.dynamics != "coloured-noise"


def _checked(noise: ColouredNoise | None, dimension: int) -> ColouredNoise:
    """Return the noise. Raises DimensionNotSupported, NoCorrelationTime."""
    if dimension > 1:
        raise DimensionNotSupported(
            f"Coloured noise is fitted in one variable, and the dataset has {dimension}.",
            hints=("Name one column in layout.state_columns, or set dynamics to second-order.",),
        )
    if noise is None or noise.rate_error > UNDETERMINED * noise.rate:
        raise NoCorrelationTime(
            "No correlation time of the noise is determined: the record fits noise that is white "
            "at this sampling interval, or that lasts as long as the record.",
            hints=("Set parameters.dynamics to first-order, or to second-order.",),
        )
    return noise


def _of_coloured_noise(
    problem: SecondOrderProblem, found: SecondOrderFit, noise: ColouredNoise
) -> SecondOrderFit:
    """Restrict the force to that of coloured noise. Raises NoCorrelationTime.

    No f and no correlation time have the force of an oscillator, whose rates are not real: the
    nearest f was larger than its motion.
    """
    forced = restricted(problem, found, noise)
    states = in_phase_space(
        problem.data, problem.space.state.periods, most=SAMPLES_OF_VELOCITIES
    ).states
    free, other = (
        _process_of_force(problem, each).drift(np.ascontiguousarray(states))[:, 1]
        for each in (found, forced)
    )
    if noise.p_value < REJECTED and np.mean((free - other) ** 2) > UNLIKE * np.mean(free**2):
        raise NoCorrelationTime(
            "The force is not that of coloured noise: with the nearest f and correlation time it "
            "is another one, as of an oscillator, whose two rates are not real. The record has no "
            "correlation time of the noise.",
            hints=("Set parameters.dynamics to second-order.",),
        )
    return forced


def _in_units(
    noise: ColouredNoise, found: SecondOrderFit, space: PhaseSpace, settings: Settings
) -> ColouredNoiseFit:
    """Put f, the correlation time and the strength of the noise into the data's units."""
    time, unit = space.positions.time, float(space.positions.units[0])
    diffusion = float(found.kicks.diffusion[0, 0])
    error = _error_of_mean(found)
    share = noise.rate_error / noise.rate
    drift = component_of(
        noise.drift, None, noise.library, settings.criterion.method, 1, unit / time
    )
    strength = diffusion / noise.rate**2 * unit**2 / time
    return ColouredNoiseFit(
        drift,
        (time / noise.rate, time / noise.rate * share),
        (strength, strength * float(np.hypot(2 * share, error / diffusion))),
        noise.p_value,
    )


def _error_of_mean(found: SecondOrderFit) -> float:
    """Return the standard error of the mean diffusion, from the scatter of the residuals."""
    n = max(float(found.residuals.moments[0, 0]), 1.0)
    return float(found.kicks.diffusion[0, 0] * np.sqrt(2 * overlap(found.residuals) / n))


def _process(
    space: PhaseSpace,
    library: Library,
    force: Floats,
    diffusion: dict[Pair, Floats],
    bounds: Bounds,
) -> SymbolicSystem:
    """Make the process of positions and velocities.

    Parameters
    ----------
    space, library : units and terms
    force : (d, J) internal coefficients of the force
    diffusion : internal coefficients (J,) of the diffusion by pair of velocities
    bounds : ends of positions and velocities [data's units]
    """
    d, names = space.dimension, space.names
    field = partial(field_from_internal, library)
    # The velocity is an internal function: T_1 of its coordinate.
    drift: list[Field] = []
    for i in range(d):
        along = np.zeros(library.internal_size)
        exponents = tuple(int(k == d + i) for k in range(2 * d))
        along[library.internal_exponents.index(exponents)] = 1.0
        drift.append(field(along, space.velocities[i].unit))
    drift += [field(f, float(u)) for f, u in zip(force, space.to_force, strict=True)]
    nothing = field(np.zeros(library.internal_size), 1.0)
    tensor = [[nothing] * (2 * d) for _ in names]
    for (p, q), a in diffusion.items():
        tensor[d + p][d + q] = tensor[d + q][d + p] = field(a, float(space.to_diffusion[p, q]))
    return SymbolicSystem(tuple(drift), tuple(map(tuple, tensor)), bounds, space.state.periods)


def _draws(
    space: PhaseSpace, library: Library, found: SecondOrderFit, bounds: Bounds, seed: int
) -> DrawnModels[SymbolicProcess | SymbolicSystem]:
    """Draw models around the estimate; see `model_sampling.draw_models`."""
    d, pairs = space.dimension, list(found.diffusion)
    components = [*found.force, *found.diffusion.values()]
    drawn, supports = draw_models(components, N_DRAWS, seed)
    centre = np.stack([c.estimate.internal for c in components])

    def process_at(coefficients: Floats) -> SymbolicSystem:
        rows = coefficients.reshape(centre.shape)
        return _process(space, library, rows[:d], dict(zip(pairs, rows[d:], strict=True)), bounds)

    return DrawnModels(drawn.reshape(N_DRAWS, -1), centre.ravel(), supports, process_at)


def _process_of_force(problem: SecondOrderProblem, found: SecondOrderFit) -> SymbolicSystem:
    """Make the process of positions and velocities without noise."""
    open_ends = ((-np.inf, np.inf),) * (2 * problem.space.dimension)
    force = np.stack([s.estimate.internal for s in found.force])
    return _process(problem.space, problem.library, force, {}, open_ends)


def _friction(problem: SecondOrderProblem, found: SecondOrderFit) -> Floats:
    """Compute the mean of −∂F/∂v of every coordinate over the record; (d,) [1/time]."""
    space, d = problem.space, problem.space.dimension
    process = _process_of_force(problem, found)
    states = in_phase_space(problem.data, space.state.periods, most=SAMPLES_OF_VELOCITIES).states
    slopes = process.drift_jacobian(np.ascontiguousarray(states))
    return np.array([-float(slopes[:, d + i, d + i].mean()) for i in range(d)])


def _memory(problem: SecondOrderProblem, found: SecondOrderFit) -> float:
    """Compute the least correlation of neighbouring mean velocities, without the noise's share."""
    space, taken = problem.space, 0
    sums = np.zeros((4, space.dimension))
    for start, stop, _ in problem.data.segments.tolist():
        last = min(stop, start + SAMPLES_OF_VELOCITIES)
        if last - start < 3 or taken > SAMPLES_OF_VELOCITIES:
            continue
        states = np.asarray(problem.data.states[start:last], dtype=np.float64)
        y = unwrapped(states, space.positions.periods) / space.positions.units
        h = np.diff(np.asarray(problem.data.times[start:last])) / space.positions.time
        u = np.diff(y, axis=0) / h[:, None]
        sums += [
            (u[1:] ** 2 + u[:-1] ** 2).sum(axis=0) / 2,
            (u[1:] * u[:-1]).sum(axis=0),
            np.full(space.dimension, (1 / h[1:] ** 2 + 1 / h[:-1] ** 2).sum()),
            np.full(space.dimension, (1 / (h[1:] * h[:-1])).sum()),
        ]
        taken += last - start
    noise = found.kicks.noise
    square = sums[0] - noise * sums[2]
    return float(np.min((sums[1] + noise * sums[3]) / np.where(square > 0, square, np.inf)))


def in_phase_space(
    data: Trajectories,
    periods: tuple[float | None, ...],
    columns: tuple[int, ...] = (),
    most: int = 2_000_000,
) -> Trajectories:
    """Add velocities to positions: central secants, for what is drawn and compared.

    Parameters
    ----------
    data : positions; velocities with them, if these were recorded
    periods : period of each variable that is an angle [state], else None; those of velocities too
    columns : columns of positions and of their velocities, if these were recorded
    most : samples of the record that are used at most, in stretches spread over it
    """
    if columns and columns == tuple(range(data.dimension)):
        return data
    total = int((data.segments[:, 1] - data.segments[:, 0]).sum())
    every, size, taken = max(1, -(-total // most)), 16_384, 0
    states, times, segments = [], [], []
    for start, stop, trajectory in data.segments.tolist():
        for first in range(start, stop, size * every):
            last = min(first + (size if every > 1 else stop), stop)
            if last - first < 3:
                continue
            x = np.asarray(data.states[first:last], dtype=np.float64)
            t = np.asarray(data.times[first:last], dtype=np.float64)
            if columns:
                x = x[:, columns]
            else:
                turned = unwrapped(x, periods[: x.shape[1]])
                v = (turned[2:] - turned[:-2]) / (t[2:] - t[:-2])[:, None]
                x, t = np.column_stack([x[1:-1], v]), t[1:-1]
            states.append(x)
            times.append(t)
            segments.append((taken, taken + len(x), trajectory))
            taken += len(x)
    return Trajectories(
        np.concatenate(states), np.concatenate(times), np.array(segments, dtype=np.int64)
    )
