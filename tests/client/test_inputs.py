"""Whatever holds trajectories becomes an upload that the service's reader reads as meant; what is
unclear names the option."""

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from contract.datasets import DatasetReport
from itoscope_client import InputError
from itoscope_client.inputs import Upload, upload_of

X = np.cumsum(np.random.default_rng(1).normal(size=(60, 2)), axis=0)
T = 0.25 * np.arange(60)


Read = Callable[..., tuple[DatasetReport, np.ndarray[Any, Any]]]


class TestArrays:
    def test_one_variable_with_its_interval(self, read: Read) -> None:
        report, states = read(X[:, 0], dt=0.25)
        assert (report.n_trajectories, report.dt.median) == (1, 0.25)
        np.testing.assert_array_equal(states[:, 0], X[:, 0])

    def test_several_variables_with_their_times(self, read: Read) -> None:
        report, states = read(X, T)
        assert [v.name for v in report.variables] == ["x", "y"]
        assert (report.dt.median, report.dt.source) == (0.25, "time_column")
        np.testing.assert_array_equal(states, X)

    def test_trajectories_of_different_length(self, read: Read) -> None:
        report, states = read([X[:20, 0], X[20:, 0]], dt=0.5)
        assert (
            report.n_trajectories,
            report.lengths.min,
            report.lengths.max,
            report.dt.median,
        ) == (2, 20, 40, 0.5)
        np.testing.assert_array_equal(np.sort(states[:, 0]), np.sort(X[:, 0]))

    def test_trajectories_with_times_of_their_own(self, read: Read) -> None:
        report, _ = read([X[:20], X[20:]], [T[:20], T[20:]])
        assert (report.n_trajectories, len(report.variables), report.dt.median) == (2, 2, 0.25)

    def test_trajectories_in_rows(self, read: Read) -> None:
        report, _ = read(X.T, axes="nt", dt=0.1)
        assert (report.n_trajectories, report.n_samples) == (2, 120)

    def test_three_axes(self, read: Read) -> None:
        report, _ = read(X.reshape(3, 20, 2), dt=0.1)
        assert (report.n_trajectories, len(report.variables), report.n_samples) == (3, 2, 60)

    def test_calendar_times_become_seconds(self, read: Read) -> None:
        stamps = np.datetime64("2024-02-28T23:59:00", "s") + np.arange(60) * np.timedelta64(30, "s")
        report, _ = read(X[:, 0], stamps)
        assert (report.dt.median, report.time_unit) == (30.0, "s")
        assert read(X[:, 0], stamps, time_unit="min")[0].dt.median == pytest.approx(0.5)

    def test_masked_values_are_missing(self, read: Read) -> None:
        masked = np.ma.masked_array(X[:, 0], mask=np.arange(60) == 30)
        assert read(masked, dt=1.0)[0].n_missing == 1

    @pytest.mark.parametrize("data", [X, X[None], {"v": X[:, 0], "w": X[:, 1]}])
    @pytest.mark.parametrize("clock", [{"t": T}, {"dt": 0.25}])
    def test_a_variable_is_named_by_its_number_whatever_is_uploaded(
        self, read: Read, data: Any, clock: dict[str, Any]
    ) -> None:
        axes = {"state_columns": ["v", "w"]} if isinstance(data, dict) else {}
        report, _ = read(data, **clock, **axes, state_names={2: "force"}, state_unit={"2": "pN"})
        first, second = report.variables
        assert first.symbol in ("x", "v")
        assert (first.unit, second.symbol, second.unit) == (None, "force", "pN")

    def test_names_that_are_no_map_are_refused(self) -> None:
        with pytest.raises(InputError, match="state_names is a dict"):
            upload_of(X, layout={"dt": 1, "state_names": "force"}).query()  # type: ignore[typeddict-item]

    def test_a_dict_of_arrays(self, read: Read) -> None:
        report, states = read({"t": T, "voltage": X[:, 0]})
        assert (report.variables[0].column, report.dt.median) == ("voltage", 0.25)
        np.testing.assert_array_equal(states[:, 0], X[:, 0])

    @pytest.mark.parametrize(
        ("data", "options", "named"),
        [
            (X[:, 0], {}, "dt="),
            (X.T, {"dt": 1.0}, "axes='nt'"),
            (np.zeros((30, 30)), {"dt": 1.0}, "axes='td'"),
            (np.zeros((3, 30, 40)), {"dt": 1.0}, "axes='ntd'"),
            (np.zeros((3, 3, 3, 3)), {"dt": 1.0}, "axes='ntd'"),
            (X, {"dt": 1.0, "axes": "tt"}, "axes='td'"),
            ([[1, 2]] * 9, {"dt": 1.0}, "axes='td'"),
            (X[:, 0], {"dt": -1.0}, "dt must be"),
            (X[:, 0] + 1j, {"dt": 1.0}, "real"),
            (np.array(["a", "b"]), {"dt": 1.0}, "astype"),
            ({"a": X[:, 0], "b": X[:, 1]}, {"dt": 1.0}, "state_columns="),
            ({"t": T, "time": T, "x": X[:, 0]}, {}, "time_column="),
            ({"t": T, "x": X[:, 0]}, {"state_columns": "y"}, "state_columns names 'y'"),
            ([], {"dt": 1.0}, "empty"),
            (3.0, {}, "array"),
        ],
    )
    def test_what_is_unclear_names_the_option(self, data: Any, options: Any, named: str) -> None:
        with pytest.raises(InputError) as refused:
            upload_of(data, None, options)
        assert named in str(refused.value)


class TestTables:
    def test_a_calendar_index_is_time(self, read: Read) -> None:
        pandas = pytest.importorskip("pandas")
        frame = pandas.DataFrame(
            {"u": X[:, 0], "v": X[:, 1]},
            index=pandas.date_range("2024-01-01", periods=60, freq="10s"),
        )
        report, states = read(frame)
        assert (report.dt.median, [v.column for v in report.variables]) == (10.0, ["u", "v"])
        np.testing.assert_array_equal(states, X)

    def test_a_series_keeps_its_name(self, read: Read) -> None:
        pandas = pytest.importorskip("pandas")
        report, _ = read(pandas.Series(X[:, 0], name="force"), dt=0.1)
        assert (report.variables[0].column, report.dt.median) == ("force", 0.1)

    def test_tracks_are_told_apart_by_their_column(self, read: Read) -> None:
        pandas = pytest.importorskip("pandas")
        frame = pandas.DataFrame(
            {"track": np.repeat([7, 9], 30), "t": np.tile(T[:30], 2), "x": X[:, 0]}
        )
        assert read(frame, id_column="track")[0].n_trajectories == 2

    def test_an_index_of_numbers_without_a_name_is_asked_about(self) -> None:
        pandas = pytest.importorskip("pandas")
        with pytest.raises(InputError, match=r"rename_axis\('t'\).*dt="):
            upload_of(pandas.Series(X[:, 0], index=T))


class TestLabelled:
    def test_dimensions_say_what_they_are(self, read: Read) -> None:
        xarray = pytest.importorskip("xarray")
        data = xarray.DataArray(
            X.reshape(3, 20, 2),
            dims=("particle", "time", "space"),
            coords={"time": T[:20], "space": ["u", "v"]},
        )
        report, _ = read(data)
        assert (report.n_trajectories, report.dt.median, [v.column for v in report.variables]) == (
            3,
            0.25,
            ["u", "v"],
        )

    def test_variables_of_a_dataset_are_chosen_by_name(self, read: Read) -> None:
        xarray = pytest.importorskip("xarray")
        data = xarray.Dataset(
            {"a": ("time", X[:, 0]), "b": ("time", X[:, 1])},
            coords={"time": ("time", T, {"units": "days since 1990"})},
        )
        report, states = read(data, state_columns=["b", "a"])
        assert report.time_unit == "day"
        np.testing.assert_array_equal(states, X[:, ::-1])
        with pytest.raises(InputError, match="state_columns="):
            upload_of(data)

    def test_a_dimension_that_could_be_anything_is_asked_about(self) -> None:
        xarray = pytest.importorskip("xarray")
        with pytest.raises(InputError, match=r"lat.*id_column="):
            upload_of(xarray.DataArray(X, dims=("time", "lat")), None, {"dt": 1.0})
        with pytest.raises(InputError, match="time_column="):
            upload_of(xarray.DataArray(X, dims=("a", "b")), None, {"dt": 1.0})


class TestFiles:
    def test_what_the_service_reads_is_sent_as_it_is(self, tmp_path: Path) -> None:
        (tmp_path / "d.csv").write_text("t,x\n0,1\n1,2\n2,1\n")
        upload = upload_of(tmp_path / "d.csv")
        assert (upload.content, upload.content_type, upload.filename) == (
            tmp_path / "d.csv",
            "text/csv",
            "d.csv",
        )

    def test_compressed_text_is_decompressed(self, tmp_path: Path) -> None:
        (tmp_path / "d.csv.gz").write_bytes(gzip.compress(b"t,x\n0,1\n"))
        assert upload_of(str(tmp_path / "d.csv.gz")) == Upload(b"t,x\n0,1\n", "text/csv", "d.csv")

    def test_hdf5_by_the_names_in_it(self, tmp_path: Path, read: Read) -> None:
        h5py = pytest.importorskip("h5py")
        with h5py.File(tmp_path / "d.h5", "w") as file:
            file["run/x"], file["run/y"], file["run/time"] = X[:, 0], X[:, 1], T
        report, states = read(
            tmp_path / "d.h5", state_columns=["run/x", "y"], state_unit={"run/x": "m", "y": "s"}
        )
        assert [v.unit for v in report.variables] == ["m", "s"]
        assert (report.dt.median, [v.column for v in report.variables]) == (0.25, ["x", "y"])
        np.testing.assert_array_equal(states, X)
        with pytest.raises(InputError, match=r"run/x \(60,\), run/y \(60,\).*state_columns="):
            upload_of(tmp_path / "d.h5")

    def test_matlab_7_3_lies_the_other_way_round(self, tmp_path: Path, read: Read) -> None:
        h5py = pytest.importorskip("h5py")
        with h5py.File(tmp_path / "d.mat", "w", userblock_size=512) as file:
            file["x"], file["dt"] = X.T, [[0.5]]  # as MATLAB writes a 60 × 2 matrix
        with (tmp_path / "d.mat").open("r+b") as raw:
            raw.write(b"MATLAB 7.3 MAT-file")
        report, states = read(tmp_path / "d.mat")
        assert (report.dt.median, len(report.variables)) == (0.5, 2)
        np.testing.assert_array_equal(states, X)

    def test_matlab_5(self, tmp_path: Path, read: Read) -> None:
        io = pytest.importorskip("scipy.io")
        io.savemat(tmp_path / "d.mat", {"t": T, "x": X[:, 0]})
        report, states = read(tmp_path / "d.mat")
        assert report.dt.median == 0.25
        np.testing.assert_array_equal(states[:, 0], X[:, 0])

    @pytest.mark.slow
    def test_zarr(self, tmp_path: Path, read: Read) -> None:
        zarr = pytest.importorskip("zarr")
        group = zarr.open_group(str(tmp_path / "d.zarr"), mode="w")
        group.create_array("x", data=X[:, 0])
        group.create_array("t", data=T)
        report, states = read(tmp_path / "d.zarr")
        assert report.dt.median == 0.25
        np.testing.assert_array_equal(states[:, 0], X[:, 0])

    @pytest.mark.parametrize("engine", ["h5netcdf", "scipy"])
    def test_netcdf_new_and_classic(self, tmp_path: Path, read: Read, engine: str) -> None:
        xarray = pytest.importorskip("xarray")
        data = xarray.Dataset(
            {"force": ("time", X[:, 0])},
            coords={"time": ("time", T, {"units": "hours since 2001-01-01"})},
        )
        data.to_netcdf(tmp_path / "d.nc", engine=engine)
        report, states = read(tmp_path / "d.nc")
        assert (report.dt.median, report.time_unit, report.variables[0].column) == (
            0.25,
            "h",
            "force",
        )
        np.testing.assert_array_equal(states[:, 0], X[:, 0])

    def test_xvg_by_its_legend(self, tmp_path: Path, read: Read) -> None:
        rows = "".join(f"{t:.4f} {x:.6f} {y:.6f}\n" for t, (x, y) in zip(T, X, strict=True))
        head = '# gmx energy\n@ xaxis label "Time (ps)"\n@ yaxis label "(kJ/mol)"\n@TYPE xy\n'
        head += '@ s0 legend "LJ"\n@ s1 legend "Pot"\n'
        (tmp_path / "e.xvg").write_text(head + rows)
        report, _ = read(tmp_path / "e.xvg")
        assert (report.dt.median, report.time_unit, [v.column for v in report.variables]) == (
            0.25,
            "ps",
            ["LJ", "Pot"],
        )

    def test_a_missing_file_and_a_folder_say_so(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError, match=r"nowhere\.csv"):
            upload_of("nowhere.csv")
        with pytest.raises(InputError, match="folder"):
            upload_of(tmp_path)
