"""Cell moments against the sums they stand for."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worker.identification.data.library import make_library
from worker.identification.data.trajectories import (
    block_edges,
    chunks,
    from_arrays,
    measure_scales,
)
from worker.identification.sums.cell_rules import window_weights
from worker.identification.sums.kernel_statistics import KernelStatistics, gather, merged
from worker.identification.sums.kernels import (
    CellMoments,
    Cells,
    Kernels,
    accumulate,
    empty_moments,
)
from worker.identification.sums.rules import TRAPEZOID

GENERATOR = np.random.default_rng(3)
KERNELS = Kernels(np.linspace(-1, 1, 50), 0.09)


def _moments(cells: Cells, y: np.ndarray, weights: np.ndarray) -> CellMoments:
    buffer = empty_moments(cells, weights.shape[1])
    accumulate(buffer, cells, y, weights)
    return CellMoments(cells, buffer)


def test_kernel_sums_from_cells_equal_direct_sums_to_1e_9() -> None:
    y, weights = (
        GENERATOR.normal(0, 0.4, 5000).clip(-1.9, 1.9),
        GENERATOR.standard_normal((5000, 2)),
    )
    cells = Cells(-2.0, 0.045, 89)
    f = KERNELS.at(cells.nodes()) * cells.nodes() ** 4
    from_cells = f @ _moments(cells, y, weights).at_nodes().T
    direct = (KERNELS.at(y) * y**4) @ weights
    assert np.abs(from_cells - direct).max() < 1e-9 * np.abs(direct).max()


def test_wide_cells_are_visibly_wrong() -> None:
    # Negative control: cells of four bandwidths cannot carry a kernel on eight moments.
    y, weights = GENERATOR.normal(0, 0.4, 5000).clip(-1.9, 1.9), np.ones((5000, 1))
    cells = Cells(-2.0, 0.36, 12)
    direct = KERNELS.at(y) @ weights
    assert (
        np.abs(KERNELS.at(cells.nodes()) @ _moments(cells, y, weights).at_nodes().T - direct).max()
        > 1e-9 * direct.max()
    )


@given(st.integers(1, 999))
@settings(max_examples=20, deadline=None)
def test_moments_of_a_split_record_add_up_to_those_of_the_whole(cut: int) -> None:
    y, weights = np.sin(np.arange(1000.0)), np.cos(np.arange(1000.0))[:, None]
    cells = Cells(-1.01, 0.1, 21)
    parts = _moments(cells, y[:cut], weights[:cut]) + _moments(cells, y[cut:], weights[cut:])
    np.testing.assert_allclose(parts.moments, _moments(cells, y, weights).moments, atol=1e-12)


def test_moments_on_different_cells_do_not_add() -> None:
    one, other = (
        _moments(Cells(0.0, width, 2), np.zeros(1), np.ones((1, 1))) for width in (1.0, 2.0)
    )
    with pytest.raises(ValueError, match="different cells"):
        one + other


@pytest.mark.slow
def test_statistics_of_split_trajectories_add_up_to_those_of_the_whole() -> None:
    x = [np.cumsum(np.random.default_rng(s).normal(0, 0.1, 400)) for s in range(4)]
    whole = from_arrays(x, 0.1)
    scales = measure_scales(whole)
    library, cells = make_library((scales,)), Cells(-3.0, 0.045, 134)

    rule = TRAPEZOID

    def statistics(parts: list[np.ndarray]) -> KernelStatistics:
        data = from_arrays(parts, 0.1)
        walk = chunks(data, scales, block_edges(data, 3), rule.windows)
        return gather(
            walk, library, KERNELS, cells, lambda chunk: window_weights(rule, chunk, library)
        )

    total, both = statistics(x), merged([statistics(x[:1]), statistics(x[1:])])
    assert total.n_windows == both.n_windows == 4 * 399
    for name in ("at_instrument", "sums", "time_squared"):
        np.testing.assert_allclose(
            getattr(total, name).sum(axis=0), getattr(both, name).sum(axis=0), atol=1e-9
        )
