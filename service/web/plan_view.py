"""The view of a plan: what to record in words, and what other records would give."""

from collections.abc import Iterator

from contract.plan import PlanOption, PlanResult
from service.web.numbers import count, percent, plain, with_error
from service.web.plots.plot import Axis, Layers, Plot, PlotGroup
from service.web.result_view import Figure, ResultView
from service.web.tables import Table


def plan_view(result: PlanResult) -> ResultView:
    """Show what to record, curves, and the simulated check."""
    return ResultView(
        subtitle=f"Plan for the {result.quantity.detail}",
        sentence=result.message,
        figures=list(_figures(result)),
        warnings=result.warnings,
        groups=[PlotGroup("plan", "What it takes", list(_plots(result)))],
        tables=[_options(result), _coefficients(result), _check(result)],
    )


def _figures(result: PlanResult) -> Iterator[Figure]:
    best, time = result.best, result.time_unit or ""
    yield Figure("Total duration", plain(best.duration, 3), time)
    yield Figure("Sampling interval", plain(best.dt, 2), time)
    if best.trajectories > 1:
        yield Figure("Trajectories", count(best.trajectories))
    yield Figure("Samples", count(best.samples))
    value = f"of {plain(result.quantity.value, 3)}"
    yield Figure("Relative standard error", percent(result.quantity.precision), note=value)


def _plots(result: PlanResult) -> Iterator[Plot]:
    curves, time = result.curves, result.time_unit
    layers = Layers(log=True)
    layers.line("relative standard error", curves.duration, curves.relative_error)
    layers.dots("plan", [result.best.duration], [result.quantity.precision], None, "second")
    across = Axis("total duration", time, log=True)
    up = Axis("relative standard error", None, log=True)
    summary = f"Relative standard error of the {result.quantity.detail} against the total duration."
    yield Plot("plan-error", "Error against duration", across, up, layers.made, summary)
    steps = [option.dt for option in result.options]
    layers = Layers(log=True)
    if result.noise:
        clean = [option.clean_duration for option in result.options]
        layers.line("without measurement noise", steps, clean, "quiet", dashed=True)
    layers.line("total duration", steps, [option.duration for option in result.options])
    layers.dots("plan", [result.best.dt], [result.best.duration], None, "second")
    across, up = Axis("sampling interval", time, log=True), Axis("total duration", time, log=True)
    summary = "Total duration that the same error takes, against the sampling interval."
    yield Plot("plan-interval", "Duration against interval", across, up, layers.made, summary)
    layers = Layers(log=True)
    layers.line("total duration", curves.noise, curves.duration_with_noise)
    layers.dots("plan", [result.noise], [result.best.duration], None, "second")
    across = Axis("standard deviation of the noise", None)
    summary = "Total duration that the same error takes, against the measurement noise."
    yield Plot("plan-noise", "Duration against noise", across, up, layers.made, summary)


def _options(result: PlanResult) -> Table:
    time = f" [{result.time_unit}]" if result.time_unit else ""
    headings = (
        f"sampling interval{time}",
        f"total duration{time}",
        f"without noise{time}",
        "trajectories",
        "samples",
    )

    def row(option: PlanOption) -> tuple[str, ...]:
        best = " (best)" if option == result.best else ""
        return (
            plain(option.dt, 2) + best,
            plain(option.duration, 3),
            plain(option.clean_duration, 3),
            count(option.trajectories),
            count(option.samples),
        )

    return Table("options", "Sampling intervals", headings, tuple(map(row, result.options)))


def _coefficients(result: PlanResult) -> Table:
    rows = tuple(
        (
            f"{'diffusion' if ',' in c.component else 'drift'} {c.component}",
            c.term,
            with_error(c.value, c.std_error),
        )
        for c in result.coefficients
    )
    headings = ("component", "term", "value ± planned standard error")
    return Table("planned", "Coefficients by this plan", headings, rows)


def _check(result: PlanResult) -> Table:
    check = result.check
    if check.reason is not None:
        return Table("check", "Simulated records", (), (), check.reason)
    rows = (
        ("records", count(check.records)),
        ("duration of each", plain(check.duration, 3)),
        ("standard error predicted", _percent(check.predicted)),
        ("standard error reported by the identification", _percent(check.claimed)),
        ("root mean squared error", _percent(check.realised)),
    )
    return Table("check", "Simulated records", ("quantity", "value"), rows)


def _percent(value: float | None) -> str:
    return "–" if value is None else percent(value)
