"""Figure fig:autocorr and the spectral gaps."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from benchmarks.paper.dynamics import autocorrelation, gap_of
from benchmarks.paper.parts import Claim, Part, Table, number, percent, spread, verdict
from benchmarks.paper.runs import ESTIMATORS, NAMES, PUBLISHED, TRUTH, Model, Run

SYSTEMS = tuple(NAMES)
LAGS = {
    "ornstein-uhlenbeck": (0.5, 1.0, 2.0, 3.0, 5.0),
    "double-well": (1.0, 5.0, 10.0, 20.0, 30.0),
    "multiplicative": (0.25, 0.5, 1.0, 2.0, 3.0),
}


def measure(run: Run) -> dict[str, Model]:
    """Return the models of the run."""
    return run.models


def part(found: Mapping[str, Sequence[dict[str, Model]]]) -> Part:
    """Make the part of the document."""
    gaps = tuple(
        (
            NAMES[name],
            number(gap_of(TRUTH[name]), 4),
            number(gap_of(PUBLISHED[name]), 4),
            *(
                f"{spread(g, 4)} ({percent(float(np.mean(g)) / gap_of(TRUTH[name]) - 1)})"
                for g in _gaps(models)
            ),
        )
        for name, models in found.items()
    )
    tables = [
        Table(
            "Spectral gap λ₁ [1/time], exact for each model; in brackets the bias.",
            ("system", "truth", "of the printed model", "preset `paper`", "default"),
            gaps,
        )
    ]
    for name, models in found.items():
        lags = np.array(LAGS[name])
        rows = [
            ("truth", autocorrelation(TRUTH[name], lags)),
            ("published model", autocorrelation(PUBLISHED[name], lags)),
        ]
        rows += [
            (e, np.mean([autocorrelation(m[e], lags) for m in models], axis=0)) for e in ESTIMATORS
        ]
        tables.append(
            Table(
                f"Autocorrelation of the {NAMES[name]} model (mean over seeds).",
                ("lag", *(f"{v:g}" for v in lags)),
                tuple((label, *(number(v, 4) for v in values)) for label, values in rows),
            )
        )
    return Part(
        "Autocorrelations and relaxation times",
        "figure fig:autocorr",
        tuple(tables),
        (
            "Where the paper simulates both models for a long time, these are the models' own "
            "functions, so that what is seen is the error of the coefficients alone. The double "
            "well's gap is as good as it is only since the errors of x and x³ nearly cancel in "
            "the barrier's height.",
        ),
        tuple(_claims(found)),
    )


def _gaps(models: Sequence[dict[str, Model]]) -> list[list[float]]:
    return [[gap_of(m[e]) for m in models] for e in ESTIMATORS]


def _claims(found: Mapping[str, Sequence[dict[str, Model]]]) -> Iterator[Claim]:
    paper, default = _gaps(found["ornstein-uhlenbeck"])
    times = [1 / g for g in paper]
    yield Claim(
        "OU's relaxation time is recovered to 3.9 %",
        "sec. OU",
        "1.039",
        f"`paper` {spread(times)}, default {spread([1 / g for g in default])}; truth 1",
        verdict(
            abs(1.039 - float(np.mean(times)))
            < 2 * float(np.std(times, ddof=min(1, len(times) - 1)))
        ),
    )
    at_30 = float(autocorrelation(TRUTH["double-well"], np.array([30.0]))[0])
    theirs = [float(autocorrelation(m["paper"], np.array([30.0]))[0]) for m in found["double-well"]]
    yield Claim(
        "double well: both autocorrelations are below 0.2 at lag 30",
        "fig:autocorr",
        "< 0.2",
        f"truth {number(at_30)}, `paper` {spread(theirs)}",
        verdict(at_30 < 0.2 and float(np.mean(theirs)) < 0.2),
    )
    gap = gap_of(TRUTH["double-well"])
    yield Claim(
        "λ₁ ≈ 1/τ_Kramers in the double well",
        "sec:results_dw",
        "1/23.2 = 0.043",
        f"λ₁ = {number(gap, 5)}; two wells exchange at 2/τ, with the right τ = 32.83: "
        f"{number(2 / 32.8287, 4)}",
        "no",
    )
    rates = _gaps(found["multiplicative"])
    yield Claim(
        "multiplicative: a(x) “encodes position-dependent mixing rates”",
        "fig:autocorr",
        "–",
        "its autocorrelation is e^(−2τ) for any a, as the drift is linear; `paper` "
        f"{spread(rates[0])}, default {spread(rates[1])} for 2",
        "no",
    )
