"""Residuals whose size or shape the fitted diffusion does not describe, and those that it does."""

import numpy as np
import pytest

from benchmarks.simulation import simulate
from contract.identification import IdentificationParameters
from worker import pipeline
from worker.identification.data.trajectories import from_arrays
from worker.identification.findings.finding import Finding
from worker.jobs.parameters import settings_of


def _findings(paths: np.ndarray, dt: float, **parameters: object) -> dict[str, Finding]:
    settings = settings_of(IdentificationParameters.model_validate(parameters))
    model = pipeline.identify(from_arrays(list(paths), dt), settings, lambda *_: None)
    return {finding.code: finding for finding in model.findings}


def _growing_noise(seed: int) -> np.ndarray:
    """Simulate b = −x, a = 0.1 + 2x²/(1 + x²): 20 000 samples of 50 trajectories."""
    return simulate(
        lambda x: -x,
        lambda x: 0.1 + 2 * x**2 / (1 + x**2),
        np.zeros(50),
        dt=0.02,
        n_steps=400,
        substeps=5,
        burn_in=200,
        seed=seed,
    )


def test_a_constant_for_noise_that_varies_is_named_with_what_it_misses() -> None:
    """A constant is a weighted mean, in which quiet states count most: below ΣΔx²/T."""
    paths = _growing_noise(0)
    found = _findings(paths, 0.02, library={"diffusion_degree": 0})
    ratio = found["diffusion-size"].details["ratio"]
    assert isinstance(ratio, float)
    assert ratio > 1.3
    assert "below the mean squared increment" in found["diffusion-size"].message
    assert "diffusion-size" not in _findings(paths, 0.02)


@pytest.mark.parametrize("every", [1, 10])
def test_a_diffusion_that_is_right_has_the_increments_size(every: int) -> None:
    """Residuals over long steps are larger than aΔt by the drift's slope; this compares alike."""
    paths = simulate(
        lambda x: x - x**3,
        lambda x: np.full_like(x, 0.5),
        np.ones(100),
        dt=0.02,
        n_steps=1_000,
        burn_in=100,
        seed=3,
    )
    assert "diffusion-size" not in _findings(paths[:, ::every], 0.02 * every)


@pytest.mark.parametrize("seed", range(4))
def test_noise_that_vanishes_at_the_ends_has_no_heavy_tails(seed: int) -> None:
    """The sine of a Brownian path, b = −x, a = 2(1 − x²), comes to its ends often."""
    steps = np.random.default_rng(seed).standard_normal((1, 20_000)) * np.sqrt(2 * 0.02)
    found = _findings(np.sin(np.cumsum(steps, axis=1)), 0.02)
    assert not {"heavy-tails", "negative-diffusion", "diffusion-size", "wall"} & set(found)


@pytest.mark.parametrize("seed", range(3))
def test_noise_that_grows_along_a_step_has_no_heavy_tails(seed: int) -> None:
    """log X is an Ornstein–Uhlenbeck process, so that a = 0.5 x²: a step's kurtosis is 5."""
    random = np.random.default_rng(seed)
    y = np.zeros((4, 5_000))
    dt = 0.1
    keep, noise = np.exp(-dt), np.sqrt(0.25 * (1 - np.exp(-2 * dt)))
    for k in range(1, y.shape[1]):
        y[:, k] = keep * y[:, k - 1] + noise * random.standard_normal(4)
    found = _findings(np.exp(y), dt)
    assert "heavy-tails" not in found


def test_jumps_still_have_heavy_tails() -> None:
    rng = np.random.default_rng(5)
    steps = 0.1 * rng.standard_normal(10_000) + (rng.random(10_000) < 0.01) * rng.standard_normal(
        10_000
    )
    x = np.zeros(10_000)
    for k in range(1, len(x)):
        x[k] = 0.98 * x[k - 1] + steps[k]
    assert "heavy-tails" in _findings(x[None], 0.02)
