"""Passages and committors in the plane against those of one coordinate and against series."""

import numpy as np
import pytest
from scipy.integrate import quad, simpson
from scipy.sparse import csc_array, diags_array, eye_array, kron
from scipy.sparse.linalg import spsolve

from contract.generator import ModelTerms
from worker.generator.analysis import Analysis, analyse, analysis
from worker.generator.process import DiffusionProcess, FloatArray
from worker.generator.quantities.outcomes import FAR_OUT, NEVER_HIT, NO_STATES, WHOLE_PLANE
from worker.generator.quantities.passages import SpatialPassage
from worker.generator.quantities.regions import Place, Region
from worker.generator.quantities.report import GeneratorReport
from worker.generator.uncertainty.confidence_intervals import intervals_over
from worker.jobs.parameters import process_of

Terms = dict[str, dict[str, float]]
OPEN = (-np.inf, np.inf)


def model(drift: Terms, diffusion: Terms, **more: object) -> DiffusionProcess:
    return process_of(ModelTerms.model_validate({"drift": drift, "diffusion": diffusion, **more}))


def from_x(low: float) -> Region:
    return Region(((low, np.inf), OPEN))


REFUSED: list[tuple[Place, Place, str]] = [
    ((-1.0, 0.0), (1.0, 0.0), str(NEVER_HIT)),
    ((-1.0, 0.0), Region(((1.0, 0.5), OPEN)), "is empty"),
    ((-1.0, 0.0), Region((OPEN, OPEN)), str(WHOLE_PLANE)),
    ((-1.0, 0.0), Region(((0.0, 1.0), OPEN), ("z",)), "names z"),
    ((-1.0, 0.0, 2.0), from_x(0.8), "two numbers, not 3"),
    ((-1.0, 0.0), from_x(80.0), str(FAR_OUT)),
    (-1.0, from_x(0.8), str(NO_STATES)),
]


def passage(process: DiffusionProcess, start: Place, to: Place) -> SpatialPassage:
    return analyse(process, passages=[(start, to)]).between[0]


def wells(a: float) -> DiffusionProcess:
    return model({"x": {"x": 1, "x^3": -1}, "y": {"y": -2}}, {"x,x": {"1": a}, "y,y": {"1": a}})


@pytest.fixture(scope="module")
def two_wells() -> Analysis:
    """Of the process at 2 kT, with everything that is asked of it below."""
    left, right = Region(((-np.inf, -0.9), OPEN)), from_x(0.8)
    asked = [(start, to) for start, to, _ in REFUSED]
    return analysis(
        wells(0.25),
        passages=[*asked, ((-1.0, 0.1), right), ((0.9, 0.0), right)],
        committors=[(left, right)],
    )


def on_the_line(
    drift: dict[str, float], a: float, start: float, to: float, **more: object
) -> tuple[float, float]:
    """Mean and standard deviation."""
    (timed, *_) = analyse(
        model({"x": drift}, {"x,x": {"1": a}}, **more), passages=[(start, to)]
    ).passages
    assert timed.mean_time.value is not None
    assert timed.deviation is not None
    assert timed.deviation.value is not None
    return timed.mean_time.value, timed.deviation.value


@pytest.mark.slow
def test_a_separable_double_well_takes_as_long_as_on_the_line(two_wells: Analysis) -> None:
    is_on_the_line(two_wells.report.between[len(REFUSED)], 0.25)


@pytest.mark.slow
def test_so_it_does_over_a_barrier_of_twenty_kt() -> None:
    is_on_the_line(passage(wells(0.025), (-1.0, 0.1), from_x(0.8)), 0.025)


def is_on_the_line(found: SpatialPassage, a: float) -> None:
    mean, deviation = on_the_line({"x": 1, "x^3": -1}, a, -1.0, 0.8)
    assert found.mean_time.value == pytest.approx(mean, rel=2e-4)
    assert found.deviation is not None
    assert found.deviation.value == pytest.approx(deviation, rel=2e-4)


ALONE: Terms = {"x": {"x": -1}, "y": {"y": -1}}
DRAGGED: Terms = {"x": {"x": -1}, "y": {"x": 1.5, "y": -2}}


@pytest.mark.parametrize(
    ("drift", "mixed"),
    [(ALONE, 0.0), (DRAGGED, 0.0), (DRAGGED, 0.7)],
    ids=["alone", "dragged", "mixed"],
)
def test_a_half_plane_is_hit_as_a_level_is_by_the_coordinate_itself(
    drift: Terms, mixed: float
) -> None:
    # The x of all three is the same Ornstein–Uhlenbeck process; the second and third are out of
    # equilibrium.
    process = model(drift, {"x,x": {"1": 1.0}, "x,y": {"1": mixed}, "y,y": {"1": 1.0}})
    found = passage(process, (0.0, 0.3), from_x(0.5))
    mean, deviation = on_the_line({"x": -1}, 1.0, 0.0, 0.5)
    assert found.mean_time.value == pytest.approx(mean, rel=1e-4)
    assert found.deviation is not None
    assert found.deviation.value == pytest.approx(deviation, rel=1e-4)


def by_differences(drift: FloatArray, n: int, start: tuple[float, float], corner: float) -> float:
    """Mean time, noise 1, on [−1, 1]² with reflecting walls until x and y both exceed `corner`.

    Central differences with n² steps.
    """
    h = 2 / n
    ones = np.ones(n)
    # A node beyond a wall has the value of its mirror image.
    second = diags_array([ones, np.full(n + 1, -2.0), ones], offsets=[-1, 0, 1]).tolil()
    second[0, 1] = second[n, n - 1] = 2.0
    first = diags_array([-ones, ones], offsets=[-1, 1]).tolil()
    first[0, 1] = first[n, n - 1] = 0.0
    unit, nodes = eye_array(n + 1), np.linspace(-1, 1, n + 1)
    x, y = np.meshgrid(nodes, nodes, indexing="ij")
    b = np.stack([x.ravel(), y.ravel()], axis=1) @ drift.T
    slopes = kron(first, unit) / (2 * h), kron(unit, first) / (2 * h)
    curvature = (kron(second, unit) + kron(unit, second)) / h**2
    generator = csc_array(curvature / 2 + sum(diags_array(b[:, k]) @ slopes[k] for k in (0, 1)))
    free = np.flatnonzero(~((x > corner - h / 2) & (y > corner - h / 2)).ravel())
    times = np.zeros((n + 1) ** 2)
    times[free] = spsolve(generator[free][:, free], -np.ones(len(free)))
    at = np.argmin((x.ravel() - start[0]) ** 2 + (y.ravel() - start[1]) ** 2)
    return float(times[at])


@pytest.mark.parametrize("turn", [0.0, 2.0], ids=["in equilibrium", "rotating"])
def test_a_corner_is_reached_in_the_time_of_plain_differences(turn: float) -> None:
    matrix = np.array([[-1.0, turn], [-turn, -1.0]])
    walls = {"domain": {"x": [-1, 1], "y": [-1, 1]}}
    drift: Terms = {"x": {"x": -1, "y": turn}, "y": {"x": -turn, "y": -1}}
    found = passage(
        model(drift, {"x,x": {"1": 1.0}, "y,y": {"1": 1.0}}, **walls),
        (-0.2, 0.0),
        Region(((0.4, np.inf), (0.4, np.inf))),
    )
    coarse, fine = (by_differences(matrix, n, (-0.2, 0.0), 0.4) for n in (40, 80))
    # The edge's corner leaves an error of the step to the power 4/3.
    expected = (2 ** (4 / 3) * fine - coarse) / (2 ** (4 / 3) - 1)
    assert found.mean_time.value == pytest.approx(expected, rel=2e-4)


def line_committor(x: FloatArray, a: float) -> FloatArray:
    """(n, 1) the committor of x ≥ 0.8 against x ≤ −0.9: q' ∝ exp(−ψ), ψ = (2/a)(x²/2 − x⁴/4)."""
    values = [
        quad(lambda t: np.exp((t**4 / 2 - t**2) / a), -0.9, min(max(at, -0.9), 0.8))[0] for at in x
    ]
    return np.repeat(np.array(values)[:, None] / max(values), len(x), axis=1)


@pytest.mark.slow
def test_the_committor_of_a_separable_double_well_is_that_of_the_line(two_wells: Analysis) -> None:
    found = two_wells.report.committors[0].found
    assert found is not None
    x, _ = found.grid
    # q' ∝ exp(−ψ), ψ = 8 (x²/2 − x⁴/4).
    assert found.values == pytest.approx(line_committor(x, 0.25), abs=2e-5)


def test_passages_between_the_wells_are_there_unasked_for(two_wells: Analysis) -> None:
    there, back = two_wells.report.between[-2:]
    box = Region(((-1.25, -0.75), (-0.25, 0.25)))
    # Next to ±1 the process is linear with rates 2 and 2: variances a/4.
    assert isinstance(there.start, Region)
    assert np.array(there.start.intervals) == pytest.approx(np.array(box.intervals))
    assert (there.start, there.to) == (back.to, back.start)
    # From the middle of one well to the edge of the other, less than on the line to its middle; by
    # symmetry both ways are equal.
    lower, upper = (on_the_line({"x": 1, "x^3": -1}, 0.25, -1.0, to)[0] for to in (0.75, 1.0))
    assert there.mean_time.value is not None
    assert lower < there.mean_time.value < upper
    assert back.mean_time.value == pytest.approx(there.mean_time.value, rel=1e-6)
    committor = two_wells.report.committors[1]
    assert committor.found is not None
    assert committor.found.values[24, 24] == pytest.approx(0.5, abs=1e-6)


@pytest.mark.slow
def test_a_region_to_start_from_is_a_mean_over_the_law_in_it() -> None:
    process = model(ALONE, {"x,x": {"1": 1.0}, "y,y": {"1": 1.0}})
    low, high = -0.8, 0.2
    points = np.linspace(low, high, 21)
    times = [on_the_line({"x": -1}, 1.0, float(x), 0.5)[0] for x in points]
    weight = np.exp(-(points**2))
    expected = simpson(times * weight, x=points) / simpson(weight, x=points)
    found = passage(process, Region(((low, high), (-0.3, 1.0))), from_x(0.5))
    assert found.mean_time.value == pytest.approx(expected, rel=2e-4)
    # The plain mean over the interval is another number.
    assert found.mean_time.value != pytest.approx(simpson(times, x=points) / (high - low), rel=1e-2)


def test_what_cannot_be_timed_has_a_reason(two_wells: Analysis) -> None:
    for found, (_, _, why) in zip(two_wells.report.between, REFUSED, strict=False):
        assert found.mean_time.value is None
        assert why in str(found.mean_time.reason)


def test_a_start_inside_the_goal_has_arrived(two_wells: Analysis) -> None:
    assert two_wells.report.between[len(REFUSED) + 1].mean_time.value == 0


def test_a_linear_process_has_passages_between_regions_too() -> None:
    rotating = model(
        {"x": {"x": -1, "y": 2}, "y": {"x": -2, "y": -1}}, {"x,x": {"1": 1.0}, "y,y": {"1": 1.0}}
    )
    report = analyse(
        rotating, passages=[((0.0, 0.0), from_x(1.0)), ((0.0, 0.0), Region((OPEN, (1.0, np.inf))))]
    )
    first, second = (timed.mean_time.value for timed in report.between)
    # The process is the same after a quarter turn.
    assert first == pytest.approx(second, rel=1e-4)
    still, _ = on_the_line({"x": -1}, 1.0, 0.0, 1.0)
    # Turning brings it round to the half plane sooner.
    assert first is not None
    assert first < 0.9 * still


def test_models_on_coarse_cells_have_the_times_and_committors_of_their_own_lines(
    two_wells: Analysis,
) -> None:
    there, found = two_wells.report.between[len(REFUSED)], two_wells.report.committors[0].found
    assert two_wells.perturbed is not None
    own, itself = two_wells.perturbed(wells(0.28)), two_wells.perturbed(wells(0.25))

    def log_of(report: GeneratorReport, number: int) -> np.ndarray:
        passage = report.between[number]
        assert passage.deviation is not None
        return np.array([passage.mean_time.log_value, passage.deviation.log_value], dtype=float)

    def moved(number: int) -> np.ndarray:
        """What the cells miss of the reference they miss of the model."""
        return log_of(two_wells.report, number) + log_of(own, number) - log_of(itself, number)

    # Passages that share their cells: each keeps its own time.
    assert np.exp(moved(len(REFUSED))) == pytest.approx(
        on_the_line({"x": 1, "x^3": -1}, 0.28, -1.0, 0.8), rel=5e-3
    )
    assert moved(-1) == pytest.approx(moved(-2), rel=1e-4)
    assert found is not None
    here, reference = own.committors[0].found, itself.committors[0].found
    assert here is not None
    assert reference is not None
    values = found.values + here.values - reference.values
    x, _ = found.grid
    assert values == pytest.approx(line_committor(x, 0.28), abs=2e-3)
    # The reference's are others.
    assert np.abs(values - line_committor(x, 0.25)).max() > 5e-3
    assert there.mean_time.log_value != pytest.approx(moved(len(REFUSED))[0], abs=0.1)


@pytest.mark.slow
def test_times_their_deviations_and_committors_have_intervals(two_wells: Analysis) -> None:
    noises = np.linspace(0.22, 0.28, 21)
    found = intervals_over([wells(a) for a in noises], two_wells, 0.9999)
    ends = [on_the_line({"x": 1, "x^3": -1}, a, -1.0, 0.8) for a in (0.28, 0.22)]
    for k, of in enumerate(("mean_time", "deviation")):
        assert found.range("between", len(REFUSED), of) == pytest.approx(
            [end[k] for end in ends], rel=1e-2
        )
        assert found.range("between", 0, of) is None
    committor, band = (
        two_wells.report.committors[0].found,
        found.band("committors", 0, "found", "values"),
    )
    assert committor is not None
    assert band is not None
    lines = [line_committor(committor.grid[0], a) for a in (0.22, 0.28)]
    assert band[0] == pytest.approx(np.minimum(*lines), abs=4e-3)
    assert band[1] == pytest.approx(np.maximum(*lines), abs=4e-3)


@pytest.mark.slow
def test_an_angle_is_hit_from_both_sides() -> None:
    circle = {"periodic": {"x": 2 * np.pi}}
    process = model(
        {"x": {"1": 0.4}, "y": {"y": -1}}, {"x,x": {"1": 0.5}, "y,y": {"1": 0.5}}, **circle
    )
    found = passage(process, (0.0, 0.0), Region(((3.0, 4.0), OPEN)))
    # Drift 0.4 and diffusion 0.5 between absorbing ends at 3 and 4 − 2π.
    low, high, speed = 4 - 2 * np.pi, 3.0, 2 * 0.4 / 0.5
    up = (1 - np.exp(speed * low)) / (1 - np.exp(-speed * (high - low)))
    expected = (low + (high - low) * up) / 0.4
    assert found.mean_time.value == pytest.approx(expected, rel=1e-3)
