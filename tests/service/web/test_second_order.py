"""Page and report of a model of second order: equations, units, phase plane and sections."""

import re
from dataclasses import replace
from typing import Any

import numpy as np

from contract import curves, results
from contract.datasets import DatasetPreview
from service.web.model_view import equations, figures, general_equation, model_view, plots_of
from service.web.plots.paths import path_plots
from service.web.sentences import units_of_result
from service.web.tables import tables
from service.web.verdict import verdict
from service.web.views import Finished, coefficients_table, report, result_view, side_by_side_view
from tests.service.web.test_mathml import text_of
from tests.service.web.test_views import finished


def component(**terms: float) -> results.Component:
    listed = tuple(
        results.Term(term=name, value=value, active=True, std_error=None if name == "v" else 0.1)
        for name, value in terms.items()
    )
    return results.Component(expression="", terms=listed)


def oscillator() -> Finished:
    """A position called Arm with its velocity, identified without an analysis."""
    done = finished()
    assert isinstance(done.result, results.IdentificationResult)
    grid = tuple(np.linspace(-1, 1, 21).tolist())
    line = curves.Curve(values=tuple(-4 * x for x in grid))
    flat = curves.Curve(values=(1.0,) * 21, band=((0.8, 1.2),) * 21)
    bins = curves.Bins(edges=(-1.0, 0.0, 1.0), counts=(30, 31))
    result = done.result.model_copy(
        update={
            "model": results.Model(
                drift={"Arm": component(v=1.0), "v": component(Arm=-4.0, v=-1.0)},
                diffusion={"v,v": component(**{"1": 0.9})},
                order=2,
            ),
            "data": done.result.data.model_copy(
                update={"variables": ({"name": "Arm", "column": "Arm", "unit": "mm"},)}
            ),
            "generator": results.GeneratorAnalysis(ergodic=None, reason="only the model"),
            "curves": curves.Curves(grid=grid, drift=line, diffusion=flat, friction=flat),
            "drift_field": curves.DriftField(
                grid=((-1.0, 1.0), (-2.0, 2.0)), values=(((0.0, 1.0),) * 2,) * 2
            ),
            "observed": curves.Observed(
                n_samples=61,
                histograms={"Arm": bins, "v": bins},
                residuals={"v": bins},
                joint_histogram=curves.JointBins(
                    edges=((-1.0, 0.0, 1.0), (-2.0, 0.0, 2.0)), counts=((1, 2), (3, 4))
                ),
            ),
        }
    )
    return replace(done, result=result)


def result() -> results.IdentificationResult:
    found = oscillator().result
    assert isinstance(found, results.IdentificationResult)
    return found


def recorded() -> results.IdentificationResult:
    """The same with a column v, which comes first."""
    found = result()
    columns = (
        {"name": "v", "column": "speed", "unit": "mm/s"},
        {"name": "Arm", "column": "Arm", "unit": "mm"},
    )
    data = found.data.model_copy(update={"variables": columns, "range": ((-3.0, 5.0), (-1.0, 1.0))})
    return found.model_copy(update={"data": data})


def test_velocities_that_were_recorded_are_no_secants_and_have_their_column() -> None:
    shown = recorded()
    assert shown.recorded == ("Arm", "v")
    assert any("secants" in plot.note for plot in plots_of(result()))
    assert not any("secants" in plot.note for plot in plots_of(shown))
    assert model_view(shown).more["columns"]["v"] == "speed, the velocity of Arm"


def test_a_path_begins_at_the_velocity_that_was_recorded() -> None:
    preview = DatasetPreview.model_validate(
        {
            "n_segments": 1,
            "histograms": {},
            "stretches": [
                {
                    "trajectory": 0,
                    "times": [0.0, 0.5],
                    "low": {"Arm": [0.3, 0.1], "v": [2.0, 1.0]},
                    "high": {"Arm": [0.3, 0.1], "v": [2.0, 1.0]},
                }
            ],
        }
    )
    plots = list(path_plots(recorded(), units_of_result(recorded()), preview))
    assert [plot.name for plot in plots] == ["simulated-Arm", "simulated-v"]
    [layer] = plots[0].layers
    simulation = layer["simulation"]
    assert simulation["stretches"][0]["start"] == [0.3, 2.0]
    # Ranges are of the columns, in the file's order.
    assert simulation["scales"] == [2.0, 8.0]


def test_equations_say_that_the_position_moves_with_its_velocity() -> None:
    said = [text_of(e.left) + "".join(map(text_of_all, e.terms)) for e in equations(result())]
    assert said == [
        "dArm=vdt",
        "dv=(−(4.00±0.10)Arm−1.000v)dt+adW",
        "a(Arm,v)=0.90±0.10",
    ]
    assert text_of(general_equation(result())) == "dArm=vdt,dv=F(Arm,v)dt+a(Arm,v)dW"


def text_of_all(markup: Any) -> str:
    return "".join(text_of(part) for part in re.findall(r"<math>.*?</math>", str(markup)))


def test_units_of_velocity_force_and_kicks() -> None:
    units = units_of_result(result())
    assert units.of_variable("v") == "mm/s"
    assert (units.drift("Arm"), units.drift("v")) == ("mm/s", "mm/s²")
    assert units.diffusion("v", "v") == "mm²/s³"
    assert units.circulation(["Arm", "v"]) == "mm²/s²"
    assert (units.density("Arm"), units.density("v")) == ("1/mm", "s/mm")


def test_phase_plane_and_sections_are_drawn_with_their_units() -> None:
    plots = {plot.name: plot for plot in plots_of(result())}
    plane = plots["density-and-drift"]
    assert plane.title == "Phase plane: drift and data"
    assert [layer["kind"] for layer in plane.layers] == ["heat", "arrows"]
    assert (plane.x.unit, plane.y.unit) == ("mm", "mm/s")
    assert "density-of-data" not in plots, "it is in the phase plane"
    assert plots["drift"].y.unit == "mm/s²"
    assert plots["friction"].y.unit == "1/s"
    assert plots["diffusion"].y.unit == "mm²/s³"
    assert [layer["kind"] for layer in plots["friction"].layers] == ["band", "rule", "line"]


def test_what_was_not_tested_did_not_pass() -> None:
    assert verdict(result(), []).sentence == "The model was not checked"
    tested = results.Diagnostics(
        residuals=results.Residuals(kurtosis=3.0),
        autocorrelation={"Arm": results.DataAutocorrelation(p_value=0.5)},
    )
    seen = result().model_copy(update={"diagnostics": tested})
    passed = verdict(seen, ["autocorrelation-Arm"]).of("passed")
    assert [check.name for check in passed] == [
        "independent residuals",
        "Gaussian residuals",
        "prediction at longer times",
    ]
    assert passed[-1].place == "plot-autocorrelation-Arm"
    both = ["autocorrelation-Arm", "chapman-kolmogorov"]
    assert verdict(seen, both).of("passed")[-1].place == "plot-chapman-kolmogorov"


def test_coloured_noise_has_its_equation_and_its_correlation_time() -> None:
    noise = results.ColouredNoise(
        drift=component(Arm=-2.0),
        correlation_time=results.Estimate(value=0.5, ci=(0.4, 0.6)),
        diffusion=results.Estimate(value=1.5),
        p_value=0.5,
    )
    found = result()
    found = found.model_copy(
        update={"model": found.model.model_copy(update={"coloured_noise": noise})}
    )
    said = [text_of(e.left) + "".join(map(text_of_all, e.terms)) for e in equations(found)]
    assert said[2:4] == ["dArm=f(Arm)dt+udt", "f(Arm)=−(2.00±0.10)Arm"]
    shown = {f.label: (f.value, f.unit) for f in figures(found, units_of_result(found))}
    assert shown == {
        "Correlation time of the noise": ("0.50", "s"),
        "Diffusion for a short correlation time": ("1.500", "mm²/s"),
    }


def test_the_known_drift_of_a_position_is_no_coefficient() -> None:
    (coefficients, *_) = tables(result(), units_of_result(result()))
    assert {row[0] for row in coefficients.rows} == {"force v", "diffusion v,v"}
    both = coefficients_table(result(), result())
    assert {row[0] for row in both.rows} == {"force v", "diffusion v,v"}


def test_page_report_and_comparison_are_written() -> None:
    assert "Phase plane" in result_view(oscillator())
    page, _ = report(oscillator())
    assert "v is the velocity of Arm, in mm/s" in page
    both = side_by_side_view(oscillator(), oscillator())
    assert "Friction at rest" in both


def test_a_path_of_positions_is_simulated_with_velocities_that_were_not_recorded() -> None:
    preview = DatasetPreview.model_validate(
        {
            "n_segments": 1,
            "stretches": [
                {
                    "trajectory": 0, "times": [0.0, 1.0, 2.0],
                    "low": {"Arm": [0.5, 0.1, 0.2]}, "high": {"Arm": [0.5, 0.1, 0.2]},
                }
            ],
            "histograms": {},
        }
    )  # fmt: skip
    [plot] = path_plots(result(), units_of_result(result()), preview)
    [layer] = plot.layers
    simulation = layer["simulation"]
    assert simulation["positions"] == 1
    assert simulation["stretches"][0]["start"] == [0.5, 0.0]
    # The data's range of the position is 4, the histogram's of the velocity 2.
    assert simulation["scales"] == [4.0, 2.0]
    assert simulation["noise"] == [0.0, 0.0]
