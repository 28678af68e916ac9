"""Plans against closed forms, scaling laws, and the identification itself."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from contract.kinds import JOB_REQUEST
from contract.plan import PlanResult
from worker.generator.errors import GeneratorError
from worker.identification.symbolic_process import SymbolicProcess, from_terms
from worker.jobs import plan as plan_job
from worker.jobs.generator import in_standard_names
from worker.jobs.problems import JobProblem
from worker.planning.errors import NoPlan, NoSuchQuantity
from worker.planning.information import Chain, Terms, chain_of, covariance_per_time
from worker.planning.noise_cost import NoisyModel, ThroughNoise
from worker.planning.target import needed_z

K, A = 1.5, 0.8


def ornstein_uhlenbeck(k: float = K, a: float = A) -> Chain:
    reach = 4.5 * np.sqrt(a / (2 * k))
    terms = Terms((lambda x: x,), (np.ones_like,), np.array([-k, a]))
    return chain_of(terms, (-reach, reach))


def planned(target: dict, drift: dict | None = None, **fields: object) -> PlanResult:
    job = JOB_REQUEST.validate_python(
        {
            "kind": "plan",
            "model": {
                "drift": {"x": drift or {"x": -1}},
                "diffusion": {"x,x": {"1": 2}},
                "domain": fields.pop("domain", {}),
            },
            "target": target,
            **fields,
        }
    )
    given = in_standard_names(job.model)
    found = plan_job.compute(job, given, lambda *_: None, None)
    return plan_job.describe("job_1", job, given, found, 0.0)


RATE = {"quantity": "coefficient", "component": "x", "term": "x", "precision": 0.05}
DIFFERENCE = {"quantity": "difference", "component": "x", "term": "x"}


@pytest.mark.parametrize("dt", [0.002, 0.05, 0.4])
def test_the_error_of_a_rate_is_that_of_the_exact_likelihood(dt: float) -> None:
    chain = ornstein_uhlenbeck()
    covariance = covariance_per_time(chain, 1, dt, chain.density)
    assert covariance[0, 0] == pytest.approx((np.exp(2 * K * dt) - 1) / dt, rel=1e-3)
    if dt < 0.01:
        assert covariance[0, 0] == pytest.approx(2 * K, rel=0.01)


@pytest.mark.parametrize(("dt", "within"), [(0.002, 1e-3), (0.05, 2e-3), (0.4, 0.02)])
def test_the_error_of_a_diffusion_is_that_of_the_exact_likelihood(dt: float, within: float) -> None:
    """a = 2k v/(1 − ρ²), ρ = e^(−kΔt); v and ρ are independent, n Var v = 2v²."""
    chain = ornstein_uhlenbeck()
    covariance = covariance_per_time(chain, 1, dt, chain.density)
    rho = np.exp(-2 * K * dt)
    slope = 1 / K - 2 * dt * rho / (1 - rho)
    exact = A**2 * (2 * dt + slope**2 * (np.exp(2 * K * dt) - 1) / dt)
    assert covariance[1, 1] == pytest.approx(exact, rel=within)
    if dt < 0.01:
        assert covariance[1, 1] == pytest.approx(2 * A**2 * dt, rel=0.01)


@settings(max_examples=15, deadline=None)
@given(st.floats(-3, 3), st.floats(-3, 3), st.sampled_from([0.01, 0.1, 0.3]))
def test_errors_scale_with_the_units_of_time_and_state(time: float, state: float, d: float) -> None:
    """x → ux, t → τt: Var k scales with τ⁻², T with τ, Var a with u⁴τ⁻²."""
    tau, u = 10.0**time, 10.0**state
    chain = ornstein_uhlenbeck(1.0, 2.0)
    other = ornstein_uhlenbeck(1 / tau, 2 * u**2 / tau)
    scale = np.array([1 / tau, u**2 / tau])
    first = covariance_per_time(chain, 1, d, chain.density)
    second = covariance_per_time(other, 1, d * tau, other.density)
    np.testing.assert_allclose(second, first * scale * scale[:, None] * tau, rtol=1e-6)


def test_trajectories_from_afar_tell_more_of_the_rate() -> None:
    """⟨x²⟩ over a time D from x₀ is v + (x₀² − v)(1 − e^(−2kD))/(2kD): the information's ratio."""
    chain = ornstein_uhlenbeck()
    v, start, duration = A / (2 * K), 1.5, 0.5
    density = chain.density_from(start, duration)
    mean = v + (start**2 - v) * (1 - np.exp(-2 * K * duration)) / (2 * K * duration)
    assert density @ chain.x**2 == pytest.approx(mean, rel=1e-3)
    here, there = (covariance_per_time(chain, 1, 0.005, d)[0, 0] for d in (chain.density, density))
    assert here / there == pytest.approx(mean / v, rel=5e-3)


def test_a_relaxation_time_follows_from_the_rate_and_time_from_the_precision() -> None:
    """Var log(1/k) = Var k/k² = (e^(2kΔt) − 1)/(k²TΔt)."""
    coarse = planned({"quantity": "relaxation_time", "precision": 0.1}, dt=[0.1])
    fine = planned({"quantity": "relaxation_time", "precision": 0.05}, dt=[0.1])
    assert coarse.best.duration == pytest.approx((np.exp(0.2) - 1) / 0.1 / 0.1**2, rel=2e-3)
    assert fine.best.duration == pytest.approx(4 * coarse.best.duration, rel=1e-9)
    assert fine.coefficients[0].std_error == pytest.approx(0.05, rel=2e-3)
    assert fine.quantity.value == pytest.approx(1.0, rel=1e-4)


def test_a_variance_has_the_error_of_a_time_average() -> None:
    """For Δt → 0 the variance is known to 2/(kT) of its square, as from ⟨x²⟩ over the record."""
    found = planned({"quantity": "variance", "precision": 0.05}, dt=[0.005])
    assert found.best.duration == pytest.approx(2 / 0.05**2, rel=5e-3)


def test_a_wald_test_of_the_planned_record_has_its_power() -> None:
    z = needed_z(0.9, 0.05)
    critical = norm.isf(0.025)
    assert norm.sf(critical - z) + norm.cdf(-critical - z) == pytest.approx(0.9, abs=1e-9)
    target = {**DIFFERENCE, "other": -1.2}
    found = planned(target, dt=[0.01])
    assert 0.2 / found.coefficients[0].std_error == pytest.approx(z, rel=1e-6)


def test_an_unknown_weak_noise_costs_what_two_equations_say() -> None:
    """S₁ and S₃, mean squares over one and over three steps: ah = (S₃ − S₁)/2, 4s² = 3S₁ − S₃.

    Of a random walk n Var S₁ = 2a²h², n Var S₃ = 38a²h², n Cov = 6a²h²: n Var a = 7a², n Var s² =
    5/4 a²h². The variance of 200 blocks is known to 10 %, that of four records to 5 %.
    """
    dt, noise = 0.01 / K, 1e-4
    model = NoisyModel(
        SymbolicProcess(from_terms({"x": -K}), from_terms({"1": A})),
        (("x",), ("1",)),
        np.array([-K, A]),
        ornstein_uhlenbeck(),
        seed=0,
    )
    costs = model.costs_over(np.full(4, dt), noise)
    clean = covariance_per_time(model.chain, 1, dt, model.chain.density)
    found = costs.through(clean, dt, noise)
    assert found.covariance[1, 1] == pytest.approx(7 * A**2 * dt, rel=0.2)
    assert found.covariance[2, 2] == pytest.approx(1.25 * (A * dt) ** 2 * dt, rel=0.2)
    assert found.covariance[0, 0] == pytest.approx(2 * K, rel=0.2)


@settings(max_examples=25, deadline=None)
@given(st.floats(0.0, 4.0), st.floats(-0.95, 0.95))
def test_errors_of_a_negative_variance_are_cut_off(r: float, correlation: float) -> None:
    """For jointly normal errors of θ and of s², θ's are those with s² no lower than zero."""
    covariance = np.array([[1.0, correlation], [correlation, 1.0]])
    found = ThroughNoise(covariance, r).after(1.0)[0, 0]
    cut = quad(lambda z: max(z, -r) ** 2 * norm.pdf(z), -10, 10, points=[-r])[0]
    assert found == pytest.approx(1 - correlation**2 + correlation**2 * cut, abs=1e-6)


def test_more_noise_takes_more_time() -> None:
    found = planned({"quantity": "relaxation_time"}, noise=0.1, dt=[0.1])
    durations = np.array(found.curves.duration_with_noise)
    assert durations[0] == pytest.approx(found.best.clean_duration, rel=1e-6)
    assert (durations >= 0.999 * durations[0]).all()
    assert durations[-1] > 1.2 * durations[0]
    at = np.interp(0.1, found.curves.noise, durations)
    assert at == pytest.approx(found.best.duration, rel=0.02)


@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_the_identification_claims_the_error_that_is_planned(noise: float) -> None:
    """Its own error of four records, with one of noise, is 4 % and 10 % of it."""
    target = {"quantity": "passage", "precision": 0.05}
    double_well = {"x": 4, "x^3": -4}
    found = planned(target, double_well, noise=noise, dt=[0.02], seed=3)
    check = found.check
    assert check.claimed is not None
    assert check.realised is not None
    assert check.claimed == pytest.approx(check.predicted, rel=0.3 if noise else 0.12)
    assert check.realised < 4 * check.predicted
    assert found.quantity.from_ is not None
    assert found.quantity.to is not None
    ends = sorted((found.quantity.from_, found.quantity.to))
    assert ends == pytest.approx([-1.0, 1.0], abs=1e-6)


def test_whole_trajectories_are_planned_and_what_is_reached_in_less_is_told() -> None:
    found = planned(RATE, trajectory_duration=30.0, start=1.0, max_duration=100.0, dt=[0.1])
    best = found.best
    assert best.trajectories == np.ceil(best.duration / 30.0)
    assert best.duration == pytest.approx(30.0 * best.trajectories)
    # Whole trajectories take up to one more than the precision asks for.
    needed = 0.05 * np.sqrt(best.duration / 100.0)
    assert needed * np.sqrt(1 - 1 / best.trajectories) <= found.reachable <= needed
    assert "you have" in found.message
    assert f"as {best.trajectories} trajectories" in found.message


@pytest.mark.parametrize(
    ("problem", "target", "drift", "fields"),
    [
        (NoSuchQuantity, {"quantity": "passage"}, None, {}),  # one well
        (NoPlan, RATE, {"x": 1}, {}),  # no stationary distribution
        (NoPlan, RATE, None, {"dt": [5.0]}),
        (NoPlan, RATE, None, {"dt": [1e-300]}),
        (NoPlan, RATE, None, {"noise": 1e300}),
        (NoPlan, RATE, {"x": 0.1}, {"domain": {"x": [0, 1]}}),
        (NoPlan, RATE, None, {"trajectory_duration": 0.01}),
        (NoPlan, RATE, None, {"trajectory_duration": 10.0, "start": 50.0}),
        (JobProblem, {**RATE, "term": "x^3"}, None, {}),
        (JobProblem, {**RATE, "component": "y"}, None, {}),
        (JobProblem, {**DIFFERENCE, "other": -1.0}, None, {}),
        (JobProblem, {**DIFFERENCE, "other": 1e300}, None, {}),
    ],
)
def test_what_has_no_plan_is_refused(
    problem: type[Exception], target: dict, drift: dict | None, fields: dict
) -> None:
    with pytest.raises(problem) as refused:
        planned(target, drift, **fields)
    assert issubclass(problem, GeneratorError | JobProblem)
    assert len(str(refused.value)) > 20
