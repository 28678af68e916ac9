"""Every record of ../shared/data through the client: as it is, it is read or refused with the
option that is missing."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from contract.datasets import DatasetReport
from itoscope_client import InputError
from service.readers.errors import UnreadableData

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
pytestmark = pytest.mark.skipif(
    not DATA.is_dir(), reason="the real records (../shared/data) are not here"
)

# The option that is asked for, where the file alone does not say enough; options; trajectories,
# variables and interval then.
FILES: dict[str, tuple[str | None, dict[str, Any], tuple[int, int, float]]] = {
    "d01_fish_polarisation.csv": (None, {"dt": 0.12}, (1, 2, 0.12)),
    "d02_cell_hopping.txt": (
        None,
        {"orientation": "rows", "dt": 1 / 6, "time_unit": "h"},
        (149, 1, 1 / 6),
    ),
    "d03_pairwise_agents.csv": (None, {"dt": 1.0, "state_columns": "1"}, (1, 1, 1.0)),
    "d05_sfi_optical_tweezer.csv": (None, {}, (1, 2, 0.01)),
    "d06_folie_underdamped.trj": (None, {}, (1, 2, 0.05)),
    "d07_neuron_all240_every6th.csv": (None, {"orientation": "rows", "dt": 9e-4}, (240, 1, 9e-4)),
    "d07_neuron_first60.csv": (None, {"orientation": "rows", "dt": 1.5e-4}, (60, 1, 1.5e-4)),
    "d08_buffalo_gps.csv": (None, {}, (6, 2, 3600.0)),
    "d10_ngrip_10yr.csv": (None, {"state_columns": "d18O"}, (1, 1, 10.0)),
    "d11_do_events.csv": (None, {}, (1, 1, 0.05)),
    "d12_xro_indices_oras5.nc": (
        "state_columns=",
        {"state_columns": ["Nino34", "WWV"], "dt": 1, "time_unit": "month"},
        (1, 2, 1.0),
    ),
    "d12b_cro_timeseries_oras5.nc": (
        "state_columns=",
        {"state_columns": ["Nino34", "Hm"], "dt": 1, "time_unit": "month"},
        (1, 2, 1.0),
    ),
    "d16_rnaseh_force.nc": ("dt=", {"dt": 1e-3, "state_unit": "pN"}, (1, 1, 1e-3)),
    "d17_alanine_phi_psi.xvg": ("dt=", {"dt": 0.02, "time_unit": "ps"}, (1, 2, 0.02)),
    "d19_dgs10.csv": (None, {"time_unit": "year"}, (1, 1, 1 / 365.25)),
}
Read = Callable[..., tuple[DatasetReport, np.ndarray[Any, Any]]]


def test_no_file_is_left_out() -> None:
    assert sorted(FILES) == sorted(
        path.name for path in DATA.iterdir() if path.name != "expected.json"
    )


@pytest.mark.parametrize("name", FILES)
def test_the_file_alone_is_read_or_the_option_is_named(name: str, read: Read) -> None:
    option = FILES[name][0]
    if option is None:
        report, _ = read(DATA / name)
        assert report.n_increments > 100
        return
    with pytest.raises((InputError, UnreadableData)) as refused:
        read(DATA / name)
    assert option in str(refused.value)


@pytest.mark.parametrize("name", FILES)
def test_with_its_options_the_file_is_read_as_it_is_meant(name: str, read: Read) -> None:
    _, options, expected = FILES[name]
    report, _ = read(DATA / name, **options)
    assert (report.n_trajectories, len(report.variables), report.dt.median) == (
        *expected[:2],
        pytest.approx(expected[2], rel=2e-3),
    )
