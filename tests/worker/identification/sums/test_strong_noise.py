"""Noise that exceeds an increment: what displacements tell of it, and the fit that starts there."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.signal import lfilter

from benchmarks.simulation import simulate
from worker.identification.data.trajectories import from_arrays, measure_scales
from worker.identification.estimation.setup import Settings
from worker.identification.identified_model import identified_model
from worker.identification.sums.strong_noise import strong_noise

Floats = NDArray[np.float64]
DT, A, DEVIATION = 0.0015, 0.3, 0.32


def _linear(dt: float, length: int, noise: float, seed: int) -> Floats:
    """Exact path of rate 1 and a = 1 through noise of this deviation."""
    generator, rho = np.random.default_rng([seed, 5]), np.exp(-dt)
    x = lfilter([np.sqrt((1 - rho**2) / 2)], [1, -rho], generator.standard_normal(length))
    return np.asarray(x + noise * generator.standard_normal(length))


@pytest.fixture(scope="module")
def in_wells() -> Floats:
    """Paths of a quintic process that stay in one well, through noise of 2.8 times its width."""
    x = simulate(
        lambda x: 1.4 * x + 1.3 * x**3 - 0.9 * x**5,
        lambda x: np.full_like(x, A),
        np.tile([-1.48, 1.48], 4),
        dt=DT,
        n_steps=40_000,
        substeps=2,
        seed=8,
    )
    assert (np.sign(x) == np.sign(x[:, :1])).all()
    return np.asarray(x + DEVIATION * np.random.default_rng(3).standard_normal(x.shape))


@pytest.mark.parametrize("ratio", [100, 300, 1000])
def test_displacements_tell_the_noise_and_a_stride_that_shows_the_process(ratio: int) -> None:
    dt = 0.3**2 / ratio
    data = from_arrays([_linear(dt, 100_000, 0.3, ratio)], dt)
    scales = measure_scales(data)
    found = strong_noise(data, scales, None)
    assert found is not None
    error = found.error * scales.unit**2
    assert error == pytest.approx(0.09 * np.sqrt(7 / 100_000), rel=0.02)
    assert found.variance * scales.unit**2 == pytest.approx(0.09, abs=4 * error)
    # The growth over two strides, 2 m a Δt, is five errors 2 s² √(3/n), in powers of two.
    least = 5 * ratio * np.sqrt(3 / 100_000)
    assert least / 2 < found.stride < 4 * least


def test_the_error_of_the_noises_variance_is_its_scatter() -> None:
    z = []
    for seed in range(80):
        data = from_arrays([_linear(0.001, 100_000, 0.3, seed)], 0.001)
        scales = measure_scales(data)
        found = strong_noise(data, scales, None)
        assert found is not None
        z.append((found.variance - (0.3 / scales.unit) ** 2) / found.error)
    # The standard error of a root mean square of 80 is 0.08.
    assert np.sqrt(np.mean(np.square(z))) == pytest.approx(1, abs=0.25)


@pytest.mark.parametrize("dt", [0.01, 0.5, 1.5, 3.0, 10.0])
def test_samples_without_noise_show_none(dt: float) -> None:
    # At three relaxation times neighbours differ as white noise does.
    data = from_arrays([_linear(dt, 30_000, 0.0, 1)], dt)
    assert strong_noise(data, measure_scales(data), None) is None


def test_a_well_narrower_than_the_noise_shows_its_diffusion(in_wells: Floats) -> None:
    off = []
    for y in in_wells:
        model = identified_model(
            from_arrays([y], DT), Settings(polynomial_degree=5), lambda *_: None
        )
        assert not any(f.code == "motion-blur" for f in model.findings)
        found = [t for t in model.diffusion["x,x"].terms if t.active]
        off += [(t.value - A) / t.std_error for t in found if t.name == "1"]
    # a is three to six errors, and growth that is less than five is not seen.
    assert len(off) >= 6
    assert np.all(np.abs(off) < 4)


def test_wells_through_noise_do_not_make_trajectories_differ(in_wells: Floats) -> None:
    model = identified_model(
        from_arrays(list(in_wells), DT), Settings(polynomial_degree=5), lambda *_: None
    )
    # With b of the noisy samples the constants of the wells were nine errors apart.
    assert not any(f.code == "trajectories-differ" for f in model.findings)
