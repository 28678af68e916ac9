"""The paper preset against a plain NumPy transcription of Algorithm 1."""

import numpy as np
import pytest

from benchmarks.algorithm1 import algorithm1
from benchmarks.simulation import SYSTEMS
from worker.identification.data.library import make_library
from worker.identification.data.trajectories import from_arrays, measure_scales
from worker.identification.errors import TooFewSamples
from worker.identification.estimation.paper import identify_by_paper
from worker.identification.sums.kernels import make_kernels


@pytest.mark.parametrize("system", SYSTEMS)
def test_coefficients_equal_the_transcription_to_1e_8(system: str, paths) -> None:
    X = paths(system, 10, 0.002, 10_000, substeps=1)
    data = from_arrays(list(X), 0.002)
    scales = measure_scales(data)
    kernels = make_kernels(scales, bandwidth=0.22, centre_range=(-2.5, 2.5))
    ours = identify_by_paper(data, scales, make_library((scales,)), kernels)
    c, d = algorithm1(X, 0.002, np.linspace(-2.5, 2.5, 50), 0.22)
    np.testing.assert_allclose(ours.drift.coefficients, c, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(ours.diffusion.coefficients, d, rtol=1e-8, atol=1e-10)
    assert np.count_nonzero(c)
    assert np.count_nonzero(d)


def test_one_trajectory_cannot_be_cross_validated_over_trajectories(paths) -> None:
    data = from_arrays(list(paths("double-well", 10, 0.002, 10_000, substeps=1)[:1]), 0.002)
    scales = measure_scales(data)
    with pytest.raises(TooFewSamples, match="at least two"):
        identify_by_paper(data, scales, make_library((scales,)), make_kernels(scales))
