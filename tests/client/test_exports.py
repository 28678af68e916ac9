"""Exported models, run by the programs they are for, have the values of the model.

Python, SymPy and C are run. Julia and Stan are run where they are installed; where they are not,
Julia's file is read by a parser of the whole language (tree-sitter), the statements of both files
are checked against a small grammar, and their expressions, in which only the operator of powers is
spelled unlike Python's, are evaluated here. stanc 2.35 takes every file in Stan.
"""

import ctypes
import math
import re
import shutil
import subprocess
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp
import tree_sitter_julia
from tree_sitter import Language, Parser

from itoscope_client.models.exports import FORMATS
from itoscope_client.models.languages import JULIA, PYTHON, STAN, SYMPY, C
from itoscope_client.models.model import Model
from itoscope_client.models.terms import parse
from tests.client.documents import result

Values = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]
"""Drift (n, d) and diffusion (n, d, d) at n states."""

SHAPES = {
    "x": -1.25e-05, "x^3": -0.9233140000123, "1": 0.1, "sin(2*x)": 1.0, "-x^2": 3.0,
    "(x - 1)^2": -1, "x/(2/x)": 0.5, "x - (1 - x)": 0.3, "tanh(x)^2*exp(-x^2/2)": 2.0,
    "sqrt(1 + x^2)": -0.4, "log(2 + cos(x))": 1.5, "2^x": 0.25, "(1 + x^2)^-1.5": 1.0,
    "(x^2)^3": 0.01, "-(-x)*x": 0.7, "2^-x^2": 0.2, "x*-(x + 1)/pi": 1.1, "1e-3*x^5": 2.0,
}  # fmt: skip


def named(found: dict[str, Any], order: int = 1, **symbols: str) -> Model:
    found["model"] |= {"symbols": symbols, "order": order}
    return Model(found)


def angle() -> Model:
    found = result(
        {"x": {"sin(x)": -50.0, "cos(2*x)": 7.5, "y": 2.0}, "y": {"y": -1.0, "sin(x)": 3.0}},
        {"x,x": {"1": 9.0, "cos(x)": 1.5}, "x,y": {"1": 0.5}, "y,y": {"1": 1.0}},
    )
    found["model"] |= {"symbols": {"x": "φ", "y": "y"}, "periodic": {"x": 360.0}}
    return Model(found)


MODELS = {
    "one variable": Model(result({"x": SHAPES}, {"x,x": {"1": 0.3, "x^2": 0.04, "x^4": 0.01}})),
    "constant": Model(result({"x": {"1": -0.5}}, {"x,x": {"1": 0.25}})),
    "a word of programs": named(
        result({"x": {"y": 1.0, "x": -2.0}, "y": {"y": -1.0}}, {"x,x": {"1": 1}, "y,y": {"1": 2}}),
        x="end", y="double",
    ),
    "a tensor": Model(
        result(
            {"x": {"x": -1.0, "x*y": 0.5, "y^2": -0.1}, "y": {"x": 2.0, "y": -0.7, "x^2*y": -0.2}},
            {"x,x": {"1": 2.0, "y^2": 0.1}, "x,y": {"x*y": 0.05, "1": -0.3}, "y,y": {"1": 1.0}},
        )
    ),
    "second order": named(
        result({"x": {"v": 1.0}, "v": {"x": 4.0, "x^3": -4.0, "v": -0.3}}, {"v,v": {"1": 0.5}}),
        order=2, x="height", v="v_height",
    ),
    "an angle": angle(),
}  # fmt: skip


def states(model: Model) -> np.ndarray[Any, Any]:
    found = np.random.default_rng(5).uniform(-2.0, 2.0, size=(100, len(model.variables)))
    if model.document["model"].get("periodic"):
        found[:, 0] *= 90.0
    return found


def expected(model: Model, at: np.ndarray[Any, Any]) -> Values:
    x = at[:, 0] if at.shape[1] == 1 else at
    return model.drift(x).reshape(at.shape), model.diffusion(x).reshape(*at.shape, at.shape[1])


def python(model: Model, at: np.ndarray[Any, Any], folder: Path) -> Values:
    module = types.ModuleType("exported")
    exec(compile(model.export("python"), "exported.py", "exec"), module.__dict__)
    x = at[:, 0] if at.shape[1] == 1 else at
    root = module.noise(x)
    square = root**2 if at.shape[1] == 1 else root @ np.swapaxes(root, -1, -2)
    np.testing.assert_allclose(square, module.diffusion(x), atol=1e-12)
    return module.drift(x).reshape(at.shape), module.diffusion(x).reshape(*at.shape, at.shape[1])


def sympy(model: Model, at: np.ndarray[Any, Any], folder: Path) -> Values:
    scope: dict[str, Any] = {}
    exec(compile(model.export("sympy"), "exported.py", "exec"), scope)
    names = [name if SYMPY.allows(name) else None for name in model.variables]
    symbols = [scope[name] for name in names if name]
    evaluate = [sp.lambdify(symbols, scope[what], "numpy") for what in ("drift", "diffusion")]
    b, a = (np.array([f(*row) for row in at.tolist()], dtype=float) for f in evaluate)
    return b[:, :, 0], a


def c(model: Model, at: np.ndarray[Any, Any], folder: Path) -> Values:
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("there is no C compiler: the export in C is not run")
    source, library = folder / "model.c", folder / "model.so"
    source.write_text(model.export("c"))
    flags = ["-O2", "-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", "-shared", "-fPIC"]
    subprocess.run([compiler, *flags, str(source), "-o", str(library), "-lm"], check=True)
    functions = ctypes.CDLL(str(library))
    d = at.shape[1]
    b, a = np.empty((100, d)), np.empty((100, d, d))
    for function, out in ((functions.drift, b), (functions.diffusion, a)):
        for row, place in zip(np.ascontiguousarray(at), out, strict=True):
            pointers = (ctypes.c_void_p(array.ctypes.data) for array in (row, place))
            function(*pointers)
    return b, a


NUMBER = r"(?:\d+\.?\d*(?:e[+-]?\d+)?)"
EXPRESSION = rf"(?:{NUMBER}|[^\W\d]\w*|[-+*/^() ])+"
JULIA_GRAMMAR = re.compile(
    r"using LinearAlgebra|function (?:drift!|noise!)\(out, state, p, t\)|"
    r"function diffusion\(state\)|"
    r"    [^\W\d]\w* = state\[\d\]|    out\[\d(?:, \d)?\] = " + EXPRESSION + "|"
    r"    out = zeros\(\d, \d\)|    fill!\(out, 0\.0\)|    return (?:nothing|out)|end|"
    r"    out\[(\[[\d, ]+\]), :\] = cholesky\(Symmetric\(diffusion\(state\)\[\1, \1\]\)\)\.L"
)
STAN_GRAMMAR = re.compile(
    r"functions \{|  (?:vector drift|matrix diffusion)\(vector state\) \{|  ?\}|\}|"
    r"    real [A-Za-z]\w* = state\[\d\];|    (?:vector\[\d\]|matrix\[\d, \d\]) out;|"
    r"    out\[\d(?:, \d)?\] = " + EXPRESSION + r";|    return out;"
)


def by_grammar(
    text: str, grammar: re.Pattern[str], comment: str, at: np.ndarray[Any, Any]
) -> Values:
    """Evaluate the assignments of a file, each line of which is in the grammar."""
    lines = [line for line in text.splitlines() if line and not line.startswith(comment)]
    for line in lines:
        assert grammar.fullmatch(line), line
    for pair in ("()", "[]", "{}"):
        assert text.count(pair[0]) == text.count(pair[1])
    d = at.shape[1]
    b, a = np.zeros((100, d)), np.zeros((100, d, d))
    functions = {name: getattr(np, name) for name in ("sin", "cos", "exp", "tanh", "sqrt", "log")}
    scope: dict[str, Any] = {"__builtins__": {}, "pi": math.pi, **functions}
    for line in lines:
        if line.startswith("function noise!"):
            break
        line = line.strip().rstrip(";").replace("pi()", "pi")
        left, _, right = line.partition(" = ")
        place = [int(n) - 1 for n in re.findall(r"\d+", left)]
        if right.startswith("state["):
            scope[left.removeprefix("real ")] = at[:, int(right[6:-1]) - 1]
        elif left.startswith("out["):
            out = a if len(place) == 2 else b
            out[(slice(None), *place)] = eval(right.replace("^", "**"), scope)
    return b, a


def is_julia(text: str) -> bool:
    """Check whether a parser of the whole language finds no error."""
    tree = Parser(Language(tree_sitter_julia.language())).parse(text.encode())
    return not tree.root_node.has_error


def julia(model: Model, at: np.ndarray[Any, Any], folder: Path) -> Values:
    text = model.export("julia")
    program = shutil.which("julia")
    if program is None:
        assert is_julia(text)
        return by_grammar(text, JULIA_GRAMMAR, "#", at)
    rows = ", ".join(f"[{', '.join(map(repr, row))}]" for row in at.tolist())
    d = at.shape[1]
    tail = (
        f"\nfor u in [{rows}]\n b = zeros({d}); drift!(b, u, nothing, 0.0)\n"
        " println(join(vcat(b, vec(permutedims(diffusion(u)))), ' '))\nend\n"
    )
    (folder / "model.jl").write_text(text + tail)
    printed = subprocess.run(
        [program, str(folder / "model.jl")], check=True, capture_output=True, text=True
    ).stdout
    numbers = np.array([line.split() for line in printed.splitlines()], dtype=float)
    return numbers[:, :d], numbers[:, d:].reshape(-1, d, d)


def stan(model: Model, at: np.ndarray[Any, Any], folder: Path) -> Values:
    text = model.export("stan")
    assert text.isascii() or text.partition("functions {")[2].isascii()
    compiler = shutil.which("stanc")
    if compiler is not None:
        (folder / "model.stan").write_text(text)
        subprocess.run([compiler, str(folder / "model.stan")], check=True)
    return by_grammar(text, STAN_GRAMMAR, "//", at)


@pytest.mark.parametrize("name", list(MODELS))
@pytest.mark.parametrize("run", [python, sympy, c, julia, stan])
def test_an_exported_model_has_the_models_values(
    run: Callable[..., Values], name: str, tmp_path: Path
) -> None:
    model = MODELS[name]
    at = states(model)
    for found, wanted in zip(run(model, at, tmp_path), expected(model, at), strict=True):
        assert np.abs(found - wanted).max() <= 1e-12 * np.abs(wanted).max()
        # Negative control: another state has other values.
        if np.ptp(wanted, axis=0).any():
            assert np.abs(found[::-1] - wanted).max() > 1e-3 * np.abs(wanted).max()


@pytest.mark.skipif(shutil.which("julia") is not None, reason="Julia runs the export itself")
def test_julia_is_not_installed_here() -> None:
    assert not is_julia(MODELS["a tensor"].export("julia").replace("nothing\nend", "nothing", 1))
    pytest.skip("Julia is not installed: its export is parsed, and its expressions are evaluated")


@pytest.mark.skipif(shutil.which("stanc") is not None, reason="stanc checks the export itself")
def test_stan_is_not_installed_here() -> None:
    pytest.skip("stanc is not installed: its export is checked by a small grammar and evaluated")


@pytest.mark.parametrize("language", [PYTHON, SYMPY, JULIA, STAN, C])
@pytest.mark.parametrize("text", ["x - (y - 1)", "x/(y/2)", "(x*y)^2", "(x^y)^2", "-(x + y)*x"])
def test_parentheses_stand_where_the_tree_has_another_order(language: Any, text: str) -> None:
    written = language.expression(parse(text), {"x": "x", "y": "y"})
    value = eval(written.replace("^", "**"), {"pow": pow}, {"x": 1.7, "y": 0.6})
    assert value == pytest.approx(eval(text.replace("^", "**"), {}, {"x": 1.7, "y": 0.6}), 1e-15)


def test_what_drives_a_model_is_an_argument(tmp_path: Path) -> None:
    terms = {"x": -1.0, "u*x": 0.5, "sin(2*pi*t/5)": 2.0, "t": 0.1}
    driven = result({"x": terms}, {"x,x": {"1": 0.3, "u^2": 0.2}})
    driven["model"] |= {"symbols": {"u": "double"}, "inputs": {"u": 0.0, "t": 0.0}}
    driven["model"]["drift"]["x"]["expression"] = ""
    x, u, t = 0.7, 1.3, 2.1
    b = -x + 0.5 * u * x + 2 * math.sin(2 * math.pi * t / 5) + 0.1 * t
    a = 0.3 + 0.2 * u**2
    model = Model(driven)
    scope: dict[str, Any] = {}
    exec(compile(model.export("python"), "exported.py", "exec"), scope)
    at = np.array([x, x])
    assert scope["drift"](at, u, t) == pytest.approx(np.array([b, b]), rel=1e-12)
    assert scope["diffusion"](at, u, t) == pytest.approx(np.array([a, a]), rel=1e-12)
    assert scope["noise"](at, u, t) ** 2 == pytest.approx(np.array([a, a]), rel=1e-12)
    # Where its word is the language's own, it has its standard name.
    (tmp_path / "model.c").write_text(model.export("c"))
    assert "void drift(const double *state, double u, double t, double *out)" in model.export("c")
    assert "vector drift(vector state, real double, real t) {" in model.export("stan")
    assert "    double = p[1]\n" in model.export("julia")
    assert "function diffusion(state, p, t)" in model.export("julia")
    assert '(x, double, t) = sp.symbols(("x", "double", "t"), real=True)' in model.export("sympy")
    compiler = shutil.which("cc")
    if compiler is not None:
        arguments = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-c", "model.c"]
        subprocess.run([compiler, *arguments], cwd=tmp_path, check=True)


def test_every_format_is_written_and_another_one_is_refused() -> None:
    model = MODELS["one variable"]
    assert all(model.export(language) for language in FORMATS)
    with pytest.raises(ValueError, match="python, sympy, julia, stan, c, latex, not as 'fortran'"):
        model.export("fortran")


@pytest.mark.parametrize("language", [name for name in FORMATS if name != "latex"])
def test_what_comes_from_outside_is_never_code(language: Any) -> None:
    broken = "1\nimport os\x0b\u2028evil();\\"
    document = result({"x": {"x": -1.0}}, {"x,x": {"1": 1.0}})
    document["model"]["drift"]["x"]["expression"] = broken
    document["job"] = broken
    lines = [line.strip() for line in Model(document).export(language).splitlines()]
    told = [line for line in lines if "evil" in line or "import os" in line]
    assert told
    assert all(line.startswith(("#", "//")) and not line.endswith("\\") for line in told)
    named_so = result({broken: {"1": -1.0}}, {f"{broken},{broken}": {"1": 1.0}})
    with pytest.raises(ValueError, match="a name that the language does not allow"):
        Model(named_so).export(language)


def test_an_export_says_which_variable_is_which() -> None:
    text = MODELS["an angle"].export("c")
    assert "// x is φ" in text
    assert "φ is an angle of period 360" in text
    assert "// height" not in MODELS["second order"].export("c")
