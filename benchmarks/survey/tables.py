"""Tables of a survey, and two surveys beside each other; see `__main__.py`."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from benchmarks.survey.systems import FIRST_IN_SPACE

Row = dict[str, Any]
"""What one system gave, as it stands in the file."""
CERTAIN = 8.0
"""z of a term that a search should not miss."""
QUANTITIES = ("rate", "covariance", "passage", "current", "circulation", "entropy")


def right(row: Row, drift: bool | None = None) -> bool:
    """Return whether the sets of terms are the true ones: of the drift, the noise, or both."""

    def ours(component: str) -> bool:
        return drift is None or drift == ("," not in component)

    return all(t["found"] for t in row["terms"] if ours(t["component"])) and not any(
        n for component, n in row["false"].items() if ours(component)
    )


def share(held: Iterable[bool]) -> str:
    """Return per cent ± standard error (count)."""
    values = np.array(list(held), dtype=float)
    if not len(values):
        return "–"
    p, n = values.mean(), len(values)
    error = np.sqrt(max(p * (1 - p), 0.25 / n if n < 4 else 0.01) / n)
    return f"{100 * p:.0f} ± {100 * error:.0f} ({n})"


def curve_held(rows: Iterable[Row], drift: bool) -> list[bool]:
    """Return every pointwise interval of b(x) or a(x): whether it holds the truth."""
    return [h for c in _components(rows, drift) for h in c["held"]]


def _components(rows: Iterable[Row], drift: bool) -> Iterator[Row]:
    return (c for r in rows for k, c in r["curves"].items() if drift == ("," not in k))


def quantity(rows: Iterable[Row], name: str) -> list[Row]:
    """Return what rows say about a quantity; `covariance` has several entries a row."""
    return [q for r in rows for k, q in r["quantities"].items() if k.split(" ")[0] == name]


def _held(of: Iterable[Row]) -> str:
    return share(q["held"] for q in of if "held" in q)


def _middle(of: Iterable[Row], key: str) -> str:
    values = [q[key] for q in of if key in q]
    return f"{np.median(values):.2f}" if values else "–"


COLUMNS: dict[str, Callable[[list[Row]], str]] = {
    "n": lambda rows: f"{len(rows)}",
    "b exact": lambda rows: share(right(r, True) for r in rows if r["inside"]),
    "a exact": lambda rows: share(right(r, False) for r in rows if r["inside"]),
    "b coef.": lambda rows: _coefficients(rows, True),
    "a coef.": lambda rows: _coefficients(rows, False),
    "b(x)": lambda rows: share(curve_held(rows, True)),
    "width": lambda rows: _middle(_components(rows, True), "width"),
    "error": lambda rows: _middle(_components(rows, True), "error"),
    "a(x)": lambda rows: share(curve_held(rows, False)),
    "width ": lambda rows: _middle(_components(rows, False), "width"),
    "error ": lambda rows: _middle(_components(rows, False), "error"),
}


def _quantity_column(name: str) -> Callable[[list[Row]], str]:
    def column(rows: list[Row]) -> str:
        of = quantity(rows, name)
        return f"{_held(of)}, {_middle(of, 'width')}, {_middle(of, 'error')}" if of else "–"

    return column


def _columns(names: Iterable[str]) -> dict[str, Callable[[list[Row]], str]]:
    return COLUMNS | {name: _quantity_column(name) for name in names}


def _coefficients(rows: Iterable[Row], drift: bool) -> str:
    """Return the coverage of coefficients where the component's set of terms is the true one."""
    terms = [
        t
        for r in rows
        if r["inside"] and right(r, drift)
        for t in r["terms"]
        if drift == ("," not in t["component"]) and "held" in t
    ]
    if not terms:
        return "–"
    return f"{_held(terms)} rms z {np.sqrt(np.mean([t['off'] ** 2 for t in terms])):.2f}"


def table(title: str, cells: dict[str, list[Row]], names: Sequence[str]) -> str:
    """Return a table in Markdown with one row a cell; quantities: held, width, error."""
    columns = _columns(names)
    lines = [
        f"\n## {title}\n",
        f"| cell | {' | '.join(columns)} |",
        "|---" * (len(columns) + 1) + "|",
    ]
    lines += [
        f"| {cell} | {' | '.join(column(rows) for column in columns.values())} |"
        for cell, rows in cells.items()
        if rows
    ]
    return "\n".join(lines)


def by_condition(rows: list[Row]) -> dict[str, list[Row]]:
    """Return cells by condition, each by what is known of the set of terms."""
    cells = {}
    groups = {"all": rows, "good data": [r for r in rows if _good(r)], **_by(rows, "condition")}
    for name, group in groups.items():
        cells[name] = group
        cells[f"{name}, support right"] = [r for r in group if r["inside"] and right(r)]
        cells[f"{name}, not right"] = [r for r in group if r["inside"] and not right(r)]
        cells[f"{name}, outside the library"] = [r for r in group if not r["inside"]]
    return cells


def _good(row: Row) -> bool:
    return row["condition"] in ("clean", "gaps", "float32")


def _by(rows: list[Row], key: str) -> dict[str, list[Row]]:
    ordered = sorted(rows, key=lambda r: str(r[key]))
    return {str(k): list(g) for k, g in groupby(ordered, key=lambda r: r[key])}


def certain(rows: list[Row]) -> list[Row]:
    """Return the rows whose every true term is in the library and has z > 8."""
    return [r for r in rows if r["inside"] and all(t["z"] > CERTAIN for t in r["terms"])]


def worst(rows: list[Row], least: int = 20) -> str:
    """Return the lowest coverage in cells of 20 systems or more."""
    cells = {**_by(rows, "condition"), **_by(rows, "family")}
    cells |= {k: [r for r in rows if a <= r["length"] < b] for k, (a, b) in _LENGTHS.items()}
    cells |= {f"Δt {a:g}–{b:g}": [r for r in rows if a <= r["dt"] < b] for a, b in _STEPS}
    found: list[tuple[float, str]] = []
    for cell, group in cells.items():
        held = {"b(x)": curve_held(group, True), "a(x)": curve_held(group, False)}
        for name in QUANTITIES:
            held[name] = [q["held"] for q in quantity(group, name) if "held" in q]
        for what, values in held.items():
            systems = len(group) if "(x)" in what else len(values)
            if systems >= least:
                found.append((float(np.mean(values)), f"{cell}, {what}: {share(values)}"))
    return "\n".join(["\n## Worst cells\n", *(f"- {text}" for _, text in sorted(found)[:12])])


_LENGTHS = {
    "T below 50": (0.0, 50.0),
    "T 50–200": (50.0, 200.0),
    "T 200–1000": (200.0, 1e3),
    "T above 1000": (1e3, np.inf),
}
_STEPS = ((0.001, 0.01), (0.01, 0.05), (0.05, 0.15), (0.15, 0.51))


def strong_terms(rows: list[Row]) -> str:
    """Return what becomes of terms with z > 8, false terms, and warnings on good records."""
    lines = ["\n## Terms with z > 8, false terms, warnings\n"]
    for name in ("clean", "noise", "quantised"):
        group = [r for r in rows if r["condition"] == name and r["inside"]]
        strong = [t for r in group for t in r["terms"] if t["z"] > CERTAIN]
        for part, drift in (("b", True), ("a", False)):
            found = [t["found"] for t in strong if drift == ("," not in t["component"])]
            false = [n for r in group for k, n in r["false"].items() if drift == ("," not in k)]
            lines.append(
                f"- {name}, {part}: {share(found)} of the strong terms found; "
                f"{np.mean(false) if false else 0:.3f} false terms an equation ({len(false)})"
            )
    easy = [
        r
        for r in rows
        if r["condition"] == "clean" and r["length"] >= 200 and r["dt"] <= 0.05 and r["inside"]
    ]
    codes = Counter(code for r in easy for code in r["warnings"])
    lines.append(
        f"- clean, T ≥ 200, Δt ≤ 0.05, in the library: {share(bool(r['warnings']) for r in easy)} "
        f"have a warning: {', '.join(f'{c} {n}' for c, n in codes.most_common()) or 'none'}"
    )
    sure = certain(rows)
    for part, drift in (("b(x)", True), ("a(x)", False)):
        widths = [c["width"] for c in _components(sure, drift)]
        if widths:
            lines.append(
                f"- every z > 8 ({len(sure)} systems), {part}: held "
                f"{share(curve_held(sure, drift))}, mean width {np.mean(widths):.3f}, "
                f"geometric {np.exp(np.mean(np.log(np.maximum(widths, 1e-12)))):.4f}"
            )
    return "\n".join(lines)


def shown(rows: list[Row]) -> str:
    """Return all tables of a file."""
    refused = Counter(f"{r['family']}: {r['refused']}" for r in rows if "refused" in r)
    answered = [r for r in rows if "refused" not in r]
    one = [r for r in answered if r["dimension"] == 1]
    several = [r for r in answered if r["dimension"] > 1]
    cpu = [r["cpu"] for r in rows]
    parts = [
        f"{len(rows)} systems, {sum(cpu):.0f} s CPU, median {np.median(cpu):.2f} s, "
        f"longest {max(cpu):.1f} s; refused: {dict(refused) or 'none'}"
    ]
    if one:
        names = ("rate", "covariance", "passage", "current")
        parts += [
            table("One variable, by condition", by_condition(one), names),
            table("One variable, by family", _by(one, "family"), names),
            worst(one),
            strong_terms(one),
        ]
    if several:
        names = ("rate", "covariance", "circulation", "entropy")
        cells = {"all": several, **_by(several, "condition"), **_by(several, "family")}
        cells |= {f"dimension {k}": v for k, v in _by(several, "dimension").items()}
        parts += [table("Several variables", cells, names), strong_terms(several)]
    return "\n".join(parts)


def compared(before: list[Row], after: list[Row]) -> str:
    """Return two files beside each other, on the seeds that both have answered."""
    old = {r["seed"]: r for r in before if "refused" not in r}
    pairs = [(old[r["seed"]], r) for r in after if "refused" not in r and r["seed"] in old]
    lines = [
        f"{len(pairs)} systems in both",
        "| | held before | after | only before | only after | width × | error × |",
        "|---|---|---|---|---|---|---|",
    ]
    for dimension, groups in (("one", (0, FIRST_IN_SPACE)), ("several", (FIRST_IN_SPACE, 10**9))):
        here = [p for p in pairs if groups[0] <= p[0]["seed"] < groups[1]]
        for condition in ("all", *sorted({p[0]["condition"] for p in here})):
            some = [p for p in here if condition in ("all", p[0]["condition"])]
            for part in ("curves", "quantities"):
                both: dict[str, list[tuple[Row, Row]]] = {}
                for a, b in some:
                    for key in a[part].keys() & b[part].keys():
                        name = ("a(x)" if "," in key else "b(x)") if part == "curves" else key
                        both.setdefault(name.split(" ")[0], []).append((a[part][key], b[part][key]))
                lines += [
                    f"| {dimension}, {condition}, {name} | {_change(both[name])} |"
                    for name in sorted(both)
                ]
            n = [(right(a), right(b)) for a, b in some if a["inside"] and b["inside"]]
            lines.append(
                f"| {dimension}, {condition}, support right | {share(a for a, _ in n)} "
                f"| {share(b for _, b in n)} | {sum(a and not b for a, b in n)} "
                f"| {sum(b and not a for a, b in n)} | | |"
            )
    cpu = [sum(p[k]["cpu"] for p in pairs) for k in (0, 1)]
    return "\n".join([*lines, f"CPU {cpu[0]:.0f} s before, {cpu[1]:.0f} s after"])


def _change(pairs: list[tuple[Row, Row]]) -> str:
    held = [
        (x, y)
        for a, b in pairs
        if "held" in a and "held" in b
        for x, y in zip(np.atleast_1d(a["held"]), np.atleast_1d(b["held"]), strict=True)
    ]
    ratios = [
        [np.log(b[key] / a[key]) for a, b in pairs if _usual(a, key) and _usual(b, key)]
        for key in ("width", "error")
    ]
    width, error = (f"{np.exp(np.mean(r)):.3f}" if r else "–" for r in ratios)
    return (
        f"{share(x for x, _ in held)} | {share(y for _, y in held)} "
        f"| {sum(x and not y for x, y in held)} | {sum(y and not x for x, y in held)} "
        f"| {width} | {error}"
    )


def _usual(of: Row, key: str) -> bool:
    """Return whether a width or error has a logarithm."""
    return bool(0 < of.get(key, 0) < np.inf)
