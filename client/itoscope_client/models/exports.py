"""A model's drift and diffusion as source text of other programs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from itoscope_client.models import latex
from itoscope_client.models.document import ModelDocument
from itoscope_client.models.languages import JULIA, PYTHON, STAN, SYMPY, C, Language, Total
from itoscope_client.models.process import summands_of
from itoscope_client.models.terms import variables_of

TIME = "t"
"""The time in the terms of a forced model."""
Format = Literal["python", "sympy", "julia", "stan", "c", "latex"]


@dataclass(frozen=True, slots=True)
class _Source:
    """A model's equations in a language.

    header      lines of comment
    variables   names in the language
    driving     names of what drives the variables: inputs, and the time t
    drift       expression of each component
    diffusion   expressions of the tensor by rows
    constant    whether each expression names no variable
    noisy       indices of the variables that have noise
    diagonal    whether only the tensor's diagonal has terms
    """

    header: str
    variables: tuple[str, ...]
    driving: tuple[str, ...]
    drift: tuple[str, ...]
    diffusion: tuple[tuple[str, ...], ...]
    constant: Mapping[str, bool]
    noisy: tuple[int, ...]
    diagonal: bool


def exported(model: ModelDocument, language: Format) -> str:
    """Write a model's drift and diffusion in a language. Raises ValueError for an unknown one."""
    if language == "latex":
        return latex.equations(model, errors=False) + "\n"
    if language not in _FORMATS:
        raise ValueError(f"a model is exported as {', '.join(FORMATS)}, not as {language!r}")
    write, table = _FORMATS[language]
    return write(_source(model, table))


def _source(model: ModelDocument, language: Language) -> _Source:
    document = model.in_symbols["model"]
    variables = model.variables
    drift = [summands_of(document["drift"][name]) for name in variables]
    totals: dict[tuple[int, int], Total] = {}
    for pair, part in document["diffusion"].items():
        i, j = sorted(variables.index(name.strip()) for name in pair.split(","))
        totals[i, j] = summands_of(part)
    trees = [tree for total in (*drift, *totals.values()) for _, tree in total]
    further = frozenset().union(*map(variables_of, trees)) - set(variables)
    driving = sorted(further, key=lambda name: (name == TIME, name))
    names = _names(model, language, (*variables, *driving))
    d = range(len(variables))
    tensor = [[totals.get((min(i, j), max(i, j)), ()) for j in d] for i in d]
    written = {}

    def text(total: Total) -> str:
        line = language.total(total, names)
        written[line] = not any(variables_of(tree) & set(variables) for _, tree in total)
        return line

    return _Source(
        _header(model, language, names),
        tuple(names[name] for name in variables),
        tuple(names[name] for name in driving),
        tuple(text(total) for total in drift),
        tuple(tuple(text(total) for total in row) for row in tensor),
        written,
        tuple(i for i in d if tensor[i][i]),
        not any(tensor[i][j] for i in d for j in d if i != j),
    )


def _names(model: ModelDocument, language: Language, symbols: Sequence[str]) -> dict[str, str]:
    """Return the word in a language of each variable, and of what drives them.

    They are the file's, or all of them standard names where the language does not allow one: a
    mixture of both could name two variables alike. Raises ValueError where it allows neither.
    """
    standard = {
        **{symbol: name for name, symbol in model.document["model"].get("symbols", {}).items()},
        **dict(zip(model.variables, model.document["model"]["drift"], strict=True)),
    }
    same = {symbol: symbol for symbol in symbols}
    for names in (same, {symbol: standard.get(symbol, symbol) for symbol in symbols}):
        if all(language.allows(name) or symbol == TIME for symbol, name in names.items()):
            return names
    raise ValueError(f"a variable among {symbols} has a name that the language does not allow")


def _header(model: ModelDocument, language: Language, names: Mapping[str, str]) -> str:
    document = model.in_symbols["model"]
    periods, bounds = document.get("periodic") or {}, document.get("domain") or {}
    lines = [
        "dX = b(X) dt + s(X) dW in the sense of Ito; the diffusion is a = s s^T, twice D.",
        *model.equations,
        *(f"{new} is {old}" for old, new in names.items() if new != old),
        *(f"{angle} is an angle of period {period!r}" for angle, period in periods.items()),
        *(f"{name} is from {low} to {high}" for name, (low, high) in bounds.items()),
    ]
    if "job" in model.document:
        lines.append(f"found by Itoscope as {model.job_id}")
    # A document from elsewhere may hold line breaks, after which its text would be code.
    flat = (" ".join(line.replace("\\", " ").split()) for line in lines)
    return "\n".join(f"{language.comment} {line}" for line in flat) + "\n"


def _indented(lines: list[str], by: str) -> str:
    return "".join(f"{by}{line}\n" for line in lines)


def _python(source: _Source) -> str:
    first = source.variables[0]

    def array(text: str) -> str:
        return f"np.full_like({first}, {text})" if source.constant[text] else text

    one = len(source.variables) == 1
    more = "".join(f", {name}" for name in source.driving)
    where = "of any shape" if one else f"(…, {len(source.variables)})"
    unpack = (
        f"{first} = np.asarray(state, dtype=float)"
        if one
        else f"{', '.join(source.variables)} = np.moveaxis(np.asarray(state, dtype=float), -1, 0)"
    )
    if one:
        drift = f"    return {array(source.drift[0])}\n"
        diffusion = f"    return {array(source.diffusion[0][0])}\n"
        noise = f"    return np.sqrt(diffusion(state{more}))\n"
    else:
        parts = _indented([f"{array(text)}," for text in source.drift], " " * 8)
        drift = f"    out = [\n{parts}    ]\n    return np.stack(out, axis=-1)\n"
        rows = _indented(
            [f"[{', '.join(array(text) for text in row)}]," for row in source.diffusion], " " * 8
        )
        diffusion = (
            f"    out = [\n{rows}    ]\n"
            "    return np.stack([np.stack(row, axis=-1) for row in out], axis=-2)\n"
        )
        # A variable without noise, as a position of second order, has a row of zeros.
        noise = (
            f"    values, vectors = np.linalg.eigh(diffusion(state{more}))\n"
            "    values[np.abs(values) <= 1e-12 * values[..., -1:]] = 0.0\n"
            "    return vectors * np.sqrt(values)[..., None, :]\n"
        )
    return (
        f"{source.header}\nimport numpy as np\n\nVARIABLES = {source.variables!r}\n\n\n"
        f'def drift(state{more}):\n    """Return the drift b at states {where}."""\n'
        f"    {unpack}\n{drift}\n\n"
        f'def diffusion(state{more}):\n    """Return the diffusion a at states {where}."""\n'
        f"    {unpack}\n{diffusion}\n\n"
        f'def noise(state{more}):\n    """Return a square root s of the diffusion, a = s s^T, at '
        f'states; NaN where it has none."""\n{noise}'
    )


def _sympy(source: _Source) -> str:
    symbols = (*source.variables, *source.driving)
    one = "," if len(symbols) == 1 else ""
    names = ", ".join(symbols) + one
    words = ", ".join(f'"{name}"' for name in symbols) + one
    drift = _indented([f"{text}," for text in source.drift], "    ")
    rows = _indented([f"[{', '.join(row)}]," for row in source.diffusion], "    ")
    return (
        f"{source.header}\nimport sympy as sp\n\n"
        f"({names}) = sp.symbols(({words}), real=True)\n"
        f"drift = sp.Matrix([\n{drift}])\ndiffusion = sp.Matrix([\n{rows}])\n"
    )


def _julia(source: _Source) -> str:
    d, m = len(source.variables), len(source.noisy)
    # Inputs are the parameters p of the problem, in the order of their names.
    inputs = [name for name in source.driving if name != TIME]
    parts = [f"{x} = state[{i}]" for i, x in enumerate(source.variables, 1)]
    parts += [f"{u} = p[{i}]" for i, u in enumerate(inputs, 1)]
    unpack = _indented(parts, "    ")
    more = ", p, t" if source.driving else ""
    given = f", [{', '.join(inputs)}]" if inputs else ""
    drift = [f"out[{i}] = {text}" for i, text in enumerate(source.drift, start=1)]
    tensor = [
        f"out[{i}, {j}] = {text}"
        for i, row in enumerate(source.diffusion, start=1)
        for j, text in enumerate(row, start=1)
        if text != "0.0"
    ]
    if source.diagonal and m == d:
        root = [f"out[{i}] = sqrt({row[i - 1]})" for i, row in enumerate(source.diffusion, start=1)]
        noise = f"{unpack}{_indented(root, '    ')}"
        prototype = ""
    else:
        noisy = f"[{', '.join(str(i + 1) for i in source.noisy)}]"
        block = f"diffusion(state{more})[{noisy}, {noisy}]"
        noise = f"    fill!(out, 0.0)\n    out[{noisy}, :] = cholesky(Symmetric({block})).L\n"
        prototype = f", noise_rate_prototype = zeros({d}, {m})"
    return (
        f"{source.header}#\n# using StochasticDiffEq\n"
        f"# problem = SDEProblem(drift!, noise!, fill(0.1, {d}), (0.0, 10.0){given}{prototype})\n"
        "# solution = solve(problem, EM(), dt = 1e-3)\n\nusing LinearAlgebra\n\n"
        f"function drift!(out, state, p, t)\n{unpack}{_indented(drift, '    ')}"
        "    return nothing\nend\n\n"
        f"function diffusion(state{more})\n{unpack}    out = zeros({d}, {d})\n"
        f"{_indented(tensor, '    ')}    return out\nend\n\n"
        f"function noise!(out, state, p, t)\n{noise}    return nothing\nend\n"
    )


def _stan(source: _Source) -> str:
    d = len(source.variables)
    unpack = [f"real {name} = state[{i}];" for i, name in enumerate(source.variables, start=1)]
    drift = [f"out[{i}] = {text};" for i, text in enumerate(source.drift, start=1)]
    tensor = [
        f"out[{i}, {j}] = {text};"
        for i, row in enumerate(source.diffusion, start=1)
        for j, text in enumerate(row, start=1)
    ]
    by = " " * 4
    more = "".join(f", real {name}" for name in source.driving)
    return (
        f"{source.header}functions {{\n"
        f"  vector drift(vector state{more}) {{\n{_indented(unpack, by)}    vector[{d}] out;\n"
        f"{_indented(drift, by)}    return out;\n  }}\n\n"
        f"  matrix diffusion(vector state{more}) {{\n{_indented(unpack, by)}"
        f"    matrix[{d}, {d}] out;\n"
        f"{_indented(tensor, by)}    return out;\n  }}\n}}\n"
    )


def _c(source: _Source) -> str:
    d = len(source.variables)
    # A variable that is not used is no cause for a warning.
    unpack = [f"const double {name} = state[{i}];" for i, name in enumerate(source.variables)]
    unpack += [f"(void){name};" for name in source.variables]
    drift = [f"out[{i}] = {text};" for i, text in enumerate(source.drift)]
    tensor = [
        f"out[{d * i + j}] = {text};"
        for i, row in enumerate(source.diffusion)
        for j, text in enumerate(row)
    ]
    by = " " * 4
    more = "".join(f"double {name}, " for name in source.driving)
    unpack += [f"(void){name};" for name in source.driving]
    return (
        f"{source.header}\n#include <math.h>\n\n"
        f"// The drift b; state and out have the length {d}.\n"
        f"void drift(const double *state, {more}double *out)\n{{\n{_indented(unpack, by)}"
        f"{_indented(drift, by)}}}\n\n"
        f"// The diffusion a by rows; out has the length {d * d}.\n"
        f"void diffusion(const double *state, {more}double *out)\n{{\n{_indented(unpack, by)}"
        f"{_indented(tensor, by)}}}\n"
    )


_FORMATS: Mapping[str, tuple[Callable[[_Source], str], Language]] = {
    "python": (_python, PYTHON),
    "sympy": (_sympy, SYMPY),
    "julia": (_julia, JULIA),
    "stan": (_stan, STAN),
    "c": (_c, C),
}
FORMATS: Mapping[str, str] = {
    "python": ".py", "sympy": ".py", "julia": ".jl", "stan": ".stan", "c": ".c", "latex": ".tex",
}  # fmt: skip
"""End of the file's name of each format."""
