"""One record in the spellings of the trade is read as it is meant, or refused with the cause."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.service.readers.spellings import SPELLINGS, Spelling

Reads = Callable[..., Any]


@pytest.mark.parametrize("spelling", SPELLINGS, ids=lambda spelling: spelling.name)
def test_a_spelling_is_read_as_it_is_meant(
    spelling: Spelling, read_data: Reads, refused: Reads
) -> None:
    given = {**spelling.layout, "filename": spelling.filename}
    if spelling.cause is not None:
        problem = refused(spelling.data, **given)
        assert spelling.cause in problem.detail
        assert problem.hints
        return
    found = read_data(spelling.data, **given)
    assert found.states.shape == spelling.states.shape
    assert np.array_equal(found.states, spelling.states)
    lengths = np.bincount(found.segments[:, 2], np.diff(found.segments[:, :2]).ravel())
    assert tuple(lengths) == spelling.lengths
    times = np.arange(len(found.states)) if spelling.times is None else spelling.times
    assert np.abs(found.times - times).max() <= spelling.near * max(1.0, times.max())
    if spelling.unit is not None:
        assert found.report.time_unit == spelling.unit
    assert spelling.codes <= found.codes
    assert len(found.segments) == (spelling.pieces or len(spelling.lengths))


def test_there_are_many_spellings_and_few_are_refused() -> None:
    names = [spelling.name for spelling in SPELLINGS]
    assert len(names) == len(set(names)) >= 120
    assert sum(spelling.cause is None for spelling in SPELLINGS) >= 0.95 * len(names)
