"""`python -m benchmarks.paper` writes docs/paper.md; here at a size whose numbers mean nothing."""

from pathlib import Path

import pytest

from benchmarks.paper import bandwidth, measurement_noise
from benchmarks.paper.__main__ import ORDER, Size, measure, parts_of
from benchmarks.paper.document import document
from benchmarks.paper.parts import Part, Table, within_scatter

COMMITTED = (Path(__file__).parents[1] / "docs" / "paper.md").read_text(encoding="utf-8")

TINY = Size(
    seeds=1, n_trajectories=5, duration=10.0, own_seeds=1, durations=(2.5, 5.0, 10.0), steps=(0.05,)
)


@pytest.fixture(scope="module")
def parts() -> list[Part]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measurement_noise, "RATIOS", (20.0,))
        patch.setattr(bandwidth, "BANDWIDTHS", (0.08, 0.43))
        return parts_of(measure(TINY, jobs=1))


def outline(text: str) -> list[str]:
    """Headings of the items and headers of their tables."""
    lines = text.split("\n## ", 2)[2].splitlines()
    return [
        line
        for line, below in zip(lines, [*lines[1:], ""], strict=True)
        if line.startswith("## ") or below.startswith("| ---")
    ]


@pytest.mark.slow
def test_the_committed_document_has_the_parts_and_tables_that_the_command_makes(
    parts: list[Part],
) -> None:
    made = document(parts, "how")
    assert outline(made) == outline(COMMITTED)
    assert len(parts) == len(ORDER)
    assert outline(document(parts[:-1], "how")) != outline(COMMITTED)


@pytest.mark.slow
def test_every_claim_is_in_the_committed_summary_with_its_published_value(
    parts: list[Part],
) -> None:
    for claim in (c for p in parts for c in p.claims):
        assert f"| {claim.said} | {claim.where} | {claim.published} |" in COMMITTED, claim


def test_the_committed_document_says_how_it_was_made_and_counts_its_claims() -> None:
    assert "Written by `python -m benchmarks.paper`" in COMMITTED
    summary = COMMITTED.split("\n## ")[1]
    counted = [
        sum(line.endswith(f"| {v} |") for line in summary.splitlines())
        for v in ("yes", "partly", "no")
    ]
    yes, partly, no = counted
    claim = f"Of {sum(counted)} claims {yes} hold, {partly} hold in part, {no} do not."
    assert claim in summary.replace("\n", " ")


def test_a_row_must_fit_its_header() -> None:
    wrong = Part("title", "where", (Table("caption", ("a", "b"), (("1",),)),), ())
    with pytest.raises(ValueError, match="1 cells under 2 columns"):
        document([wrong], "how")


def test_one_published_number_is_judged_by_the_scatter_of_ours() -> None:
    assert within_scatter(1.9, [-1.0, 0.0, 1.0])
    assert not within_scatter(2.1, [-1.0, 0.0, 1.0])
