"""Trajectories that differ, or move together: the warning, the terms and their errors."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.signal import lfilter

from benchmarks.simulation import simulate
from worker.identification.checks.trajectory_pairs import PARTS
from worker.identification.checks.trajectory_tests import compare_parts
from worker.identification.data.trajectories import from_arrays
from worker.identification.estimation import estimator, trajectory_errors
from worker.identification.estimation.setup import Settings
from worker.identification.findings.finding import Finding
from worker.identification.identified_model import IdentifiedModel, identified_model
from worker.identification.sums.block_sums import BlockSums, Pass, Summing, sums_here

Floats = NDArray[np.float64]
DT = 0.05


def _ou(
    count: int, length: int, seed: int, rate: object = 1.0, a: object = 1.0, level: object = 0.0
) -> list[Floats]:
    """Exact stationary Ornstein–Uhlenbeck paths, with parameters of their own."""
    generator, paths = np.random.default_rng(seed), []
    each = np.broadcast_arrays(np.zeros(count), *(np.asarray(v) for v in (rate, a, level)))[1:]
    for theta, noise, mean in zip(*each, strict=True):
        rho, deviation = np.exp(-theta * DT), np.sqrt(noise / (2 * theta))
        kicks = deviation * generator.standard_normal(length)
        kicks[1:] *= np.sqrt(1 - rho**2)
        paths.append(mean + lfilter([1], [1, -rho], kicks))
    return paths


def _walks(count: int, length: int, dimension: int, spread: float) -> list[Floats]:
    """Random walks whose diffusion is log-normal between trajectories."""
    generator = np.random.default_rng(1)
    own = np.exp(generator.normal(0, spread, count))
    kicks = generator.standard_normal((count, length, dimension))
    return list(np.cumsum(np.sqrt(2 * own[:, None, None] * 0.01) * kicks, axis=1))


def _model(paths: Sequence[Floats], summing: Summing = sums_here) -> IdentifiedModel:
    return identified_model(from_arrays(list(paths), DT), Settings(), lambda *p: None, summing)


def _warning(model: IdentifiedModel) -> Finding | None:
    return next((f for f in model.findings if f.code == "trajectories-differ"), None)


def _without_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimator, "wider_errors", lambda *arguments: None)


def _noisy(count: int) -> list[Floats]:
    generator = np.random.default_rng(9)
    return [x + 0.1 * generator.standard_normal(x.size) for x in _ou(count, 300, 6)]


ALIKE = {
    "many": lambda: _ou(40, 300, 2),
    "short": lambda: _ou(300, 12, 3),
    "two": lambda: _ou(2, 4_000, 4),
    "noisy": lambda: _noisy(60),
    # Each stays in its well, as the pooled drift says.
    "double-well": lambda: list(
        simulate(
            lambda x: x - x**3,
            lambda x: np.full_like(x, 0.1),
            np.tile([-1.0, 1.0], 20),
            dt=DT,
            n_steps=300,
            substeps=5,
            seed=5,
        )
    ),
    "plane": lambda: _walks(60, 60, 2, 0.0),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ALIKE)
def test_alike_trajectories_change_nothing_to_the_last_bit(kind, monkeypatch) -> None:
    paths = ALIKE[kind]()
    model = _model(paths)
    assert _warning(model) is None
    monkeypatch.setattr(estimator, "compare_trajectories", lambda *arguments: ())
    untested = _model(paths)
    assert model.drift == untested.drift
    assert model.diffusion == untested.diffusion
    assert (model.draws.coefficients == untested.draws.coefficients).all()


@pytest.mark.parametrize("count", [2, 3, 20])
@pytest.mark.parametrize("kind", ["normal", "squares", "uneven"])
def test_the_score_of_parts_is_standard_normal_at_most(count: int, kind: str) -> None:
    generator, z = np.random.default_rng(count), []
    sizes = np.exp(generator.normal(0, 1, count)) if kind == "uneven" else np.ones(count)
    for _ in range(500):
        score = generator.standard_normal(count * PARTS)
        score = (score**2 - 1 if kind == "squares" else score) * np.repeat(sizes, PARTS)
        scatter = compare_parts(np.arange(score.size), score - score.mean(), np.ones(score.size))
        z.append(scatter.z)
    # Beyond 2 lie 2.3 % of normal values, 11 ± 3.3 of 500; beyond 3 lie 0.13 %, six or more by
    # chance once in 15 000.
    assert np.sum(np.array(z) > 2) < 11 + 3 * 3.3
    assert np.sum(np.array(z) > 3) < 6
    # Negative control: half a standard deviation of each part that is the trajectory's own.
    own = np.repeat(generator.choice([-0.5, 0.5], count), PARTS)
    own[:PARTS], own[-PARTS:] = 0.5, -0.5
    score = generator.standard_normal(own.size) + own
    apart = compare_parts(np.arange(own.size), score - score.mean(), np.ones(own.size))
    assert count < 20 or apart.z > 4
    assert count < 20 or apart.variance == pytest.approx(0.25, abs=0.15)


@pytest.mark.slow
def test_diffusions_of_their_own_make_no_term_depend_on_position(monkeypatch) -> None:
    paths = _walks(150, 100, 2, 0.7)
    model = _model(paths)
    warning = _warning(model)
    assert warning is not None
    # The spread of 150 log-normal factors and the tracks' own errors: 15 %.
    assert warning.details["x"]["diffusion_factor"] == pytest.approx(np.exp(0.7), rel=0.15)
    assert "by a factor of" in warning.message
    assert [len(c.active()) for c in model.drift.values()] == [0, 0]
    assert model.diffusion["x,x"].active().keys() == {"1"}
    assert model.diffusion["y,y"].active().keys() == {"1"}
    # The mean of factors with variance e^0.49 − 1 over 150 tracks, and Student's factor.
    a = next(t for t in model.diffusion["x,x"].terms if t.name == "1")
    assert a.std_error == pytest.approx(a.value * np.sqrt(0.63 / 150), rel=0.35)
    # Negative control: independent increments of one diffusion seem to depend on the position.
    _without_errors(monkeypatch)
    assert len(_model(paths).diffusion["x,x"].active()) > 1


@pytest.mark.slow
def test_a_diffusion_that_does_depend_on_the_state_keeps_its_terms() -> None:
    generator = np.random.default_rng(3)
    own = np.exp(generator.normal(0, 0.5, 80))
    paths = simulate(
        lambda x: -x,
        lambda x: own * (0.5 + 0.5 * x**2),
        generator.normal(0, 0.5, 80),
        dt=DT,
        n_steps=300,
        substeps=10,
        seed=4,
    )
    model = _model(list(paths))
    assert "diffusion_factor" in _warning(model).details["x"]
    assert model.drift["x"].active().keys() == {"x"}
    assert model.diffusion["x,x"].active().keys() == {"1", "x^2"}


@pytest.mark.parametrize("spread", [0.8, 4.0])
def test_levels_of_their_own_hide_the_rate_within_trajectories(spread: float) -> None:
    levels = np.random.default_rng(7).normal(0, spread, 40)
    warning = _warning(_model(_ou(40, 400, 8, level=levels)))
    assert warning is not None
    found = warning.details["x"]
    # The levels drawn are known, each trajectory's mean to √(2/θT) of its own 0.7.
    assert found["level"] == pytest.approx(np.std(levels), rel=0.15)
    # The rate of 800 relaxation times has an error of 5 %, the instruments' loss not counted.
    assert found["rate_within"] == pytest.approx(1, abs=0.35)
    # About the mean of all, the variance within over that of all.
    pooled = 0.5 / (0.5 + np.var(levels))
    assert found["rate_pooled"] == pytest.approx(pooled, rel=0.25)


def test_rates_of_their_own_make_no_cubic_drift(monkeypatch) -> None:
    paths = _ou(40, 1_000, 11, rate=np.exp(np.random.default_rng(10).normal(0, 0.8, 40)))
    model = _model(paths)
    assert "rate" in _warning(model).details["x"]
    assert model.drift["x"].active().keys() == {"x"}
    _without_errors(monkeypatch)
    assert len(_model(paths).drift["x"].active()) > 1


def test_a_motion_common_to_all_makes_errors_larger(monkeypatch) -> None:
    (common,) = _ou(1, 400, 12, rate=0.5, a=0.5)
    paths = [x + common for x in _ou(40, 400, 13)]
    model = _model(paths)
    warning = _warning(model)
    assert warning is not None
    # A third of the increments' variance is common.
    assert warning.details["x"]["common_correlation"] == pytest.approx(1 / 3, abs=0.08)
    (rate,) = (t for t in model.drift["x"].terms if t.active)
    _without_errors(monkeypatch)
    narrow = next(t for t in _model(paths).drift["x"].terms if t.name == "x")
    assert rate.std_error > 1.5 * narrow.std_error


def test_a_stage_that_drifts_is_no_measurement_noise(monkeypatch) -> None:
    generator = np.random.default_rng(18)
    stage = np.cumsum(0.1 * generator.standard_normal(200))
    # Neighbouring steps of the stage are correlated, which all 50 trajectories show.
    stage += 0.15 * np.roll(stage, 1) * (np.arange(200) > 0)
    paths = [stage + np.cumsum(0.1 * generator.standard_normal(200)) for _ in range(50)]
    codes = {f.code for f in _model(paths).findings}
    assert "trajectories-differ" in codes
    assert not codes & {"measurement-noise", "motion-blur", "trend"}
    monkeypatch.setattr(estimator, "compare_trajectories", lambda *arguments: ())
    assert {f.code for f in _model(paths).findings} & {"measurement-noise", "motion-blur"}


def test_sums_taken_in_pieces_give_the_same_model_to_the_last_bit() -> None:
    paths = _ou(40, 200, 14, a=np.exp(np.random.default_rng(15).normal(0, 0.7, 40)))

    def in_pieces(work: Pass) -> BlockSums | None:
        first, *others = (
            replace(work, blocks=work.blocks[k : k + 5]).sums()  # type: ignore[type-var]
            for k in range(0, len(work.blocks), 5)
        )
        return None if first is None else sum(others, first)

    here, elsewhere = _model(paths), _model(paths, in_pieces)
    assert _warning(here) is not None
    for fit, other in (
        (here.drift["x"], elsewhere.drift["x"]),
        (here.diffusion["x,x"], elsewhere.diffusion["x,x"]),
    ):
        assert fit.terms == other.terms
        assert fit.covariance is not None
        assert np.array_equal(fit.covariance, other.covariance)


def test_a_part_of_a_long_record_gives_the_errors_of_all(monkeypatch) -> None:
    own = np.exp(np.random.default_rng(16).normal(0, 0.5, 400))
    paths = _ou(400, 100, 17, a=own)

    def error() -> float:
        a = next(t for t in _model(paths).diffusion["x,x"].terms if t.name == "1")
        assert a.std_error is not None
        return a.std_error

    whole = error()
    monkeypatch.setattr(trajectory_errors, "WINDOWS_FOR_ERRORS", 15_000)
    # The scatter of 200 log-normal factors is known to a fifth.
    assert error() == pytest.approx(whole, rel=0.4)
