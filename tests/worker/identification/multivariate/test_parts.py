"""Parts of the estimator: kernels, noise correction, rules, residuals, positivity."""

import numpy as np
import pytest

from worker.identification.checks.visited_states import indefinite
from worker.identification.data.library import make_library
from worker.identification.data.trajectories import (
    PAIRS,
    Trajectories,
    Windows,
    block_edges,
    from_arrays,
)
from worker.identification.data.windows import measure_space, stretches
from worker.identification.sums.instruments import make_instruments
from worker.identification.sums.measurement_noise import MeasurementNoise
from worker.identification.sums.rules import (
    EULER,
    SCALAR_THROUGH_NOISE,
    SIMPSON,
    THROUGH_NOISE,
    TRAPEZOID,
)
from worker.identification.sums.window_products import pairs_of, products_of


def _space(data: Trajectories, periods=None):
    return measure_space(data, periods or (None,) * data.dimension)


def test_kernels_stand_where_the_data_are() -> None:
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 5_000)
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1) + 0.05 * rng.standard_normal((5_000, 2))
    space = _space(from_arrays([ring], 1.0))
    library = make_library(space.scales, periods=space.periods)
    instruments = make_instruments(space.internal(ring.copy()), library, space.periods, count=50)
    assert 20 <= instruments.n_kernels <= 50
    # Standard deviation 1/√2 of each coordinate: in the embedding the ring has radius √2, and
    # nothing stands inside it.
    np.testing.assert_allclose(np.linalg.norm(instruments.centres, axis=1), np.sqrt(2), atol=0.15)


def test_a_kernel_on_a_circle_is_the_same_on_both_sides_of_the_cut() -> None:
    angles = np.random.default_rng(0).uniform(-180, 180, (5_000, 2))
    space = _space(from_arrays([angles], 1.0), (360.0, 360.0))
    library = make_library(space.scales, periods=space.periods)
    instruments = make_instruments(space.internal(angles.copy()), library, space.periods, count=30)
    left, right = (space.internal(np.array([[x, 20.0]])) for x in (-179.999, 179.999))
    np.testing.assert_allclose(instruments.kernels(left), instruments.kernels(right), atol=1e-4)


def test_the_librarys_functions_are_tapered_away_from_the_data() -> None:
    sample = np.random.default_rng(0).standard_normal((5_000, 2))
    space = _space(from_arrays([sample], 1.0))
    library = make_library(space.scales, periods=space.periods)
    instruments = make_instruments(space.internal(sample.copy()), library, space.periods, count=50)
    _, functions = instruments.at(space.internal(np.array([[30.0, -30.0]])))
    assert np.abs(functions).max() < 1e-6
    inside = space.internal(np.array([[0.3, -0.4]]))
    np.testing.assert_allclose(
        instruments.at(inside)[1], library.internal(inside), rtol=0.1, atol=1e-12
    )


def test_noise_corrected_functions_have_the_functions_as_their_mean() -> None:
    sample = np.random.default_rng(0).standard_normal((500, 2)) * [1.0, 3.0] + [0.5, -4.0]
    space = _space(from_arrays([sample], 1.0))
    library = make_library(space.scales, periods=space.periods, polynomial_degree=5)
    covariance = np.array([[0.04, 0.01], [0.01, 0.02]])
    noise = MeasurementNoise(covariance, library)
    # Gauss–Hermite quadrature is exact for these polynomials.
    nodes, weights = np.polynomial.hermite_e.hermegauss(8)
    grid = (
        np.stack(np.meshgrid(nodes, nodes), axis=-1).reshape(-1, 2)
        @ np.linalg.cholesky(covariance).T
    )
    weight = np.outer(weights, weights).ravel() / (2 * np.pi)
    for y in ([0.2, -0.7], [-0.9, 0.4]):
        y = np.array([y])
        mean = weight @ (library.internal(y + grid) @ noise.correction.T)
        np.testing.assert_allclose(mean, library.internal(y)[0], atol=1e-12)
        for p in range(2):
            # E[η_p g̃(y + η)] = Σ_r S_pr ∂_r g(y), and `shared` says the same of functions at y +
            # η.
            expected = weight @ (
                grid[:, p : p + 1] * (library.internal(y + grid) @ noise.correction.T)
            )
            np.testing.assert_allclose(
                weight @ (library.internal(y + grid) @ noise.shared(p)), expected, atol=1e-12
            )


@pytest.mark.parametrize(
    ("rule", "order"),
    [
        (TRAPEZOID, 2),
        (SIMPSON, 4),
        (SCALAR_THROUGH_NOISE, 4),
        (THROUGH_NOISE, 3),
    ],
)
def test_the_error_of_a_rule_goes_with_its_order(rule, order: int) -> None:
    """(M21) and (M22) hold to h^(order + 1) a window, for exact moments of a linear process."""
    from scipy.linalg import expm, solve_continuous_lyapunov

    matrix, a = np.array([[-1.0, 2.0], [-2.0, -1.0]]), np.array([[1.0, 0.6], [0.6, 0.5]])
    stationary, x = solve_continuous_lyapunov(matrix, -a), np.array([0.7, -0.3])

    def errors(h: float) -> tuple[float, float]:
        means, seconds, crosses = [], [], []
        for k in range(len(rule.drift)):
            flow = expm(matrix * h * k)
            m = flow @ x
            c = stationary - flow @ stationary @ flow.T
            means.append(m)
            seconds.append(c + np.outer(m - x, m - x))
            # E[(X_k − x) b(X_k)ᵀ]
            crosses.append((c + np.outer(m - x, m)) @ matrix.T)
        drift = (
            means[rule.last]
            - x
            - h * sum(w * matrix @ m for w, m in zip(rule.drift, means, strict=True))
        )
        left = sum(w * seconds[k + 1] for k, w in enumerate(rule.moments))
        for (k, j), w in rule.cross:
            assert k == j
            left = left - h * w * (crosses[k] + crosses[k].T)
        return float(np.abs(drift).max()), float(np.abs(left - h * sum(rule.diffusion) * a).max())

    coarse, fine = errors(0.02), errors(0.01)
    # The drift's quadrature may be better than the diffusion's; neither is worse than the order
    # says, to a quarter of a power.
    assert np.log2(coarse[0] / fine[0]) > order + 0.75
    assert np.log2(coarse[1] / fine[1]) > order + 0.75


def test_eulers_correction_has_the_papers_expectation() -> None:
    """Given y_n, D_p b_q Δt stands for b_p b_q Δt²."""
    assert EULER.cross == (((1, 0), 0.5),)
    assert EULER.diffusion == (1.0, 0.0)


def test_products_are_what_they_say() -> None:
    states = np.random.default_rng(2).standard_normal((60, 3))
    data = from_arrays([states], 0.5)
    space = _space(data)
    library = make_library(space.scales, periods=space.periods, polynomial_degree=2)
    rule = SIMPSON
    (stretch,) = stretches(data, space, block_edges(data, 1), rule.windows)
    products = products_of(stretch, space, library, rule)
    y, n = space.internal(states.copy()), 17
    g = library.internal(y)
    one, two = y[n + 1] - y[n], y[n + 2] - y[n]
    np.testing.assert_allclose(products.functions[n], g[n : n + 3], rtol=1e-12)
    np.testing.assert_allclose(products.displacements[n], [one, two], atol=1e-14)
    np.testing.assert_allclose(
        products.moments[n, 1], [two[p] * two[q] for p, q in pairs_of(3)], atol=1e-14
    )
    for c, (k, j) in enumerate(products.layout.crosses):
        np.testing.assert_allclose(
            products.cross[n, c], np.outer((one, two)[k - 1], g[n + j]), rtol=1e-12, atol=1e-14
        )


def test_windows_never_span_two_segments_and_angles_take_the_shorter_way() -> None:
    states = np.array([[170.0, 0.0], [-170.0, 1.0], [170.0, 2.0], [10.0, 3.0], [20.0, 4.0]] * 20)
    segments = np.array(
        [[5 * k, 5 * k + 3, k] for k in range(20)] + [[5 * k + 3, 5 * k + 5, k] for k in range(20)]
    )
    data = Trajectories(states, np.tile(np.arange(5.0), 20), segments[np.argsort(segments[:, 0])])
    space = _space(data, (360.0, None))
    found = list(stretches(data, space, block_edges(data, 1), PAIRS))
    displacements = np.concatenate([s.displacements(space)[0] for s in found]) * space.units
    assert len(displacements) == 60
    np.testing.assert_allclose(
        np.sort(displacements[:, 0]), np.sort([20.0, -20.0, 10.0] * 20), atol=1e-12
    )
    assert sum(s.size for s in stretches(data, space, block_edges(data, 1), Windows(3))) == 20


def test_a_tensor_that_is_no_covariance_is_found_where_it_is_not() -> None:
    states = np.stack([np.linspace(-1, 1, 201), np.zeros(201)], axis=1)
    functions = np.stack([np.ones(201), states[:, 0]], axis=1)
    # a_xy = x against a_xx = a_yy = ½: indefinite where |x| > ½.
    tensor = np.array([[[0.5, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.5, 0.0]]])
    where = indefinite(states, functions, tensor)
    assert where is not None
    assert where.share == pytest.approx(100 / 201)
    assert abs(where.worst[0]) == 1
    assert indefinite(states[50:151], functions[50:151], tensor) is None
    degenerate = np.array([[[0.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.5, 0.0]]])
    assert indefinite(states, functions, degenerate) is None


def test_errors_under_persistent_residuals_are_never_below_the_models() -> None:
    from worker.identification.regression import NormalEquations, solve, with_block_errors

    rng, n_blocks, size = np.random.default_rng(0), 60, 3
    design = rng.standard_normal((n_blocks, 40, size))
    information = np.einsum("bmi,bmj->bij", design, design)
    # Noise with nine times the variance along the first coefficient, and almost none along the
    # last.
    score = np.sqrt(40) * rng.standard_normal((n_blocks, size)) * [3, 1, 0.1]
    equations = NormalEquations(
        information.sum(axis=0), score.sum(axis=0), information, score, np.eye(size)
    )
    before = np.diag(solve(equations, np.eye(size)).covariance)
    after = np.diag(
        solve(with_block_errors(equations, at_least_model=True), np.eye(size)).covariance
    )
    assert after[0] > 4 * before[0]
    assert (after > 0.999 * before).all()
    assert (
        np.diag(solve(with_block_errors(equations), np.eye(size)).covariance)[2] < 0.1 * before[2]
    )
