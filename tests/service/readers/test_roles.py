"""Roles of columns in tables of trackers, localisation programs, loggers and markets."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

RNG = np.random.default_rng(11)
N_FRAMES, N_TRACKS = 40, 6
STEPS = np.round(np.cumsum(RNG.normal(size=(N_FRAMES, N_TRACKS, 2)), axis=0), 4)
"""Positions (frame, track, coordinate)."""
WALK = np.round(np.cumsum(RNG.normal(size=300)), 4)

Reads = Callable[..., Any]


def spots(header: str, row: Callable[..., str]) -> str:
    """A table of spots in the order of frames; `row` gets number, frame, track, x and y."""

    def lines() -> Iterator[str]:
        for number in range(N_FRAMES * N_TRACKS):
            frame, track = divmod(number, N_TRACKS)
            yield row(number, frame, track, *STEPS[frame, track])

    return "\n".join([header, *lines()])


def table(header: str, *columns: Any) -> str:
    return "\n".join([header, *(",".join(map(str, row)) for row in zip(*columns, strict=True))])


def of_quality(number: int) -> str:
    return f"{(number * 37) % 101 / 7:.3f}"


TRACKPY = spots(
    ",y,x,mass,size,ecc,signal,raw_mass,ep,frame,particle",
    lambda n, f, k, x, y: f"{n},{y},{x},{','.join([of_quality(n)] * 5)},nan,{f},{k}",
)
TRACKMATE = spots(
    "LABEL,ID,TRACK_ID,QUALITY,POSITION_X,POSITION_Y,POSITION_Z,POSITION_T,FRAME,RADIUS\n"
    "Label,Spot ID,Track ID,Quality,X,Y,Z,T,Frame,Radius\n"
    "Label,Spot ID,Track ID,Quality,X,Y,Z,T,Frame,R\n"
    ",,,(quality),(micron),(micron),(micron),(sec),,(micron)",
    lambda n, f, k, x, y: f"ID{n},{n},{k},{of_quality(n)},{x},{y},0,{0.5 * f},{f},0.2",
)
SASPT = spots(
    "loc_idx,y,x,I0,frame,trajectory", lambda n, f, k, x, y: f"{n},{y},{x},{of_quality(n)},{f},{k}"
)
THUNDERSTORM = spots(
    '"id","frame","x [nm]","y [nm]","sigma [nm]","intensity [photon]","uncertainty [nm]","track"',
    lambda n, f, k, x, y: f"{n + 1},{f},{x},{y},{of_quality(n)},{of_quality(n)},1.{n},{k}",
)
MOVEBANK = spots(
    "event-id,visible,timestamp,location-long,location-lat,heading,tag-local-identifier",
    lambda n, f, k, x, y: (
        f"{9000 + n},true,2020-01-{1 + f // 24:02d} {f % 24:02d}:00:00.000,{x},{y},"
        f"{of_quality(n)},{300 + k}"
    ),
)


@pytest.mark.parametrize(
    ("text", "identity", "time", "dt"),
    [
        (TRACKPY, "particle", "frame", 0.5),
        (TRACKMATE, "TRACK_ID", "POSITION_T", 0.5),
        (SASPT, "trajectory", "frame", 0.5),
        (THUNDERSTORM, "track", "frame", 0.5),
        (MOVEBANK, "tag-local-identifier", "timestamp", 3600.0),
    ],
    ids=["trackpy", "trackmate", "saspt", "thunderstorm", "movebank"],
)
def test_tables_of_spots_give_positions_only(
    text: str, identity: str, time: str, dt: float, read_data: Reads
) -> None:
    found = read_data(text, dt=0.5 if dt == 0.5 else None)
    assert found.report.layout.id_column == identity
    assert found.report.layout.time_column == time
    assert found.report.dt.median == dt
    expected = STEPS.transpose(1, 0, 2).reshape(-1, 2)
    assert np.array_equal(found.states, expected)
    assert found.segments[:, 1].tolist() == [N_FRAMES * (k + 1) for k in range(N_TRACKS)]


def test_spots_without_a_track_are_left_out_with_a_warning(read_data: Reads) -> None:
    text = spots(
        "ID,TRACK_ID,POSITION_X,POSITION_T",
        lambda n, f, k, x, _: f"{n},{k if k else 'None'},{x},{f}",
    )
    for layout in ({}, {"id_column": "TRACK_ID"}):
        found = read_data(text, **layout)
        assert np.array_equal(found.states[:, 0], STEPS[:, 1:, 0].T.ravel())
        assert "rows-without-identity" in found.codes


def test_an_identity_that_is_empty_everywhere_is_refused(refused: Reads) -> None:
    text = spots("track,t,x", lambda _n, f, _k, x, _y: f",{f},{x}")
    assert "empty in every row" in refused(text, id_column="track").detail


def test_two_columns_together_tell_trajectories_apart(read_data: Reads) -> None:
    text = table(
        "movie,particle,frame,x",
        [k // 100 for k in range(300)],
        [k // 20 % 5 for k in range(300)],
        [k % 20 for k in range(300)],
        WALK,
    )
    for layout in ({}, {"id_column": "movie,particle"}):
        found = read_data(text, dt=0.1, **layout)
        assert found.report.n_trajectories == 15
        assert np.array_equal(found.states[:, 0], WALK)
        assert found.report.dt.median == pytest.approx(0.1)
    again = found.report.layout.model_dump(mode="json", exclude_none=True)
    assert read_data(text, **again).report.n_trajectories == 15


def test_numbers_of_particles_that_begin_again_are_told_apart_by_time(read_data: Reads) -> None:
    text = table(
        "particle,frame,x", [k // 20 % 5 for k in range(300)], [k % 20 for k in range(300)], WALK
    )
    found = read_data(text, dt=0.1)
    assert found.codes == {"time-restarts"}
    assert found.report.n_trajectories == 15
    assert found.report.dt.max == pytest.approx(0.1)


def test_frames_with_holes_are_the_clock(read_data: Reads) -> None:
    frames = np.cumsum(RNG.integers(1, 4, size=300))
    found = read_data(table("frame,x", frames, WALK), dt=0.1)
    assert found.times == pytest.approx(0.1 * (frames - frames[0]))


def test_a_time_in_frames_is_a_count(read_data: Reads) -> None:
    found = read_data(table("t [frame],x", range(300), WALK), dt=0.1)
    assert found.report.dt.median == pytest.approx(0.1)
    assert found.report.time_unit is None


def test_steps_of_a_simulation_are_intervals_of_dt(read_data: Reads) -> None:
    found = read_data(table("Step,x", 100 * np.arange(300), WALK), dt=0.5)
    assert found.report.dt.median == 0.5


@pytest.mark.parametrize("name", ["N", "n", "i", "id", "no"])
def test_short_names_that_go_up_and_down_are_states(name: str, read_data: Reads) -> None:
    counts = 100 + np.round(WALK)
    found = read_data(table(f"t,{name},P", 0.1 * np.arange(300), counts, WALK[::-1]))
    assert [variable.column for variable in found.report.variables] == [name, "P"]


def test_an_angle_beside_coordinates_is_a_state(read_data: Reads) -> None:
    text = table("id,t,x,angle", np.arange(300) // 100, np.arange(300) % 100, WALK, WALK[::-1])
    assert [v.column for v in read_data(text).report.variables] == ["x", "angle"]


@pytest.mark.parametrize("name", ["mass", "intensity", "likelihood", "x_err"])
def test_a_measure_of_a_spot_beside_its_coordinates_is_no_state(
    name: str, read_data: Reads
) -> None:
    text = table(
        f"particle,frame,x,{name}", np.arange(300) // 100, np.arange(300) % 100, WALK, WALK[::-1]
    )
    assert [v.column for v in read_data(text).report.variables] == ["x"]


def test_words_that_change_along_one_even_clock_are_no_identity(read_data: Reads) -> None:
    text = table("t,label,x", range(300), ["ab"[int(value > 0)] for value in WALK], WALK)
    found = read_data(text)
    assert found.report.n_trajectories == 1
    assert found.codes == {"ignored-column"}


def test_words_in_turns_are_an_identity(read_data: Reads) -> None:
    text = table("t,label,x", range(300), ["abc"[k % 3] for k in range(300)], WALK)
    assert read_data(text).report.n_trajectories == 3


def test_numbers_in_a_layout_count_the_columns_of_the_file(read_data: Reads) -> None:
    time = np.round(0.1 * np.arange(300), 1)
    text = table("x,y,t", WALK, WALK[::-1], time)
    for layout in ({}, {"time_column": "3"}):
        found = read_data(text, state_columns=("2",), **layout)
        assert np.array_equal(found.states[:, 0], WALK[::-1])
        assert found.report.dt.median == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("other", "code", "words"),
    [
        (["NA" if k % 100 else 1 for k in range(300)], "ignored-column", "no value in 99 %"),
        (WALK, "ignored-column", "nearly the same"),
        (np.round(2 * WALK + 0.1 * RNG.normal(size=300), 3), "ignored-column", "nearly the same"),
    ],
    ids=["sparse", "copy", "nearly the same"],
)
def test_a_column_that_would_spoil_the_record_is_named_and_left_out(
    other: Any, code: str, words: str, read_data: Reads
) -> None:
    found = read_data(table("t,u,w", range(300), WALK, other))
    assert np.array_equal(found.states[:, 0], WALK)
    assert found.codes == {code}
    assert "column 3 ('w')" in found.report.warnings[0].message
    assert words in found.report.warnings[0].message


def test_two_walks_with_a_common_trend_are_both_states(read_data: Reads) -> None:
    trend = 5.0 * np.arange(300)
    other = np.cumsum(RNG.normal(size=300))
    found = read_data(table("t,u,w", range(300), WALK + trend, other + trend))
    assert found.states.shape == (300, 2)


def test_of_prices_the_closing_one_is_read(read_data: Reads) -> None:
    days = np.datetime64("2020-01-01") + np.arange(300)
    text = table(
        "Date,Open,High,Low,Close,Volume", days, WALK, WALK + 1, WALK - 1, WALK + 0.5, range(300)
    )
    assert [v.column for v in read_data(text).report.variables] == ["Close"]


def test_numbered_cells_are_trajectories_unless_the_layout_says_otherwise(
    read_data: Reads,
) -> None:
    text = table("t,cell 1,cell 2,cell 3", range(300), WALK, WALK[::-1], -WALK)
    found = read_data(text)
    assert np.array_equal(found.states[:, 0], np.concatenate([WALK, WALK[::-1], -WALK]))
    assert found.codes == {"orientation-assumed"}
    assert found.report.n_trajectories == 3
    assert read_data(text, orientation="columns").states.shape == (300, 3)
    again = found.report.layout.model_dump(mode="json", exclude_none=True)
    assert np.array_equal(read_data(text, **again).states, found.states)


def test_hours_without_their_day_are_refused(refused: Reads) -> None:
    hours = [k % 24 for k in range(300)]
    assert "one part of a calendar" in refused(table("hour,x", hours, WALK)).detail
