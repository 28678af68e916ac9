"""The matrix of the cells conserves probability, keeps it positive, is exact on simple models."""

from itertools import product

import numpy as np
import pytest

from contract.generator import ModelTerms
from worker.generator.plane.box.box import Chart, make_chart
from worker.generator.plane.eigenmodes import slow_modes, stationary_masses
from worker.generator.plane.finite_volumes import (
    Coefficients,
    Fluxes,
    Scheme,
    generator_matrix,
)
from worker.generator.plane.grid import Axis, Grid, Span
from worker.jobs.parameters import process_of

SCHEMES: list[Scheme] = ["exponential", "upwind", "high-order"]


def chart(*, mixed: float, circle: bool = False) -> Chart:
    drift = {"x": {"sin(x)": -1, "y": 0.5}, "y": {"sin(x)": 0.4, "y": -1}}
    noise = {
        "x,x": {"1": 0.5},
        "x,y": {"1": mixed, "y^2": mixed / 10},
        "y,y": {"1": 0.4, "y^2": 0.1},
    }
    periodic = {"x": 2 * np.pi} if circle else {}
    process = process_of(
        ModelTerms.model_validate({"drift": drift, "diffusion": noise, "periodic": periodic})
    )
    return make_chart(process, np.zeros(2), np.eye(2), np.eye(2), free=False)


def grid(cells: int, *, circle: bool = False) -> Grid:
    first = Span(-np.pi, np.pi, 0.0, 1.0, circle=circle)
    return Grid((first.cut(cells), Span(-3.0, 4.0, 0.2, 1.5).cut(cells + 3)))


@pytest.mark.parametrize(
    ("circle", "first", "second"), list(product([False, True], SCHEMES, SCHEMES))
)
def test_nothing_is_lost_between_cells_or_at_walls(
    circle: bool, first: Scheme, second: Scheme
) -> None:
    cells = grid(12, circle=circle)
    matrix = generator_matrix(
        cells, Coefficients.of(chart(mixed=0.2, circle=circle), cells), (first, second)
    )
    lost = np.abs(np.asarray(matrix.sum(axis=0)))
    assert lost.max() < 1e-12 * np.abs(matrix.diagonal()).max()


def test_exponential_fitting_keeps_every_probability_positive() -> None:
    cells = grid(12)
    matrix = generator_matrix(
        cells, Coefficients.of(chart(mixed=0.0), cells), ("exponential", "exponential")
    ).toarray()
    assert np.all(matrix - np.diag(np.diag(matrix)) >= 0)
    masses = stationary_masses(
        generator_matrix(cells, Coefficients.of(chart(mixed=0.0), cells), ("exponential",) * 2), 40
    )
    assert np.all(masses > 0)
    assert np.max(np.abs(matrix @ masses)) < 1e-12 * np.abs(np.diag(matrix)).max()


def test_upwind_shares_are_exact_for_parabolas_on_uneven_cells() -> None:
    axis = Axis(np.array([0.0, 0.3, 0.9, 1.2, 2.0, 2.1, 3.0]), False)
    means = np.diff(axis.edges**3 / 3 - axis.edges**2 + 2 * axis.edges) / axis.widths
    for first in (-1, 0):
        shares = axis.parabola_shares[first + 1]
        for face, at in enumerate(axis.faces):
            inside = [face + first + k for k in range(3)]
            if min(inside) >= 0 and max(inside) < axis.count:
                assert shares[face] @ means[inside] == pytest.approx(at**2 - 2 * at + 2)


@pytest.mark.parametrize(
    ("scheme", "order"), [("exponential", 2), ("upwind", 2), ("high-order", 4)]
)
def test_the_error_falls_at_least_with_the_order_s_power_of_the_cells_length(
    scheme: Scheme, order: int
) -> None:
    drift = {"x": {"x": -1.0}, "y": {"y": -1.5}}
    process = process_of(
        ModelTerms.model_validate(
            {"drift": drift, "diffusion": {"x,x": {"1": 2.0}, "y,y": {"1": 3.0}}}
        )
    )
    flat = make_chart(process, np.zeros(2), np.eye(2), np.eye(2), free=False)
    errors = []
    for cells in (24, 48):
        square = Grid((Span(-6, 6, 0, 2).cut(cells), Span(-6, 6, 0, 2).cut(cells)))
        matrix = generator_matrix(square, Coefficients.of(flat, square), (scheme, scheme))
        errors.append(abs(slow_modes(matrix, 1, 1.0, square.volumes.ravel()).rates[0].real - 1))
    assert errors[1] < 1.2 * errors[0] / 2**order


def test_currents_are_those_of_the_flow_where_the_law_is_known() -> None:
    # dX = −X + 2 X⊥, a = 2: the law is Gaussian with unit variance and the current 2 x⊥ π.
    drift = {"x": {"x": -1, "y": 2}, "y": {"x": -2, "y": -1}}
    process = process_of(
        ModelTerms.model_validate(
            {"drift": drift, "diffusion": {"x,x": {"1": 2.0}, "y,y": {"1": 2.0}}}
        )
    )
    flat = make_chart(process, np.zeros(2), np.eye(2), np.eye(2), free=False)
    square = Grid((Span(-5.5, 5.5, 0, 2).cut(64), Span(-5.5, 5.5, 0, 2).cut(64)))
    coefficients = Coefficients.of(flat, square)
    law = (np.exp(-np.sum(square.centres**2, axis=1) / 2) / (2 * np.pi)).reshape(square.shape)
    found = Fluxes.of(square, coefficients, ("upwind", "upwind")).currents(law)
    expected = (
        2
        * np.stack([square.centres[:, 1], -square.centres[:, 0]], axis=1).reshape(*square.shape, 2)
        * law[..., None]
    )
    assert np.max(np.abs(found - expected)) < 0.02 * np.max(np.abs(expected))
