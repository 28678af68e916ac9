"""Integrals under a triangle, against quadrature along a smooth path."""

from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad

from worker.identification.data.library import Library
from worker.identification.data.trajectories import Trajectories
from worker.identification.data.windows import measure_space
from worker.identification.second_order.phase_space import (
    PhaseSpace,
    force_library,
    measure_phase_space,
)
from worker.identification.second_order.windows import Kicks, Piece, pieces, shape_of

SMOOTH = Kicks(np.zeros((1, 1)), np.zeros(1))


def position(t: Any) -> Any:
    return np.sin(t) + 0.3 * np.cos(1.7 * t)


def velocity(t: Any) -> Any:
    return np.cos(t) - 0.51 * np.sin(1.7 * t)


def walked(times: np.ndarray, half: int) -> tuple[Piece, Library, PhaseSpace]:
    data = Trajectories(
        position(times)[:, None], times, np.array([[0, len(times), 0]], dtype=np.int64)
    )
    space = measure_phase_space(data, measure_space(data, (None,)))
    library = force_library(space, 3)
    shape = shape_of(half, noisy=False, powers=True)
    (piece,) = pieces(data, space, library, shape, SMOOTH, np.array([[0, len(times)]]))
    return piece, library, space


@pytest.mark.parametrize("half", [1, 4])
@pytest.mark.parametrize("even", [True, False])
def test_terms_are_their_integrals_under_the_triangle(half: int, even: bool) -> None:
    steps = np.full(400, 0.02)
    if not even:
        steps *= np.random.default_rng(0).uniform(0.5, 1.5, 400)
    times = np.concatenate([[0.0], np.cumsum(steps)])
    piece, library, space = walked(times, half)
    raw = np.array([[float(v) for v in row] for row in library.change_of_basis])
    integrals = piece.terms @ raw.T * space.positions.time
    for centre in (100, 250):
        t, before, after = times[centre], times[centre - half], times[centre + half]

        def triangle(s: float, t: float = t, before: float = before, after: float = after) -> float:
            return (s - before) / (t - before) if s < t else (after - s) / (after - t)

        for name, got in zip(library.names, integrals[centre], strict=True):
            exponents = library.exponents[library.names.index(name)]
            assert exponents is not None

            def term(s: float, e: tuple[int, ...] = exponents) -> float:
                return float(triangle(s) * position(s) ** e[0] * velocity(s) ** e[1])

            wanted = quad(term, before, t)[0] + quad(term, t, after)[0]
            # Squares of secants err by (Δt)² of the path's curvature, all else by (Δt)⁴.
            tolerance = 3e-3 if exponents[1] > 1 or not even else 3e-5
            assert got == pytest.approx(wanted, abs=tolerance * (after - before)), name


def test_windows_stay_inside_segments_and_blocks_do_not_share_them() -> None:
    times = np.concatenate([np.arange(0, 4, 0.02), np.arange(10, 14, 0.02)])
    data = Trajectories(
        position(times)[:, None], times, np.array([[0, 200, 0], [200, 400, 1]], dtype=np.int64)
    )
    space = measure_phase_space(data, measure_space(data, (None,)))
    shape = shape_of(2, noisy=False, powers=True)
    blocks = np.array([[0, 130], [130, 400]])
    walk = list(pieces(data, space, force_library(space, 1), shape, SMOOTH, blocks))
    assert sum(int(piece.valid.sum()) for piece in walk) == 2 * (200 - shape.before - shape.after)
    for piece in walk:
        # A window across the gap would see the jump of eight units of time.
        assert piece.steps[piece.valid].max() == pytest.approx(2.0)
        assert not piece.instruments[~piece.valid].any()
