"""Passes and their sums as bytes: NumPy arrays and a JSON tree that names the core's dataclasses.

Nothing in the bytes is ever run as code.
"""

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from io import BytesIO
from typing import Any

import numpy as np

from grammar import terms
from worker.identification.data.forcing import Forcing
from worker.identification.data.library import Library
from worker.identification.data.trajectories import Scales, Trajectories, Windows
from worker.identification.data.windows import Space
from worker.identification.second_order.equations import SecondOrderPass
from worker.identification.second_order.phase_space import PhaseSpace
from worker.identification.second_order.windows import Kicks, Shape
from worker.identification.sums.block_sums import BlockSums
from worker.identification.sums.cell_rules import WindowsPass
from worker.identification.sums.instruments import Embedding, Instruments
from worker.identification.sums.kernels import Cells
from worker.identification.sums.polynomial_moments import PowersPass
from worker.identification.sums.rules import SamplingRule, ScalarNoise
from worker.identification.sums.window_statistics import JointPass

_KINDS: Mapping[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        *(PowersPass, WindowsPass, JointPass, SecondOrderPass, BlockSums),
        *(SamplingRule, ScalarNoise, Windows),
        *(terms.Number, terms.Variable, terms.Call, terms.Binary, Library, Forcing),
        *(Scales, Cells, Space, Embedding, Instruments, PhaseSpace, Shape, Kicks),
    )
}
_TREE = "tree"


def pack(value: object) -> bytes:
    """Pack a value without its trajectories; equal values give equal bytes.

    Raises TypeError for a type that no pass contains.
    """
    arrays: dict[str, np.ndarray[Any, Any]] = {}

    def spelled(value: Any) -> Any:
        if value is None or isinstance(value, (bool, int, float, str)):
            return float(value) if isinstance(value, np.floating) else value
        if isinstance(value, np.ndarray) and value.dtype.kind in "fi":
            name = f"array{len(arrays)}"
            arrays[name] = value
            return {"array": name}
        if isinstance(value, tuple):
            return [spelled(each) for each in value]
        if isinstance(value, Trajectories):
            return {"data": True}
        if is_dataclass(value) and type(value) is _KINDS.get(type(value).__name__):
            return {
                "kind": type(value).__name__,
                "of": {f.name: spelled(getattr(value, f.name)) for f in fields(value)},
            }
        raise TypeError(f"a {type(value).__name__} cannot be packed")

    tree = np.frombuffer(json.dumps(spelled(value)).encode(), dtype=np.uint8)
    file = BytesIO()
    np.savez(file, **{_TREE: tree}, **arrays)  # type: ignore[arg-type]  # the stubs take them for `allow_pickle`
    return file.getvalue()


def unpack(body: bytes, data: Trajectories | None = None) -> Any:
    """Unpack a value, with `data` in the place of the trajectories that were left out.

    Raises ValueError, KeyError, TypeError or BadZipFile for what `pack` did not make.
    """
    with np.load(BytesIO(body), allow_pickle=False) as file:

        def made(spelled: Any) -> Any:
            match spelled:
                case {"array": name}:
                    return file[name]
                case {"data": True}:
                    return data
                case {"kind": kind, "of": of}:
                    return _KINDS[kind](**{name: made(value) for name, value in of.items()})
                case list():
                    return tuple(made(each) for each in spelled)
            return spelled

        return made(json.loads(file[_TREE].tobytes()))
