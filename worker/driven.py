"""What inputs and forcing do to an identified model: its frozen values, its cycle, its response."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import lcm

import numpy as np
from numpy.typing import NDArray

from worker.forced_line import ForcedPassage, forced_line, forced_passages
from worker.generator.linear.forced_cycle import (
    Cycle,
    cycle_mean,
    forced_cycle,
    multipliers_of,
    response,
    step_times,
)
from worker.identification.identified_model import Driving, IdentifiedModel

Floats = NDArray[np.float64]

STEPS_A_HARMONIC, FEWEST_STEPS, MOST_STEPS = 32, 96, 2048
"""Steps in the period of the fastest harmonic, and in a cycle. The mean's error is then 1e-7."""

PHASES = 24
"""Times of a period at which mean and covariance are given."""

DRAWS, DRAWS_OF_CYCLES = 4000, 200
"""Sampled models by which the response is given an interval; where terms multiply the forcing by
states, each takes a cycle."""

LARGEST_RATIO = 24
"""Largest whole number in the ratio of periods that have a common one."""

MOST_VARIABLES = 6


@dataclass(frozen=True, slots=True)
class Response:
    """Response of a variable to the forcing at a frequency, equation (M68).

    period      period of the harmonic [time]
    variable    number of the variable
    amplitude   amplitude of its mean [state], and its interval
    gain        amplitude over that of the force in the drift [time], and its interval
    lag         angle by which the mean lags behind the force [rad], and its interval
    """

    period: float
    variable: int
    amplitude: tuple[float, tuple[float, float] | None]
    gain: tuple[float, tuple[float, float] | None]
    lag: tuple[float, tuple[float, float] | None]


@dataclass(frozen=True, slots=True, eq=False)
class Driven:
    """What drives a model, and what that does.

    periodic    whether there is periodic forcing
    period      period of the cycle [time]; None without
    times       (n,) times of the cycle, from t = 0 [time]
    cycle       mean and covariance at these times
    responses   response of each variable at each frequency of the forcing
    passages    first passages of one variable, by starting phase
    reason      why there is no cycle, though there is forcing; None where there is one
    """

    periodic: bool
    period: float | None = None
    times: Floats | None = None
    cycle: Cycle | None = None
    responses: tuple[Response, ...] = ()
    passages: tuple[ForcedPassage, ...] = ()
    reason: str | None = None


def driven_of(
    model: IdentifiedModel, confidence: float, passages: Sequence[tuple[float, float]] = ()
) -> Driven | None:
    """Return what drives a model; None where nothing does.

    Parameters
    ----------
    model : identified model
    confidence : coverage of the intervals
    passages : starts and targets of the first passages of one variable [state]
    """
    driving = model.driving
    if driving is None:
        return None
    forcing = driving.forcing
    found = Driven(bool(forcing.periods))
    if not forcing.periods:
        return found
    period = _common_period(forcing.periods)
    if period is None:
        reason = "The periods of the forcing have no common one, so that there is no cycle"
        return replace(found, reason=reason)
    times = np.asarray(period / PHASES * np.arange(PHASES), dtype=np.float64)
    found = replace(found, period=period, times=times)
    if model.process.dimension == 1 and model.process.periods[0] is None:
        line = forced_line(driving, model.process.domain[0], period)
        timed = forced_passages(line, passages, PHASES, confidence)
        found = replace(found, passages=timed)
    return _with_cycle(found, driving, period, confidence)


def _with_cycle(found: Driven, driving: Driving, period: float, confidence: float) -> Driven:
    """Add the cycle of a linear model and its response, or why there is none."""
    reason = _not_linear(driving)
    if reason is not None:
        return replace(found, reason=reason)
    forcing, linear = driving.forcing, _Linear(driving)
    changing = linear.jacobian_changes
    fastest = period * max(forcing.frequencies) / (2 * np.pi)
    n_steps = int(min(max(FEWEST_STEPS, STEPS_A_HARMONIC * fastest), MOST_STEPS))
    n_steps = PHASES * -(-n_steps // PHASES)
    times = step_times(period, n_steps)
    drift, tensor = driving.drift, driving.tensor
    cycle = forced_cycle(period, *linear.drift_at(drift, times), linear.noise_at(tensor, times))
    if cycle is None:
        size = float(np.abs(multipliers_of(period, linear.drift_at(drift, times)[0])[0]))
        return replace(
            found,
            reason="The forced model is unstable: deviations from its cycle change by a factor of "
            f"{size:.3g} in a period",
        )
    every = n_steps // PHASES
    shown = Cycle(cycle.mean[::every], cycle.covariance[::every], cycle.multipliers)
    rows = driving.draws[: DRAWS_OF_CYCLES if changing else DRAWS]
    responses = _responses(linear, drift, rows, confidence, (period, n_steps) if changing else None)
    return replace(found, cycle=shown, responses=responses)


def _not_linear(driving: Driving) -> str | None:
    """Return why a model is not linear with noise that is the same in all states; None if it is."""
    library, d = driving.library, driving.dimension
    if d > MOST_VARIABLES:
        return f"The cycle is computed for {MOST_VARIABLES} variables at most"
    for terms, degree, what in (
        (driving.drift_terms, 1, "drift"),
        (driving.diffusion_terms, 0, "diffusion"),
    ):
        for k in terms:
            e = library.exponents[k]
            if e is None or sum(e[:d]) > degree:
                return (
                    f"The cycle is computed for models with a drift that is linear in the states "
                    f"and a diffusion that does not depend on them; the {what} has the term "
                    f"{library.names[k]}"
                )
    return None


def _common_period(periods: tuple[float, ...]) -> float | None:
    """Return the least common multiple of periods; None where their ratios are no small numbers."""
    ratios = [Fraction(p / periods[0]).limit_denominator(LARGEST_RATIO) for p in periods]
    for ratio, period in zip(ratios, periods, strict=True):
        if not ratio or abs(float(ratio) * periods[0] - period) > 1e-9 * period:
            return None
    denominator = lcm(*(r.denominator for r in ratios))
    numerator = lcm(*(int(r * denominator) for r in ratios))
    multiple = Fraction(numerator, denominator)
    return None if multiple > LARGEST_RATIO * max(ratios) else float(multiple) * periods[0]


class _Linear:
    """Jacobian, push and noise of a linear model at any time, from internal coefficients."""

    def __init__(self, driving: Driving) -> None:
        self.driving = driving
        self._d = driving.dimension
        library, d = driving.library, self._d
        self.waves = np.array([name in driving.forcing.waves for name in driving.names])
        self.jacobian_changes = any(
            e is not None and sum(e[:d]) and any(np.array(e[d:])[self.waves])
            for e in (library.exponents[k] for k in driving.drift_terms)
        )

    def _functions(self, x: Floats, waves: Floats) -> Floats:
        """Evaluate the internal functions at a state (d,) and values of the forcing (n, m)."""
        driving = self.driving
        rows = np.tile(np.append(x, np.array(driving.frozen)), (len(waves), 1))
        rows[:, self._d + np.flatnonzero(self.waves)] = waves
        origins, units = np.array(driving.library.origins), np.array(driving.library.units)
        return driving.library.internal((rows - origins) / units)

    def _waves_at(self, times: Floats) -> Floats:
        forcing = self.driving.forcing
        return forcing.at(times.ravel())[:, len(forcing.names) - len(forcing.waves) :]

    def drift_with(self, b: Floats, waves: Floats) -> tuple[Floats, Floats]:
        """Return A (…, n, d, d) and c (…, n, d) for b (…, d, J) and forcing (n, m).

        The drift is linear, so that differences over a unit are exact.
        """
        driving, d = self.driving, self._d
        units, origins = np.array(driving.library.units)[:d], np.array(driving.library.origins)[:d]
        at_origin = self._functions(origins, waves)
        c = np.einsum("...pj,nj->...np", b, at_origin) * driving.to_drift
        columns = [
            np.einsum(
                "...pj,nj->...np", b, self._functions(origins + units * step, waves) - at_origin
            )
            * driving.to_drift
            / unit
            for step, unit in zip(np.eye(d), units, strict=True)
        ]
        jacobian = np.stack(columns, axis=-1)
        return jacobian, c - np.einsum("...pq,q->...p", jacobian, origins)

    def drift_at(self, b: Floats, times: Floats) -> tuple[Floats, Floats]:
        """Return A (n, 2, d, d) and c (n, 2, d) at the nodes of steps (n, 2)."""
        d = self._d
        jacobian, push = self.drift_with(b, self._waves_at(times))
        return jacobian.reshape(*times.shape, d, d), push.reshape(*times.shape, d)

    def noise_at(self, tensor: Floats, times: Floats) -> Floats:
        """Return a (n, 2, d, d) at the nodes of steps (n, 2)."""
        functions = self._functions(
            np.array(self.driving.library.origins)[: self._d], self._waves_at(times)
        )
        a = np.einsum("pqj,nj->npq", tensor, functions) * self.driving.to_diffusion
        return np.asarray(a.reshape(*times.shape, self._d, self._d))

    def force(self, b: Floats, number: int) -> NDArray[np.complex128]:
        """Return β of the force Re β e^{iωt} at the frequency with this number; (…, d)."""
        none = np.zeros(int(self.waves.sum()))
        sine, cosine = none.copy(), none.copy()
        sine[2 * number], cosine[2 * number + 1] = 1.0, 1.0
        _, push = self.drift_with(b, np.stack([none, sine, cosine]))
        return np.asarray(
            push[..., 2, :] - push[..., 0, :] - 1j * (push[..., 1, :] - push[..., 0, :])
        )


def _responses(
    linear: _Linear,
    drift: Floats,
    draws: Floats,
    confidence: float,
    by_cycle: tuple[float, int] | None,
) -> tuple[Response, ...]:
    """Return the response of each variable at each frequency.

    Parameters
    ----------
    linear : model
    drift : (d, J) internal coefficients
    draws : (n, d, J) those of sampled models
    confidence : coverage of the intervals
    by_cycle : period and number of steps, where the Jacobian changes over a cycle
    """
    every, d = np.concatenate([drift[None], draws]), len(drift)
    frequencies = linear.driving.forcing.frequencies
    amplitudes = _amplitudes(linear, every, frequencies, by_cycle)
    out = []
    for number, (omega, x) in enumerate(zip(frequencies, amplitudes, strict=True)):
        force = linear.force(every, number)
        strongest = int(np.argmax(np.abs(force[0])))
        if not np.abs(force[0, strongest]) > 0:
            continue
        for p in range(d):
            own = p if np.abs(force[0, p]) > 0 else strongest
            ratio = x[:, p] / force[:, own]
            lag = -np.angle(ratio[0]) - np.angle(ratio / ratio[0])
            out.append(
                Response(
                    2 * np.pi / omega,
                    p,
                    _interval(np.abs(x[:, p]), confidence),
                    _interval(np.abs(ratio), confidence),
                    _interval(lag, confidence),
                )
            )
    return tuple(out)


def _amplitudes(
    linear: _Linear,
    every: Floats,
    frequencies: tuple[float, ...],
    by_cycle: tuple[float, int] | None,
) -> list[NDArray[np.complex128]]:
    """Return the complex amplitudes (n, d) of the mean of all models at each frequency."""
    if by_cycle is None:
        none = np.zeros((1, int(linear.waves.sum())))
        jacobian = linear.drift_with(every, none)[0][:, 0]
        return [
            response(jacobian, linear.force(every, number), omega)
            for number, omega in enumerate(frequencies)
        ]
    period, n_steps = by_cycle
    nodes, times = step_times(period, n_steps), period / n_steps * np.arange(n_steps)
    means = np.stack([cycle_mean(period, *linear.drift_at(b, nodes)) for b in every])
    return [
        np.einsum("nkp,k->np", means, 2 / n_steps * np.exp(-1j * omega * times))
        for omega in frequencies
    ]


def _interval(values: Floats, confidence: float) -> tuple[float, tuple[float, float] | None]:
    """Return the estimate, which is the first value, and the central interval of the others."""
    if len(values) < 50:
        return float(values[0]), None
    tail = (1 - confidence) / 2
    low, high = np.quantile(values[1:], [tail, 1 - tail])
    return float(values[0]), (float(min(low, values[0])), float(max(high, values[0])))
