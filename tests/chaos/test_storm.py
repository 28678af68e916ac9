"""Whatever dies, every accepted job ends once, with its own result. `scripts/chaos` does the same
at length."""

from pathlib import Path

import pytest

from tests.chaos.faults import FAULTS
from tests.chaos.installation import installed
from tests.chaos.storm import storm


@pytest.mark.parametrize("seed", [1])
def test_every_accepted_job_ends_once_with_its_own_result(tmp_path: Path, seed: int) -> None:
    with installed(tmp_path / "installation") as installation:
        count = storm(installation, 150, FAULTS, seed)
    assert count.accepted == 150
    assert set(count.faults) == {fault.__name__ for fault in FAULTS}
    assert not count.broken_promises, count
