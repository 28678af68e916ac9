"""A file that cannot be read is refused with a code, a place and something to try."""

import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from service.readers.options import Limits

Reads = Callable[..., Any]

GOOD = "\n".join(["t,x", *(f"{k},{(k * 7919) % 13}.5" for k in range(50))])


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "empty-file"),
        (b"\xef\xbb\xbf\r\n \n", "empty-file"),
        (b"# only\n# comments\n", "empty-file"),
        (b"t,x\n", "unreadable-data"),
        (b"the quick brown fox\njumps over\n", "unreadable-data"),
        (b"name,colour\nann,red\nbob,blue\n", "unreadable-data"),
        (b"t,x\n0,1\n", "too-few-samples"),
        (b"5\n", "too-few-samples"),
        (b"t,x\n0,NaN\n1,NaN\n2,NaN\n", "too-few-samples"),
        (b"x\nNaN\nNaN\n", "too-few-samples"),
        (b"t,x\n0,1\n1,NaN\n2,3\n3,NaN\n4,3\n", "too-few-samples"),
        (b"t,x\n0,3.25\n1,3.25\n2,3.25\n", "constant-data"),
        (pickle.dumps({"x": [1, 2, 3]}), "unreadable-data"),
        (pickle.dumps([1.0, 2.0], protocol=0), "unreadable-data"),
    ],
)
def test_hopeless_data_are_refused_by_a_stable_code(data: bytes, code: str, refused: Reads) -> None:
    refusal = refused(data)
    assert (refusal.code, refusal.status) == (code, 422)


@pytest.mark.parametrize(
    ("cell", "complaint"),
    [
        ("oops", "'oops' is not a number"),
        ("1_000", "'1_000' is not a number"),
        ("1.5 V", "'1.5 V' is not a number"),
        ("0x10", "'0x10' is not a number"),
        ("1,5", "Row 21 has 3 values where 2 are expected"),
        ("-inf", "infinite"),
        ("Infinity", "infinite"),
        ("1e999", "infinite"),
    ],
)
def test_a_bad_cell_is_named_by_row_and_column(cell: str, complaint: str, refused: Reads) -> None:
    lines = GOOD.split("\n")
    lines[20] = f"19,{cell}"
    refusal = refused("\r\n".join(lines))
    assert complaint in refusal.detail
    assert "Row 21" in refusal.detail
    assert refusal.hints


def test_the_row_is_the_editor_s_line_even_below_comments_and_blank_lines(refused: Reads) -> None:
    lines = ["# a", "", *GOOD.split("\n")]
    lines.insert(10, "# in between")
    lines[30] = "27,oops"
    assert "Row 31, column 2 ('x')" in refused("\n".join(lines)).detail


def test_a_bad_first_row_is_not_taken_for_a_header(refused: Reads) -> None:
    assert "Row 1, column 1: 'oops'" in refused("oops,1.5\n" + GOOD.partition("\n")[2]).detail


def test_a_short_row_is_named(refused: Reads) -> None:
    lines = GOOD.split("\n")
    lines[20] = "19"
    assert "Row 21 has 1 value where 2 are expected" in refused("\n".join(lines)).detail


def test_a_cell_is_repeated_only_in_part_and_printable(refused: Reads) -> None:
    lines = GOOD.split("\n")
    lines[20] = "19,\x1b[31m" + "y" * 5000
    detail = refused("\n".join(lines)).detail
    assert len(detail) < 120
    assert detail.isprintable()


@pytest.mark.parametrize(
    ("head", "word"),
    [
        (b"\x1f\x8b\x08\x00", "gzip"),
        (b"\x89HDF\r\n\x1a\n", "HDF5"),
        (b"CDF\x01", "netCDF"),
        (b"MATLAB 7.3 MAT-file", "MATLAB"),
        (bytes(range(256)), "binary"),
    ],
)
def test_foreign_formats_are_named_with_a_way_out(head: bytes, word: str, refused: Reads) -> None:
    refusal = refused(head + bytes(100))
    assert (refusal.status, refusal.code) == (415, "unsupported-media-type")
    assert word in refusal.detail
    assert refusal.hints


def test_an_unknown_media_type_is_refused(refused: Reads) -> None:
    assert refused(GOOD, media_type="application/x-hdf5").status == 415


@pytest.mark.parametrize(
    "media_type",
    [
        None,
        "text/csv",
        "text/csv; charset=utf-8",
        "text/plain",
        "application/octet-stream",
        "text/x-log",
    ],
)
def test_text_is_text_by_any_name(media_type: str | None, read_data: Reads) -> None:
    assert read_data(GOOD, media_type=media_type).report.format == "csv"


def test_a_wrong_label_on_binary_data_does_not_matter(read_data: Reads, refused: Reads) -> None:
    assert refused(GOOD, media_type="application/x-npy").status == 422
    assert (
        read_data(
            "[1, 2, 4]", filename="a.json", media_type="application/octet-stream"
        ).report.format
        == "json"
    )


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"1," * 600_000 + b"1\n", "characters"),
        ((b"1," * 10_000 + b"1\n") * 3, "columns"),
        (b"1,2\n" * 2000, "numbers"),
    ],
)
def test_oversized_text_is_refused_early(data: bytes, word: str, refused: Reads) -> None:
    refusal = refused(data, limits=Limits(numbers=1000) if word == "numbers" else None)
    assert (refusal.status, refusal.code) == (413, "too-large-data")
    assert word in refusal.detail


def test_every_code_a_reading_can_carry_is_in_the_documentation() -> None:
    root = Path(__file__).resolve().parents[3]
    files = set((root / "service" / "readers").glob("*.py"))
    # These two read jobs; docs/problems.md has their codes.
    files -= {root / "service" / "readers" / name for name in ("strict_json.py",)}
    source = "".join(path.read_text() for path in files)
    codes = set(re.findall(r'(?:warn\(\s*|code=)"([a-z-]+)"', source))
    assert {"rounded-stamps", "constant-data", "unsorted"} <= codes
    documented = (root / "docs" / "formats.md").read_text()
    assert [code for code in sorted(codes) if f"`{code}`" not in documented] == []
