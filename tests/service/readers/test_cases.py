"""Every public case and data set is read as its authors meant it. Needs ../shared."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

SHARED = Path(__file__).resolve().parents[3] / ".." / "shared"
CASES, DATA = SHARED / "cases" / "open", SHARED / "data"
EXPECTED = CASES / "expected.json"

pytestmark = pytest.mark.skipif(
    not EXPECTED.exists(), reason="the public cases are not beside this checkout"
)

Reads = Callable[..., Any]

SAMPLES = {
    "fmt_decimal_comma": (30_000, 1, 0.02),
    "fmt_cr_only": (60_000, 1, 1e-4),
    "fmt_bom_units_row": (40_000, 1, 0.01),
    "fmt_wide_rows_nan": (14_550, 80, 1 / 6),
    "fmt_iso_datetime_dst": (5_000, 1, 10.0),
    "ts_rounded_stamps": (30_000, 1, 1 / 145),
    "ts_unsorted": (30_000, 1, 0.05),
    "ts_epoch_ms": (50_000, 1, 1e-3),
    "ts_nan_gaps": (36_180, 1, 0.05),
    "ts_uneven_1to3": (40_000, 1, 0.01),
    "ts_first_step_outlier": (30_000, 1, 0.02),
    "multi_far_starts": (15_243, 24, 0.02),
    "multi_no_transition": (40_000, 2, 0.01),
    "int_large_counts": (40_000, 1, 0.02),
    "noise_short_tracks": (80_000, 4_000, 0.05),
    "degen_seven_points": (7, 1, 1.0),
    "first_passage_threshold": (60_000, 100, 5e-4),
    "doublewell_2d": (48_000, 16, 0.05),
}
"""Samples, trajectories and sampling interval of the cases that are difficult to read."""

WARNINGS = {
    "ts_rounded_stamps": {"rounded-stamps"},
    "ts_unsorted": {"unsorted"},
    "ts_nan_gaps": {"missing-values"},
    "ts_uneven_1to3": {"uneven-sampling"},
    "ts_uneven_exponential": {"uneven-sampling"},
    "ts_first_step_outlier": {"gaps"},
    "collinear_columns": {"constant-column"},
}


def cases() -> list[Any]:
    if not EXPECTED.exists():
        return []
    known = json.loads(EXPECTED.read_text())["cases"]
    return [pytest.param(case, id=case["id"]) for case in known if case["kind"] != "model"]


@pytest.mark.slow
@pytest.mark.parametrize("case", cases())
def test_public_case(case: dict[str, Any], read_data: Reads, refused: Reads) -> None:
    layout = {"dt": case["given"]["dt"]} if "dt" in case["given"] else {}
    if "layout" in case["given"]:
        layout["orientation"] = "rows"
    for file in case["files"]:
        path = CASES / case["id"] / file["path"]
        if case["id"] == "degen_constant":
            assert refused(path, **layout).code == "constant-data"
            continue
        found = read_data(path, **layout)
        assert found.codes == WARNINGS.get(case["id"], set())
        if case["id"] in SAMPLES:
            n_samples, n_trajectories, dt = SAMPLES[case["id"]]
            assert found.report.n_samples == n_samples == case.get("n_samples", n_samples)
            assert found.report.n_samples == case.get("n_valid", n_samples)
            assert (
                found.report.n_trajectories
                == n_trajectories
                == case.get("n_trajectories", n_trajectories)
            )
            # A rounded clock is known to one digit of its stamps (0.01) over the length of its
            # record (207).
            assert found.report.dt.median == pytest.approx(
                dt, rel=0.01 / 207 if "rounded" in case["id"] else 1e-9
            )


def test_a_file_and_its_int32_array_hold_the_same_numbers(read_data: Reads) -> None:
    folder = CASES / "int_large_counts"
    text, array = (read_data(folder / name, dt=0.02) for name in ("counts.csv", "counts_int32.npy"))
    assert np.array_equal(text.states, array.states)


@pytest.mark.parametrize(
    ("name", "layout", "n_samples", "n_trajectories", "dt", "codes"),
    [
        ("d01_fish_polarisation.csv", {"dt": 0.12}, 24_619, 1, 0.12, {"missing-values"}),
        ("d02_cell_hopping.txt", {"dt": 1 / 6, "orientation": "rows"}, 35_103, 149, 1 / 6, set()),
        ("d03_pairwise_agents.csv", {"dt": 1.0}, 100_001, 1, 1.0, {"rounded-stamps"}),
        ("d05_sfi_optical_tweezer.csv", {}, 20_001, 1, 0.01, set()),
        ("d06_folie_underdamped.trj", {}, 33_000, 1, 0.05, set()),
        ("d07_neuron_all240_every6th.csv", {}, 80_160, 240, 9e-4, {"orientation-assumed"}),
        ("d07_neuron_first60.csv", {"orientation": "rows"}, 120_000, 60, 1.5e-4, set()),
        ("d08_buffalo_gps.csv", {}, 17_342, 6, 3600.0, {"uneven-sampling"}),
        (
            "d10_ngrip_10yr.csv",
            {"state_columns": ("d18O",)},
            4_975,
            1,
            10.0,
            {"age-axis", "missing-values"},
        ),
        ("d11_do_events.csv", {}, 999, 1, 0.05, {"age-axis"}),
        ("d17_alanine_phi_psi.xvg", {"dt": 0.02}, 80_000, 1, 0.02, set()),
        ("d19_dgs10.csv", {"time_unit": "year"}, 14_802, 1, 1 / 365.25, {"uneven-sampling"}),
    ],
)
def test_real_data(
    name: str,
    layout: dict[str, Any],
    n_samples: int,
    n_trajectories: int,
    dt: float,
    codes: set[str],
    read_data: Reads,
) -> None:
    report = read_data(DATA / name, **layout).report
    assert (report.n_samples, report.n_trajectories) == (n_samples, n_trajectories)
    assert report.dt.median == pytest.approx(dt, rel=1e-9)
    assert {warning.code for warning in report.warnings} == codes
