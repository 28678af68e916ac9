"""What a default job gives on the record of a seed, measured against the true process."""

import time
from collections.abc import Sequence
from itertools import combinations_with_replacement
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmarks.kinetics_paths import OTHERS, exponents_of
from benchmarks.survey.systems import (
    TURN,
    Design,
    System,
    Truth,
    drawn,
    record_of,
    truth_of,
)
from benchmarks.survey.tables import Row
from contract.generator import AnalysisParameters, PassageRequest
from contract.identification import IdentificationParameters, LibraryParameters
from worker import pipeline
from worker.analysis import Analysed
from worker.documents.model import model_of
from worker.documents.results import all_findings
from worker.generator.quantities.report import GeneratorReport
from worker.generator.quantities.stationary import MultivariateDistribution
from worker.generator.uncertainty.intervals import Intervals
from worker.identification.identified_model import IdentifiedModel
from worker.identification.symbolic_system import field_from_terms
from worker.jobs.parameters import analysis_settings_of, settings_of
from worker.validation import plot_data
from worker.validation.plot_data import Curves

Floats = NDArray[np.float64]

MODELS = 400
"""Number of drawn models from which an interval is taken where the result has no band."""


def surveyed(seed: int) -> Row:
    """Run the job of a seed and measure its answer against the truth."""
    system, design = drawn(seed)
    row: Row = {
        "seed": seed,
        "family": system.family,
        "condition": design.condition,
        "dimension": len(system.drift),
        "dt": design.dt,
        "length": design.duration,
        "paths": design.n_paths,
        "level": design.level,
        "shifted": bool(design.origin),
    }
    truth = truth_of(system)
    record = record_of(system, design, truth, seed)
    row["samples"] = len(record.data.states)
    parameters = IdentificationParameters(
        seed=seed,
        library=LibraryParameters(polynomial_degree=system.degree),
        periodic={v: TURN * u for v, u in zip(system.variables, design.units, strict=True)}
        if system.periodic
        else {},
    )
    shift = design.origin * truth.deviation[0] if design.origin else 0.0
    asked = AnalysisParameters()
    if truth.passage is not None:
        start, to = (float(design.units[0] * (x + shift)) for x in truth.passage[:2])
        asked = AnalysisParameters(passages=(PassageRequest(**{"from": start, "to": to}),))
    begun = time.process_time()
    try:
        with threadpool_limits(1), np.errstate(all="ignore"):
            answer = pipeline.identify(record.data, settings_of(parameters), lambda *_: None)
            states = pipeline.states_of(answer, record.data)
            analysed, validation = pipeline.analyse_and_validate(
                answer, states, analysis_settings_of(asked), lambda *_: None
            )
            assert analysed is not None
            curves = plot_data.of_answer(answer, record.data, analysed.generator, 0.95).curves
    except Exception as error:  # a refusal, or a fault: both are what the job gave
        return {**row, "refused": type(error).__name__, "cpu": time.process_time() - begun}
    row["cpu"] = time.process_time() - begun
    row["warnings"] = sorted({f.code for f in all_findings(answer, validation, analysed)})
    row["terms"], row["false"] = _terms(answer, system, design, truth, record.states)
    row["inside"] = all(t["in_library"] for t in row["terms"])
    row["curves"] = _curves(answer, curves, system, design, truth, record.states)
    row["quantities"] = _quantities(analysed, truth, design)
    return row


def _terms(
    answer: IdentifiedModel, system: System, design: Design, truth: Truth, states: Floats
) -> tuple[list[Row], dict[str, int]]:
    """Return every true term, and the number of false ones by component."""
    # Without periods, angles keep the terms of the phase that the true ones have.
    model = model_of(answer, IdentificationParameters(), 0.95)
    rows, false = [], {}
    for component, fitted in {**model.drift, **model.diffusion}.items():
        known = true_terms(system, design, truth, states, component)
        given = {t.term: t for t in fitted.terms}
        false[component] = sum(t.active and t.term not in known for t in fitted.terms)
        for name, (value, z) in known.items():
            found = given.get(name)
            row = {
                "component": component,
                "term": name,
                "z": z,
                "in_library": found is not None,
                "found": found is not None and found.active,
            }
            if found is not None and found.ci is not None and found.std_error:
                row["off"] = (found.value - value) / found.std_error
                row["held"] = found.ci[0] <= value <= found.ci[1]
                row["width"] = (found.ci[1] - found.ci[0]) / abs(value)
            rows.append(row)
    return rows, false


def true_terms(
    system: System, design: Design, truth: Truth, states: Floats, component: str
) -> dict[str, tuple[float, float]]:
    """Return the true terms of a component in the record's units, each with its information.

    Information is |coefficient| over its Cramér–Rao error, given the support: of a drift observed
    continuously, of a diffusion at the samples, on the states that were visited.
    """
    names, ends = system.variables, component.split(",")
    terms, units = system.terms(component), np.array(design.units)
    powers = {t: exponents_of(t, names) for t in terms if t not in OTHERS}
    if design.origin:
        # About another origin every lower power is a term.
        degree = max(k for (k,) in powers.values())
        powers = {"x" if k == 1 else f"x^{k}" if k else "1": (k,) for k in range(degree + 1)}
    keys = list(powers) if design.origin else list(terms)
    if not keys:
        return {}
    periods = tuple(system.periodic.get(v) for v in names)
    f = np.stack([field_from_terms({k: 1.0}, names, periods)(states) for k in keys])
    first, last = names.index(ends[0]), names.index(ends[-1])
    a = truth.process.diffusion(states)
    if len(ends) == 1:
        weight = design.duration * truth.time / a[:, first, first]
    else:
        both = a[:, first, first] * a[:, last, last] + a[:, first, last] ** 2
        weight = design.duration / design.dt / both
    covariance = np.linalg.inv((f * weight) @ f.T / len(states))
    if design.origin:
        origin = design.origin * truth.deviation[0]
        change = np.array(
            [[comb(k, j) * (-origin) ** (k - j) if j <= k else 0.0 for k in range(len(keys))]
             for j in range(len(keys))]
        )  # fmt: skip
    else:
        change = np.eye(len(keys))
    values = change @ [terms.get(k, 0.0) for k in keys]
    errors = np.sqrt(np.diag(change @ covariance @ change.T))
    factor = factor_of(design, truth, [first] if len(ends) == 1 else [first, last])
    return {
        k: (
            float(factor * v / (1 if system.periodic else np.prod(units ** powers.get(k, 0)))),
            float(abs(v) / e),
        )
        for k, v, e in zip(keys, values, errors, strict=True)
    }


def factor_of(design: Design, truth: Truth, ends: Sequence[int]) -> float:
    """Return the factor from a component in the system's own units to the record's."""
    return float(np.prod([design.units[i] for i in ends])) * truth.time / design.clock


def _curves(
    answer: IdentifiedModel,
    curves: Curves | None,
    system: System,
    design: Design,
    truth: Truth,
    states: Floats,
) -> dict[str, Row]:
    """Return held intervals, width and error of components; of those that are zero, none."""
    chosen = states[np.linspace(0, len(states) - 1, 7).astype(int)[1:-1]]
    places = truth.quantiles[:, None] if len(truth.quantiles) else chosen
    at = (places + design.origin * truth.deviation[0] if design.origin else places) * design.units
    with np.errstate(all="ignore"):
        true, usual, value = (
            (p.drift(x), p.diffusion(x))
            for p, x in ((truth.process, places), (truth.process, states), (answer.process, at))
        )
        count = 0 if answer.draws is None or curves is not None else min(MODELS, len(answer.draws))
        models = [answer.draws[k] for k in range(count)] if answer.draws is not None else []
        drawn_models = [(m.drift(at), m.diffusion(at)) for m in models]
    rows: dict[str, Row] = {}
    for component in (*answer.drift, *answer.diffusion):
        if not system.terms(component):
            continue
        ends = tuple(system.variables.index(v) for v in component.split(","))
        part, factor = len(ends) - 1, factor_of(design, truth, ends)
        here: Any = (slice(None), *ends)
        size = factor * float(np.sqrt(np.mean(usual[part][here] ** 2)))
        curve = None if curves is None else (curves.drift, curves.diffusion)[part]
        if curves is not None and curve is not None and curve.band is not None:
            low, high = (np.interp(at[:, 0], curves.grid, end) for end in curve.band)
        elif drawn_models:
            each = [m[part][here] for m in drawn_models]
            low, high = np.quantile(each, (0.025, 0.975), axis=0)
        else:
            continue
        exact = factor * true[part][here]
        rows[component] = {
            "held": ((low <= exact) & (exact <= high)).tolist(),
            "width": float(np.mean(high - low)) / size,
            "error": float(np.mean(np.abs(value[part][here] - exact))) / size,
        }
    return rows


def _quantities(analysed: Analysed, truth: Truth, design: Design) -> dict[str, Row]:
    """Return whether intervals of derived quantities hold the truth, their width, the error."""
    spread, rate, units = analysed.spread or Intervals({}), truth.time / design.clock, design.units
    found, known = (_numbers(r, truth.passage) for r in (analysed.generator, truth.report))
    if truth.passage is not None:
        known["passage"] = (truth.passage[2], -1, ())
    rows: dict[str, Row] = {}
    for name, (true, power, path) in known.items():
        places = [int(i) for i in name.partition(" ")[2].split(",") if i]
        size = abs(true or 0.0)
        if places:
            first, last = (truth.deviation[i] for i in places)
            size = float(first * last)
        # A circulation or production of zero is known to rounding only.
        rounded = name in ("current", "circulation", "entropy") and size < 1e-3
        if true is None or not np.isfinite(true) or rounded:
            continue
        value, _, path = found.get(name, (None, 0, path))
        scale = rate**power * float(np.prod([units[i] for i in places]))
        if name == "circulation":
            scale *= units[0] * units[1]
        rows[name] = {} if value is None else {"error": abs(value / scale - true) / size}
        given = spread.range(*path) if path else None
        if given is not None:
            low, high = (end / scale for end in given)
            rows[name]["held"] = bool(low - 1e-9 * size <= true <= high + 1e-9 * size)
            rows[name]["width"] = (high - low) / size
    return rows


def _numbers(
    report: GeneratorReport, passage: object
) -> dict[str, tuple[float | None, int, tuple[str | int, ...]]]:
    """Return value, power of time in the unit (rate: 1) and path of every quantity."""
    out: dict[str, tuple[float | None, int, tuple[str | int, ...]]] = {}
    if report.spectrum is not None and len(report.spectrum.eigenvalues):
        slowest = float(report.spectrum.eigenvalues[0].real)
        out["rate"] = (slowest, 1, ("spectrum", "eigenvalues", "re", 0))
    law = report.stationary
    if law is not None:
        for j, i in combinations_with_replacement(range(len(law.covariance)), 2):
            place = ("stationary", "covariance", j, i)
            out[f"covariance {j},{i}"] = (law.covariance[j][i], 0, place)
    if passage is not None and report.passages:
        mean = report.passages[0].mean_time.value
        out["passage"] = (mean, -1, ("passages", 0, "mean_time"))
    out["current"] = (report.probability_current, 1, ("probability_current",))
    if isinstance(law, MultivariateDistribution):
        out["circulation"] = (law.circulation, 1, ("stationary", "circulation"))
        out["entropy"] = (law.entropy_production, 1, ("stationary", "entropy_production"))
    return out
