"""Kernel choice: the score is a likelihood that rejects bad kernels, and units do not matter."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.simulation import simulate
from worker.identification.data.library import make_library
from worker.identification.data.trajectories import (
    Trajectories,
    block_edges,
    from_arrays,
    measure_scales,
)
from worker.identification.data.windows import Space
from worker.identification.estimation.cell_equations import Weights, first_weights, gather_for
from worker.identification.estimation.estimator import identify
from worker.identification.estimation.fit import Fit
from worker.identification.estimation.kernel_choice import choose_kernels, judge
from worker.identification.estimation.problem import Problem, make_grid
from worker.identification.findings.fit import findings
from worker.identification.selection.kernel_scores import (
    KernelCandidate,
    KernelChoice,
    choice_among,
    folds_of,
    held_out,
    make_held_out_score,
    variance_over_bound,
    whitening,
)
from worker.identification.sums.cell_rules import drift_system
from worker.identification.sums.kernel_statistics import KernelStatistics
from worker.identification.sums.kernels import Kernels, make_kernels
from worker.identification.sums.rules import EULER, TRAPEZOID


def _problem(
    data: Trajectories, *, choosing: bool = True, period: float | None = None, **library
) -> Problem:
    scales = measure_scales(data, period)
    grid = make_grid(scales, period=period) if choosing else None
    kernels = make_kernels(scales, period=period)
    return Problem(
        data,
        Space((scales,), (period,)),
        make_library((scales,), periods=(period,), **library),
        kernels,
        grid=grid,
    )


def _at_nodes(problem: Problem) -> tuple[KernelStatistics, Weights]:
    statistics = gather_for(problem, TRAPEZOID, at_nodes=True)
    return statistics, first_weights(statistics.under(problem.kernels), problem.kernels)


def _judged(problem: Problem, *kernels: Kernels) -> list[KernelCandidate]:
    return judge(kernels, problem, TRAPEZOID, *_at_nodes(problem))


def _taken(identified: Fit) -> tuple[int, float]:
    choice = identified.choice
    taken = choice.candidates[choice.chosen]
    return taken.count, taken.bandwidth


@pytest.fixture(scope="module")
def wells(paths) -> Trajectories:
    return from_arrays(list(paths("double-well", 20, 0.01, 10_000)), 0.01)


@pytest.mark.parametrize(
    "library", [{}, {"extra_terms": ("sin(x)",)}], ids=["by powers", "by weights"]
)
def test_one_pass_gives_the_sums_of_every_candidate(wells: Trajectories, library) -> None:
    problem = _problem(wells, **library)
    at_nodes = gather_for(problem, TRAPEZOID, at_nodes=True)
    for kernels in problem.grid[::5]:
        of_its_own_pass = gather_for(replace(problem, instruments=kernels, grid=None), TRAPEZOID)
        of_the_same_pass = at_nodes.under(kernels)
        scale = np.abs(of_its_own_pass.sums).max(axis=(0, 1))
        # Cells of half a bandwidth are exact to 2·10⁻¹¹ of the sum of absolute values.
        np.testing.assert_allclose(
            of_the_same_pass.sums / scale, of_its_own_pass.sums / scale, atol=1e-9
        )
        np.testing.assert_allclose(
            of_the_same_pass.at_instrument,
            of_its_own_pass.at_instrument,
            atol=1e-9 * wells.n_increments,
        )


def test_by_eulers_rule_the_yardstick_is_girsanovs_likelihood_of_the_fold(
    wells: Trajectories,
) -> None:
    problem, a = _problem(wells), 0.3
    statistics = gather_for(problem, EULER, at_nodes=True)
    system, functions = (
        drift_system(EULER, statistics, problem.library),
        problem.library.internal(statistics.nodes),
    )
    held_out_score = make_held_out_score(
        design=functions.T / a @ folds_of(system.design),
        response=folds_of(system.response) @ functions / a,
        information=(functions * statistics.time[:, None]).T @ functions / a,
    )
    coordinates = np.random.default_rng(0).standard_normal(held_out_score.score.shape)
    drifts = coordinates @ held_out_score.basis.T
    # Twenty trajectories are twenty blocks; folds are the groups that array_split makes of them.
    scales, expected = problem.scales, []
    groups = np.array_split(np.arange(len(block_edges(wells, 48)) - 1), len(drifts))
    for fold, drift in zip(groups, drifts, strict=True):
        likelihood = 0.0
        for start, stop, _ in wells.segments[fold]:
            y = (wells.states[start:stop, 0] - scales.origin) / scales.unit
            b = problem.library.internal(y[:-1]) @ drift
            likelihood += float((b * np.diff(y) / a - b**2 / (2 * a)).sum())
        expected.append(likelihood)
    np.testing.assert_allclose(held_out_score.of(coordinates), expected, rtol=1e-8)


def test_what_is_held_out_has_no_part_in_its_own_coefficients(wells: Trajectories) -> None:
    problem = _problem(wells)
    statistics, weights = _at_nodes(problem)
    system = drift_system(TRAPEZOID, statistics.under(problem.kernels), problem.library)
    white = whitening(problem.kernels.at(statistics.nodes), weights.drift)
    rows = white @ np.linalg.pinv(problem.kernels.at(statistics.nodes))
    design, response = rows @ folds_of(system.design), folds_of(system.response) @ rows.T
    size = problem.library.internal_size
    held_out_score = make_held_out_score(
        np.stack([np.eye(size)] * len(design)), np.zeros((len(design), size)), np.eye(size)
    )
    before = held_out(design, response, held_out_score)
    response[3] += 5.0
    after = held_out(design, response, held_out_score)
    assert after[3] == pytest.approx(before[3], rel=1e-12)
    assert np.abs(np.delete(after - before, 3)).min() > 0


@given(count=st.integers(5, 80), spacings=st.floats(0.3, 5.0))
@settings(max_examples=15, deadline=None)
def test_no_kernels_know_more_than_the_likelihood(
    wells_at_nodes, count: int, spacings: float
) -> None:
    functions, statistics, weights, kernels = wells_at_nodes
    centres = np.linspace(kernels.centres[0], kernels.centres[-1], count)
    candidate = Kernels(centres, max(spacings * float(centres[1] - centres[0]), 0.02))
    white = whitening(candidate.at(statistics.nodes), weights.drift)
    variance = variance_over_bound(white, functions, statistics.time, weights.drift)
    # Cauchy–Schwarz, to the rounding of eigenvalues of V down to 10⁻¹⁰.
    assert variance is None or variance > 1 - 1e-6


@pytest.fixture(scope="module")
def wells_at_nodes(wells: Trajectories):
    problem = _problem(wells)
    statistics, weights = _at_nodes(problem)
    return problem.library.internal(statistics.nodes), statistics, weights, problem.instruments


@pytest.mark.slow
@pytest.mark.parametrize("system", ["ornstein-uhlenbeck", "double-well", "multiplicative"])
def test_the_default_kernels_are_at_the_bound_and_others_are_no_better(paths, system: str) -> None:
    problem = _problem(from_arrays(list(paths(system, 20, 0.01, 10_000)), 0.01))
    default, finer, coarser = _judged(
        problem, problem.kernels, *(make_kernels(problem.scales, count=n) for n in (100, 25))
    )
    assert max(default.drift_variance, default.diffusion_variance) < 1.001
    for other in (finer, coarser):
        assert other.drift_variance == pytest.approx(default.drift_variance, abs=0.001)
        # The paired difference of efficient estimators is a fraction of a nat: by 3.5 standard
        # errors, one in 300 on 11 degrees.
        behind = default.scores - other.scores
        assert abs(behind.sum()) < max(3.5 * np.sqrt(len(behind)) * behind.std(ddof=1), 0.1)


def test_absurd_kernels_are_told(wells: Trajectories) -> None:
    problem = _problem(wells)
    ends = problem.kernels.centres[[0, -1]]
    width = float(ends[1] - ends[0])
    two = Kernels(ends, 0.45 * width)
    as_wide_as_the_range = replace(problem.kernels, bandwidth=2 * width)
    gaps = Kernels(np.linspace(*ends, 6), problem.kernels.bandwidth / 4)
    default, none, nothing, gappy = _judged(
        problem, problem.kernels, two, as_wide_as_the_range, gaps
    )
    # Five terms cannot be told by two kernels, nor by fifty that are one.
    assert none.score is None
    assert nothing.score is None
    behind = default.scores - gappy.scores
    assert behind.sum() > 2 * np.sqrt(len(behind)) * behind.std(ddof=1)
    assert gappy.drift_variance > 5 * default.drift_variance
    choice = choice_among([none, gappy, nothing, default], len(behind))
    assert choice.chosen == 3


def test_chosen_kernels_are_as_good_as_the_default(wells: Trajectories) -> None:
    default, chosen = (
        identify(_problem(wells, choosing=c), "trapezoid", "none") for c in (False, True)
    )
    for one, other in (
        (default.drift[0], chosen.drift[0]),
        (default.diffusion[0, 0], chosen.diffusion[0, 0]),
    ):
        assert one.estimate.support == other.estimate.support
        # Var(ĉ − ĉ₀) = Var ĉ − Var ĉ₀ of an efficient ĉ₀, below one percent of it: 0.1 standard
        # errors, four times over.
        assert np.all(np.abs(one.estimate.raw - other.estimate.raw) < 0.4 * one.estimate.std_error)


@pytest.mark.slow
@given(
    scale=st.sampled_from([1e-9, 0.31, 1.0, 7.3, 1e6]),
    offset=st.sampled_from([0.0, 1.0, -20.0]),
    time=st.sampled_from([1e-6, 1.0, 3600.0]),
)
@settings(max_examples=8, deadline=None)
def test_changing_units_changes_no_choice(paths, scale: float, offset: float, time: float) -> None:
    x = paths("double-well", 20, 0.01, 10_000)[:10, ::5]
    one, unit = _choice(from_arrays(list(x), 0.05))
    other, changed_unit = _choice(from_arrays(list(scale * (x + offset)), 0.05 * time))
    assert one.chosen == other.chosen
    for before, after in zip(one.candidates, other.candidates, strict=True):
        assert before.count == after.count
        assert after.bandwidth * changed_unit == pytest.approx(
            before.bandwidth * unit * scale, rel=1e-9
        )
        # Directions of V near 10⁻¹⁰ of the largest may be kept in one unit and not in the other.
        assert after.score == pytest.approx(before.score, abs=0.01)


def _choice(data: Trajectories) -> tuple[KernelChoice, float]:
    problem = _problem(data)
    return choose_kernels(problem, TRAPEZOID, *_at_nodes(problem)).choice, problem.scales.unit


@pytest.fixture(scope="module")
def ripples() -> Trajectories:
    """b = −x + 3 sin 70x, of a period shorter than the default bandwidth."""
    start = np.random.default_rng(1).normal(0, 0.5, 20)
    return from_arrays(
        list(
            simulate(
                lambda x: -x + 3 * np.sin(70 * x),
                lambda x: np.full_like(x, 0.5),
                start,
                dt=2e-4,
                n_steps=20_000,
                seed=3,
            )
        ),
        2e-4,
    )


@pytest.mark.slow
def test_ripples_under_a_kernel_are_missed_with_a_warning_and_found_by_choosing(
    ripples: Trajectories,
) -> None:
    library = {"polynomial_degree": 2, "extra_terms": ("sin(70*x)", "cos(70*x)")}
    missed, found = (_problem(ripples, choosing=c, **library) for c in (False, True))
    default, chosen = (identify(p, "euler", "none") for p in (missed, found))
    names = [found.library.names[k] for k in chosen.drift[0].estimate.support]
    assert "sin(70*x)" in names
    assert "sin(70*x)" not in [missed.library.names[k] for k in default.drift[0].estimate.support]
    at, factor = names.index("sin(70*x)"), found.scales.unit / found.scales.time
    estimate = chosen.drift[0].estimate
    assert abs(estimate.raw[at] * factor - 3) < 4 * estimate.std_error[at] * factor
    assert [f.code for f in findings(default, missed, "auto") if "kernels" in f.code] == [
        "wide-kernels"
    ]
    assert not [f for f in findings(chosen, found, "auto") if "kernels" in f.code]


def test_default_kernels_are_not_called_wide_for_high_powers(wells: Trajectories) -> None:
    problem = _problem(wells, choosing=False, polynomial_degree=8)
    assert not [
        f
        for f in findings(identify(problem, "trapezoid", "none"), problem, "none")
        if "kernels" in f.code
    ]


def test_too_few_samples_leave_the_default_with_a_word(paths) -> None:
    x = paths("ornstein-uhlenbeck", 20, 0.01, 10_000)[0, :1_500:10]
    problem = _problem(from_arrays([x], 0.1))
    identified = identify(problem, "trapezoid", "none")
    assert identified.instruments is problem.instruments
    assert [f.code for f in findings(identified, problem, "none") if "kernels" in f.code] == [
        "kernels-not-chosen"
    ]


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["simpson", "auto"])
def test_kernels_are_chosen_for_the_rule_that_fits(paths, rule: str) -> None:
    x = paths("ornstein-uhlenbeck", 20, 0.01, 10_000)
    noise = 0.05 * np.random.default_rng(0).standard_normal(x.shape) if rule == "auto" else 0.0
    identified = identify(_problem(from_arrays(list(x + noise), 0.01)), rule, "auto")
    assert identified.rule.name.startswith("simpson")
    assert (identified.noise_variances[0] > 0) == (rule == "auto")
    assert _taken(identified)[0] == len(identified.instruments.centres)
    assert identified.drift[0].estimate.support == (1,)


def test_on_a_circle_too() -> None:
    start = np.random.default_rng(2).uniform(-np.pi, np.pi, 12)
    x = simulate(
        lambda x: -np.sin(x),
        lambda x: np.full_like(x, 0.8),
        start,
        dt=0.02,
        n_steps=5_000,
        substeps=2,
        seed=5,
    )
    wrapped = (x + np.pi) % (2 * np.pi) - np.pi
    problem = _problem(from_arrays(list(wrapped), 0.02), period=2 * np.pi, fourier_harmonics=3)
    identified = identify(problem, "trapezoid", "none")
    assert identified.instruments.circle is not None
    assert [problem.library.names[k] for k in identified.drift[0].estimate.support] == ["sin(x)"]
    assert identified.choice.candidates[identified.choice.chosen].drift_variance < 1.01
