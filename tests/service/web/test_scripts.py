"""What the page's scripts make of what people type, and what they say about time."""

import json
import shutil
import subprocess
from typing import Any

import pytest

from service.web.site import FOLDER

STATIC = FOLDER / "static"


def answers(script: str, name: str) -> Any:
    """The value of an expression over a script's names, by Node."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs node")
    address = json.dumps((STATIC / name).as_uri())
    # The scripts are modules; here no package says so.
    program = f"""
    import {{ readFileSync }} from 'node:fs';
    const source = readFileSync(new URL({address}), 'utf8').replaceAll(/^import .*$/gm, '');
    const all = await import('data:text/javascript,' + encodeURIComponent(source));
    console.log(JSON.stringify(({script})(all)));
    """
    run = subprocess.run(
        [node, "--input-type=module"], input=program, capture_output=True, text=True, timeout=60
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def read(*fields: tuple[str, str, str, dict[str, str]]) -> Any:
    """The document of a form with these fields (path, kind, text, data), or the fault's words."""
    inputs = [
        {"dataset": {"path": path, "kind": kind, **data}, "value": text, "placeholder": "e.g. …"}
        for path, kind, text, data in fields
    ]
    script = f"""({{ read, FieldFault }}) => {{
        const inputs = {json.dumps(inputs)}.map((i) => ({{ ...i, closest: () => null }}));
        const isOf = (selector) => (i) => selector === '[data-path]' || i.dataset.kind === 'values';
        const form = {{ querySelectorAll: (s) => inputs.filter(isOf(s)) }};
        try {{ return read(form); }} catch (error) {{
            if (!(error instanceof FieldFault)) throw error;
            return error.message;
        }}
    }}"""
    return answers(script, "form.js")


TWO = {"columns": "from to"}
EXIT = {"columns": "from low high"}


@pytest.mark.parametrize(
    ("kind", "text", "data", "value"),
    [
        ("number", "4", {}, 4),
        ("number", "−0.5", {}, -0.5),
        ("number", "auto", {"words": "auto"}, "auto"),
        ("pair", "-1..1", {}, [-1, 1]),
        ("pair", "-1, 1", {}, [-1, 1]),
        ("pair", "-1.5 to 1.5", {}, [-1.5, 1.5]),
        ("pair", "0..", {}, [0, None]),
        ("pair", "..2", {}, [None, 2]),
        ("pair", "auto", {"words": "auto"}, "auto"),
        ("rows", "-1, 1\n0 to 1", TWO, [{"from": -1, "to": 1}, {"from": 0, "to": 1}]),
        ("json", '{"x": ["x^3"]}', {}, {"x": ["x^3"]}),
        ("sum", "-x + 0.5*x^3 − 1e-3", {}, {"x": -1, "x^3": 0.5, "1": -0.001}),
        ("region", "x^3 < 0 and x > -1", {}, {"x^3": [None, 0], "x": [-1, None]}),
        ("rows", "0, -1, 1", EXIT, [{"from": 0, "low": -1, "high": 1}]),
        (
            "rows",
            "(0.5, 0) -> x > 0.8 and y < 1",
            TWO,
            [{"from": [0.5, 0], "to": {"x": [0.8, None], "y": [None, 1]}}],
        ),
    ],
)
def test_what_people_type_becomes_json(
    kind: str, text: str, data: dict[str, str], value: object
) -> None:
    assert read(("a/b", kind, text, data)) == {"a": {"b": value}}


@pytest.mark.parametrize(
    ("kind", "text", "data", "said"),
    [
        ("number", "eleven", {"whole": ""}, "Enter a whole number; “eleven” is not a number."),
        ("number", "2.5", {"whole": ""}, "Enter a whole number; “2.5” is not whole."),
        ("number", "0,5", {}, "Enter a number; “0,5” is not a number."),
        ("json", "x: x^3", {}, "Write it as JSON, such as …."),
        ("number", "x", {"words": "auto"}, "Enter a number or auto; “x” is not a number."),
        ("pair", "1", {}, "Enter the lower and the upper bound"),
        ("pair", "a..1", {}, "“a” is not a number."),
        ("rows", "1 2 3", TWO, "“1 2 3” is not understood: enter 2 values"),
        ("rows", "left to right", TWO, "“left to right” is not understood"),
        ("sum", "x - ", {}, "“x -” is no sum of terms"),
        ("region", "0 < x^3", {}, "“0 < x^3” is not understood: enter bounds"),
        ("values", "bic, best", {"words": "bic pastis"}, "Choose among bic, pastis; “best”"),
    ],
)
def test_what_is_not_understood_is_said_in_words(
    kind: str, text: str, data: dict[str, str], said: str
) -> None:
    assert said in read(("a/b", kind, text, data))


def test_a_known_measurement_error_takes_the_place_of_a_word() -> None:
    noise = "parameters/measurement_noise"
    word = (noise, "choice", "none", {"default": "auto"})
    error = (f"{noise}/std_error/u", "number", "0.02", {})
    assert read(word, error) == {"parameters": {"measurement_noise": {"std_error": {"u": 0.02}}}}


def test_a_sweep_tries_every_combination() -> None:
    degree = ("variants/library/polynomial_degree", "values", "3, 4", {"whole": ""})
    method = ("variants/selection/method", "values", "bic pastis", {"words": "bic pastis"})
    assert read(degree, method) == {
        "variants": [
            {"library": {"polynomial_degree": n}, "selection": {"method": m}}
            for n in (3, 4)
            for m in ("bic", "pastis")
        ]
    }
    nothing = ("variants/library/polynomial_degree", "values", "", {})
    assert "Enter the values to try" in read(nothing)


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("x - x^3", {"x": 1, "x^3": -1}),
        ("-0.5*x*y + 2", {"x*y": -0.5, "1": 2}),
        ("1e-3*x - 2.5", {"x": 1e-3, "1": -2.5}),
        ("sin(2*x - 1) − x", {"sin(2*x-1)": 1, "x": -1}),
        ("x + x", {"x": 2}),
        ("x^-1 + x/2", {"x^-1": 1, "x/2": 1}),
        ("0.25", {"1": 0.25}),
    ],
)
def test_a_sum_becomes_its_terms(text: str, terms: dict[str, float]) -> None:
    assert answers(f"({{ termsOf }}) => termsOf({json.dumps(text)})", "form.js") == terms


@pytest.mark.parametrize(
    ("state", "fraction", "seconds", "estimate", "said"),
    [
        ("queued", 0, 3, 10, "3 s elapsed"),
        ("running", 0, 3, None, "3 s elapsed"),
        ("running", 0.05, 3, 10, "3 s elapsed, about 7 s remaining"),
        ("running", 0.5, 30, 10, "30 s elapsed, about 30 s remaining"),
        ("running", 0.05, 30, 10, "30 s elapsed, longer than estimated"),
        ("running", 0.25, 100, 10, "2 min elapsed, about 5 min remaining"),
    ],
)
def test_a_running_job_says_how_long_it_takes(
    state: str, fraction: float, seconds: float, estimate: float | None, said: str
) -> None:
    given = {"state": state, "fraction": fraction, "since": 0, "at": 1000 * seconds}
    given |= {"now": 1000 * seconds}
    call = f"elapsedInWords({json.dumps(given | {'estimate': estimate})})"
    assert answers(f"({{ elapsedInWords }}) => {call}", "clock.js") == said


def test_what_is_left_does_not_grow_while_progress_stands_still() -> None:
    given = {"state": "running", "fraction": 0.5, "since": 0, "at": 10_000, "estimate": None}
    said = [
        answers(
            f"({{ elapsedInWords }}) => elapsedInWords({json.dumps(given | {'now': now})})",
            "clock.js",
        )
        for now in (10_000, 14_000, 25_000)
    ]
    assert said == [
        "10 s elapsed, about 10 s remaining",
        "14 s elapsed, about 6 s remaining",
        "25 s elapsed, longer than estimated",
    ]


def path(**changes: Any) -> str:
    """A call that simulates a variable, a point a sample."""
    stretch = {"begin": 0, "steps": 200_000, "bins": 200_000, "start": [0.0]}
    given = {
        "names": ["x"],
        "positions": 0,
        "drift": [["*", -1.0, "x"]],
        "diffusion": [[0, 0, 2.0]],
        "bounds": [[None, None]],
        "noise": [0.0],
        "scales": [8.0],
        "seed": 1,
        "stretches": [stretch],
        "step": 0.02,
        "finer": 1,
        "shown": 0,
    } | changes
    return f"simulated({json.dumps({'layers': [{'simulation': given}]})}).layers[0]"


MOMENTS = """({ simulated }) => {
    const { y } = %s, mean = y.reduce((a, b) => a + b, 0) / y.length;
    const variance = y.reduce((a, b) => a + (b - mean) ** 2, 0) / y.length;
    let lagged = 0;
    for (let k = 50; k < y.length; k++) lagged += (y[k] - mean) * (y[k - 50] - mean);
    const low = y.reduce((a, b) => Math.min(a, b));
    return { mean, variance, correlation: lagged / (y.length - 50) / variance, low, n: y.length };
}"""


def test_an_axis_of_rows_names_those_that_are_seen() -> None:
    found = answers("({ namedTicks }) => namedTicks(['a', 'b', 'c'], 0.5, 2.4)", "plots/ticks.js")
    assert found == {"values": [1, 2], "texts": ["b", "c"]}


def test_a_simulated_path_has_the_model_s_distribution_and_memory() -> None:
    # dx = −x dt + √2 dW: variance 1, correlation e⁻ᵗ; 4000 relaxation times leave a standard error
    # of √(2/4000) in each of them, and the scheme's step of 0.02 one hundredth in the variance.
    found = answers(MOMENTS % path(), "plots/simulation.js")
    error = (2 / 4000) ** 0.5
    assert abs(found["mean"]) < 4 * error
    assert abs(found["variance"] - 1.01) < 4 * error
    assert abs(found["correlation"] - 0.98**50) < 4 * error
    # Negative control: a diffusion twice as large is told apart.
    other = answers(MOMENTS % path(diffusion=[[0, 0, 4.0]]), "plots/simulation.js")
    assert other["variance"] > 1.5


def test_a_simulated_path_is_decided_by_its_seed_and_held_by_its_bounds() -> None:
    one, again, other = (
        answers(MOMENTS % path(seed=seed), "plots/simulation.js") for seed in (1, 1, 2)
    )
    assert one == again
    assert one != other
    held = answers(MOMENTS % path(bounds=[[0.0, None]]), "plots/simulation.js")
    assert held["low"] >= 0
    # Half of a Gaussian: its mean is √(2/π).
    assert abs(held["mean"] - 0.798) < 0.1


def test_a_simulated_path_with_measurement_noise_has_its_variance() -> None:
    found = answers(MOMENTS % path(noise=[3.0]), "plots/simulation.js")
    assert abs(found["variance"] - 4.01) < 0.15


def test_two_variables_share_their_noise_and_terms_are_evaluated() -> None:
    stretch = {"begin": 0, "steps": 20_000, "bins": 20_000, "start": [0.0, 0.0]}
    noise = ["+", 1.0, ["^", "u", 2.0]]
    both = {
        "names": ["u", "v"],
        "drift": [["*", 1.0, ["sin", ["*", 2.0, "v"]]], 0.0],
        "diffusion": [[0, 0, 1.0], [0, 1, ["*", 0.5, ["sqrt", noise]]], [1, 1, noise]],
        "bounds": [[None, None]] * 2,
        "noise": [0.0] * 2,
        "scales": [1e9] * 2,
        "stretches": [stretch],
        "step": 0.01,
    }
    script = f"""({{ simulated }}) => {{
        const u = {path(**both, shown=0)}.y, v = {path(**both, shown=1)}.y;
        let [uu, uv, vv] = [0, 0, 0];
        for (let k = 0; k + 1 < u.length; k++) {{
            const du = u[k + 1] - u[k] - 0.01 * Math.sin(2 * v[k]), dv = v[k + 1] - v[k];
            const a = 0.01 * (1 + u[k] ** 2);
            uu += du * du / 0.01; uv += du * dv / Math.sqrt(0.01 * a); vv += dv * dv / a;
        }}
        return [uu, uv, vv].map((sum) => sum / (u.length - 1));
    }}"""
    found = answers(script, "plots/simulation.js")
    # Means of 20 000 squares and products of normal numbers.
    for value, expected in zip(found, (1.0, 0.5, 1.0), strict=True):
        assert abs(value - expected) < 4 * (2 / 20_000) ** 0.5


def test_a_path_that_leaves_all_bounds_ends() -> None:
    outward = path(drift=[["^", "x", 3.0]], scales=[1e300])
    found = answers(f"({{ simulated }}) => {outward}.y.length", "plots/simulation.js")
    assert 0 < found < 200_000


def test_a_simulated_position_keeps_the_energy_of_its_oscillation() -> None:
    # dx = v dt, dv = −(x + v/50) dt + √(1/25) dW: the variance is 1; Euler's scheme, whose step of
    # 0.05 drives by 0.05/2 what friction damps by 0.02/2, has none.
    both = {
        "names": ["x", "v"],
        "positions": 1,
        "drift": ["v", ["+", ["*", -1.0, "x"], ["*", -0.02, "v"]]],
        "diffusion": [[1, 1, 0.04]],
        "bounds": [[None, None]] * 2,
        "noise": [0.0] * 2,
        "scales": [1e9] * 2,
        "stretches": [{"begin": 0, "steps": 400_000, "bins": 400_000, "start": [0.0, 0.0]}],
        "step": 0.05,
    }
    found = answers(MOMENTS % path(**both), "plots/simulation.js")
    # 20 000 units of time hold 200 correlation times 2/γ of the energy.
    assert abs(found["variance"] - 1) < 4 * (2 / 200) ** 0.5
