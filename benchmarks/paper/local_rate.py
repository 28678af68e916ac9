"""“Local relaxation rate” γ(x) = |b′|/a of the multiplicative system, section sec:results_mult."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from benchmarks.paper.dynamics import gap_of
from benchmarks.paper.parts import Claim, Part, Table, number, spread
from benchmarks.paper.runs import ESTIMATORS, PUBLISHED, TRUTH, Model, Run
from worker.generator.process import ScalarProcess
from worker.generator.quantities.derived import local_relaxation
from worker.identification.symbolic_process import from_terms

SYSTEMS = ("multiplicative",)
AT = (0.0, 1.0, 2.0)


def measure(run: Run) -> dict[str, Model]:
    """Return the models of the run."""
    return run.models


def part(found: Mapping[str, Sequence[dict[str, Model]]]) -> Part:
    """Make the part of the document."""
    models = found["multiplicative"]
    columns = [
        [TRUTH["multiplicative"]],
        [PUBLISHED["multiplicative"]],
        *([m[e] for m in models] for e in ESTIMATORS),
    ]
    rows = tuple(
        (
            f"γ({x:g})",
            *(
                number(_rates(c[0])[i], 3) if len(c) == 1 else spread([_rates(m)[i] for m in c])
                for c in columns
            ),
        )
        for i, x in enumerate(AT)
    )
    return Part(
        "Local relaxation rate",
        "section sec:results_mult",
        (
            Table(
                "Multiplicative system.",
                ("rate", "truth", "of the printed model", "preset `paper`", "default"),
                rows,
            ),
        ),
        (
            "γ is 1/state², not 1/time: in centimetres instead of metres it is 10⁴ times smaller. "
            "What relaxes in time is the mean, at the gap 2 from every x, since d⟨X⟩/dt = −2⟨X⟩; "
            "γ(0) = 8 is no rate of anything. The printed γ̂(x) = 2 × 1.918/[¼(0.250 + 0.252 x²)] "
            "is a slip: at 0 it is 61.4, where 1.918/0.250 is 7.67.",
        ),
        tuple(_claims()),
    )


def _rates(model: Model) -> list[float]:
    b, a = from_terms(dict(model.drift)), from_terms(dict(model.diffusion))
    return [
        float(v) for v in local_relaxation(ScalarProcess(b, a, b.derivative()), np.array(AT)).rate
    ]


def _claims() -> Iterator[Claim]:
    rates = _rates(TRUTH["multiplicative"])
    yield Claim(
        "γ is a relaxation rate",
        "sec:results_mult",
        "γ(0) = 8",
        f"the gap is {number(gap_of(TRUTH['multiplicative']), 2)}, and the mean relaxes at it from "
        "every x",
        "no",
    )
    yield Claim(
        "at x = ±2 it is four times slower than at 0",
        "sec:results_mult",
        "4",
        f"{rates[0] / rates[2]:.0f} (8 against 8/5)",
        "no",
    )
    yield Claim(
        "γ̂(x) = 2 × 1.918/[¼(0.250 + 0.252 x²)]",
        "sec:results_mult",
        "61.4 at 0",
        f"{number(_rates(PUBLISHED['multiplicative'])[0], 2)} at 0",
        "no",
    )
