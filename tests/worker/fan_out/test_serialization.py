"""Laws of the bytes in which passes and sums travel between workers."""

import time
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache, partial
from io import BytesIO
from typing import Any

import numpy as np
import pytest

from contract.identification import IdentificationParameters
from worker import pipeline
from worker.fan_out.serialization import pack, unpack
from worker.identification.data.trajectories import Trajectories, from_arrays
from worker.identification.sums.block_sums import BlockSums, Pass, sums_here
from worker.jobs.parameters import settings_of


@cache
def record(dimension: int, *, noise: float = 0.0, uneven: bool = False) -> Trajectories:
    chance = np.random.default_rng(1)
    x = np.zeros((3001, dimension))
    for n in range(3000):
        x[n + 1] = (
            0.9 * x[n]
            + 0.3 * np.roll(x[n], 1) * (dimension > 1) * 0.3
            + 0.4 * chance.standard_normal(dimension)
        )
    data = from_arrays([x + noise * chance.standard_normal(x.shape)], 0.1)
    return replace(data, times=data.times + 0.02 * chance.random(len(x))) if uneven else data


def positions(dimension: int, noise: float = 0.0) -> Trajectories:
    """Positions whose velocities are such a record, and relax slowly."""
    velocities = record(dimension)
    x = np.zeros_like(velocities.states)
    for n in range(1, len(x)):
        x[n] = 0.98 * x[n - 1] + 0.1 * velocities.states[n]
    return replace(velocities, states=x + noise * np.random.default_rng(2).normal(size=x.shape))


SMALL = {"library": {"polynomial_degree": 1}, "kernels": {"count": 12}}
CASES: dict[str, tuple[Callable[[], Trajectories], dict[str, Any]]] = {
    "powers": (partial(record, 1), {}),
    "terms by name": (
        partial(record, 1),
        {"library": {"polynomial_degree": 2, "extra_terms": ["x/(1+x^2)", "sin(2*x)"]}},
    ),
    "uneven clock": (partial(record, 1, uneven=True), {}),
    "noise": (partial(record, 1, noise=0.3), {"measurement_noise": "corrected"}),
    "angle": (partial(record, 1), {"periodic": {"x": 40.0}}),
    "two variables": (partial(record, 2), SMALL),
    "second order": (partial(positions, 1), {"dynamics": "second-order"}),
    "second order in two coordinates, with noise": (
        partial(positions, 2, noise=0.01),
        {"dynamics": "second-order", "library": {"polynomial_degree": 1}},
    ),
    "Simpson's rule in two": (partial(record, 2), SMALL | {"sampling_rule": "simpson"}),
}


def same(a: Any, b: Any) -> bool:
    if isinstance(a, Trajectories):
        return a is b
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b)
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, Mapping):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if is_dataclass(a):
        return type(a) is type(b) and all(
            same(getattr(a, f.name), getattr(b, f.name)) for f in fields(a)
        )
    return bool(a == b)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_every_pass_survives_the_way_and_the_model_of_its_parts_is_the_same_to_the_last_bit(
    case: str,
) -> None:
    made, parameters = CASES[case]
    data = made()
    kinds = set()

    def by_mail(work: Pass) -> BlockSums | None:
        body = pack(work)
        arrived = unpack(body, data)
        assert same(work, arrived)
        assert pack(arrived) == body
        kinds.add(type(work).__name__)
        parts = [
            replace(arrived, blocks=blocks).sums() for blocks in np.array_split(arrived.blocks, 5)
        ]
        if None in parts:
            return None
        found = [unpack(pack(part)) for part in parts]
        assert all(map(same, parts, found))
        total = found[0]
        for part in found[1:]:
            total = total + part
        return total

    wanted = IdentificationParameters.model_validate(parameters)
    shared = pipeline.identify(data, settings_of(wanted), lambda *_: None, by_mail)
    alone = pipeline.identify(data, settings_of(wanted), lambda *_: None, sums_here)
    assert kinds
    assert same((shared.drift, shared.diffusion), (alone.drift, alone.diffusion))


def test_a_sum_that_was_lost_is_missed() -> None:
    data = record(1)

    def forgetful(work: Pass) -> BlockSums | None:
        return replace(work, blocks=work.blocks[1:]).sums()

    wanted = IdentificationParameters()
    assert (
        pipeline.identify(data, settings_of(wanted), lambda *_: None, forgetful).drift
        != pipeline.identify(data, settings_of(wanted), lambda *_: None).drift
    )


def test_the_bytes_do_not_know_the_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    sums = BlockSums(np.arange(3), (np.ones((3, 2)),))
    body = pack(sums)
    monkeypatch.setattr(time, "time", lambda: 2e9)
    monkeypatch.setattr(time, "localtime", lambda *_: time.gmtime(2e9))
    assert pack(sums) == body


def test_what_no_pass_is_made_of_is_neither_packed_nor_made() -> None:
    with pytest.raises(TypeError):
        pack(object())
    with pytest.raises(TypeError):
        pack(np.array([object()]))
    with pytest.raises(KeyError):
        unpack(renamed(b"Callables"))
    assert unpack(renamed(b"BlockSums")).counts.sum() == 3, "the negative control is wrong"


def renamed(kind: bytes) -> bytes:
    """Sums of three windows under another name."""
    tree = b'{"kind": "%s", "of": {"counts": {"array": "array0"}, "sums": []}}' % kind
    file = BytesIO()
    np.savez(file, tree=np.frombuffer(tree, dtype=np.uint8), array0=np.ones(3, dtype=np.int64))
    return file.getvalue()
