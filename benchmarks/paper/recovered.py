"""Figure fig:recovery: how far the recovered functions are from the true ones."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.paper.parts import Claim, Part, Table, of_all, percents, within_scatter
from benchmarks.paper.runs import ESTIMATORS, NAMES, TRUTH, Run

SYSTEMS = tuple(NAMES)
PRINTED = {
    ("ornstein-uhlenbeck", "drift"): 0.037,
    ("ornstein-uhlenbeck", "diffusion"): 0.0,
    ("double-well", "drift"): 0.032,
    ("double-well", "diffusion"): 0.0,
    ("multiplicative", "drift"): 0.041,
    ("multiplicative", "diffusion"): 0.004,
}
ROUNDED = 0.0005
"""Error that is printed as 0.0 %: anything below 0.05 %."""


@dataclass(frozen=True, slots=True)
class Distance:
    """Errors of one seed, by estimator and component.

    mean      mean absolute error over mean absolute value on [−2.5, 2.5]
    largest   largest error over the largest value, on the range of the samples
    """

    mean: dict[tuple[str, str], float]
    largest: dict[tuple[str, str], float]


def measure(run: Run) -> Distance:
    """Compare the run's models with the truth."""
    inside, seen = np.linspace(-2.5, 2.5, 501), np.linspace(run.scales.low, run.scales.high, 501)
    mean, largest = {}, {}
    for estimator, model in run.models.items():
        for component in ("drift", "diffusion"):
            error, size = (
                [np.abs(f(component, x)) for x in (inside, seen)]
                for f in (
                    lambda c, x, m=model: m.function(c, x) - TRUTH[run.name].function(c, x),
                    TRUTH[run.name].function,
                )
            )
            mean[estimator, component] = float(error[0].mean() / size[0].mean())
            largest[estimator, component] = float(error[1].max() / size[1].max())
    return Distance(mean, largest)


def part(found: Mapping[str, Sequence[Distance]]) -> Part:
    """Make the part of the document."""
    rows = tuple(
        (
            f"{NAMES[name]}, {component}",
            f"{100 * PRINTED[name, component]:.1f} %",
            *(percents([d.mean[e, component] for d in found[name]], 2) for e in ESTIMATORS),
            *(percents([d.largest[e, component] for d in found[name]], 2) for e in ESTIMATORS),
        )
        for name, component in PRINTED
        if name in found
    )
    return Part(
        "Recovered functions",
        "figure fig:recovery",
        (
            Table(
                "Mean: ∫|f̂ − f| / ∫|f| over [−2.5, 2.5] (the paper does not say how it divides; "
                "with one term every way is the same). Largest: max |f̂ − f| / max |f| over the "
                "range of the samples.",
                (
                    "function",
                    "published, mean",
                    "mean, `paper`",
                    "mean, default",
                    "largest, `paper`",
                    "largest, default",
                ),
                rows,
            ),
        ),
        (),
        tuple(_claims(found)),
    )


def _claims(found: Mapping[str, Sequence[Distance]]) -> Iterator[Claim]:
    inside = []
    for (name, component), printed in PRINTED.items():
        values = [d.mean["paper", component] for d in found.get(name, ())]
        inside.append(
            within_scatter(printed, values)
            or bool(values and printed == 0 and min(values) < ROUNDED)
        )
    yield Claim(
        "mean errors of the six functions",
        "fig:recovery",
        "0.0–4.1 %",
        f"{sum(inside)} of 6 within the scatter of our seeds",
        of_all(inside),
    )
