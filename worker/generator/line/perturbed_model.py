"""A model on the line near one that was analysed: the same report, ten times faster.

The model is put on the panels of the reference. One that does not fit there, has other fixed points
or no stationary distribution, is analysed on panels of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from worker.generator.errors import GeneratorError
from worker.generator.line.analysis import resolve
from worker.generator.line.correlations import integrated_time
from worker.generator.line.domain.boundaries import (
    TOLERANCE,
    classify_end,
    ends_problem,
    far_limits,
    noise_problem,
)
from worker.generator.line.domain.domain_scan import DOUBLINGS, Window, choose_window
from worker.generator.line.domain.essential_support import (
    Span,
    depth_for,
    inhabited,
    part_of,
    span_of_light_tails,
)
from worker.generator.line.domain.metastable import (
    BETWEEN_DATA,
    SMALLEST_BARRIER,
    artificial_ends,
    has_barrier,
    turning_points,
)
from worker.generator.line.domain.positive_diffusion import narrowed_to_positive
from worker.generator.line.finite_volumes import Cells, cut_into_cells
from worker.generator.line.fixed_points import (
    counterparts,
    fixed_points_at,
    fixed_points_of,
    range_of_places,
)
from worker.generator.line.landscape import Landscape
from worker.generator.line.panels import MAX_RISE, psi_of
from worker.generator.line.passages.distribution import (
    COARSER,
    passage_cells,
    quantiles_on_the_line,
)
from worker.generator.line.passages.kramers import extrema_of, kramers_time
from worker.generator.line.passages.moments import (
    mean_time,
    mean_time_anywhere,
    standard_deviation,
)
from worker.generator.line.passages.splitting import committor_on_the_line, exit_on_the_line
from worker.generator.line.perturbed_correlations import curves_on
from worker.generator.line.spectrum import spectrum_of
from worker.generator.line.stationary import (
    distribution_on_grid,
    effective_potential,
    log_total_mass,
    moments_of,
)
from worker.generator.numerics.quadrature import CUMULATIVE, TO_LEGENDRE, WEIGHTS
from worker.generator.numerics.roots import brackets, roots_in
from worker.generator.process import (
    DiffusionProcess,
    FloatArray,
    ScalarProcess,
    scalar_view,
    values,
)
from worker.generator.quantities.boundary import End
from worker.generator.quantities.correlations import Correlations
from worker.generator.quantities.fixed_points import Barrier, FixedPoint
from worker.generator.quantities.outcomes import NO_VARIANCE
from worker.generator.quantities.passages import Committed, Passage, Timing
from worker.generator.quantities.regions import facing_numbers
from worker.generator.quantities.report import GeneratorReport, Range
from worker.generator.quantities.spectrum import Spectrum
from worker.generator.quantities.stationary import StationaryDistribution

DEPTH = 60.0
"""Fall of the log-density at which the panels of a model end."""
LEVELS = 2
"""Levels of extrapolation of the rates: 1e-4, a small part of any interval worth giving."""
FASTEST = 0.4
"""Part of the reference's fastest rate for which the cells are made.

They are half as fine as for its own rates, as what they miss is the same for both."""
RESOLVED = 1e-6
"""Last Legendre coefficients of ψ and log a with which a model counts as resolved on the panels."""
RARE = 12.0
"""Fall of the log-density from its peak beyond which a panel need not be resolved: what is there
counts for e^−12."""
LIGHT = 40.0
"""Fall of the log-density, in all, beyond the panels at which nothing beyond them counts."""
TINY = 1e-300
"""Diffusion below which it counts as this."""
LEAST_FALL = 1.0
"""Fall of the log-density towards the data's ends, without which a model that runs away there
contradicts the data."""
FAR = 2.0 ** np.array([DOUBLINGS / 2, DOUBLINGS / 2 + 1])
"""Distances, in scales of the domain, at which the drift far away is judged."""


@dataclass(frozen=True, slots=True, eq=False)
class _Shared:
    """Model on the panels of another."""

    landscape: Landscape
    ends: tuple[End, End]
    fixed: tuple[FixedPoint, ...]
    ergodic: bool


@dataclass(frozen=True, eq=False)
class PerturbedLineAnalysis:
    """Analysis of models like one that was analysed, on its grids.

    report     report of the reference
    observed   where the data were [state]
    landscape  landscape of the reference; None where it has no stationary distribution
    """

    report: GeneratorReport
    observed: Range | None
    landscape: Landscape | None

    def slowest_rate(self, process: DiffusionProcess) -> float | None:
        """Return the slowest rate of a process alone [1/time]; None where it has none."""
        if self.report.spectrum is None or not len(self.report.spectrum.eigenvalues):
            return None
        try:
            found = self._on_its_panels(scalar_view(process), places=False)
            if found is None:
                spectrum = self(process).spectrum
            else:
                one = replace(
                    self.report.spectrum,
                    eigenvalues=self.report.spectrum.eigenvalues[:1],
                    eigenfunctions=None,
                )
                spectrum = _perturbed_spectrum(one, found.landscape, found.ends, np.zeros(0))
        except GeneratorError:
            return None
        rate = np.nan if spectrum is None else float(spectrum.eigenvalues[0].real)
        return rate if np.isfinite(rate) else None

    def __call__(self, process: DiffusionProcess) -> GeneratorReport:
        """Return the report of a process, with the leaves of the reference that the process has.

        Fixed points and barriers stand at the places of those that they correspond to; their
        numbers are nan where there are none.
        """
        try:
            model = scalar_view(process)
            shared = self._on_its_panels(model)
            if shared is not None:
                found = self._report(
                    model,
                    shared.landscape,
                    shared.ends,
                    shared.fixed,
                    (None, None),
                    has_distribution=True,
                )
                return replace(found, ergodic=shared.ergodic)
            found = self._on_own_panels(model)
            if (
                not self.report.ergodic
                and self.report.approximation in (None, BETWEEN_DATA)
                and self.report.boundaries == "reflecting"
            ):
                # The reference was closed, on request or at the ends of the data; so is the model,
                # but it counts as what it is when open.
                closed = self._on_own_panels(replace(model, bounds=self.report.domain))
                found = replace(closed, ergodic=found.ergodic)
            return found
        except GeneratorError:
            # A draw far out in the coefficients' distribution may be no process at all; it has no
            # stationary distribution either.
            return GeneratorReport(False, None, process.domain[0], "natural")

    def has_distribution(self, processes: Sequence[DiffusionProcess]) -> NDArray[np.bool_]:
        """Return (n,) whether each drift comes back from far away, or the noise vanishes before."""
        report = self.report
        low, high = self.observed or (-1.0, 1.0)
        if report.stationary is not None:
            low, high = float(report.stationary.grid[0][0]), float(report.stationary.grid[0][-1])
        distance = (high - low) * np.append(2.0 ** np.arange(-3.0, DOUBLINGS / 2), FAR)
        has_distribution = np.full(len(processes), True)
        open_ends = [
            (side, edge)
            for side, edge, end in zip(
                (-1, 1), (low, high), report.ends or (None, None), strict=True
            )
            if end is None or not np.isfinite(end.at)
        ]
        if not open_ends:
            return has_distribution
        at = np.array([edge + side * distance for side, edge in open_ends])
        models = [scalar_view(process) for process in processes]
        drifts, noises = (
            np.array([values(f, at) for f in functions]).reshape(len(models), *at.shape)
            for functions in ([model.b for model in models], [model.a for model in models])
        )
        for number, (side, _) in enumerate(open_ends):
            b, a = drifts[:, number], noises[:, number]
            gone = np.argmax(a <= 0, axis=1)
            vanishes = np.any(a <= 0, axis=1)
            inward = np.take_along_axis(side * b, gone[:, None], axis=1)[:, 0] < 0
            returns, _, _ = far_limits(distance, b, np.maximum(a, TINY), -1 if side < 0 else 1)
            has_distribution &= np.where(vanishes, inward & (self.observed is not None), returns)
        return has_distribution

    @cached_property
    def _panels(self) -> Landscape | None:
        """Panels that models share, as far out as they may matter; None without such."""
        report, landscape = self.report, self.landscape
        if (
            landscape is None
            or not report.ergodic
            or not isinstance(report.stationary, StationaryDistribution)
        ):
            return None
        singular = np.any(landscape.exponent) or np.any(landscape.order)
        heavy = max(landscape.tails) - log_total_mass(landscape) > -LIGHT
        if singular or heavy:
            return None
        _, psi, log_a = landscape.at_nodes
        height = (psi - log_a).max(axis=1)
        needed = height > height.max() - 1.5 * DEPTH
        needed[
            landscape.panel_of(
                np.array([*self._points, *(point.at[0] for point in report.fixed_points)])
            )
        ] = True
        first, last = np.flatnonzero(needed)[[0, -1]]
        return part_of(landscape, (float(landscape.edges[first]), float(landscape.edges[last + 1])))

    @property
    def _n_rates(self) -> int:
        return 0 if self.report.spectrum is None else len(self.report.spectrum.eigenvalues)

    @cached_property
    def _usual_rise(self) -> FloatArray:
        assert self._panels is not None
        return np.asarray(np.maximum(np.ptp(self._panels.psi, axis=1), MAX_RISE))

    @cached_property
    def _points(self) -> tuple[float, ...]:
        """All states that are asked about [state]."""
        report = self.report
        return (
            *(x for p in report.passages for x in (p.start, p.to)),
            *(x for e in report.exits for x in (e.start, e.low, e.high)),
            *(x for c in report.committors for x in facing_numbers((c.start, c.to)) or ()),
        )

    def _on_its_panels(self, model: ScalarProcess, *, places: bool = True) -> _Shared | None:
        """Put a model on the reference's panels; None for a model that does not fit there.

        places   whether the fixed points' places are wanted, and not their number and kinds alone
        """
        landscape, report = self._panels, self.report
        if landscape is None or model.bounds != report.domain:
            return None
        x = landscape.at_nodes[0]
        b, a = values(model.b, x), values(model.a, x)
        if not (np.all(a > 0) and np.isfinite(b).all()):
            return None
        half, log_a = landscape.half[:, None], np.log(a)
        slope = 2 * b / a
        psi = psi_of(landscape.half, slope)
        height = psi - log_a
        level = height.max(axis=1)
        peak = level.max()
        last = np.maximum(
            np.abs(slope @ TO_LEGENDRE[-2:].T) * half, np.abs(log_a @ TO_LEGENDRE[-2:].T)
        ).max(axis=1)
        fine = (last < RESOLVED) & (np.ptp(psi, axis=1) < 2 * self._usual_rise)
        if not np.all(fine | (level < peak - RARE)):
            return None
        ends, ergodic = [], True
        for end, side, edge in ((report.ends[0], -1, (0, 0)), (report.ends[1], 1, (-1, -1))):
            if not end.wall and (peak - height[edge] < DEPTH or side * b[edge] >= 0):
                return None
            if np.isfinite(end.at):
                ends.append(end)
                continue
            distance = FAR * (x[-1, -1] - x[0, 0])
            far = x[0, 0] + side * distance
            has_distribution, power, threshold = far_limits(
                distance, values(model.b, far)[None], values(model.a, far)[None], side
            )
            if not has_distribution[0]:
                # It runs away, or has no noise, only where the data never were: it is held by the
                # slopes before that.
                if self.observed is None:
                    return None
                ergodic = ergodic and bool(self.has_distribution([model])[0])
                ends.append(end)
                continue
            ends.append(
                replace(
                    end,
                    power=None if end.power is None else float(power[0]),
                    threshold=float(threshold[0]),
                )
            )
        between = brackets(x.ravel(), b.ravel())
        found, stable = np.zeros(0), between.falling
        if places or not between.apart:
            found, stable = roots_in(model, between)
        inside = [
            p.stable
            for p in report.fixed_points
            if landscape.edges[0] < p.at[0] < landscape.edges[-1]
        ]
        if inside != stable.tolist():
            return None
        slopes = values(model.db, found)
        fixed = tuple(
            FixedPoint((float(at),), bool(s), float(db))
            for at, s, db in zip(found, stable, slopes, strict=False)
        )
        own = replace(landscape, psi=psi, log_a=log_a, tails=(-np.inf, -np.inf))
        return _Shared(own, (ends[0], ends[1]), fixed, ergodic)

    def _on_own_panels(
        self, model: ScalarProcess, walls: Sequence[int] = (), least: float = SMALLEST_BARRIER
    ) -> GeneratorReport:
        """Analyse a model on panels of its own, held at the sides `walls`, 0 or 1.

        Without a barrier of at least so many kT before the walls nothing is reported.
        """
        report, observed = self.report, self.observed
        nothing = GeneratorReport(False, None, model.bounds, "natural")
        # Between walls it is narrowed already.
        if observed is not None and not walls:
            model = narrowed_to_positive(model, observed).process
        law = report.stationary
        scanned = observed if law is None else (float(law.grid[0][0]), float(law.grid[0][-1]))
        window = choose_window(model, scanned)
        if noise_problem(model, window, observed) is not None:
            return nothing
        ends = classify_end(model, window, -1), classify_end(model, window, 1)
        fixed, depth = fixed_points_of(model, window), depth_for(self._n_rates, DEPTH)
        landscape: Landscape | None = None
        if walls:
            landscape = resolve(model, window, ends, fixed, [self._points], depth)
            if not has_barrier(landscape, walls, least):
                return nothing
        has_distribution = ends_problem(ends, fixed, observed) is None
        if not has_distribution:
            # Like the reference, a model that runs away only where the data never were is held
            # before it gets there.
            bounds = turning_points(ends, fixed, observed)
            if bounds is not None:
                held = self._on_own_panels(
                    replace(model, bounds=bounds), artificial_ends(bounds, model)
                )
                if held.stationary is not None:
                    return replace(held, ergodic=False)
            closed = None if report.stationary is None else self._closed_at_data(model)
            if closed is not None:
                found = self._on_own_panels(
                    closed, artificial_ends(closed.bounds, model), LEAST_FALL
                )
                return replace(found, ergodic=False)
        if landscape is None:
            landscape = resolve(model, window, ends, fixed, [self._points], depth)
        if not np.all(np.isfinite(landscape.at_nodes[2])):
            # Noise that vanishes within rounding of a bound has no logarithm at the nodes there.
            return nothing
        return self._report(
            model,
            landscape,
            ends,
            fixed,
            inhabited(landscape, self._n_rates),
            has_distribution=has_distribution,
        )

    def _closed_at_data(self, model: ScalarProcess) -> ScalarProcess | None:
        """Return the model with reflecting ends where the data end; None where that is no change.

        Data of a stationary process say nothing of where it never was. There, one model in two of
        an Ornstein-Uhlenbeck process of 100 relaxation times points outward.
        """
        if self.observed is None:
            return None
        needed = (*self.observed, *self._points)
        bounds = max(min(needed), model.bounds[0]), min(max(needed), model.bounds[1])
        return None if bounds == model.bounds else replace(model, bounds=bounds)

    def _report(
        self,
        model: ScalarProcess,
        landscape: Landscape,
        ends: tuple[End, End],
        fixed: tuple[FixedPoint, ...],
        span: Span,
        *,
        has_distribution: bool,
    ) -> GeneratorReport:
        report = self.report
        places, own = counterparts(report.fixed_points, fixed, range_of_places(report))
        cells, extrema = cut_into_cells(landscape, 2), extrema_of(model, landscape, fixed)
        tops = {point.at[0] for point in report.fixed_points if not point.stable}
        passages = []
        on_the_way: dict[Range, Cells] = {}
        for passage in report.passages:
            pair = passage.start, passage.to
            mean = mean_time(cells, ends, *pair)
            between = min(pair), max(pair)
            if between not in on_the_way and passage.deviation is not None and pair[0] != pair[1]:
                on_the_way[between] = passage_cells(landscape, *between, coarser=COARSER)
            deviation, quantiles = passage.deviation, passage.quantiles[:0]
            if between in on_the_way:
                deviation = standard_deviation(on_the_way[between], ends, *pair, mean)
                quantiles = quantiles_on_the_line(on_the_way[between], passage, mean)
            # To the top of the reference's barrier is to one side or the other of a model's: the
            # formula jumps there.
            kramers = Timing(None) if tops & set(pair) else kramers_time(extrema, *pair)
            moved = None
            if passage.between_wells is not None and {*pair} <= own.keys():
                moved = mean_time_anywhere(cells, own[pair[0]], own[pair[1]])
            passages.append(Passage(*pair, mean, kramers, deviation, None, quantiles, moved))
        potential = report.effective_potential
        grid = None if potential is None else potential.grid
        found = GeneratorReport(
            ergodic=has_distribution,
            reason=None,
            domain=model.bounds,
            boundaries="natural",
            fixed_points=fixed_points_at(report, places),
            barriers=tuple(_barriers(model, landscape, report.barriers, own)),
            passages=tuple(passages),
            committors=tuple(
                committor_on_the_line(landscape, ends, (c.start, c.to))
                if isinstance(c.found, Committed)
                else c
                for c in report.committors
            ),
            exits=tuple(
                exit_on_the_line(cells, ends, (e.start, e.low, e.high)) for e in report.exits
            ),
            grid=grid,
            effective_potential=None if grid is None else effective_potential(landscape, grid),
        )
        if not has_distribution or not isinstance(report.stationary, StationaryDistribution):
            return found
        return self._with_law(found, report.stationary, landscape, ends, span)

    def _with_law(
        self,
        found: GeneratorReport,
        like: StationaryDistribution,
        landscape: Landscape,
        ends: tuple[End, End],
        span: Span,
    ) -> GeneratorReport:
        report = self.report
        total = log_total_mass(landscape)
        middle = (landscape.edges[0] + landscape.edges[-1]) / 2
        scale = (like.grid[0][-1] - like.grid[0][0]) / 8
        law = perturbed_distribution(
            like, landscape, ends, Window(middle, scale, *(np.zeros(0),) * 3), total
        )
        light = part_of(landscape, span_of_light_tails(span, landscape))
        correlations = report.correlations
        mean, variance = law.mean[0], law.covariance[0][0]
        if isinstance(correlations, Correlations):
            if mean is None or variance is None:
                correlations = NO_VARIANCE
            else:
                time = integrated_time(light, ends, total, mean, variance)
                correlations = curves_on(light, total, correlations, mean, variance, time)
        spectrum = report.spectrum
        if spectrum is not None and len(spectrum.eigenvalues):
            spectrum = _perturbed_spectrum(spectrum, part_of(landscape, span), ends, like.grid[0])
        return replace(found, stationary=law, correlations=correlations, spectrum=spectrum)


def perturbed_distribution(
    like: StationaryDistribution,
    landscape: Landscape,
    ends: tuple[End, End],
    window: Window,
    log_total: float,
) -> StationaryDistribution:
    """Return the distribution on the grid of another that it is like.

    Parameters
    ----------
    like : distribution of the reference
    landscape : panels of the model
    ends : lower and upper end, classified
    window : centre and scale of the domain
    log_total : log ∫π
    """
    moments = moments_of(landscape, window, ends, log_total)
    # Beyond the panels nothing counts, but what diverges does so beyond any panels.
    power = max(
        (end.power for end in ends if end.power is not None and np.isinf(end.at)), default=-np.inf
    )
    exist = [
        moment if power + 1 + k < -TOLERANCE else None for k, moment in enumerate(moments, start=1)
    ]
    return distribution_on_grid(landscape, like.grid[0], log_total, exist, ())


def _perturbed_spectrum(
    like: Spectrum, within: Landscape, ends: tuple[End, End], grid: FloatArray
) -> Spectrum:
    """Return as many rates as the reference has, nan where there are not as many."""
    count = len(like.eigenvalues)
    fastest = FASTEST * float(like.eigenvalues[-1].real)
    found = spectrum_of(
        within,
        ends,
        count,
        levels=LEVELS,
        fastest=fastest,
        least=float(like.eigenvalues[0].real),
        grid=None if like.eigenfunctions is None else grid,
    )
    rates, functions = np.full(count, np.nan, complex), found.eigenfunctions
    rates[: len(found.eigenvalues)] = found.eigenvalues
    if functions is not None:
        functions = np.concatenate(
            [functions, np.full((count - len(functions), len(grid)), np.nan)]
        )
    return replace(found, eigenvalues=rates, eigenfunctions=functions)


def _barriers(
    model: ScalarProcess,
    landscape: Landscape,
    wanted: Sequence[Barrier],
    places: dict[float, float],
) -> list[Barrier]:
    """Return the barriers between the counterparts of each wanted one's fixed points, or nan."""
    ends = np.array(
        [[places.get(b.start, np.nan), places.get(b.over, np.nan)] for b in wanted]
    ).reshape(-1, 2)
    known = np.all((ends >= landscape.edges[0]) & (ends <= landscape.edges[-1]), axis=1)
    if not known.any():
        return [replace(b, height=np.nan, height_over_noise=np.nan) for b in wanted]
    at = np.where(known[:, None], ends, landscape.edges[0]).ravel()
    b, half = values(model.b, landscape.at_nodes[0]), landscape.half
    total = half * (b @ WEIGHTS)
    work = half[:, None] * (b @ CUMULATIVE.T) + (np.cumsum(total) - total)[:, None]
    zero = np.zeros_like(half)
    up = (
        replace(landscape, psi=work, log_a=np.zeros_like(work), exponent=zero, order=zero)
        .psi_and_log_a(at)[0]
        .reshape(-1, 2)
    )
    log_density = landscape.log_density_at(at).reshape(-1, 2)
    heights = np.where(
        known[:, None],
        np.column_stack([-np.diff(up, axis=1), -np.diff(log_density, axis=1)]),
        np.nan,
    )
    return [
        replace(b, height=float(v), height_over_noise=float(phi))
        for b, (v, phi) in zip(wanted, heights, strict=True)
    ]
