"""Figure fig:density: total variation between true and recovered stationary densities."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from benchmarks.paper.dynamics import density_at, total_variation
from benchmarks.paper.parts import Claim, Part, Table, number, of_all, spread, within_scatter
from benchmarks.paper.runs import ESTIMATORS, NAMES, PUBLISHED, TRUTH, Model, Run
from benchmarks.recovery import Floats

SYSTEMS = tuple(NAMES)
PRINTED = {"ornstein-uhlenbeck": 0.0093, "double-well": 0.0071, "multiplicative": 0.0099}


def measure(run: Run) -> dict[str, Model]:
    """Return the models of the run."""
    return run.models


def part(found: Mapping[str, Sequence[dict[str, Model]]]) -> Part:
    """Make the part of the document."""
    distances = {
        (name, e): [total_variation(TRUTH[name], m[e]) for m in ms]
        for name, ms in found.items()
        for e in ESTIMATORS
    }
    rows = tuple(
        (
            NAMES[name],
            number(PRINTED[name], 4),
            number(total_variation(TRUTH[name], PUBLISHED[name]), 4),
            *(spread(distances[name, e], 4) for e in ESTIMATORS),
        )
        for name in found
    )
    at = np.array([0.0, 0.5, 1.0, 1.5, 2.0])
    densities = tuple(
        (f"{NAMES[name]}, {label}", *(number(v, 4) for v in values))
        for name, models in found.items()
        for label, values in (
            ("truth", density_at(TRUTH[name], at)),
            ("published model", density_at(PUBLISHED[name], at)),
            *((e, _mean_density(models, e, at)) for e in ESTIMATORS),
        )
    )
    return Part(
        "Stationary densities",
        "figure fig:density",
        (
            Table(
                "Total variation between true and recovered density, both exact. “Of the printed "
                "model”: computed from the published coefficients.",
                ("system", "published", "of the printed model", "preset `paper`", "default"),
                rows,
            ),
            Table(
                "The densities (mean over seeds).",
                ("density at", *(f"{v:g}" for v in at)),
                densities,
            ),
        ),
        (
            "The published values agree with the published coefficients. A density hides what is "
            "wrong with a drift: b and a both too small by four percent would leave it unchanged.",
        ),
        tuple(_claims(found, distances)),
    )


def _mean_density(models: Sequence[dict[str, Model]], estimator: str, at: Floats) -> Floats:
    return np.asarray(np.mean([density_at(m[estimator], at) for m in models], axis=0))


def _claims(
    found: Mapping[str, Sequence[dict[str, Model]]],
    distances: Mapping[tuple[str, str], Sequence[float]],
) -> Iterator[Claim]:
    paper = {name: distances[name, "paper"] for name in found}
    yield Claim(
        "stationary densities within 0.01 in total variation",
        "abstract, fig:density",
        ", ".join(number(PRINTED[name], 4) for name in found),
        f"`paper` {', '.join(number(float(np.mean(v)), 4) for v in paper.values())}; default "
        f"{', '.join(number(float(np.mean(distances[name, 'default'])), 4) for name in found)}",
        of_all([v < 0.01 for values in paper.values() for v in values]),
    )
    inside = [within_scatter(PRINTED[name], v) for name, v in paper.items()]
    yield Claim(
        "the printed distances come out of Algorithm 1",
        "fig:density",
        "three numbers",
        f"{sum(inside)} within the scatter of our seeds",
        of_all(inside),
    )
