"""A sweep answers as each of its sets alone would, with fewer passes over the data."""

import json

import numpy as np
import pytest
from pydantic import ValidationError

from contract.kinds import JOB_REQUEST
from contract.sweep import SweepJob
from worker import pipeline
from worker.analysis import AnalysisSettings
from worker.fan_out.summing import SumCache
from worker.identification.data.trajectories import Trajectories, from_arrays
from worker.identification.errors import IdentificationError
from worker.identification.estimation.setup import Settings
from worker.identification.sums.block_sums import BlockSums, Pass, sums_here
from worker.identification.sums.polynomial_moments import PowersPass
from worker.jobs.parameters import settings_of
from worker.jobs.sweep import SweepEntry, sweep

ANALYSIS = AnalysisSettings(model_only=True)


def record(n: int = 8_000) -> Trajectories:
    generator, x = np.random.default_rng(0), np.empty(n)
    x[0] = 1.0
    for k, kick in enumerate(np.sqrt(0.25 * 0.05) * generator.standard_normal(n - 1)):
        x[k + 1] = x[k] + 0.05 * (x[k] - x[k] ** 3) + kick
    return from_arrays([x], 0.05)


def settings(*variants: dict[str, object]) -> list[Settings]:
    job = JOB_REQUEST.validate_python(
        {"kind": "sweep", "dataset": "ds_a", "variants": list(variants)}
    )
    assert isinstance(job, SweepJob)
    return [settings_of(parameters) for parameters in job.parameter_sets().values()]


def quiet(*_: object) -> None:
    """No progress."""


@pytest.mark.slow
def test_each_set_answers_as_it_would_alone_and_the_sums_are_taken_once() -> None:
    data = record()
    sets = settings(
        {},
        {"selection": {"method": "pastis"}},
        {"library": {"polynomial_degree": 2}},
        {"sampling_rule": "euler"},
    )
    found = sweep(data, sets, ANALYSIS, quiet, sums_here)
    passes: list[Pass] = []

    def counted(work: Pass) -> BlockSums | None:
        passes.append(work)
        return sums_here(work)

    for one, item in zip(sets, found.items, strict=True):
        assert isinstance(item, SweepEntry)
        alone = pipeline.identify(data, one, quiet, counted)
        assert item.answer.drift["x"].active() == alone.drift["x"].active()
        assert item.answer.diffusion["x,x"].active() == alone.diffusion["x,x"].active()
    assert found.taken + found.shared == len(passes)
    # The powers are taken once; where noise is looked for, each set has windows of its own.
    powers = [work for work in passes if isinstance(work, PowersPass)]
    assert found.shared == len(powers) * 3 // 4


def test_sets_that_need_other_sums_take_their_own() -> None:
    sets = settings({}, {"kernels": {"count": 20}}, {"library": {"extra_terms": ["sin(x)"]}})
    found = sweep(record(), sets, ANALYSIS, quiet, sums_here)
    assert found.shared == 0
    assert found.taken == 6


def test_a_set_without_an_answer_leaves_the_others_theirs() -> None:
    found = sweep(
        record(),
        settings({"library": {"polynomial_degree": 1}}, {"kernels": {"range": [40, 50]}}),
        ANALYSIS,
        quiet,
        sums_here,
    )
    first, second = found.items
    assert isinstance(first, SweepEntry)
    assert isinstance(second, IdentificationError)


def test_sums_in_memory_cannot_be_changed_by_who_uses_them() -> None:
    seen: list[Pass] = []

    def kept(work: Pass) -> BlockSums | None:
        seen.append(work)
        return sums_here(work)

    sum_cache = SumCache(kept)
    pipeline.identify(record(), Settings(), quiet, sum_cache)
    again = sum_cache(seen[0])
    assert again is not None
    with pytest.raises(ValueError, match="read-only"):
        again.sums[0][0, 0] = 1.0


def test_a_variant_that_is_no_parameter_is_refused_with_its_place() -> None:
    with pytest.raises(ValidationError, match="variants/1/library/polynomial_degree"):
        settings({}, {"library": {"polynomial_degree": 99}})
    with pytest.raises(ValidationError, match="variants/0/libary"):
        settings(json.loads('{"libary": {}}'))
