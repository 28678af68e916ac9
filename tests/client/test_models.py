"""The model object: its functions, its errors, its paths, its pictures."""

import base64
import json
import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from itoscope_client import (
    InputError,
    JobFailed,
    MissingDependency,
    Model,
    NotFound,
    Rolling,
    SimulationError,
    Sweep,
    WaitingTimedOut,
    errors,
)
from itoscope_client.cli.output import of_model
from itoscope_client.inputs import upload_of
from itoscope_client.models.latex import expression
from itoscope_client.models.terms import parse
from tests.client.documents import normal, result

OU = result({"x": {"x": -1.0}}, {"x,x": {"1": 2.0}}, error=0.1, stationary=normal(0.0, 1.0))
CIR = result({"x": {"1": 2.0, "x": -1.0}}, {"x,x": {"x": 0.5}}, domain={"x": [0.0, None]})
ROTATING = result(
    {"x": {"x": -1.0, "y": 2.0}, "y": {"x": -2.0, "y": -1.0}},
    {"x,x": {"1": 2.0}, "x,y": {"1": 0.5}, "y,y": {"1": 1.0}},
)


class TestFunctions:
    def test_of_one_variable_drift_and_diffusion_have_the_states_shape(self) -> None:
        model = Model(result({"x": {"x": 1.0, "x^3": -1.0}}, {"x,x": {"1": 0.25, "x^2": 0.1}}))
        x = np.array([[0.0, 1.0, 2.0], [-1.0, 0.5, 3.0]])
        np.testing.assert_allclose(model.drift(x), x - x**3)
        np.testing.assert_allclose(model.diffusion(x), 0.25 + 0.1 * x**2)
        assert model.drift(2.0).shape == ()
        assert model.drift(2.0) == -6.0

    def test_of_two_variables_the_tensor_is_symmetric(self) -> None:
        model = Model(ROTATING)
        at = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 4.0]])
        np.testing.assert_allclose(model.drift(at), at @ np.array([[-1.0, 2.0], [-2.0, -1.0]]).T)
        np.testing.assert_allclose(
            model.diffusion(at), np.broadcast_to([[2.0, 0.5], [0.5, 1.0]], (3, 2, 2))
        )

    def test_states_of_the_wrong_width_are_refused_by_their_shape(self) -> None:
        with pytest.raises(ValueError, match=r"shape \(…, 2\), not \(3,\)"):
            Model(ROTATING).drift([1.0, 2.0, 3.0])

    def test_where_a_term_has_no_value_the_drift_is_not_a_number(self) -> None:
        model = Model(result({"x": {"log(x)": 1.0}}, {"x,x": {"1": 1.0}}))
        np.testing.assert_array_equal(np.isnan(model.drift([-1.0, 1.0])), [True, False])


class TestErrors:
    def test_uncertainties_are_arrays_beside_their_names(self) -> None:
        model = Model(OU)
        assert model.names == ("b_x: x", "a_xx: 1")
        np.testing.assert_allclose(model.values, [-1.0, 2.0])
        np.testing.assert_allclose(model.std_errors, [0.1, 0.1])
        np.testing.assert_allclose(model.intervals, [[-1.2, -0.8], [1.8, 2.2]])

    def test_of_a_given_model_there_are_none(self) -> None:
        assert np.isnan(Model(ROTATING).std_errors).all()
        assert np.isnan(Model(ROTATING).intervals).all()
        assert np.isnan(Model(ROTATING).covariance("drift", "x")).all()

    def test_the_covariance_of_a_component_has_a_row_for_each_kept_term(self) -> None:
        np.testing.assert_allclose(Model(OU).covariance("diffusion", "x,x"), [[0.01]])
        many = np.random.default_rng(0).normal(size=(50, 50))
        document = json.loads(json.dumps(OU))
        document["model"]["drift"]["x"]["covariance"] = {
            "dtype": "<f8",
            "shape": [50, 50],
            "data": base64.b64encode(many.tobytes()).decode(),
        }
        np.testing.assert_array_equal(Model(document).covariance("drift", "x"), many)

    def test_as_a_frame_each_term_is_a_row(self) -> None:
        frame = Model(OU).to_frame()
        assert [*frame["term"]] == ["x", "1"]
        assert frame["ci_low"].tolist() == pytest.approx([-1.2, 1.8])


class TestPaths:
    """Means over paths against their closed forms; four standard errors, so one false alarm in 16
    000 checks."""

    def test_an_ornstein_uhlenbeck_process_forgets_its_start_and_reaches_its_variance(self) -> None:
        t, x = Model(OU).simulate(1.0, dt=0.25, n_paths=4000, start=2.0, seed=1)
        assert x.shape == (4000, 5)
        np.testing.assert_allclose(t, [0, 0.25, 0.5, 0.75, 1.0])
        mean, variance = 2 * math.exp(-1), 1 - math.exp(-2)
        assert x[:, -1].mean() == pytest.approx(mean, abs=4 * (variance / 4000) ** 0.5 + 0.01)
        assert x[:, -1].var() == pytest.approx(variance, rel=4 * (2 / 4000) ** 0.5 + 0.02)

    def test_the_start_is_drawn_from_the_stationary_law(self) -> None:
        _, x = Model(OU).simulate(n_steps=1, dt=1e-3, n_paths=4000, seed=2)
        assert x[:, 0].mean() == pytest.approx(0.0, abs=4 / 4000**0.5)
        assert x[:, 0].var() == pytest.approx(1.0, rel=4 * (2 / 4000) ** 0.5)

    def test_the_same_seed_gives_the_same_path_and_another_another(self) -> None:
        one, same, other = (Model(OU).simulate(1.0, dt=0.1, seed=seed)[1] for seed in (1, 1, 2))
        np.testing.assert_array_equal(one, same)
        assert (one != other).any()

    def test_milstein_converges_with_order_one_where_euler_has_one_half(self) -> None:
        # dX = aX dt + sX dW has the path X₀ exp((a − s²/2) t + s W). The paths share their noise:
        # with k times the substeps the mean error falls k-fold by Milstein's scheme, and only
        # √k-fold without its last term.
        model = Model(result({"x": {"x": 0.5}}, {"x,x": {"x^2": 0.64}}))

        def error(substeps: int) -> float:
            kicks = np.random.default_rng(5).standard_normal((substeps, 2000, 1))
            exact = np.exp((0.5 - 0.32) + 0.8 * kicks.sum(axis=0)[:, 0] / substeps**0.5)
            _, x = model.simulate(
                n_steps=1, dt=1.0, n_paths=2000, start=1.0, substeps=substeps, seed=5
            )
            return float(np.abs(x[:, -1] - exact).mean())

        assert 3.2 < error(16) / error(64) < 4.8

    def test_a_square_root_process_stays_in_its_domain_and_has_its_mean(self) -> None:
        _, x = Model(CIR).simulate(4.0, dt=0.5, n_paths=2000, start=0.1, seed=3)
        assert (x >= 0).all()
        mean, variance = (
            2 - 1.9 * math.exp(-4),
            0.5,
        )  # variance of the stationary law: κθs²/(2κ) = 0.5
        assert x[:, -1].mean() == pytest.approx(mean, abs=4 * (variance / 2000) ** 0.5 + 0.02)

    def test_in_the_plane_the_noise_is_correlated_as_the_tensor_says(self) -> None:
        _, x = Model(ROTATING).simulate(
            n_steps=1, dt=1e-4, n_paths=5000, start=[0.0, 0.0], substeps=1, seed=4
        )
        np.testing.assert_allclose(
            np.cov(x[:, -1].T) / 1e-4, [[2.0, 0.5], [0.5, 1.0]], atol=4 * 2 * (2 / 5000) ** 0.5
        )

    def test_a_path_that_leaves_what_the_model_describes_is_told_with_its_place(self) -> None:
        away = Model(result({"x": {"x^3": 1.0}}, {"x,x": {"1": 1.0}}))
        with pytest.raises(SimulationError, match=r"after t = .*x = "):
            away.simulate(50.0, dt=0.1, start=1.0, seed=1)

    def test_without_a_law_a_start_is_asked_for(self) -> None:
        with pytest.raises(ValueError, match="give start"):
            Model(ROTATING).simulate(1.0, dt=0.1)


class TestKeeping:
    def test_a_model_comes_back_from_its_json(self, tmp_path: Path) -> None:
        Model(OU).to_json(tmp_path / "model.json")
        again = Model.from_json(tmp_path / "model.json")
        assert again.document == OU
        assert again.drift(0.5) == -0.5
        assert Model.from_json(Model(OU).to_json()).document == OU

    def test_what_is_no_result_is_refused(self) -> None:
        with pytest.raises(ValueError, match="not the result of a job"):
            Model.from_json('{"id": "job_x"}')


KNOWN: dict[str, Any] = {
    "from": -1.0,
    "to": 1.0,
    "mean_time": {"value": 41.0, "ci": [38.0, 45.0]},
    "kramers": {"value": 32.8},
}


def rolling() -> Rolling:
    """Two windows, in which the gap halves."""
    windows = [
        {
            "begin": float(n), "end": n + 2.0, "drift": [], "diffusion": [],
            "gap": {"value": gap, "ci": ci}, "relaxation_time": {"value": 1 / gap},
        }
        for n, gap, ci in ((0, 2.0, [1.0, 3.0]), (1, 1.0, [0.5, 2.0]))
    ]  # fmt: skip
    return Rolling(
        {"job": "job_x", "kind": "rolling", "windows": windows,
         "trend": {"factor": {"value": 0.5}}}
    )  # fmt: skip


class TestOtherProcesses:
    """What joblib and multiprocessing do to results and exceptions."""

    def test_a_model_arrives_there_and_asks_nobody(self) -> None:
        asked = Model(result({"x": {"x^3": -1.0}}, {"x,x": {"1": 1.0}}), ask=lambda *_: None)
        again = pickle.loads(pickle.dumps(asked))
        np.testing.assert_array_equal(again.drift([0.5, 2.0]), asked.drift([0.5, 2.0]))
        assert again.document == asked.document
        with pytest.raises(LookupError, match="ask the service"):
            again.passage(0, 1)

    def test_so_do_the_results_with_many_models(self) -> None:
        item = {"parameters": {"seed": 1}, "error": None, **OU}
        sweep = Sweep({"job": "job_x", "kind": "sweep", "items": [item]}, ask=lambda *_: None)
        assert pickle.loads(pickle.dumps(sweep))[0].names == sweep[0].names
        assert pickle.loads(pickle.dumps(rolling())).gaps == rolling().gaps

    @pytest.mark.parametrize(
        "error",
        [
            JobFailed("job_x", {"code": "too-few-samples", "detail": "six", "hints": ["more"]}),
            NotFound({"status": 404, "errors": [{"detail": "no"}]}, request_id="r", retry_after=2),
            WaitingTimedOut("job_x", 3.0),
            InputError("no dt"),
            MissingDependency("get it"),
        ],
        ids=lambda error: type(error).__name__,
    )
    def test_so_do_exceptions(self, error: Exception) -> None:
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again)) == (type(error), str(error))
        assert vars(again) == vars(error)


class TestPassages:
    def test_one_in_the_result_is_read_from_it(self) -> None:
        model = Model(result({"x": {"x": -1.0}}, {"x,x": {"1": 1.0}}, passages=[KNOWN]))
        passage = model.passage(-1, 1)
        assert (float(passage), passage.mean_time.ci, passage.kramers.value) == (
            41.0,
            (38.0, 45.0),
            32.8,
        )

    def test_any_other_needs_the_service(self) -> None:
        model = Model(result({"x": {"x": -1.0}}, {"x,x": {"1": 1.0}}, passages=[KNOWN]))
        with pytest.raises(LookupError, match=r"-1.0 → 1.0.*client.passage\(model, 0, 1\)"):
            model.passage(0, 1)

    def test_one_of_several_models_of_a_job_is_asked_about_by_its_terms(self) -> None:
        assert Model(OU).source == {"job": "job_x"}
        assert Model({**CIR, "kind": "sweep"}).source == {
            "drift": {"x": {"1": 2.0, "x": -1.0}},
            "diffusion": {"x,x": {"x": 0.5}},
            "domain": {"x": [0.0, None]},
        }

    def test_regions_are_told_apart(self) -> None:
        known = {**KNOWN, "from": {"x": [None, -0.8]}, "to": {"x": [0.8, None], "y": [None, None]}}
        model = Model({**ROTATING, "generator": {"ergodic": True, "passages": [known]}})
        assert model.known_passage({"x": (None, -0.8)}, {"x": (0.8, None)}) is not None
        assert model.known_passage({"x": (None, -0.8)}, {"x": (0.9, None)}) is None


class TestPages:
    def test_a_notebook_shows_equations_with_errors(self) -> None:
        page = Model(OU)._repr_html_()
        assert "</i> = −(1.00 ± 0.10) x</p>" in page
        assert "2.00 ± 0.10" in page

    def test_signs_stand_between_the_terms(self) -> None:
        terms = {"1": -0.5, "x": 1.0, "x^3": -0.921, "x - y": 2.0}
        model = Model(result({"x": terms, "y": {"y": -1.0}}, {"x,x": {"1": 1.0}}))
        shown = "= −0.5 + 1 x − 0.921 x<sup>3</sup> + 2 (x − y)</p>"
        assert shown in model._repr_html_()
        assert (
            "b_{x} &= -0.5 + 1 \\, x - 0.921 \\, x^{3} + 2 \\, \\left(x - y\\right) \\\\\n"
            in model.to_latex()
        )

    @pytest.mark.parametrize(
        ("term", "written"),
        [
            ("x^3", "x^{3}"),
            ("x*y", r"x \, y"),
            ("sin(2*pi*phi/360)", r"\sin\left(\frac{2 \, \pi \, \phi}{360}\right)"),
            ("x/(1+x^2)", r"\frac{x}{1 + x^{2}}"),
            ("exp(-x^2)", r"\exp\left(-x^{2}\right)"),
            ("(x+1)^2", r"\left(x + 1\right)^{2}"),
            ("y*(-x)", r"y \, \left(-x\right)"),
            ("-x + y", "-x + y"),
            ("x - (y - 1)", r"x - \left(y - 1\right)"),
            ("S_P_500*x4", r"\mathrm{S\_P\_500} \, x_{4}"),
            ("sqrt(x)*2", r"\sqrt{x} \cdot 2"),
            ("x*1e-7", r"x \cdot 1 \cdot 10^{-7}"),
        ],
    )
    def test_a_term_in_latex(self, term: str, written: str) -> None:
        assert expression(parse(term)) == written

    def test_equations_in_latex_have_their_errors(self) -> None:
        model = Model(OU)
        assert model._repr_latex_() == f"$\\displaystyle {model.to_latex()}$"
        assert r"a_{x x} &= \left(2.00 \pm 0.10\right)" in model.to_latex()
        assert "b_{x} &= -1 \\, x" in model.to_latex(errors=False)
        small = Model(result({"x": {"x": -1.5e-7}}, {"x,x": {"1": 1.0}}))
        assert r"b_{x} &= -1.5 \cdot 10^{-7} \, x" in small.to_latex()

    def test_what_is_shown_is_short(self) -> None:
        curve = {"times": list(range(1000)), "values": list(range(1000))}
        model = Model({**OU, "generator": {**OU["generator"], "passages": [{**KNOWN, **curve}]}})
        for shown in (
            model,
            model.passages[0],
            rolling(),
            upload_of(np.zeros(9999), layout={"dt": 0.1}),
        ):
            assert len(repr(shown)) < 300
            assert " at 0x" not in repr(shown)
        assert repr(rolling()) == (
            "<Rolling 2 windows, t = 0 to 3; spectral gap 2.0 (1.0 to 3.0) to 1.00 (0.50 to 2.00); "
            "trend: a factor of 0.5000>"
        )

    def test_windows_with_coloured_noise_have_correlation_times(self) -> None:
        document = dict(rolling().document)
        document["windows"] = [
            {**window, "correlation_time": {"value": value, "ci": [value / 2, 2 * value]}}
            for window, value in zip(document["windows"], (0.1, 0.4), strict=True)
        ]
        document["correlation_time_trend"] = {"factor": {"value": 4.0}}
        found = Rolling(document)
        assert [float(time) for time in found.correlation_times] == [0.1, 0.4]
        assert list(found.to_frame()["correlation_time_high"]) == [0.2, 0.8]
        assert "correlation time of the noise 0.100 (0.050 to 0.200)" in repr(found)
        assert rolling().correlation_times == ()

    def test_of_a_model_alone_it_is_not_said_that_it_has_no_law(self) -> None:
        nothing = result(
            {"x": {"x": -1.0}},
            {"x,x": {"1": 1.0}},
            ergodic=None,
            reason="the model alone was asked for",
        )
        assert Model(nothing).ergodic is None
        assert "No stationary distribution" not in Model(nothing)._repr_html_()
        without = result(
            {"x": {"x": 1.0}}, {"x,x": {"1": 1.0}}, ergodic=False, reason="it is pushed out"
        )
        assert Model(without).ergodic is False
        assert "No stationary distribution" in Model(without)._repr_html_()

    @pytest.mark.parametrize("reason", ["no stationary distribution: it runs away", "it runs away"])
    def test_that_there_is_no_law_is_said_once(self, reason: str) -> None:
        model = Model(result({"x": {"x": 1.0}}, {"x,x": {"1": 1.0}}, ergodic=False, reason=reason))
        assert "<p>No stationary distribution: it runs away</p>" in model._repr_html_()
        assert "\nno stationary distribution: it runs away" in of_model(model)

    def test_what_comes_from_outside_is_escaped(self) -> None:
        evil: dict[str, Any] = {
            **OU,
            "warnings": [{"code": "<b>", "message": "<script>alert(1)</script>"}],
        }
        evil["data"] = {"time_unit": "<img src=x>"}
        page = Model(evil)._repr_html_()
        assert "<script" not in page
        assert "<b>" not in page
        assert "<img" not in page
        assert "&lt;script&gt;" in page

    def test_powers_are_raised(self) -> None:
        assert (
            "x<sup>3</sup>"
            in Model(result({"x": {"x^3": -1.0}}, {"x,x": {"1": 1.0}}))._repr_html_()
        )


def pyplot() -> Any:
    import matplotlib
    import matplotlib.pyplot as plt

    matplotlib.use("agg")
    return plt


class TestPictures:
    @pytest.mark.slow
    @pytest.mark.parametrize("document", [OU, ROTATING], ids=["line", "plane"])
    def test_a_model_is_drawn(self, document: dict[str, Any]) -> None:
        plt = pyplot()
        samples = np.random.default_rng(0).normal(size=(200, 1 if document is OU else 2))
        figure = Model(document).plot(samples)
        assert len(figure.axes) == (4 if document is OU else 1)
        plt.close(figure)

    @pytest.mark.slow
    def test_the_datas_points_and_the_bands_are_drawn(self) -> None:
        plt = pyplot()
        points = {"at": [-1.0, 1.0], **{f: [1.0, -1.0] for f in ("drift", "diffusion")}}
        points |= {f"{of}_std_error": [0.1, None] for of in ("drift", "diffusion")}
        grid = [-2.0, 0.0, 2.0]
        ends = [[0.0, -1.0, 0.0], [2.0, 0.0, 2.0]]
        document = {
            **OU,
            "data": {"range": [[-1.5, 1.5]]},
            "curves": {"grid": grid, "drift": {"values": grid, "band": [[-1, 1]] * 3}},
            "observed": {
                "kramers_moyal": points, "histograms": {"x": {"edges": grid, "counts": [3, 1]}}
            },
            "generator": {
                **OU["generator"],
                "effective_potential": {"grid": grid, "values": ends[0], "values_ci": ends},
            },
        }  # fmt: skip
        model = Model(document)
        figure = model.plot()
        drift, diffusion, density, potential = figure.axes
        for axes in (drift, diffusion):
            assert [*axes.containers[0].lines[0].get_xdata()] == [-1.0, 1.0]
        assert [len(axes.collections) for axes in (drift, potential)] == [2, 1]
        # Three of four samples lie in the lower of two bins of width two.
        assert [*density.patches[0].get_data().values] == [0.375, 0.125]
        plt.close(figure)
        figure, mine = plt.subplots()
        assert model.plot(ax=mine) is figure
        assert (mine.get_title(), mine.get_xlabel()) == ("drift b(x)", "x")
        assert model.plot(panel="potential", ax=mine) is figure
        with pytest.raises(ValueError, match="drift, diffusion, density, potential"):
            model.plot(panel="volume")
        plt.close(figure)

    def test_without_matplotlib_it_is_said_how_to_get_it(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def nothing(name: str) -> None:
            raise ImportError(name)

        monkeypatch.setattr(errors.importlib, "import_module", nothing)
        with pytest.raises(
            MissingDependency,
            match=r"pip install matplotlib, or pip install 'itoscope-client\[plot\]'",
        ):
            Model(OU).plot()


class TestNames:
    """A result of a file with names, whose keys are x and y all the same."""

    @staticmethod
    def named() -> dict[str, Any]:
        found = result(
            {"x": {"sin(x)": -50.0, "y": 2.0}, "y": {"y": -1.0}},
            {"x,x": {"1": 9.0}, "x,y": {"1": 0.5}, "y,y": {"1": 1.0}},
            error=0.1,
            domain={"y": [0.0, None]},
            passages=[{**KNOWN, "from": {"x": [0.0, 9.0]}, "to": {"y": [1.0, None]}}],
        )
        symbols = {"x": "phi", "y": "S_P_500"}
        found["model"] |= {"symbols": symbols, "periodic": {"x": 360.0}}
        return found

    def test_they_are_everywhere(self) -> None:
        model = Model(self.named())
        assert model.variables == ("phi", "S_P_500")
        assert model.names == (
            "b_phi: sin(2*pi*phi/360)",
            "b_phi: S_P_500",
            "b_S_P_500: S_P_500",
            "a_phi,phi: 1",
            "a_phi,S_P_500: 1",
            "a_S_P_500,S_P_500: 1",
        )
        assert model.process.domain == {"S_P_500": (0.0, None)}
        assert model.passages[0].start == {"phi": [0.0, 9.0]}
        assert "<sub>phi,S_P_500</sub>" in model._repr_html_()

    def test_both_words_are_understood(self) -> None:
        model = Model(self.named())
        for x, y in (("x", "y"), ("phi", "S_P_500")):
            assert model.covariance("diffusion", f"{x},{y}").shape == (1, 1)
            assert model.covariance("drift", x).shape == (2, 2)
            assert model.known_passage({x: (0.0, 9.0)}, {y: (1.0, None)}) is not None
            assert model.known_passage({y: (0.0, 9.0)}, {y: (1.0, None)}) is None

    def test_an_angle_is_in_its_own_unit(self) -> None:
        found = Model(self.named()).drift([[90.0, 3.0], [30.0, 0.0]])
        assert found == pytest.approx(np.array([[-44.0, -3.0], [-25.0, 0.0]]), abs=1e-12)

    def test_its_terms_stand_by_themselves(self) -> None:
        source = Model({**self.named(), "kind": "sweep"}).source
        assert source["drift"]["phi"] == {"sin(2*pi*phi/360)": -50.0, "S_P_500": 2.0}
        assert source["periodic"] == {"phi": 360.0}
        assert source["domain"] == {"S_P_500": [0.0, None]}

    def test_windows_are_asked_in_both_words(self) -> None:
        terms = [{"term": "x^3", "value": -1.0, "std_error": 0.1}]
        window = {"begin": 0.0, "end": 1.0, "drift": terms, "diffusion": []}
        found = Rolling(
            {"data": {"variables": [{"name": "x", "symbol": "v"}]}, "windows": [window]}
        )
        for term in ("v^3", "x^3"):
            assert found.coefficient(term)[0] == pytest.approx([-1.0])
        with pytest.raises(LookupError, match=r"it has v\^3"):
            found.coefficient("w")
