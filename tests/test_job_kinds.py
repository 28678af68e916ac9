"""What it costs to add a kind of job: the files that CONTRIBUTING.md names, and no others.

A copy of the source is given the kind `mean`, whose new files are in `tests/dummy_kind`; it then
goes from the client to the worker and back.
"""

import json
import shutil
from pathlib import Path
from typing import Any, get_args

import jsonschema
import pytest

from contract.kinds import KINDS
from service.web.kinds import VIEWS
from tests.source_copy import ROOT, copied_with, edited, named_in_contributing, run_in
from worker.jobs.kinds import PROCEDURES

DUMMY = ROOT / "tests" / "dummy_kind"
MOST_FILES = 8

EXAMPLE = '("the mean of the data", {"trim": 0.1})'
METHOD = '''
    @operation
    def mean(
        self,
        data: Any,
        *,
        trim: float = 0.0,
        progress: bool | Listener = True,
        **layout: Unpack[LayoutOptions],
    ) -> Flow[Mean]:
        """The mean of each variable, without its extremes."""
        job = {"kind": "mean", "trim": trim}
        show = listener(progress)
        return Mean((yield from of_data(data, None, layout, job, self._retries, show, None)))
'''
ROWS = {
    "contract/kinds.py": [
        ("from contract.mean import MeanJob, MeanResult\n", r"^from "),
        (f'    Kind("mean", MeanJob, MeanResult, {EXAMPLE}),\n', r"(?<=^_TABLE = \(\n)"),
    ],
    "worker/jobs/kinds.py": [
        ("from worker.jobs import mean\n", r"^from "),
        ('    "mean": Procedure(record_of, mean.compute, mean.describe),\n', r"(?<= = \{\n)"),
    ],
    "service/web/kinds.py": [
        ("from service.web.mean_view import mean_view\n", r"^from "),
        ('    "mean": mean_view,\n', r"(?<= = \{\n)"),
    ],
    "client/itoscope_client/kinds.py": [
        ("from itoscope_client.models.mean import Mean\n", r"^from "),
        ('"Mean", ', r"(?<=^__all__ = \[)"),
        (METHOD, r'(?<="""One method for each kind of job."""\n)'),
    ],
}
"""What is put into a table's file, and before what."""


def with_the_dummy(copy: Path) -> Path:
    """The product's source with one more kind of job."""
    copied_with(copy, ROWS)
    for source in DUMMY.rglob("*/*.py"):
        shutil.copyfile(source, copy / source.relative_to(DUMMY))
    return copy


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return with_the_dummy(tmp_path_factory.mktemp("copy"))


def test_a_kind_costs_the_files_that_contributing_names_and_no_others(copy: Path) -> None:
    named = named_in_contributing("How to add a job kind")
    assert edited(copy) == {path.replace("<kind>", "mean") for path in named}
    assert len(named) <= MOST_FILES


def test_a_kind_that_was_added_goes_from_the_client_to_the_worker_and_back(
    copy: Path, tmp_path: Path, empty_redis_url: str
) -> None:
    answer = tmp_path / "found.json"
    run_in(copy, DUMMY / "use.py", empty_redis_url, tmp_path / "data", answer)
    found: dict[str, Any] = json.loads(answer.read_text("utf-8"))

    assert found["outcomes"] == ["succeeded"]
    assert found["class"] == ["Mean", True]
    assert found["means"] == {"x": 2.0}
    jsonschema.validate(found["document"], found["schema"])
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**found["document"], "median": 2.0}, found["schema"])
    jsonschema.validate(found["example"], found["request"])

    interface = found["openapi"]["components"]["schemas"]
    assert (
        interface["JobRequest"]["discriminator"]["mapping"]["mean"]
        == "#/components/schemas/MeanJob"
    )
    assert {"$ref": "#/components/schemas/MeanResult"} in interface["Result"]["anyOf"]
    assert "mean" in interface["JobRecord"]["properties"]["kind"]["enum"]
    assert found["checked"]["request"]["kind"] == "mean"
    assert 0.0 < found["checked"]["estimated_seconds"] < 5.0
    assert "`mean`" in found["refused"]["errors"][0]["detail"]

    for shown in (found["report"], found["piece"]):
        assert "The mean is all there is." in shown
        assert '<dt>mean of x</dt>\n<dd><span class="value">2.000</span>' in shown
    assert "<option>mean</option>" in found["page"]
    assert found["listed"] == [found["document"]["job"]]
    assert found["compared"]["code"] == "invalid-request"


def test_every_table_has_every_kind_under_its_own_name() -> None:
    assert set(KINDS) == set(VIEWS) == set(PROCEDURES)
    for name, kind in KINDS.items():
        assert get_args(kind.job.model_fields["kind"].annotation) == (name,)
        assert get_args(kind.result.model_fields["kind"].annotation) == (name,)
