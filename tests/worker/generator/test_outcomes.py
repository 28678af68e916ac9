"""Every outcome is that of some process."""

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from contract.generator import ModelTerms
from worker.analysis import AnalysisSettings, analyse_model
from worker.generator.analysis import analyse
from worker.generator.multivariate.analysis import analysed_at_fixed_points
from worker.generator.process import DiffusionProcess, ScalarFunction, ScalarProcess
from worker.generator.quantities.fixed_points import FixedPoint
from worker.generator.quantities.outcomes import NO_WAY, Outcome, Reason
from worker.generator.quantities.regions import Region
from worker.generator.quantities.report import GeneratorReport
from worker.generator.request import AnalysisRequest
from worker.jobs.parameters import process_of

INF = np.inf


def zero(x: np.ndarray) -> np.ndarray:
    return np.zeros_like(x)


def one(x: np.ndarray) -> np.ndarray:
    return np.ones_like(x)


def attracted(x: np.ndarray) -> np.ndarray:
    return -x


def line(
    b: ScalarFunction,
    a: ScalarFunction = one,
    bounds: tuple[float, float] = (-INF, INF),
    db: ScalarFunction = zero,
    **asked: Any,
) -> GeneratorReport:
    return analyse(ScalarProcess(b, a, db, bounds), **asked)


def tilted(tilt: float, a: float) -> GeneratorReport:
    return line(lambda x: tilt + x - x**3, lambda x: a * one(x), db=lambda x: 1 - 3 * x**2, lags=2)


def jacobi(goal: float) -> GeneratorReport:
    return line(
        lambda x: -0.6 * x, lambda x: 0.5 * (1 - x**2), (-1.0, 1.0), committors=[(0.0, goal)]
    )


def coordinates(d: int, slope: float = -1.0) -> DiffusionProcess:
    """Return independent linear coordinates, the first of them alone with noise."""
    names = "xyz"[:d]
    terms = {
        "drift": {name: {name: slope} for name in names},
        "diffusion": {f"{name},{name}": {"1": 1.0} if name == "x" else {} for name in names},
    }
    return process_of(ModelTerms.model_validate(terms))


def failed() -> GeneratorReport:
    undefined = ScalarProcess(np.log, one, zero)
    model: Any = SimpleNamespace(
        process=undefined, observed=((-1.0, 1.0),), columns=(), driving=None
    )
    nothing: Any = None
    return analyse_model(model, nothing, AnalysisSettings(), lambda *_: None).generator


def in_space(*fixed: FixedPoint) -> GeneratorReport:
    terms = {
        "drift": {name: {name: -1.0, f"{name}^3": -1.0} for name in "xyz"},
        "diffusion": {f"{name},{name}": {"1": 1.0} for name in "xyz"},
    }
    process = process_of(ModelTerms.model_validate(terms))
    return analysed_at_fixed_points(process, fixed, AnalysisRequest())


GOAL = Region(((1.0, 2.0), (-INF, INF)))
PRODUCED: dict[Outcome, Callable[[], GeneratorReport]] = {
    Outcome.ESCAPES: lambda: line(lambda x: x),
    Outcome.ABSORBED: lambda: line(zero, lambda x: x * (1 - x), (0.0, 1.0)),
    Outcome.UNCONFINED: lambda: line(zero),
    Outcome.DETERMINISTIC: lambda: line(attracted, zero),
    Outcome.NOT_POSITIVE: lambda: line(attracted, lambda x: 1 - x**2),
    Outcome.DEGENERATE: lambda: analyse(coordinates(2)),
    Outcome.UNDEFINED: lambda: line(lambda x: -np.sinh(x**3)),
    Outcome.NO_WELL: in_space,
    Outcome.NOT_ANALYSED: failed,
    Outcome.NOT_ERGODIC: lambda: analyse(coordinates(2, 1.0), passages=[((0.0, 0.0), GOAL)]),
    Outcome.INFINITE: lambda: line(zero, passages=[(0.0, 1.0)]),
    Outcome.CONTINUOUS: lambda: line(lambda x: -np.tanh(x)),
    Outcome.OVERFLOWS: lambda: tilted(0.0, 0.0005),
    Outcome.OUTSIDE: lambda: jacobi(2.0),
    Outcome.UNREACHABLE: lambda: jacobi(1.0),
    Outcome.IMMEDIATE: lambda: line(attracted, passages=[(0.0, 0.0)]),
    Outcome.NO_PLACE: lambda: jacobi(0.0),
    Outcome.NOT_DEFINED: lambda: analyse(coordinates(2), exits=[(0.0, -1.0, 1.0)]),
    Outcome.NO_BARRIER: lambda: line(attracted, passages=[(0.0, 0.1)]),
    Outcome.UNRESOLVED: lambda: line(attracted, passages=[(1e-4, 0.0)]),
    Outcome.LEFT_OUT: lambda: tilted(0.2, 0.004),
    Outcome.LINEARISED: lambda: in_space(FixedPoint((0.0, 0.0, 0.0), True, -1.0)),
}


def reasons_in(value: object) -> Iterator[Reason]:
    if isinstance(value, Reason):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from reasons_in(item)
    elif is_dataclass(value):
        for field in fields(value):
            yield from reasons_in(getattr(value, field.name))


@pytest.mark.parametrize("outcome", Outcome)
def test_every_outcome_is_produced(outcome: Outcome) -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        report = PRODUCED[outcome]()
    assert outcome in {reason.outcome for reason in reasons_in(report)}


def test_a_process_without_fault_has_no_reason_but_that_it_has_no_barrier() -> None:
    report = line(attracted, db=lambda x: -one(x), passages=[(0.0, 1.0)])
    assert {reason.outcome for reason in reasons_in(report)} == {Outcome.NO_BARRIER}


@pytest.mark.parametrize("period", [None, 2 * np.pi])
def test_a_passage_from_a_state_to_itself_takes_no_time(period: float | None) -> None:
    model = ScalarProcess(lambda x: -np.sin(x), one, lambda x: -np.cos(x), (-3.0, 3.0))
    if period is not None:
        model = replace(model, bounds=(-INF, INF), period=period)
    passage = analyse(model, passages=[(0.5, 0.5)]).passages[0]
    assert passage.mean_time.value == passage.deviation.value == 0
    assert passage.law == NO_WAY
