"""The same numbers, however they are written."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from service.readers.errors import UnreadableData

N = 40
PATH = np.round(np.cumsum(np.random.default_rng(1).normal(size=N)), 4)
CLOCK = np.round(0.05 * np.arange(N), 2)


@dataclass(frozen=True)
class Writing:
    """One way to write a table."""

    delimiter: str
    decimal: str
    header: bool
    quoted_header: bool
    bom: bool
    newline: str
    trailing: bool
    padding: str
    comments: tuple[str, ...]
    units: bool
    exponent: bool

    def table(self, columns: dict[str, np.ndarray]) -> bytes:
        end = (self.delimiter if self.trailing else "") + self.newline
        lines = [comment + self.newline for comment in self.comments]
        names = [f'"{name}"' if self.quoted_header else name for name in columns]
        if self.header:
            lines.append(self.delimiter.join(names) + end)
            if self.units:
                lines.append(self.delimiter.join(["[s]", "[nm]"][: len(columns)]) + end)
        for row in zip(*columns.values(), strict=True):
            cells = [
                (f"{value:.12e}" if self.exponent else f"{value:.4f}").replace(".", self.decimal)
                for value in row
            ]
            lines.append(self.delimiter.join(self.padding + cell for cell in cells) + end)
        return (b"\xef\xbb\xbf" if self.bom else b"") + "".join(lines).encode()


@st.composite
def writings(draw: st.DrawFn) -> Writing:
    delimiter = draw(st.sampled_from([",", ";", "\t", "|", " ", "   "]))
    header = draw(st.booleans())
    return Writing(
        delimiter=delimiter,
        decimal="." if delimiter == "," else draw(st.sampled_from([".", ","])),
        header=header,
        quoted_header=header and draw(st.booleans()),
        bom=draw(st.booleans()),
        newline=draw(st.sampled_from(["\n", "\r\n", "\r"])),
        trailing=draw(st.booleans()) and " " not in delimiter,
        padding=draw(st.sampled_from(["", " "])),
        comments=draw(
            st.sampled_from(
                [(), ("# made by a program",), ("% a", "%", "@ b"), ("",), ("// x", "")]
            )
        ),
        units=header and draw(st.booleans()),
        exponent=draw(st.booleans()),
    )


@pytest.mark.slow
@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(writing=writings())
def test_any_dialect_gives_the_same_numbers(
    writing: Writing, read_data: Callable[..., Any]
) -> None:
    found = read_data(writing.table({"t": CLOCK, "x": PATH}))
    assert found.states.shape == (N, 1)
    assert np.array_equal(found.states[:, 0], PATH)
    assert np.allclose(found.times, CLOCK, rtol=0, atol=1e-15)
    assert found.report.dt.median == pytest.approx(0.05, rel=1e-12)
    assert found.report.n_segments == 1
    assert found.codes == set()
    if writing.units:
        assert found.report.variables[0].unit == "nm"
        assert found.report.time_unit == "s"


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(writing=writings())
def test_a_single_column_needs_no_delimiter(
    writing: Writing, read_data: Callable[..., Any]
) -> None:
    if writing.trailing:
        return
    found = read_data(writing.table({"force": PATH}), dt=0.1)
    assert np.array_equal(found.states[:, 0], PATH)
    assert found.report.dt.median == 0.1
    assert found.report.dt.source == "given"


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    values=st.lists(st.floats(-1e15, 1e15, allow_nan=False), min_size=12, max_size=30, unique=True)
)
def test_every_double_survives_its_shortest_decimal_form(
    values: list[float], read_data: Callable[..., Any]
) -> None:
    text = "t,x\n" + "".join(f"{k},{value!r}\n" for k, value in enumerate(values))
    found = read_data(text)
    assume("missing-code" not in found.codes)  # 8888 far from all others is a code
    assert found.states[:, 0].tolist() == values


@pytest.mark.parametrize(
    "word", ["", "NaN", "nan", "NA", "N/A", "null", "NULL", "none", "-", ".", " NaN ", "#N/A", "?"]
)
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_a_missing_sample_splits_the_record_and_is_counted(
    word: str, delimiter: str, read_data: Callable[..., Any]
) -> None:
    rows = [f"{t:.2f}{delimiter}{x:.4f}" for t, x in zip(CLOCK, PATH, strict=True)]
    rows[10] = f"{CLOCK[10]:.2f}{delimiter}{word}"
    found = read_data("\n".join([f"t{delimiter}x", *rows, ""]))
    assert found.report.n_missing == 1
    assert found.segments.tolist() == [[0, 10, 0], [10, N - 1, 0]]
    assert found.times[10] == pytest.approx(0.55)
    assert found.codes == {"missing-values"}


@pytest.mark.parametrize("word", ["NaN", "NA", "-"])
def test_missing_words_are_known_between_blanks_too(
    word: str, read_data: Callable[..., Any]
) -> None:
    rows = [f"{t:.2f} {x:.4f}" for t, x in zip(CLOCK, PATH, strict=True)]
    rows[3] = f"{CLOCK[3]:.2f}  {word}"
    assert read_data("\n".join(rows)).report.n_missing == 1


@pytest.mark.parametrize("code", ["-999", "-9999.0", "99.99", "-32768", "9999"])
def test_a_code_far_from_all_values_is_missing_and_named(
    read_data: Callable[..., Any], code: str
) -> None:
    rows = [f"{t:.2f},{x:.4f}" for t, x in zip(CLOCK, PATH, strict=True)]
    rows[5] = f"{CLOCK[5]:.2f},{code}"
    found = read_data("t,x\n" + "\n".join(rows))
    assert np.abs(found.states).max() < 10
    assert len(found.segments) == 2
    warning = next(w for w in found.report.warnings if w.code == "missing-code")
    assert f"{float(code):g}" in warning.message


@pytest.mark.parametrize(
    ("code", "scale"), [("-9999", 1000.0), ("-1234", 1.0), ("1e30", 1.0), ("-999", 100.0)]
)
def test_a_number_among_others_like_it_or_of_no_custom_is_a_number(
    read_data: Callable[..., Any], code: str, scale: float
) -> None:
    rows = [f"{t:.2f},{x * scale:.4f}" for t, x in zip(CLOCK, PATH, strict=True)]
    rows[5] = f"{CLOCK[5]:.2f},{code}"
    found = read_data("t,x\n" + "\n".join(rows))
    assert float(code) in found.states
    assert "missing-code" not in [w.code for w in found.report.warnings]


@pytest.mark.parametrize("word", ["#VALUE!", "#DIV/0!", "#WERT!", "#NV", "-nan(ind)", "1.#QNAN"])
def test_cells_that_could_not_be_computed_are_missing(
    read_data: Callable[..., Any], word: str
) -> None:
    rows = [f"{t:.2f},{x:.4f}" for t, x in zip(CLOCK, PATH, strict=True)]
    rows[5] = f"{CLOCK[5]:.2f},{word}"
    found = read_data("t,x\n" + "\n".join(rows))
    assert len(found.segments) == 2


GROUPED = [1234.5, 999.25, -12345.75, 1200.0, 1500.5, 1234567.0, 800.0, 1000.0, 950.5, 1100.0]


@pytest.mark.parametrize(
    ("head", "delimiter", "write"),
    [
        ("t,x", ",", lambda x: f'"{x:,.2f}"'),
        ("t;x", ";", lambda x: f"{x:,.2f}"),
        ("t;x", ";", lambda x: f"{x:,.2f}".translate(str.maketrans(",.", ".,"))),
        ("t\tx", "\t", lambda x: f"{x:,.2f}".translate({ord(","): "\u202f", ord("."): ","})),
        ("t;x", ";", lambda x: f"{x:,.2f}".replace(",", "'")),
        ("t;x", ";", lambda x: f"{x:.2f}".replace("-", "−")),
    ],
)
def test_digits_in_groups_of_three_and_typeset_minus_signs_are_numbers(
    read_data: Callable[..., Any], head: str, delimiter: str, write: Callable[[float], str]
) -> None:
    comma = "," in write(0.5)
    clock = [f"{k * 0.5:.1f}".replace(".", "," if comma else ".") for k in range(len(GROUPED))]
    rows = [f"{t}{delimiter}{write(x)}" for t, x in zip(clock, GROUPED, strict=True)]
    found = read_data(head + "\n" + "\n".join(rows))
    np.testing.assert_array_equal(found.states[:, 0], GROUPED)
    np.testing.assert_array_equal(found.times, np.arange(len(GROUPED)) * 0.5)


def test_a_mark_that_may_be_either_is_refused_by_name(read_data: Callable[..., Any]) -> None:
    with pytest.raises(UnreadableData, match="thousands separator or a decimal mark"):
        read_data("t,x\n" + "\n".join(f'{k / 2:.1f},"{k + 1},{k:03d}"' for k in range(20)))


def test_repeated_headers_of_joined_files_are_left_out(read_data: Callable[..., Any]) -> None:
    rows = [f"{t:.2f},{x:.4f}" for t, x in zip(CLOCK, PATH, strict=True)]
    found = read_data("\n".join(["t,x", *rows[:20], "t,x", *rows[20:]]))
    assert len(found.states) == len(PATH)
    assert any("header is repeated once" in sentence for sentence in found.report.assumptions)


def test_a_temperature_called_t_is_a_state(read_data: Callable[..., Any]) -> None:
    rows = [f"{t:.2f},{300 + x:.4f}" for t, x in zip(CLOCK, PATH, strict=True)]
    found = read_data("t,T\n" + "\n".join(rows))
    assert found.report.layout.state_columns == ("T",)


def test_quoted_decimal_commas_between_commas(read_data: Callable[..., Any]) -> None:
    rows = [f'"{t:.2f}","{x:.4f}"'.replace(".", ",") for t, x in zip(CLOCK, PATH, strict=True)]
    assert np.array_equal(read_data("\n".join(["t,x", *rows])).states[:, 0], PATH)


def test_points_among_decimal_commas_are_refused(refused: Callable[..., Any]) -> None:
    rows = [f"{t:.2f};{x:.4f}".replace(".", ",") for t, x in zip(CLOCK, PATH, strict=True)]
    rows[20] = rows[20].partition(";")[0] + ";1.234"
    assert (
        "Row 22, column 2 ('x'): '1.234' is not a number"
        in refused("\n".join(["t;x", *rows])).detail
    )


def test_unquoted_decimal_commas_between_commas_are_refused(
    read_data: Callable[..., Any], refused: Callable[..., Any]
) -> None:
    rows = [f"{t:.2f},{x:.4f}".replace(".", ",") for t, x in zip(CLOCK, PATH, strict=True)]
    refusal = refused("\n".join(["t,x", *rows]))
    assert "4 whole numbers" in refusal.detail
    assert "decimal mark" in refusal.hints[0]


@pytest.mark.parametrize("encoding", ["utf-16", "cp1252", "utf-8-sig"])
def test_other_encodings_are_recognised(encoding: str, read_data: Callable[..., Any]) -> None:
    rows = [f"{t:.2f};{x:.4f}" for t, x in zip(CLOCK, PATH, strict=True)]
    found = read_data("\n".join(["Zeit;Größe [µm]", *rows]).encode(encoding))
    assert np.array_equal(found.states[:, 0], PATH)
    assert found.report.variables[0].column == "Größe [µm]"
    assert found.report.variables[0].unit == "µm"


def test_an_instrument_s_preamble_is_passed_over_and_said_so(read_data: Callable[..., Any]) -> None:
    rows = [f"{t:.2f};{x:.4f}".replace(".", ",") for t, x in zip(CLOCK, PATH, strict=True)]
    found = read_data(
        "\r\n".join(["Device: A7", "Samples: 40", "", "Time;Voltage", "[ms];[mV]", *rows])
    )
    assert np.array_equal(found.states[:, 0], PATH)
    assert found.report.variables[0].unit == "mV"
    assert found.report.time_unit == "ms"
    assert "2 lines above the header" in found.said


def test_fortran_exponents_are_numbers(read_data: Callable[..., Any]) -> None:
    rows = [f"  {t:.2f}  {x:.4f}D+00" for t, x in zip(CLOCK, PATH, strict=True)]
    assert np.array_equal(read_data("\n".join(rows)).states[:, 0], PATH)


def test_a_block_boundary_changes_nothing(read_data: Callable[..., Any]) -> None:
    n = 250_000  # more than one block of text
    values = np.round(np.cumsum(np.random.default_rng(2).normal(size=n)), 6)
    rows = [f"{k * 0.001:.3f},{value:.6f}" for k, value in enumerate(values)]
    rows[200_000] = rows[200_000].partition(",")[0] + ","
    found = read_data("t,x\n" + "\n".join(rows))
    assert found.report.n_missing == 1
    assert np.array_equal(found.states[:, 0], np.delete(values, 200_000))
    assert found.segments.tolist() == [[0, 200_000, 0], [200_000, n - 1, 0]]


def test_the_header_may_stand_in_a_comment(read_data: Callable[..., Any]) -> None:
    rows = [f"{x:.4f} {t:.2f}" for t, x in zip(CLOCK, PATH, strict=True)]
    found = read_data("\n".join(["# measured by hand", "# x_um t_s", *rows]))
    assert (found.report.layout.time_column, found.report.time_unit) == ("t_s", "s")
    assert found.report.variables[0].unit == "um"


def test_labels_of_an_xvg_file_name_its_columns(read_data: Callable[..., Any]) -> None:
    rows = [f"{t:.2f}  {x:.4f}" for t, x in zip(CLOCK, PATH, strict=True)]
    found = read_data(
        "\n".join(
            [
                '@    title "Angle"',
                '@    xaxis  label "Time (ps)"',
                '@    yaxis  label "Phi"',
                "@TYPE xy",
                *rows,
            ]
        )
    )
    assert found.report.time_unit == "ps"
    assert found.report.variables[0].column == "Phi"


def test_row_names_as_r_writes_them_are_left_out(read_data: Callable[..., Any]) -> None:
    rows = [f'"{k + 1}" {t:.2f} {x:.4f}' for k, (t, x) in enumerate(zip(CLOCK, PATH, strict=True))]
    found = read_data("\n".join(['"t" "x"', *rows]))
    assert [variable.column for variable in found.report.variables] == ["x"]
    assert found.report.layout.time_column == "t"


@pytest.mark.parametrize("last", ["2.00", "2.00,oops", "2.00,1.2345,7"])
def test_a_faulty_last_row_is_no_word_below_the_table(
    last: str, refused: Callable[..., Any]
) -> None:
    rows = [f"{t:.2f},{x:.4f}" for t, x in zip(CLOCK, PATH, strict=True)]
    assert refused("\n".join(["t,x", *rows, last])).detail.startswith(f"Row {N + 2}")


def test_words_below_the_table_are_ignored_and_said_so(read_data: Callable[..., Any]) -> None:
    rows = [f"{t:.2f},{x:.4f}" for t, x in zip(CLOCK, PATH, strict=True)]
    found = read_data("\n".join(["t,x", *rows, "", "Source: the laboratory"]))
    assert np.array_equal(found.states[:, 0], PATH)
    assert "1 line below the table was ignored: 'Source: the laboratory'" in found.said
