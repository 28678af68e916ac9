"""Inputs: recorded signals that drive the states and have no equation of their own."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from grammar.terms import variable_name
from worker.identification.data.forcing import Forcing
from worker.identification.data.trajectories import Scales, Trajectories, measure_scales
from worker.identification.data.windows import Space
from worker.identification.errors import ConstantData, UnsuitableInput

Floats = NDArray[np.float64]

SAMPLES = 100_000
"""Samples by which inputs are compared with states."""

REST = 1e-6
"""Share of an input's deviation that its regression leaves, below which it is a combination."""

FEWEST_SAMPLES_A_PERIOD = 6
"""Sampling intervals in the shortest period of forcing; the trapezoid's error is then 9 %."""


def input_names(data: Trajectories) -> tuple[str, ...]:
    """Return the names of the inputs: u, or u1, u2, …"""
    count = 0 if data.inputs is None else data.inputs.shape[1]
    return ("u",) if count == 1 else tuple(f"u{k + 1}" for k in range(count))


def check_first_order(dynamics: str) -> None:
    """Raise UnsuitableInput where driven dynamics are asked for that are not of first order."""
    if dynamics not in ("auto", "first-order"):
        raise UnsuitableInput(
            f"Inputs and forcing are fitted in first-order dynamics, and dynamics is {dynamics}.",
            hints=("Leave parameters.dynamics out.",),
        )


def with_driving(data: Trajectories, space: Space, forcing: Forcing) -> Space:
    """Return the space with the scales of inputs and forcing. Raises UnsuitableInput."""
    if forcing.any:
        _check_forcing(space, forcing, data)
    scales = [_scales_of(data, k, name) for k, name in enumerate(input_names(data))]
    return replace(space, inputs=(*scales, *forcing.scales(data, space.scales[0])), forcing=forcing)


def _scales_of(data: Trajectories, k: int, name: str) -> Scales:
    assert data.inputs is not None, "it has a name"
    column = Trajectories(data.inputs[:, k : k + 1], data.times, data.segments)
    try:
        return measure_scales(column, None, name)
    except ConstantData:
        raise UnsuitableInput(
            f"The input {name} is constant: it equals {float(column.states[0, 0]):g} in every "
            "sample, and what it does cannot be told from the constant of the drift.",
            hints=(f"Leave {name} out of layout.input_columns.",),
        ) from None


def _check_forcing(space: Space, forcing: Forcing, data: Trajectories) -> None:
    """Raise UnsuitableInput for a period that the record cannot tell."""
    starts, stops = data.segments[:, 0], data.segments[:, 1] - 1
    longest = float(np.max(data.times[stops])) - float(np.min(data.times[starts]))
    for period in forcing.periods:
        shortest = period / forcing.harmonics
        if shortest < FEWEST_SAMPLES_A_PERIOD * space.time:
            harmonic = f" and {forcing.harmonics} harmonics" if forcing.harmonics > 1 else ""
            raise UnsuitableInput(
                f"The forcing of period {period:g}{harmonic} is as fast as {shortest:.3g}, and a "
                f"sampling interval is {space.time:.3g}: fewer than {FEWEST_SAMPLES_A_PERIOD} "
                "samples a period do not show what it does.",
                hints=(
                    "Give periods in the data's unit of time, in which samples are "
                    f"{space.time:.3g} apart.",
                    "Lower forcing.harmonics, or leave the period out.",
                ),
            )
        if period > longest:
            raise UnsuitableInput(
                f"The record is {longest:.4g} long, less than the period {period:g} of the "
                "forcing: it cannot be told from a trend.",
                hints=(
                    "Give periods in the data's unit of time, or leave the period out and set "
                    "forcing.trend to 1.",
                ),
            )


def check_inputs(data: Trajectories, space: Space) -> None:
    """Raise UnsuitableInput for an input that states, other inputs or forcing make up.

    States just before the sample count, too: such an input is fed back, and drives nothing.
    """
    names = input_names(data)
    if not names:
        return
    starts = [int(a) for a, b, _ in data.segments if b - a > 2]
    first, last = starts[0], int(data.segments[-1, 1])
    rows = space.internal(space.rows(data, slice(first, min(last, first + SAMPLES))))
    d, n = space.dimension, len(rows)
    inside = np.ones(n, dtype=bool)
    for start, _, _ in data.segments:
        inside[max(int(start) - first, 0) : max(int(start) - first + 2, 0)] = False
    states = [np.roll(rows[:, :d], lag, axis=0) for lag in range(3)]
    for k, name in enumerate(names):
        others = np.delete(rows[:, d:], k, axis=1)
        _check_one(name, k, rows, [*states, others], inside, names, d)


def _check_one(
    name: str,
    k: int,
    rows: Floats,
    columns: list[Floats],
    inside: NDArray[np.bool_],
    names: tuple[str, ...],
    d: int,
) -> None:
    target = rows[inside, d + k] - rows[inside, d + k].mean()
    size = float(np.sqrt((target**2).mean()))
    others = columns[-1][inside]
    for design, lagged in ((columns[0][inside], False), (others, None), (None, True)):
        if lagged:
            design = np.concatenate([c[inside] for c in columns[:-1]], axis=1)
        assert design is not None
        if not design.shape[1]:
            continue
        centred = design - design.mean(axis=0)
        rest = target - centred @ np.linalg.lstsq(centred, target)[0]
        if float(np.sqrt((rest**2).mean())) > REST * size:
            continue
        if lagged is None:
            raise UnsuitableInput(
                f"The input {name} is a linear combination of the other inputs or of the forcing.",
                hints=(f"Leave {name} out of layout.input_columns.",),
            )
        states = ", ".join(variable_name(i) for i in range(d))
        when = f"{states} and earlier samples of it" if lagged else states
        raise UnsuitableInput(
            f"The input {name} is a function of {when}: it does not drive the states, it follows "
            "them.",
            hints=(
                f"Leave {name} out of layout.input_columns, or name the signal that the "
                "experiment sets.",
            ),
        )


def frozen_values(
    data: Trajectories, space: Space, given: Mapping[str, float]
) -> tuple[float, ...]:
    """Return the values of inputs and forcing at which the model is analysed.

    They are those given, else means: sines and cosines have the mean zero over a period.

    Raises UnsuitableInput for a name that no input has.
    """
    names = (*input_names(data), *space.forcing.names)
    known = [name for name in names if name not in space.forcing.waves]
    unknown = [name for name in given if name not in known]
    if unknown:
        raise UnsuitableInput(
            f"There is no input {unknown[0]} to be held for the analysis.",
            hints=(
                f"The inputs are {', '.join(known)}."
                if known
                else "The dataset has no inputs: leave analysis.inputs out.",
            ),
        )
    return tuple(
        0.0 if name in space.forcing.waves else given.get(name, scales.mean)
        for name, scales in zip(names, space.inputs, strict=True)
    )
