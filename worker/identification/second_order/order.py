"""Which order a record is of: do its positions diffuse, or its velocities?

A first-order process moves by independent increments; its structure function E[x(t+τ) − x(t)]²
grows as τ. With inertia the velocity is continuous, and it grows as τ² below the velocity's memory;
only the velocity is kicked, so second differences have a white spectrum times (2 + cos θ)/3. Both
kinds of motion, each with measurement noise, are fitted to the spectrum of second differences by
Whittle's likelihood, and beside them what looks like inertia and is none: a path that was averaged
over an exposure or smoothed, and lines of a periodic signal.

What cannot be told: a velocity forgotten within less than two samples from motion blur; inertia
from a filter with one pole, behind which a first-order process is of second order; and a periodic
force with many overtones from kicks, where noise covers these.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from grammar.terms import variable_name
from worker.identification.data.trajectories import Trajectories
from worker.identification.second_order.candidate_spectra import (
    FILTERS,
    FINITE,
    POLES,
    RESOLVED,
    first_order,
    second_order,
)
from worker.identification.second_order.echoes import find_echo
from worker.identification.second_order.even_windows import read_windows
from worker.identification.second_order.force_residuals import residuals_of_force
from worker.identification.second_order.order_reasons import SENTENCES, Evidence
from worker.identification.second_order.record_windows import RecordWindows
from worker.identification.second_order.spectral_fit import (
    Fitted,
    Smoothed,
    Spectrum,
    fit,
    fit_smoothed,
    measure,
    misfit,
    score,
    surprise,
)

Floats = NDArray[np.float64]

UNSETTLED = ("nothing-but-noise", "values-rest")
"""Evidence that longer steps may replace."""

GAIN = 20.0
"""Log-likelihood that second order must gain over first."""

CLEARLY = 3.0
"""Standard errors, by the windows' own scatter, that this gain must have."""

MARGIN = 8.0
"""Log-likelihood by which a smoothed first-order process must be worse than one of second order."""

TIE = -2.0
"""The same beside measurement noise, for low-passes wider than WIDE."""

NOISE_GAIN = 6.0
"""Log-likelihood that white noise must gain."""

FITS, FITS_ROUGHLY = 0.3, 0.5
"""Relative misfit of a spectrum, rms over octaves, up to which a model describes it."""

LONG = 6.0
"""Memory of a velocity that leaves none of a diffusion to fast velocities [step]."""

DIFFUSING = 0.3
"""Share of a diffusion in the second differences from which the velocity is not all."""

RESTING = 0.25
"""Share of increments that are zero, of rounded or held values, above which steps are longer."""

NOISY = -0.3
"""Correlation of neighbouring second differences, −⅔ for noise and ¼ for kicks, below which noise
outweighs."""

BLUR, INTERPOLATED, WIDE = 1.6, 2.0, 6.0
"""Longest exposure that is called motion blur, the same where interpolation adds to it, and
shortest of a wide filter [step]."""


@dataclass(frozen=True, slots=True, eq=False)
class OrderStatistics:
    """What a decision about the order rests on.

    step                 step at which samples were compared; longer than the sampling interval
                         where sampling is uneven, or noise hides shorter ones [time]
    n_windows            number of windows
    lags                 lags of the structure functions [step]
    slopes               (d, n_lags − 1) d log E[x(t+τ) − x(t)]² / d log τ between neighbouring lags
    increments           (d, 2) correlation of increments one and two steps apart
    second_differences   (d,) correlation of neighbouring second differences
    gain                 log-likelihood of second order over first, Whittle's
    z                    this gain over its standard error
    gain_over_smoothed   log-likelihood of second order over a smoothed first order; None where not
                         needed
    smoothing            kind and width of the filter of that [step]
    misfits              relative misfits of the spectra of first and second order
    """

    step: float
    n_windows: int
    lags: tuple[int, ...]
    slopes: Floats
    increments: Floats
    second_differences: Floats
    gain: float
    z: float
    gain_over_smoothed: float | None
    smoothing: tuple[str, float] | None
    misfits: tuple[float, float]


@dataclass(frozen=True, slots=True, eq=False)
class Order:
    """Order of a record.

    order        1, 2, or None where the record does not tell
    noise        whether there is measurement noise; relaxation within a sampling interval looks
                 like it
    evidence     what decided
    reason       what the sampling tells and what it cannot tell, for the user
    statistics   what this rests on; None where the record is too short, or without any randomness
    """

    order: Literal[1, 2] | None
    noise: bool
    evidence: Evidence
    reason: str
    statistics: OrderStatistics | None


@dataclass(frozen=True, slots=True, eq=False)
class _Fits:
    """Fits of one variable's second differences, and these themselves."""

    variable: int
    spectrum: Spectrum
    first: Fitted
    second: Fitted


@dataclass(frozen=True, slots=True, eq=False)
class _Verdict:
    """Decision about some variables together; see `OrderStatistics`."""

    order: Literal[1, 2] | None
    evidence: Evidence
    gain: float
    z: float
    misfits: tuple[float, float]
    smoothing: tuple[str, float] | None = None
    over: float | None = None


def decide_order(
    data: Trajectories, periods: Sequence[float | None] | None = None, names: Sequence[str] = ()
) -> Order:
    """Decide of which order a record is.

    Parameters
    ----------
    data : record
    periods : period of each variable, None on the line [state]
    names : names of the variables in sentences
    """
    of_each = tuple(periods) if periods is not None else (None,) * data.dimension
    named = tuple(names) or tuple(variable_name(p) for p in range(data.dimension))
    found: Order | None = None
    stride = 1
    while (windows := read_windows(data, of_each, stride)) is not None:
        record = RecordWindows(data, windows, np.diff(windows.states, axis=1), of_each)
        following, hidden = _decide(record, named, data.n_trajectories)
        resting = following.order != 1 and (record.increments == 0).mean() > RESTING
        if resting:
            reason = SENTENCES["values-rest"]
            following = replace(following, order=None, evidence="values-rest", reason=reason)
        if found is None or following.order == 2 or found.evidence in UNSETTLED:
            found = following
        # What rounding or noise hides at this step, longer steps may show.
        if resting and record.is_rounded():
            stride *= 2
        elif hidden and not resting:
            stride *= 8
        else:
            break
        if windows.resampled:
            break
    return found or Order(None, False, "too-short", SENTENCES["too-short"], None)


def _decide(
    record: RecordWindows, names: tuple[str, ...], n_trajectories: int
) -> tuple[Order, bool]:
    """Decide at one step, and say whether noise may hide the answer there."""
    driven = record.driven()
    kept = [p for p in range(len(names)) if p not in driven] or list(range(len(names)))
    # On the line the candidates cover every drift, where the record is stationary.
    relaxing = len(names) > 1 or n_trajectories > 1 or record.periods[0] is not None
    series = record.without_drift() if relaxing else record.second_differences()
    rounding = 64 * np.finfo(float).eps * np.abs(record.windows.states).max(axis=(0, 1))
    kept = [p for p in kept if np.mean(series[:, :, p] ** 2) > rounding[p] ** 2]
    if not kept:
        return Order(None, False, "regular", SENTENCES["regular"], None), False
    fits = [_fits(series[:, :, p], p) for p in kept]
    each = [_verdict(record, [one]) for one in fits]
    joint = each[0] if len(fits) == 1 else _verdict(record, fits)
    of_first = [p for p, one in zip(kept, each, strict=True) if one.order == 1 and one.gain < -5]
    if of_first and any(one.order == 2 for one in each):
        joint = replace(joint, order=None, evidence="variables-differ")
    elif driven and joint.order == 1:
        joint = replace(joint, evidence="velocity-recorded")
    # Without the drift one sample before, what is left of it looks like noise.
    noise = any(
        _needs_noise(one.spectrum)
        if joint.order == 2
        else _needs_fast_noise(measure(record.second_differences()[:, :, one.variable]))
        for one in fits
    )
    statistics = _statistics(record, joint)
    about = [names[p] for p in (driven or of_first)]
    hidden = noise and joint.gain < GAIN
    return (
        Order(
            joint.order, noise, joint.evidence, _reason(joint, statistics, noise, about), statistics
        ),
        hidden,
    )


def _fits(series: Floats, variable: int) -> _Fits:
    spectrum = measure(series)
    n = spectrum.n
    return _Fits(variable, spectrum, fit(first_order(n), spectrum), fit(second_order(n), spectrum))


def _verdict(record: RecordWindows, fits: list[_Fits]) -> _Verdict:
    gain = sum(f.first.deviance - f.second.deviance for f in fits)
    scores = np.sum([score(f.spectrum, f.second, f.first) for f in fits], axis=0)
    # Windows overlap by half.
    z = float(scores.mean() / max(float(scores.std()), 1e-300) * np.sqrt(len(scores) / 2))
    misfits = (
        max(misfit(f.spectrum, f.first) for f in fits),
        max(misfit(f.spectrum, f.second) for f in fits),
    )
    if misfits[0] <= FITS_ROUGHLY and (gain < GAIN or z < CLEARLY):
        noise = [fit(first_order(f.spectrum.n)[:1], f.spectrum) for f in fits]
        lost = sum(one.deviance - f.first.deviance for one, f in zip(noise, fits, strict=True))
        if lost < MARGIN:
            return _Verdict(None, "nothing-but-noise", gain, z, misfits)
        return _Verdict(1, "increments-independent", gain, z, misfits)
    rivals = [[fit_smoothed(f.spectrum, kinds) for f in fits] for kinds in (FINITE, POLES)]
    overs = [
        sum(s.fitted.deviance - f.second.deviance for s, f in zip(found, fits, strict=True))
        for found in rivals
    ]
    # Noise after a wide low-pass is rare; without noise the record tells the two apart by far.
    noisy = all(_needs_noise(f.spectrum) for f in fits)
    wide = min(one.extent for one in rivals[1]) > WIDE
    needed = [MARGIN, TIE if noisy and wide else MARGIN]
    found, over, needed_over = min(
        zip(rivals, overs, needed, strict=True), key=lambda one: one[1] - one[2]
    )
    widest = max(found, key=lambda one: one.extent)
    told = (widest.kind, float(widest.width))
    described = max(misfit(f.spectrum, s.fitted) for s, f in zip(found, fits, strict=True))
    again: tuple[list[_Fits], float] | None = None
    evidence: Evidence = "velocity-resolved"
    if described < FITS:
        if over < MARGIN and widest.extent <= (INTERPOLATED if record.windows.resampled else BLUR):
            return _Verdict(1, "averaged-over-exposure", gain, z, misfits, told, over)
        if over < needed_over and not _is_simpler(fits, found):
            # The overtones of a limit cycle fall off as behind a low-pass.
            if widest.kind in POLES and widest.extent > WIDE and misfits[1] > FITS:
                again = _without_force(record, fits, FITS / 2)
            if again is None and noisy:
                again = _without_fitted_force(record, fits)
                evidence = "force-resolved"
            if again is None:
                return _Verdict(None, "smoothed", gain, z, misfits, told, over)
    elif misfits[1] > FITS or gain < GAIN or z < CLEARLY:
        # A force that bends with position and velocity has a spectrum of its own.
        again = _without_force(record, fits, FITS)
        if again is None:
            return _Verdict(None, "neither", gain, z, misfits, told, over)
    fits, over = again or (fits, over)
    if max(_diffusing(f) for f in fits) > DIFFUSING:
        return _Verdict(None, "diffusion-and-velocity", gain, z, misfits, told, over)
    for f in fits:
        echo = find_echo(record.data, f.variable, record.periods[f.variable])
        if echo is not None:
            told = ("average", float(echo))
            return _Verdict(None, "smoothed", gain, z, misfits, told, over)
    return _Verdict(2, evidence, gain, z, misfits, told, over)


def _is_simpler(fits: list[_Fits], smoothed: list[Smoothed]) -> bool:
    """Check whether second order describes without noise what a filter needs noise for."""
    clean = [fit(second_order(f.spectrum.n)[1:], f.spectrum) for f in fits]
    behind = sum(c.deviance - s.fitted.deviance for c, s in zip(clean, smoothed, strict=True))
    if behind > -TIE:
        return False
    others = [fit_smoothed(f.spectrum, FILTERS, noise=False) for f in fits]
    return sum(o.fitted.deviance - c.deviance for o, c in zip(others, clean, strict=True)) > MARGIN


def _without_force(
    record: RecordWindows, fits: list[_Fits], allowed: float
) -> tuple[list[_Fits], float] | None:
    """Fit second differences without the force; None where second order does not describe them.

    Parameters
    ----------
    record : windows
    fits : fits of the variables
    allowed : largest misfit
    """
    best: tuple[list[_Fits], float] | None = None
    # Noise of the state before would pass for kicks.
    series = record.second_differences()
    near = np.mean(series[:, 1:] * series[:, :-1], axis=(0, 1)) / np.mean(series**2, axis=(0, 1))
    if min(near[f.variable] for f in fits) < NOISY:
        return None
    for earlier in (1, 2):
        series = record.without_force(earlier)
        again = [_fits(series[:, :, f.variable], f.variable) for f in fits]
        if max(misfit(f.spectrum, f.second) for f in again) > allowed:
            continue
        over = sum(
            fit_smoothed(f.spectrum, FILTERS).fitted.deviance - f.second.deviance for f in again
        )
        if over >= MARGIN and (best is None or over > best[1]):
            best = again, over
    return best


def _without_fitted_force(
    record: RecordWindows, fits: list[_Fits]
) -> tuple[list[_Fits], float] | None:
    """Fit what the identified force leaves; None where a filtered process explains as much.

    Noise hides kicks and filter alike, but not a force that bends: second differences less the
    force have to be kicks and noise, and more likely than those of any filtered process.
    """
    found = residuals_of_force(record)
    if found is None:
        return None
    gains: Floats = np.zeros(len(record.windows.states))
    again, over = [], 0.0
    for f in fits:
        before, left = (_fits(series[:, :, f.variable], f.variable) for series in found)
        if misfit(left.spectrum, left.second) > FITS / 2:
            return None
        smoothed = fit_smoothed(before.spectrum, FILTERS).fitted
        rival = fit_smoothed(left.spectrum, FILTERS).fitted
        gains += surprise(before.spectrum, smoothed) - surprise(left.spectrum, left.second)
        over += rival.deviance - left.second.deviance
        again.append(left)
    # Windows overlap by half.
    gain = float(gains.sum() / 2)
    z = float(gains.mean() / max(float(gains.std()), 1e-300) * np.sqrt(len(gains) / 2))
    return (again, over) if gain >= GAIN and z >= CLEARLY and over >= TIE else None


def _diffusing(fits: _Fits) -> float:
    """Compute the share of diffusion in second differences, where it may replace fast velocities.

    Noise does not count.
    """
    n, share = fits.spectrum.n, 0.0
    noise, relaxing = first_order(n)[:1], first_order(n)[1:]
    for shortest in (RESOLVED, LONG):
        smooth = second_order(n, shortest)[1:]
        alone = fit(np.concatenate([noise, smooth]), fits.spectrum)
        both = fit(np.concatenate([noise, relaxing, smooth]), fits.spectrum)
        needed = alone.deviance - both.deviance > MARGIN
        if needed and both.deviance < fits.second.deviance - TIE:
            k = 1 + len(relaxing)
            diffusing, moving = both.weights[1:k].sum(), both.weights[k : k + len(smooth)].sum()
            share = max(share, float(diffusing / max(diffusing + moving, 1e-300)))
    return share


def _needs_noise(spectrum: Spectrum) -> bool:
    """Check whether a process of second order needs white noise."""
    components = second_order(spectrum.n)
    alone = fit(components[1:], spectrum)
    return alone.deviance - fit(components, spectrum).deviance > NOISE_GAIN


def _needs_fast_noise(spectrum: Spectrum) -> bool:
    """Check whether a process of first order needs white noise, or relaxation nearly as fast."""
    components = first_order(spectrum.n)
    alone = fit(components[1:-2], spectrum)
    return alone.deviance - fit(components, spectrum).deviance > NOISE_GAIN


def _statistics(record: RecordWindows, verdict: _Verdict) -> OrderStatistics:
    states, moves = record.windows.states, record.increments
    moves = moves - moves.mean(axis=(0, 1))
    lags = tuple(k for k in (1, 2, 4, 8, 16, 32) if k < states.shape[1] / 2)
    structure = np.stack(
        [np.mean((states[:, k:] - states[:, :-k]) ** 2, axis=(0, 1)) for k in lags], axis=1
    )
    slopes = np.diff(np.log(np.maximum(structure, 1e-300)), axis=1) / np.diff(np.log(lags))

    def correlation(values: Floats, lag: int) -> Floats:
        return np.asarray(
            np.mean(values[:, lag:] * values[:, :-lag], axis=(0, 1))
            / np.maximum(np.mean(values**2, axis=(0, 1)), 1e-300)
        )

    return OrderStatistics(
        step=record.windows.step,
        n_windows=len(states),
        lags=lags,
        slopes=slopes,
        increments=np.stack([correlation(moves, 1), correlation(moves, 2)], axis=1),
        second_differences=correlation(np.diff(moves, axis=1), 1),
        gain=verdict.gain,
        z=verdict.z,
        gain_over_smoothed=verdict.over,
        smoothing=verdict.smoothing,
        misfits=verdict.misfits,
    )


def _reason(
    verdict: _Verdict, statistics: OrderStatistics, noise: bool, about: Sequence[str]
) -> str:
    kind, width = verdict.smoothing or ("", 0.0)
    near, far = statistics.increments[int(np.argmax(statistics.increments[:, 0]))]
    return SENTENCES[verdict.evidence].format(
        step=f"{statistics.step:.3g}",
        memory="measurement noise and relaxation" if noise else "relaxation",
        near=near,
        far=far,
        kind=kind,
        width=width,
        about=", ".join(about),
        s="s" if len(about) == 1 else "",
    )
