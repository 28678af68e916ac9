"""Fragments and report: what is in a result is on the page, and no text of a user's becomes
HTML."""

import base64
import hashlib
import json
import re
from datetime import UTC, datetime
from html import unescape
from typing import Any

import numpy as np
import pytest

from contract import curves, results
from contract.datasets import (
    Column,
    Dataset,
    DatasetPreview,
    DatasetReport,
    Layout,
    LengthReport,
    SamplingReport,
    Stretch,
    Variable,
)
from contract.jobs import GeneratorJob
from contract.records import JobRecord
from contract.rolling import RollingResult
from service.routes.pages import dataset_in_symbols
from service.web import forms, site, views
from service.web.layout_form import layout_form
from service.web.model_view import figures, plots_of
from service.web.plots.dynamics import place
from service.web.plots.plot import Plot, rounded
from service.web.sentences import units_of_result
from service.web.views import Finished, dataset_view, result_view, side_by_side_view

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"


def numbers(*values: float) -> tuple[float, ...]:
    return tuple(values)


def finished(label: str = "a well", column: str = "voltage", **generator: Any) -> Finished:
    """A result of one variable with something of everything."""
    x = np.linspace(-2, 2, 41)
    density = np.exp(-(x**2)) / np.sqrt(np.pi)
    well = {"ergodic": True, "fixed_points": [{"at": [0.0], "stable": True}]} | generator
    result = results.IdentificationResult(
        job="job_1",
        data=results.DataSummary(
            variables=({"name": "x", "column": column, "unit": "mV"},),
            n_trajectories=1,
            n_increments=6000,
            dt=0.05,
            duration=300.0,
            time_unit="s",
            range=((-2.0, 2.0),),
        ),
        model=results.Model(
            drift={
                "x": results.Component(
                    expression="-x",
                    terms=(results.Term(term="x", value=-1.0, active=True, std_error=0.1),),
                )
            },
            diffusion={
                "x,x": results.Component(
                    expression="1",
                    terms=(results.Term(term="1", value=1.0, active=True, std_error=0.01),),
                )
            },
        ),
        selection=results.Selection(drift={}, diffusion={}),
        generator=results.GeneratorAnalysis.model_validate(
            {
                "spectrum": {
                    "eigenvalues": [{"re": 1.0, "ci": [0.9, 1.1]}],
                    "relaxation_times": [1.0],
                },
                "stationary": {
                    "mean": [1e-17],
                    "covariance": [[0.5]],
                    "density": {"grid": [x.tolist()], "values": density.tolist()},
                },
                **well,
            }
        ),
        curves=curves.Curves(
            grid=tuple(x.tolist()),
            drift=curves.Curve(
                values=tuple((-x).tolist()),
                band=tuple((float(-v - 0.1), float(-v + 0.1)) for v in x),
            ),
            diffusion=curves.Curve(values=(1.0,) * 41),
        ),
        observed=curves.Observed(
            n_samples=6001,
            histograms={"x": curves.Bins(edges=(-2.0, 0.0, 2.0), counts=(3000, 3001))},
            residuals={"x": curves.Bins(edges=(-6.0, 0.0, 6.0), counts=(3000, 3000))},
        ),
        diagnostics=results.Diagnostics(),
        warnings=(
            results.Notice(code="coarse-sampling", message=f"Try a shorter interval. {HOSTILE}"),
        ),
        provenance=results.Provenance(version="0.1.0", parameters={"note": HOSTILE}, seconds=0.4),
    )
    record = JobRecord(
        id="job_1",
        kind="identification",
        state="succeeded",
        created_at=datetime.now(UTC),
        labels={"name": label},
        request=GeneratorJob.model_validate({"kind": "generator", "model": {"job": "job_0"}}),
    )
    return Finished(record, result)


def test_the_answer_comes_before_the_plots_and_these_before_the_tables() -> None:
    html = result_view(finished())
    places = [
        html.index(text)
        for text in (
            "a well",
            "<math>",
            "Relaxation time",
            "Coarse sampling",
            'id="plot-drift"',
            "<caption>Coefficients",
        )
    ]
    assert places == sorted(places)
    assert "0.91 to 1.11" in html, "the interval of 1/λ"
    assert "x is voltage, in mV; time in s" in html


def test_a_mean_that_is_zero_but_for_rounding_is_zero() -> None:
    assert "10⁻¹⁷" not in result_view(finished())


@pytest.mark.parametrize(
    ("produced", "shown"),
    [
        ((1.7e-33, (0.0, 9.6e-33)), "none"),
        ((0.0, (0.0, 0.004)), "0"),
        ((0.011, (0.002, 0.02)), "0.0110"),
    ],
)
def test_an_entropy_production_below_rounding_is_none(
    produced: tuple[float, tuple[float, float]], shown: str
) -> None:
    value, ci = produced
    law = {
        "mean": [0.0],
        "covariance": [[0.5]],
        "density": {"grid": [[0.0, 1.0]], "values": [1.0, 1.0]},
        "entropy_production": value,
        "entropy_production_ci": ci,
        "circulation": 1e-17,
        "circulation_ci": (-1e-16, 1e-16),
    }
    result = finished(stationary=law).result
    assert isinstance(result, results.IdentificationResult)
    found = {f.label: f.value for f in figures(result, units_of_result(result))}
    assert found["Entropy production"] == shown
    assert found["Circulation (area per unit time)"] == "none"


def test_a_fixed_point_that_is_zero_but_for_rounding_is_zero() -> None:
    points = [
        {"at": [1e-17], "at_ci": [[-7e-16, 2e-15]], "stable": False},
        {"at": [1.0], "at_ci": [[0.9, 1.1]], "stable": True},
    ]
    html = result_view(finished(fixed_points=points))
    assert "10⁻¹" not in html
    assert "0.90 to 1.10" in html


def test_places_are_said_as_one_says_them() -> None:
    assert place({"x": (None, -0.8), "y": (None, None)}) == "x < −0.800"
    assert place({"x": (0.8, None), "y": (0.0, 1.5)}) == "x > 0.800, y 0 to 1.50"
    assert place({"x": (None, None)}) == "anywhere"


def test_wells_barriers_velocities_and_densities_are_shown_with_their_intervals() -> None:
    grid = [-2.0, 0.0, 2.0]
    barrier = {"from": 1.0, "over": 0.0, "to": -1.0, "height": 0.25, "height_over_noise": 2.04}
    points = [{"at": [1.0123], "at_ci": [[0.97, 1.05]], "stable": True}]
    law = {"mean": [0.0], "covariance": [[1.0]], "mean_velocity": 0.52}
    density = {"grid": [grid], "values": [0.1, 0.3, 0.1]}
    bands = {"values_ci": [[0.05, 0.2, 0.05], [0.2, 0.4, 0.2]]}

    def view(*, known: bool) -> str:
        interval = {"height_over_noise_ci": [1.71, 2.36]} if known else {}
        moving = {"mean_velocity_ci": [0.44, 0.61]} if known else {}
        return result_view(
            finished(
                barriers=[barrier | interval],
                fixed_points=points if known else [{"at": [1.0123], "stable": True}],
                stationary=law | moving | {"density": density | (bands if known else {})},
                effective_potential={"grid": grid, "values": [1.1, 0.0, 1.1]}
                | (bands if known else {}),
            )
        )

    shown, without = view(known=True), view(known=False)
    for text in ("1.71 to 2.36", "0.970 to 1.050", "0.440 to 0.610"):
        assert text in shown
        assert text not in without
    # One band more each in the potential's and in the density's plot.
    assert shown.count("95 % confidence interval") - without.count("95 % confidence interval") >= 2


def test_curves_of_the_model_are_drawn_with_their_bands() -> None:
    lags, ends = [0.0, 1.0, 2.0], [[1.0, 0.3, 0.1], [1.0, 0.5, 0.3]]
    density = {"grid": [[-1.0, 0.0, 1.0]], "values": [0.2, 0.3, 0.2]}
    law = {"mean": [0.0], "covariance": [[1.0]], "density": density}
    shown = []
    for known in (True, False):
        curve = {"values": {"x": [1.0, 0.4, 0.2]}} | ({"values_ci": {"x": ends}} if known else {})
        modes = {
            "eigenvalues": [{"re": 1.0}],
            "relaxation_times": [1.0],
            "eigenfunctions": [[-1.0, 0.0, 1.0]],
        }
        result = finished(
            autocorrelation={"lags": lags} | curve,
            power_spectrum={"frequencies": [0.1, 0.2, 0.3]} | curve,
            stationary=law,
            spectrum=modes | ({"eigenfunctions_ci": [ends]} if known else {}),
        )
        plots = {plot.name: plot for plot in plots_of(result.result)}
        names = ("autocorrelation-x", "power-spectrum", "eigenfunctions")
        shown.append(
            [sum(layer["kind"] == "band" for layer in plots[name].layers) for name in names]
        )
    # Negative control: without intervals there are none.
    assert shown == [[1, 1, 1], [0, 0, 0]]


def test_committors_of_one_variable_are_curves_with_bands() -> None:
    committor = {"from": -1.0, "to": 1.0, "grid": [[-1.0, 0.0, 1.0]], "values": [0.0, 0.5, 1.0]}
    ends = {"values_ci": [[0.0, 0.4, 1.0], [0.0, 0.7, 1.0]]}
    nowhere = {"from": 1.0, "to": 2.0, "reason": "it never comes there"}
    shown = []
    for given in (committor | ends, committor):
        plots = {plot.name: plot for plot in plots_of(finished(committors=[given, nowhere]).result)}
        shown.append([layer["kind"] for layer in plots["committors"].layers])
        assert "of reaching 1.00 before −1.00" in plots["committors"].summary
    assert shown == [["band", "line"], ["line"]]
    assert "committors" not in {
        plot.name for plot in plots_of(finished(committors=[nowhere]).result)
    }


def test_how_an_interval_is_left_is_in_the_tables() -> None:
    left = {
        "probability_high": {"value": 0.66, "ci": [0.61, 0.71]},
        "mean_time": {"value": 3.2, "ci": [2.9, 3.5]},
    }
    html = result_view(finished(exits=[{"from": 0.1, "low": -1.0, "high": 1.0} | left]))
    assert "Exit from intervals" in html
    assert "0.610 to 0.710" in html
    assert "Exit from intervals" not in result_view(finished())


def test_maps_of_the_plane_say_how_sure_they_are() -> None:
    grid, values = [[-1.0, 1.0], [-1.0, 1.0]], [[0.1, 0.2], [0.2, 0.4]]
    ends = [[[0.05, 0.1], [0.1, 0.3]], [[0.2, 0.4], [0.3, 0.5]]]
    law = {"mean": [0.0, 0.0], "covariance": [[1.0, 0.0], [0.0, 1.0]]}
    committor = {
        "from": {"x": [None, -1.0]},
        "to": {"x": [1.0, None]},
        "grid": grid,
        "values": values,
    }

    def maps(*, known: bool) -> dict[str, Plot]:
        band = {"values_ci": ends} if known else {}
        generator = {
            "stationary": law | {"density": {"grid": grid, "values": values} | band},
            "committors": [committor | band],
            "fixed_points": [],
        }
        model = {"drift": {"x": "-x", "y": "-y"}, "diffusion": {"x,x": "1"}}
        document = finished(**generator).result.model_dump(mode="json", by_alias=True)
        document |= {"curves": None, "observed": None}
        document["model"] = {
            name: {key: {"expression": text, "terms": []} for key, text in of.items()}
            for name, of in model.items()
        }
        return {
            plot.name: plot
            for plot in plots_of(results.IdentificationResult.model_validate(document))
        }

    shown, without = maps(known=True), maps(known=False)
    for name in ("density-and-drift", "committor-1"):
        (heat,) = (layer for layer in shown[name].layers if layer["kind"] == "heat")
        low, high = (
            np.frombuffer(base64.b64decode(end), np.uint8) / 255 * heat["ceiling"]
            for end in heat["ends"]
        )
        np.testing.assert_allclose(low, np.ravel(ends[0]), atol=0.5 / 255)
        np.testing.assert_allclose(high, np.ravel(ends[1]), atol=0.5 / 255)
        assert [layer["ends"] for layer in without[name].layers if layer["kind"] == "heat"] == [
            None
        ]
    assert (
        "maximum is at (1.00, 1.00): 0.400, 95 % confidence interval 0.300 to 0.500"
        in shown["density-and-drift"].summary
    )
    assert "95 %" not in without["density-and-drift"].summary + without["committor-1"].note
    assert "at most 0.30 wide" in shown["committor-1"].note


def test_why_there_is_no_law_is_said_once() -> None:
    html = result_view(
        finished(
            ergodic=False,
            reason="no stationary distribution: nothing holds it back",
            spectrum=None,
            stationary=None,
        )
    )
    assert html.count("othing holds it back") == 1
    assert "<strong>No stationary distribution.</strong> Nothing holds it back." in html


def test_of_the_model_alone_nothing_is_said_about_its_law() -> None:
    nothing = {"fixed_points": [], "spectrum": None, "stationary": None}
    html = result_view(finished(ergodic=None, reason="the model alone was asked for", **nothing))
    assert "No stationary distribution" not in html
    assert html.count("The model alone was asked for.") == 1
    assert "Relaxation time" not in html


def every_view() -> dict[str, str]:
    hostile = finished(HOSTILE, HOSTILE)
    return {
        "result": result_view(hostile),
        "report": views.report(hostile)[0],
        "comparison": side_by_side_view(hostile, hostile),
        "dataset": dataset_view(*dataset(HOSTILE)),
    }


def dataset(label: str) -> tuple[Dataset, DatasetPreview]:
    described = DatasetReport(
        format="csv",
        layout=Layout(),
        assumptions=(f"column 1 ({label}) is time",),
        variables=(Variable(name="x", column=label[:200], unit=label[:40]),),
        n_trajectories=1,
        n_segments=1,
        n_samples=3,
        n_increments=2,
        duration=2.0,
        lengths=LengthReport(min=3, median=3, max=3),
        dt=SamplingReport(median=1.0, min=1.0, max=1.0, jitter=0.0, source="time_column"),
        range=((0.0, 1.0),),
        warnings=(results.Notice(code="odd", message=label),),
    )
    made = Dataset(
        id="ds_1",
        created_at=datetime.now(UTC),
        sha256="0" * 64,
        bytes=30,
        label=label[:200],
        report=described,
    )
    stretch = Stretch(
        trajectory=0, times=(0.0, 1.0, 2.0), low={"x": (0.0, 1.0, 0.0)}, high={"x": (0.0, 1.0, 0.0)}
    )
    return made, DatasetPreview(
        stretches=(stretch,),
        n_segments=1,
        histograms={"x": curves.Bins(edges=(0.0, 1.0), counts=(3,))},
    )


@pytest.mark.parametrize("name", ["result", "report", "comparison", "dataset"])
def test_no_text_of_a_user_s_becomes_html(name: str) -> None:
    html = every_view()[name]
    assert "<img" not in html
    assert "<script>alert" not in html
    blocks = re.findall(r'<script type="application/json">(.*?)</script>', html, re.DOTALL)
    assert blocks
    for block in blocks:
        json.loads(block)


def test_the_report_allows_exactly_what_it_holds() -> None:
    page, policy = views.report(finished())
    for kind, tag in (
        ("script-src", r"<script(?: type=\"module\")?>(.*?)</script>"),
        ("style-src", r"<style>(.*?)</style>"),
    ):
        held = {
            "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"
            for text in re.findall(tag, page, re.DOTALL)
        }
        allowed = next(rule for rule in policy.split("; ") if rule.startswith(kind))
        assert set(allowed.split()[1:]) == held
    assert f'content="{policy.replace(chr(39), "&#39;")}"' in page
    assert "default-src 'none'" in policy
    assert len(page.encode()) < 1_000_000
    markup = re.sub(r"<(script|style)[^>]*>.*?</\1>", "", page, flags=re.DOTALL)
    links = r"<\w[^>]*\s(?:src|srcset|action|href(?!=\"#))="
    assert not re.search(links, markup), "it loads nothing, and its links stay inside"
    ids = set(re.findall(r'\sid="([^"]+)"', markup))
    assert set(re.findall(r'href="#([^"]+)"', markup)) <= ids | {"plot-record"}


def test_a_page_s_addresses_change_with_its_files() -> None:
    for name in site.assets():
        assert re.fullmatch(rf"/static/[0-9a-f]{{12}}/{re.escape(name)}", site.static(name))


def test_one_file_can_be_made_of_what_draws_plots() -> None:
    sources = {name: site.assets()[f"plots/{name}"].body.decode() for name in site.PLOTTING}
    assert {name for name in site.assets() if name.startswith("plots/")} == {
        f"plots/{name}" for name in sources
    }
    for number, source in enumerate(sources.values()):
        assert set(re.findall(r"from '\./(.*?)';", source)) <= set(site.PLOTTING[:number]), (
            "what is imported stands before"
        )
    named = [
        name
        for source in sources.values()
        for name in re.findall(r"^(?:export )?(?:const|class|function\*?) (\w+)", source, re.M)
    ]
    assert len(named) > 40
    assert len(set(named)) == len(named), "in one file each name stands for one thing"


def test_the_scripts_of_the_report_need_no_other_file() -> None:
    assert "import " not in re.sub(r"//.*", "", site.bundle())
    assert not re.search(r"^export ", site.bundle(), re.MULTILINE)


def test_plots_are_numbers_or_null_and_say_what_they_show() -> None:
    for plot in plots_of(finished().result):
        assert plot.summary
        json.dumps(plot.document(), allow_nan=False)


def test_short_numbers_keep_what_an_eye_can_tell() -> None:
    assert rounded([0.123456789, 1.0]) == [0.12346, 1.0]
    assert rounded([1.7e9, 1.7e9 + 0.5, float("nan")]) == [1.7e9, 1.7e9 + 0.5, None]
    assert rounded([5.0, 5.0]) == [5.0, 5.0]


def test_a_form_has_a_field_for_everything_that_decides_an_answer() -> None:
    basic, groups = forms.job_fields({"x": "x", "y": "y"})
    paths = [f.path for f in (*basic, *(f for fields in groups.values() for f in fields))]
    assert len(paths) == len(set(paths))
    assert {
        "parameters/library/polynomial_degree",
        "parameters/periodic/x",
        "parameters/domain/y",
    } <= {f.path for f in basic}
    assert {
        "parameters/kernels/bandwidth",
        "analysis/confidence",
        "parameters/library/extra_terms",
    } <= set(paths)
    method = next(f for f in basic if f.path == "parameters/selection/method")
    assert method.kind == "choice"
    assert (method.default, method.value) == ("bic", "bic")
    assert all(f.description or f.path.split("/")[-1] in ("x", "y") for f in basic)


def rolling(**trend: Any) -> Finished:
    """A record in four windows, whose gap falls by half."""
    made = finished()
    assert isinstance(made.result, results.IdentificationResult)
    windows = [
        {
            "begin": 10.0 * k,
            "end": 10.0 * k + 20,
            "n_increments": 400,
            "drift": [{"term": "x", "value": -1.0 / (k + 1), "std_error": 0.1}],
            "diffusion": [{"term": "1", "value": 1.0, "std_error": None}],
            "fixed_points": [{"at": 0.1 * k, "std_error": 0.02, "stable": True}],
            "gap": {"value": 1.0 / (k + 1), "ci": [0.8 / (k + 1), 1.3 / (k + 1)]},
            "relaxation_time": {"value": k + 1.0},
        }
        for k in range(4)
    ]
    document = {
        "job": "job_2",
        "data": made.result.data.model_dump(),
        "sampling_rule": "trapezoid",
        "windows": windows,
        "trend": {
            "slope": -0.04,
            "ci": [-0.06, -0.02],
            "z": -4.0,
            "factor": {"value": 0.25, "ci": [0.2, 0.4]},
            "n_windows": 2,
        }
        | trend,
        "provenance": made.result.provenance.model_dump(),
    }
    return Finished(made.record, RollingResult.model_validate(document))


def test_a_rolling_result_says_whether_the_gap_closes_and_draws_every_window() -> None:
    html = result_view(rolling())
    assert "The spectral gap closes over time" in html
    assert "0.20 to 0.40" in html
    assert {"plot-gap", "plot-fixed-points", "plot-drift-x", "plot-diffusion-1"} <= set(
        re.findall(r'id="(plot-[^"]+)"', html)
    )
    assert "no significant trend" in result_view(rolling(ci=[-0.06, 0.01]))
    assert "too short" in result_view(
        rolling(slope=None, ci=None, reason="the time series is too short")
    )
    assert len(views.report(rolling())[0]) < 1_000_000


def test_a_rolling_result_of_coloured_noise_shows_its_correlation_time_beside_the_gap() -> None:
    found = rolling(ci=[-0.06, 0.01])
    assert isinstance(found.result, RollingResult)
    document = found.result.model_dump(mode="json")
    for k, window in enumerate(document["windows"]):
        window["correlation_time"] = {"value": 0.1 + 0.1 * k, "ci": [0.05, 0.9]}
    trend = {**document["trend"], "slope": 0.05, "ci": [0.03, 0.07], "factor": {"value": 4.0}}
    document["correlation_time_trend"] = trend
    html = result_view(Finished(found.record, RollingResult.model_validate(document)))
    assert {"plot-gap", "plot-correlation-time"} <= set(re.findall(r'id="(plot-[^"]+)"', html))
    assert "no significant trend. The noise's correlation time grows" in unescape(html)
    assert "Ratio of last to first correlation time" in html
    assert "plot-correlation-time" not in result_view(rolling())


def test_a_result_shows_its_record_and_a_path_of_the_model_on_the_same_axes() -> None:
    given = finished()
    html = result_view(Finished(given.record, given.result, dataset("record.csv")))
    blocks = re.findall(r'id="plot-(record|simulated)-x">.*?json">(.*?)</script>', html, re.DOTALL)
    plots = {name: json.loads(block) for name, block in blocks}
    assert plots["record"]["y"]["range"] == plots["simulated"]["y"]["range"]
    assert plots["record"]["layers"][0]["y"] == [0.0, 1.0, 0.0]
    (layer,) = plots["simulated"]["layers"]
    assert layer["simulation"]["drift"] == [["*", -1.0, "x"]]
    assert layer["simulation"]["diffusion"] == [[0, 0, ["*", 1.0, 1.0]]]
    # Δt is 0.05, of which the record's three units of time have sixty.
    assert [s["steps"] for s in layer["simulation"]["stretches"]] == [60]
    # Without the dataset there is a path alone, and without a distribution there is none.
    assert "plot-record-x" not in result_view(given)
    assert 'id="plot-simulated-x"' in result_view(given)
    nothing = finished(spectrum=None, stationary=None, ergodic=False, reason="nothing holds it")
    assert 'id="plot-simulated-x"' not in result_view(nothing)


def test_names_and_units_of_a_layout_stay_at_their_columns_on_the_page() -> None:
    made, preview = dataset("x")
    column = Column(number=2, key="x", column="x", unit="mm", type="number", role="state")
    layout = Layout(state_columns=("x",), state_names={"x": "depth"}, state_unit={"x": "m"})
    variable = Variable(name="x", symbol="depth", label="depth", column="x", unit="m")
    changes = {"layout": layout, "columns": (column,), "variables": (variable,)}
    read = made.model_copy(update={"report": made.report.model_copy(update=changes)})
    shown, _ = dataset_in_symbols(read, preview)
    assert shown.report.variables[0].name == "depth"
    (choice,) = layout_form(shown.report).columns
    name, unit = choice.words
    assert (name.path, name.value, name.inferred) == ("state_names/x", "depth", "")
    assert (unit.path, unit.value, unit.inferred, unit.hint) == ("state_unit/x", "m", "", "mm")


def test_what_was_inferred_is_not_sent_again_and_arrays_are_named_by_number() -> None:
    report = dataset("x")[0].report
    fields = {field.path: field for field in layout_form(report).fields}
    assert (fields["state_names/1"].value, fields["state_names/1"].default) == ("x", "x")
    named = report.model_copy(update={"layout": Layout(state_unit="nm", state_names={"1": "x"})})
    fields = {field.path: field for field in layout_form(named).fields}
    assert (fields["state_names/1"].value, fields["state_names/1"].default) == ("x", "")
    assert (fields["state_unit/1"].value, fields["state_unit/1"].default) == ("nm", "")
