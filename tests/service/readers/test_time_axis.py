"""Time columns of every kind, and the times that are read from them."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

RNG = np.random.default_rng(3)
N = 400
PATH = np.round(np.cumsum(RNG.normal(size=N)), 4)

Reads = Callable[..., Any]


def table(stamps: Iterable[object], states: Iterable[float] = PATH, header: str = "t,x") -> str:
    return "\n".join(
        [header, *(f"{stamp},{state}" for stamp, state in zip(stamps, states, strict=False))]
    )


def test_epoch_seconds_keep_their_milliseconds(read_data: Reads) -> None:
    found = read_data(
        table((f"{1_700_000_000 + k / 1000:.3f}" for k in range(N)), header="epoch,x")
    )
    assert found.times.tolist() == [k / 1000 for k in range(N)]
    assert found.report.dt.jitter == 0.0
    assert found.report.time_unit == "s"


def test_epoch_nanoseconds_keep_every_digit(read_data: Reads) -> None:
    found = read_data(
        table((1_700_000_000_000_000_000 + 1000 * k for k in range(N)), header="timestamp,x")
    )
    assert found.times.tolist() == [1000.0 * k for k in range(N)]
    assert found.report.time_unit == "ns"


@pytest.mark.parametrize("digits", [4, 5])
def test_stamps_rounded_to_few_digits_get_their_uniform_clock_back(
    digits: int, read_data: Reads
) -> None:
    step, n = 1 / 145, 30_000
    states = np.round(np.cumsum(RNG.normal(size=n)), 3)
    found = read_data(table((f"{k * step:.{digits}g}" for k in range(n)), states))
    assert found.codes == {"rounded-stamps"}
    assert found.report.n_samples == n
    assert found.report.dt.jitter == 0.0
    # The offset of the clock is known to one digit of the stamps, its step to that over the length
    # of the record.
    assert abs(found.report.dt.median - step) < 10.0 ** (3 - digits) / n


def test_a_gap_in_a_rounded_record_stays_a_gap(read_data: Reads) -> None:
    stamps = [f"{k / 145:.2f}" for k in range(N) if not 150 <= k < 200]
    found = read_data(table(stamps))
    assert found.report.n_gaps == 1
    assert found.segments.tolist() == [[0, 150, 0], [150, N - 50, 0]]
    assert found.report.dt.median == pytest.approx(1 / 145, rel=1e-3)


def test_alternating_steps_are_not_taken_for_rounding(read_data: Reads) -> None:
    stamps = np.cumsum(np.tile([0.01, 0.03], N // 2))
    found = read_data(table(f"{stamp:.2f}" for stamp in stamps))
    assert found.codes == {"uneven-sampling"}
    assert sorted(set(np.round(np.diff(found.times), 9))) == [0.01, 0.03]


def test_random_times_are_not_taken_for_rounding(read_data: Reads) -> None:
    stamps = np.cumsum(RNG.exponential(size=N))
    found = read_data(table(f"{stamp:.6f}" for stamp in stamps))
    assert found.codes == {"uneven-sampling"}
    assert found.report.n_segments == 1


def test_events_logged_once_per_tick_are_read_on_the_tick(read_data: Reads) -> None:
    n = 5000
    stamps = np.sort(np.arange(n) + RNG.exponential(size=n))
    states = np.round(np.cumsum(RNG.normal(size=n)), 3)
    found = read_data(table((f"{stamp:.0f}" for stamp in stamps), states))
    assert found.codes == {"rounded-stamps"}
    assert found.report.dt.median == pytest.approx(1.0, rel=1e-3)


def test_a_single_precision_clock_is_uniform(read_data: Reads) -> None:
    times = (1000 + 1e-3 * np.arange(N)).astype(np.float32).astype(float)
    found = read_data(table(map(repr, times.tolist())))
    assert found.report.dt.median == pytest.approx(1e-3, rel=1e-3)
    assert found.report.n_samples == N


def test_blocks_out_of_order_are_sorted_with_a_warning(read_data: Reads) -> None:
    order = [*range(200, 300), *range(200), *range(399, 299, -1)]
    found = read_data(table((f"{k * 0.05:.2f}" for k in order), PATH[order]))
    assert found.codes == {"unsorted"}
    assert np.array_equal(found.states[:, 0], PATH)
    assert found.report.n_segments == 1


def test_shuffled_rows_are_sorted_with_a_warning(read_data: Reads) -> None:
    order = RNG.permutation(N)
    found = read_data(table((f"{k * 0.05:.2f}" for k in order), PATH[order]))
    assert found.codes == {"unsorted"}
    assert np.array_equal(found.states[:, 0], PATH)


def test_a_clock_that_starts_again_starts_a_trajectory(read_data: Reads) -> None:
    found = read_data(table(f"{(k % 100) * 0.05:.2f}" for k in range(N)))
    assert found.codes == {"time-restarts"}
    assert found.segments.tolist() == [[0, 100, 0], [100, 200, 1], [200, 300, 2], [300, 400, 3]]


def test_time_that_runs_down_is_turned_round(read_data: Reads) -> None:
    found = read_data(table(f"{(N - k) * 0.05:.2f}" for k in range(N)))
    assert found.codes == {"unsorted"}
    assert np.array_equal(found.states[:, 0], PATH[::-1])


def test_age_that_runs_down_is_time_that_runs_forward(read_data: Reads) -> None:
    found = read_data(table((f"{(N - k) * 0.05:.2f}" for k in range(N)), header="age_kyr,x"))
    assert found.codes == set()
    assert np.array_equal(found.states[:, 0], PATH)
    assert "time runs forward in file order" in found.said


def test_age_that_runs_up_is_read_in_file_order_with_a_warning(read_data: Reads) -> None:
    found = read_data(table((f"{20 + k * 0.05:.2f}" for k in range(N)), header="age_kyr,x"))
    assert found.codes == {"age-axis"}
    assert np.array_equal(found.states[:, 0], PATH)
    assert found.report.time_unit == "kyr"


def test_rows_written_twice_are_dropped(read_data: Reads) -> None:
    found = read_data(
        table((f"{k // 2 * 0.05:.2f}" for k in range(N)), np.repeat(PATH[: N // 2], 2))
    )
    assert found.codes == {"duplicate-times"}
    assert found.report.n_duplicate_times == N // 2
    assert np.array_equal(found.states[:, 0], PATH[: N // 2])
    assert found.report.n_segments == 1


def test_one_wrong_repeat_is_dropped_and_named(read_data: Reads) -> None:
    found = read_data(table(f"{(k - (k == 200)) * 0.05:.2f}" for k in range(N)))
    assert found.report.n_duplicate_times == 1
    assert "row 202" in next(
        w.message for w in found.report.warnings if w.code == "duplicate-times"
    )


def test_many_repeats_with_other_states_are_refused(refused: Reads) -> None:
    stamps = np.repeat(np.cumsum(RNG.exponential(size=N // 2)), 2)
    refusal = refused(table(f"{stamp:.4f}" for stamp in stamps))
    assert "repeat the time stamp" in refusal.detail
    assert "row 3" in refusal.detail


def test_a_useless_clock_gives_way_to_the_given_dt(read_data: Reads) -> None:
    stamps = np.repeat(np.cumsum(RNG.exponential(size=N // 2)), 2)
    found = read_data(table(f"{stamp:.4f}" for stamp in stamps), dt=0.5)
    assert "dt-disagrees" in found.codes
    assert found.report.dt.median == 0.5


@pytest.mark.parametrize(("dt", "codes"), [(0.05, set()), (0.2, {"dt-disagrees"})])
def test_the_column_wins_over_a_given_dt(dt: float, codes: set[str], read_data: Reads) -> None:
    found = read_data(table(f"{k * 0.05:.2f}" for k in range(N)), dt=dt)
    assert found.codes == codes
    assert found.report.dt.median == 0.05


def test_without_any_clock_dt_is_one_and_the_user_is_told(read_data: Reads) -> None:
    found = read_data("x\n" + "\n".join(map(str, PATH)))
    assert found.codes == {"no-time-axis"}
    assert (found.report.dt.median, found.report.dt.source) == (1.0, "assumed")


def test_a_comment_may_give_dt(read_data: Reads) -> None:
    found = read_data("# sampling interval: 0.25 ms\nx\n" + "\n".join(map(str, PATH)))
    assert (found.report.dt.median, found.report.dt.source, found.report.time_unit) == (
        0.25,
        "given",
        "ms",
    )
    assert "sampling interval: 0.25 ms" in found.said


def test_frames_become_time_with_dt(read_data: Reads) -> None:
    rows = [f"{k // 20},{k % 20},{x}" for k, x in enumerate(PATH)]
    found = read_data("\n".join(["track,frame,x_um", *rows]), dt=0.05)
    assert (found.report.n_trajectories, found.report.dt.median, found.report.dt.source) == (
        20,
        0.05,
        "given",
    )
    assert found.codes == set()


def test_a_missing_frame_is_a_gap(read_data: Reads) -> None:
    rows = [f"{k + (k >= 100)},{x}" for k, x in enumerate(PATH)]
    found = read_data("\n".join(["frame,x", *rows]), dt=0.05)
    assert found.segments.tolist() == [[0, 100, 0], [100, N, 0]]
    assert found.report.n_gaps == 1


def test_a_long_step_in_a_regular_record_ends_a_segment(read_data: Reads) -> None:
    stamps = [0.0, *(0.2 + 0.02 * k for k in range(N - 1))]
    found = read_data(table(f"{stamp:.2f}" for stamp in stamps))
    assert found.segments.tolist() == [[0, 1, 0], [1, N, 0]]
    assert found.codes == {"gaps"}


def test_gap_factor_decides_what_a_gap_is(read_data: Reads) -> None:
    stamps = [0.05 * (k + 3 * (k >= 200)) for k in range(N)]
    text = table(f"{stamp:.2f}" for stamp in stamps)
    assert read_data(text).report.n_gaps == 1
    assert read_data(text, gap_factor=5.0).report.n_gaps == 0


def test_week_ends_are_uneven_sampling_not_gaps(read_data: Reads) -> None:
    days = [
        day for day in np.arange("2020-01-01", "2020-12-31", dtype="M8[D]") if np.is_busday(day)
    ]
    found = read_data(table((str(day) for day in days), header="Date,Rate"))
    assert found.codes == {"uneven-sampling"}
    assert found.report.n_segments == 1
    assert found.report.time_unit == "day"


def test_each_trajectory_may_have_its_own_regular_clock(read_data: Reads) -> None:
    rows = [
        f"{k // 100},{(k % 100) * (0.1 if k < 200 else 0.3):.1f},{x}" for k, x in enumerate(PATH)
    ]
    rows.pop(50)
    found = read_data("\n".join(["id,t,x", *rows]))
    assert found.codes == {"gaps"}
    assert found.report.n_gaps == 1
    assert found.report.n_segments == 5


def test_a_sample_without_a_stamp_is_missing(read_data: Reads) -> None:
    stamps = [f"{k * 0.05:.2f}" if k != 100 else "" for k in range(N)]
    found = read_data(table(stamps))
    assert found.report.n_missing == 1
    assert found.report.n_segments == 2
