"""The fast sums are the plain sums."""

import numpy as np
import pytest

from worker.identification.data.library import make_library
from worker.identification.data.trajectories import (
    Trajectories,
    block_edges,
    chunks,
    measure_scales,
)
from worker.identification.sums.cell_rules import window_weights
from worker.identification.sums.kernel_statistics import gather
from worker.identification.sums.kernels import make_cells, make_kernels
from worker.identification.sums.polynomial_moments import gather_by_powers
from worker.identification.sums.rules import TRAPEZOID


def _walks(irregular: bool) -> Trajectories:
    generator = np.random.default_rng(0)
    lengths = generator.integers(20, 900, 12)
    stops = np.cumsum(lengths)
    x = np.concatenate([np.cumsum(generator.normal(0, 0.1, n)) for n in lengths])
    times = np.concatenate([np.arange(n) * 0.1 for n in lengths])
    if irregular:
        times[stops[-1] - 5 :] += 0.05
    return Trajectories(
        x[:, None],
        times,
        np.stack([stops - lengths, stops, np.arange(12)], axis=1).astype(np.int64),
    )


@pytest.mark.parametrize("stride", [1, 2, 7])
@pytest.mark.parametrize("n_blocks", [1, 5])
def test_sums_by_powers_equal_the_trapezoids_sums(stride: int, n_blocks: int) -> None:
    data, rule = _walks(irregular=False), TRAPEZOID.at_stride(stride)
    scales = measure_scales(data)
    library, kernels, edges = (
        make_library((scales,)),
        make_kernels(scales),
        block_edges(data, n_blocks),
    )
    cells = make_cells(kernels, scales)
    fast = gather_by_powers(data, scales, edges, library, kernels, cells, stride)
    plain = gather(
        chunks(data, scales, edges, rule.windows),
        library,
        kernels,
        cells,
        lambda c: window_weights(rule, c, library),
    )
    assert fast is not None
    assert fast.n_windows == plain.n_windows
    for name in ("time", "time_squared", "at_instrument", "sums"):
        got, expected = getattr(fast, name), getattr(plain, name)
        assert np.abs(got - expected).max() < 1e-10 * np.abs(expected).max(), name


def test_an_irregular_clock_is_left_to_the_plain_way() -> None:
    data = _walks(irregular=True)
    scales = measure_scales(data)
    library, kernels = make_library((scales,)), make_kernels(scales)
    edges = block_edges(data, 3)
    assert (
        gather_by_powers(data, scales, edges, library, kernels, make_cells(kernels, scales)) is None
    )


def test_disjoint_increments_are_those_of_the_thinned_record() -> None:
    data = _walks(irregular=False)
    scales = measure_scales(data)
    library, kernels = make_library((scales,)), make_kernels(scales)
    cells, edges = make_cells(kernels, scales), block_edges(data, 1)
    got = gather_by_powers(data, scales, edges, library, None, cells, stride=3, hop=3)
    assert got is not None
    differences = (
        np.concatenate([np.diff(data.states[a:b:3, 0]) for a, b, _ in data.segments]) / scales.unit
    )
    assert got.n_windows == differences.size
    assert got.sums.sum(axis=(0, 1))[:2] == pytest.approx(
        [differences.sum(), (differences**2).sum()], rel=1e-9
    )
