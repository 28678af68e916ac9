"""Conversion of files: what the service reads is sent unchanged, the rest is opened here."""

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from itoscope_client.errors import InputError
from itoscope_client.inputs.labelled import upload_of_labelled
from itoscope_client.inputs.named import upload_of_named
from itoscope_client.inputs.optional import needed
from itoscope_client.inputs.options import LayoutOptions
from itoscope_client.inputs.upload import UNKNOWN, Upload
from itoscope_client.inputs.xvg import upload_of_xvg

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
            return Upload(
                decompress(path.read_bytes()),
                TYPES.get(inner.suffix.lower(), UNKNOWN),
                inner.name,
                layout,
            )
    if head.startswith(HDF5) or head[512:].startswith(HDF5):
        if _is_netcdf(path):
            return _netcdf(path, layout)
        return upload_of_named(
            _hdf5(path, transposed=head.startswith(b"MATLAB 7.3")), layout, path.name
        )
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
        return "_NCProperties" in file.attrs or path.suffix.lower() in (
            ".nc",
            ".nc4",
            ".cdf",
            ".netcdf",
        )


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
