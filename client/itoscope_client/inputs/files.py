"""Conversion of files: what the service reads is sent unchanged, the rest is opened here."""

import bz2
import gzip
import lzma
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from itoscope_client.errors import InputError, needed
from itoscope_client.inputs.arrays import upload_of_named
from itoscope_client.inputs.tables import upload_of_labelled
from itoscope_client.inputs.upload import UNKNOWN, LayoutOptions, Upload

HDF5 = b"\x89HDF\r\n\x1a\n"
TYPES = {
    ".csv": "text/csv", ".tsv": "text/csv", ".txt": "text/plain", ".dat": "text/plain",
    ".json": "application/json", ".npy": "application/x-npy", ".npz": "application/x-npz",
    ".parquet": "application/vnd.apache.parquet",
    ".arrow": "application/vnd.apache.arrow.file", ".feather": "application/vnd.apache.arrow.file",
}  # fmt: skip
COMPRESSED: dict[bytes, Callable[[bytes], bytes]] = {
    b"\x1f\x8b": gzip.decompress,
    b"BZh": bz2.decompress,
    b"\xfd7zXZ\0": lzma.decompress,
}
ZARR = ("zarr.json", ".zgroup", ".zarray", ".zattrs")
_LEGEND = re.compile(r'@\s+s(\d+)\s+legend\s+"([^"]*)"')
_AXIS = re.compile(r'@\s+(x|y)axis\s+label\s+"([^"]*)"')
_TIME = re.compile(r"time(?:\s*\(([^)]*)\))?", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d][\w.+-]*\Z")


def upload_of_file(path: Path, layout: LayoutOptions) -> Upload:
    """Convert a file, or a Zarr store. Raise InputError, MissingDependency, OSError."""
    if path.is_dir():
        if any((path / name).exists() for name in ZARR):
            return _zarr(path, layout)
        raise InputError(f"{path} is a folder: give one file, or a Zarr store")
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}")
    with path.open("rb") as file:
        head = file.read(1024)
    for magic, decompress in COMPRESSED.items():
        if head.startswith(magic):
            inner = Path(path.stem)
            if inner.suffix.lower() not in TYPES and inner.suffix:
                raise InputError(f"{path.name} is compressed: decompress it first")
            kind = TYPES.get(inner.suffix.lower(), UNKNOWN)
            return Upload(decompress(path.read_bytes()), kind, inner.name, layout)
    if head.startswith(HDF5) or head[512:].startswith(HDF5):
        if _is_netcdf(path):
            return _netcdf(path, layout)
        arrays = _hdf5(path, transposed=head.startswith(b"MATLAB 7.3"))
        return upload_of_named(arrays, layout, path.name)
    if head.startswith((b"CDF\x01", b"CDF\x02", b"CDF\x05")):
        return _netcdf(path, layout)
    if head.startswith(b"MATLAB 5.0"):
        return upload_of_named(_matlab5(path), layout, path.name)
    if path.suffix.lower() == ".xvg":
        return upload_of_xvg(path, layout)
    return Upload(path, TYPES.get(path.suffix.lower(), UNKNOWN), path.name, layout)


def _is_netcdf(path: Path) -> bool:
    h5py = needed("h5py", f"reading {path.name}")
    with h5py.File(path, "r") as file:
        named = path.suffix.lower() in (".nc", ".nc4", ".cdf", ".netcdf")
        return named or "_NCProperties" in file.attrs


def _netcdf(path: Path, layout: LayoutOptions) -> Upload:
    xarray = needed("xarray", f"reading {path.name}")
    classic = path.read_bytes()[:3] == b"CDF"
    needed("scipy" if classic else "h5netcdf", f"reading {path.name}")
    # Times stay the numbers that the file holds, with their unit: a calendar would lose digits.
    with xarray.open_dataset(
        path, decode_times=False, engine="scipy" if classic else "h5netcdf"
    ) as dataset:
        return upload_of_labelled(dataset.load(), layout)


def _hdf5(path: Path, *, transposed: bool) -> dict[str, NDArray[Any]]:
    """Return the file's arrays of numbers by path. HDF5 has MATLAB's axes in reverse order."""
    h5py = needed("h5py", f"reading {path.name}")
    found: dict[str, NDArray[Any]] = {}

    def look(name: str, node: Any) -> None:
        if (
            isinstance(node, h5py.Dataset)
            and node.dtype.kind in "fiub"
            and not name.startswith("#")
            and node.shape is not None
        ):
            array = np.asarray(node[()])
            found[name] = array.T if transposed else array

    with h5py.File(path, "r") as file:
        file.visititems(look)
    return found


def _matlab5(path: Path) -> dict[str, NDArray[Any]]:
    loaded = needed("scipy.io", f"reading {path.name}").loadmat(path)
    return {
        name: array
        for name, array in loaded.items()
        if not name.startswith("__") and isinstance(array, np.ndarray)
    }


def _zarr(path: Path, layout: LayoutOptions) -> Upload:
    zarr = needed("zarr", f"reading {path.name}")
    node = zarr.open(str(path), mode="r")
    if hasattr(node, "shape"):
        return upload_of_named({"array": np.asarray(node[...])}, layout, path.name)
    found: dict[str, NDArray[Any]] = {}

    def look(group: Any, prefix: str) -> None:
        for name, array in group.arrays():
            found[prefix + name] = np.asarray(array[...])
        for name, below in group.groups():
            look(below, f"{prefix}{name}/")

    look(node, "")
    return upload_of_named(found, layout, path.name)


def upload_of_xvg(path: Path, layout: LayoutOptions) -> Upload:
    """Convert a file. Raise InputError for several data sets, or with neither a time nor `dt`."""
    legends: dict[int, str] = {}
    axes: dict[str, str] = {}
    rows: list[list[str]] = []
    for line in path.read_text(errors="replace").splitlines():
        if match := _LEGEND.match(line):
            legends[int(match[1])] = match[2]
        elif match := _AXIS.match(line):
            axes[match[1]] = match[2]
        elif line.startswith("&"):
            if rows:
                raise InputError(
                    f"{path.name} holds several data sets (divided by '&'): "
                    "cut it into one file each"
                )
        elif line.strip() and not line.startswith(("#", "@")):
            rows.append(line.split())
    if not rows:
        raise InputError(f"{path.name} holds no numbers")
    is_time = _TIME.match(axes.get("x", ""))
    first = (
        f"time_{is_time[1]}"
        if is_time and is_time[1]
        else "time"
        if is_time
        else axes.get("x") or "x1"
    )
    if not is_time and layout.get("dt") is None and layout.get("time_column") is None:
        raise InputError(
            f"{path.name} has no column of times (its x axis is '{axes.get('x', '')}'): give dt=…"
        )
    width = len(rows[0])
    second = axes.get("y", "s0") if width <= 3 else "s0"
    names = [first, *(legends.get(j, second if j == 0 else f"s{j}") for j in range(width - 1))]
    # A residue's name may stand at the end of each row.
    kept = [j for j in range(width) if not _WORD.match(rows[0][j])]
    lines = [",".join(names[j].replace(",", " ") for j in kept)]
    lines += [",".join(row[j] for j in kept if j < len(row)) for row in rows]
    return Upload(
        ("\n".join(lines) + "\n").encode(), "text/csv", path.with_suffix(".csv").name, layout
    )
