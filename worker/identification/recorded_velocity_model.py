"""The identified model of a record that has the velocities of its positions: dx = v dt is known."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from grammar.terms import variable_name
from worker.identification.data.trajectories import Trajectories
from worker.identification.data.windows import Space
from worker.identification.errors import NotSecondOrder, SecondOrderDynamics
from worker.identification.estimation.setup import Settings
from worker.identification.findings.second_order import (
    about_secants,
    alone,
    velocities_recognised,
)
from worker.identification.identified_model import IdentifiedModel, identified_model
from worker.identification.model_sampling import DrawnModels
from worker.identification.second_order.recorded_velocities import (
    RecordedVelocity,
    recorded_velocities,
)
from worker.identification.sums.block_sums import Summing, sums_here
from worker.identification.sums.window_products import pairs_of
from worker.identification.symbolic_process import SymbolicProcess
from worker.identification.symbolic_system import SymbolicSystem
from worker.progress import Report

Floats = NDArray[np.float64]


def recorded_velocity_model(
    data: Trajectories, settings: Settings, report: Report, summing: Summing = sums_here
) -> IdentifiedModel | None:
    """Identify a record some of whose columns are velocities of others; None of any other record.

    Drift and diffusion of the other variables are those of first order at the recorded state. The
    model is of second order where every variable is a position or its velocity.

    Parameters
    ----------
    data : record
    settings : settings of the identification
    report : receives the progress
    summing : takes the sums over all the data, here or in several processes, with the same result
        to the last bit

    Raises
    ------
    NotSecondOrder : second order was asked for, and velocities were computed from the positions
    IdentificationError
    """
    if settings.diffusion_structure == "isotropic" or settings.polynomial_degree < 1:
        return None
    # The drift of a position is no slope of a potential.
    if settings.potential is not None:
        return None
    pairs = recorded_velocities(data, settings.periods_in(data.dimension))
    secants = [pair for pair in pairs if pair.source == "secants"]
    if secants:
        return _beside_secants(data, settings, report, summing, secants)
    if not pairs:
        return None
    known = {pair.position: (pair.velocity, pair.factor) for pair in pairs}
    model = identified_model(data, settings, report, summing, known)
    columns = _columns(pairs, data.dimension)
    said = velocities_recognised(pairs, second_order=bool(columns))
    model = replace(model, findings=(*said, *model.findings))
    return of_second_order(model, columns) if columns else model


def _beside_secants(
    data: Trajectories,
    settings: Settings,
    report: Report,
    summing: Summing,
    secants: list[RecordedVelocity],
) -> IdentifiedModel:
    """Identify in first order, and say that velocities were computed from positions."""
    (said,) = about_secants(secants)
    hint = alone(secants)
    if settings.dynamics == "second-order":
        raise NotSecondOrder(said.message, hints=(hint,))
    try:
        model = identified_model(data, settings, report, summing)
    except SecondOrderDynamics as error:
        raise SecondOrderDynamics(said.message, hints=(hint,)) from error
    return replace(model, findings=(said, *model.findings))


def _columns(pairs: tuple[RecordedVelocity, ...], dimension: int) -> tuple[int, ...]:
    """Return the columns of positions, then of their velocities; () where there are others."""
    columns = (*(p.position for p in pairs), *(p.velocity for p in pairs))
    whole = sorted(columns) == list(range(dimension))
    return columns if whole and all(p.factor == 1 for p in pairs) else ()


def of_second_order(model: IdentifiedModel, columns: tuple[int, ...]) -> IdentifiedModel:
    """Put the variables of a model into the order of second order: positions, then velocities.

    Parameters
    ----------
    model : model of positions and velocities, in the order of the record
    columns : (2d,) column of each variable in the new order
    """
    d = len(columns) // 2
    names = [variable_name(c) for c in columns]
    assert isinstance(model.process, SymbolicSystem), "there are several variables"
    variances, draws = model.noise_variances, model.draws

    def process_at(coefficients: Floats) -> SymbolicProcess | SymbolicSystem:
        assert draws is not None
        process = draws.process_at(coefficients)
        assert isinstance(process, SymbolicSystem)
        return process.in_order(columns)

    return replace(
        model,
        drift={name: model.drift[name] for name in names},
        diffusion={
            f"{names[p]},{names[q]}": model.diffusion[
                ",".join(variable_name(c) for c in sorted((columns[p], columns[q])))
            ]
            for p, q in pairs_of(len(columns))
        },
        process=model.process.in_order(columns),
        draws=None
        if draws is None
        else DrawnModels(draws.coefficients, draws.centre, draws.support, process_at),
        residuals={name: model.residuals[name] for name in names[d:]},
        noise_variances=None if variances is None else {name: variances[name] for name in names},
        space=Space(
            tuple(model.space.scales[c] for c in columns),
            tuple(model.space.periods[c] for c in columns),
        ),
        order=2,
        columns=columns,
    )
