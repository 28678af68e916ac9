"""The part of the result document about what drives a model."""

from collections.abc import Sequence

from contract import results
from worker.driven import Driven
from worker.forced_line import ForcedPassage
from worker.generator.linear.forced_cycle import Cycle
from worker.identification.data.trajectories import Floats
from worker.identification.sums.window_products import pairs_of


def driving_of(driven: Driven, variables: Sequence[str]) -> results.Driving:
    """Write the response of a model of some variables to periodic forcing, and its cycle."""
    cycle = None
    if driven.cycle is not None and driven.period is not None and driven.times is not None:
        cycle = _cycle(driven.cycle, driven.period, driven.times, variables)
    return results.Driving(
        cycle=cycle,
        responses=tuple(
            results.ForcedResponse(
                period=found.period,
                variable=variables[found.variable],
                amplitude=_estimate(found.amplitude),
                gain=_estimate(found.gain),
                lag=_estimate(found.lag),
            )
            for found in driven.responses
        ),
        passages=tuple(_passage(found, driven.times) for found in driven.passages),
        reason=driven.reason,
    )


def _passage(found: ForcedPassage, times: Floats | None) -> results.ForcedPassage:
    if found.mean_times is None or times is None:
        reason = None if found.reason is None else found.reason.sentence
        return results.ForcedPassage(from_=found.start, to=found.to, reason=reason)
    low, high = (None, None) if found.interval is None else found.interval
    return results.ForcedPassage(
        from_=found.start,
        to=found.to,
        times=tuple(times.tolist()),
        mean_time=tuple(found.mean_times.tolist()),
        mean_time_ci=None
        if low is None or high is None
        else (tuple(low.tolist()), tuple(high.tolist())),
    )


def _cycle(
    cycle: Cycle, period: float, times: Floats, variables: Sequence[str]
) -> results.ForcedCycle:
    return results.ForcedCycle(
        period=period,
        times=tuple(times.tolist()),
        mean={v: tuple(cycle.mean[:, p].tolist()) for p, v in enumerate(variables)},
        covariance={
            f"{variables[p]},{variables[q]}": tuple(cycle.covariance[:, p, q].tolist())
            for p, q in pairs_of(len(variables))
        },
        multipliers=tuple(
            results.ComplexNumber(real=float(m.real), imaginary=float(m.imag))
            for m in cycle.multipliers
        ),
    )


def _estimate(found: tuple[float, tuple[float, float] | None]) -> results.Estimate:
    return results.Estimate(value=found[0], ci=found[1])
