"""The analysis of a diffusion process, from its coefficients to its time scales. Start reading here."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

import numpy as np

from worker.generator.boundaries import End, classify_end
from worker.generator.cells import cut_into_cells
from worker.generator.ergodicity import Verdict, ends_verdict, noise_verdict
from worker.generator.errors import NoFiniteRangeError
from worker.generator.extrapolation import extrapolated_beyond
from worker.generator.interval import reflecting_interval
from worker.generator.kramers import extrema_of, kramers_time
from worker.generator.landscape import Landscape
from worker.generator.panels import build_landscape
from worker.generator.passages import Passage, mean_time
from worker.generator.process import DiffusionProcess, ScalarProcess, scalar_view, values
from worker.generator.relaxation import LocalRelaxation, local_relaxation
from worker.generator.spectrum import Spectrum, spectrum_of
from worker.generator.stationary import StationaryLaw, stationary_law
from worker.generator.wells import Barrier, FixedPoint, barriers_of, fixed_points_of
from worker.generator.window import Window, choose_window

Range = tuple[float, float]
DEPTH = 150.0
"""Fall of the log-density at which the panels end: e^−150 of the density changes no digit of any answer."""


@dataclass(frozen=True, slots=True, eq=False)
class GeneratorReport:
    """What the generator L f = b f' + ½ a f'' says.

    ergodic           the process forgets where it started and settles into one stationary law
    reason            why it does not; None where it does
    domain            interval the analysis ran on, ±inf where open [state]
    boundaries        `reflecting` where an end of the domain has positive noise, so that the process reaches it and is taken to
                      be reflected: by a declared end, or on request (then `ergodic` is still False)
    ends              lower and upper end, classified; empty where the noise is not positive
    stationary, spectrum   None without a stationary law
    fixed_points, barriers, passages, local_relaxation   as far as they exist without one
    extrapolated      sentences that name what rests on no data
    """

    ergodic: bool
    reason: str | None
    domain: Range
    boundaries: Literal["natural", "reflecting"]
    ends: tuple[End, ...] = ()
    stationary: StationaryLaw | None = None
    spectrum: Spectrum | None = None
    fixed_points: tuple[FixedPoint, ...] = ()
    barriers: tuple[Barrier, ...] = ()
    passages: tuple[Passage, ...] = ()
    local_relaxation: LocalRelaxation | None = None
    extrapolated: tuple[str, ...] = ()


def analyse(
    process: DiffusionProcess,
    *,
    passages: Sequence[Range] = (),
    density_points: int = 400,
    eigenpairs: int = 5,
    observed_range: Range | None = None,
    reflecting_ends: bool = False,
    eigenfunctions: bool = False,
) -> GeneratorReport:
    """Everything the generator says about the process; docs/generator.md has the equations.

    passages         (from, to) pairs to time, before those between neighbouring wells [state]
    density_points   points of the density's grid
    eigenpairs       number of non-zero eigenvalues
    observed_range   where the data were; what lies outside is named as extrapolation [state]
    reflecting_ends  where there is no stationary law, analyse the observed range (or a finite domain) with reflecting ends
    eigenfunctions   also give the eigenfunctions, on the density's grid

    Raises a GeneratorError for a process that cannot be analysed at all. Having no stationary law is no error.
    """
    model = scalar_view(process)
    window = choose_window(model, observed_range)
    verdict = noise_verdict(model, window, observed_range)
    if not verdict.usable:
        report = _without_noise(model, window, verdict, density_points)
    else:
        ends = classify_end(model, window, -1), classify_end(model, window, 1)
        landscape, fixed = resolve(model, window, ends, tuple(passages), depth_for(eigenpairs, DEPTH))
        verdict = ends_verdict(ends, fixed, observed_range)
        report = _described(model, window, ends, landscape, fixed, tuple(passages), verdict, density_points, observed_range)
        if verdict.ergodic and report.stationary is not None:
            grid = report.stationary.grid[0] if eigenfunctions else None
            report = replace(report, spectrum=spectrum_of(landscape, ends, eigenpairs, grid=grid))
    if not report.ergodic and reflecting_ends:
        closed = _closed(model, observed_range)
        inner = analyse(
            closed, passages=passages, density_points=density_points, eigenpairs=eigenpairs, observed_range=observed_range,
            eigenfunctions=eigenfunctions,
        )
        reason = report.reason if inner.ergodic else f"{report.reason}. With reflecting ends: {inner.reason}"
        return replace(inner, ergodic=False, reason=reason, boundaries="reflecting")
    unseen = extrapolated_beyond(report.fixed_points, report.barriers, report.passages, observed_range)
    return replace(report, extrapolated=unseen)


def resolve(
    model: ScalarProcess, window: Window, ends: tuple[End, End], passages: tuple[Range, ...], depth: float
) -> tuple[Landscape, tuple[FixedPoint, ...]]:
    """The landscape, with panels that break at the fixed points and at the passages' ends, and the fixed points.

    depth   fall of the log-density, beyond the outermost of these, at which the panels end
    """
    asked = [point for passage in passages for point in passage]
    fixed = fixed_points_of(model, window)
    landscape = build_landscape(model, window, ends, (point.at[0] for point in fixed), asked, depth)
    b = values(model.b, landscape.at_nodes[0].ravel())
    if np.count_nonzero(np.diff(np.sign(b[b != 0]))) == len(fixed):
        return landscape, fixed
    # The panels are finer than the first scan, and show fixed points that it stepped over.
    finer = fixed_points_of(model, window, landscape)
    if len(finer) != len(fixed):
        landscape = build_landscape(model, window, ends, (point.at[0] for point in finer), asked, depth)
    return landscape, finer


def depth_for(eigenpairs: int, least: float) -> float:
    """Fall of the log-density that holds the tails of that many eigenfunctions, the faster the wider; `least` at least."""
    return max(least, 10.0 * eigenpairs)


def _described(
    model: ScalarProcess,
    window: Window,
    ends: tuple[End, End],
    landscape: Landscape,
    fixed: tuple[FixedPoint, ...],
    requested: tuple[Range, ...],
    verdict: Verdict,
    density_points: int,
    observed: Range | None,
) -> GeneratorReport:
    cells, extrema = cut_into_cells(landscape, 4), extrema_of(model, landscape, fixed)
    law = stationary_law(landscape, window, ends, density_points, observed) if verdict.ergodic else None
    grid = _plain_grid(model, window, density_points) if law is None else law.grid[0]
    return GeneratorReport(
        ergodic=verdict.ergodic,
        reason=verdict.reason,
        domain=model.bounds,
        boundaries="reflecting" if any(end.wall for end in ends) else "natural",
        ends=ends,
        stationary=law,
        fixed_points=fixed,
        barriers=barriers_of(model, landscape, fixed),
        passages=tuple(
            Passage(start, to, mean_time(cells, ends, start, to), kramers_time(extrema, start, to))
            for start, to in (*requested, *_between_wells(fixed, requested, window))
        ),
        local_relaxation=local_relaxation(model, grid),
    )


def _between_wells(fixed: tuple[FixedPoint, ...], requested: tuple[Range, ...], window: Window) -> list[Range]:
    """Passages between neighbouring wells in both directions, but for those requested already."""
    wells = [point.at[0] for point in fixed if point.stable]
    pairs = [pair for low, high in pairwise(wells) for pair in ((low, high), (high, low))]
    near = 1e-9 * window.scale
    return [pair for pair in pairs if not any(max(abs(pair[0] - a), abs(pair[1] - b)) <= near for a, b in requested)]


def _without_noise(model: ScalarProcess, window: Window, verdict: Verdict, points: int) -> GeneratorReport:
    fixed = fixed_points_of(model, window)
    positive = bool(np.any(window.diffusion > 0))
    relaxation = local_relaxation(model, _plain_grid(model, window, points)) if positive else None
    return GeneratorReport(False, verdict.reason, model.bounds, "natural", fixed_points=fixed, local_relaxation=relaxation)


def _plain_grid(model: ScalarProcess, window: Window, points: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    low = max(model.bounds[0], window.centre - 4 * window.scale)
    high = min(model.bounds[1], window.centre + 4 * window.scale)
    return np.linspace(low, high, points)


def _closed(model: ScalarProcess, observed: Range | None) -> ScalarProcess:
    interval = reflecting_interval(model, observed)
    if interval is None:
        raise NoFiniteRangeError("reflecting ends need a finite place to stand; give a finite domain, or an observed range")
    return replace(model, bounds=interval)
