"""Drift, correlation time and strength of coloured noise in every window (docs/method.md §13).

The sums of equations (S2)–(S6) are taken once for each piece, and a window is the sum of its
pieces. The terms of f, the shape of the windows of samples and the measurement noise are those of
the whole time series. Read `fits_of` first.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from worker.identification.data.library import Library
from worker.identification.errors import NoDataUnderKernels
from worker.identification.identified_model import process_of
from worker.identification.regression import NormalEquations, solve
from worker.identification.second_order.coloured_noise import (
    ColouredNoise,
    Form,
    OnTerms,
    on_terms,
)
from worker.identification.second_order.equations import (
    ForceSums,
    ResidualSums,
    SecondOrderPass,
    overlap,
    sums_of,
)
from worker.identification.second_order.estimator import SecondOrderFit, SecondOrderProblem
from worker.identification.selection.best_subset import Estimate
from worker.identification.sums.block_sums import BlockSums, blocks_between
from worker.rolling.window_models import Neighbourhood
from worker.rolling.windows import MovingWindows

Floats = NDArray[np.float64]
Sums = tuple[ForceSums, ResidualSums]

CLOSE = 9.0
"""Difference of χ² up to which two correlation times fit equally well: three standard errors."""

VARIES = 1e-3
"""Probability below which a term whose mean over the windows is zero differs between them."""

FEWEST_A_TERM = 10
"""Fewest windows of samples for each term of the force, as in an identification."""

LEAST_KICKS = 1e-3
"""Least diffusion of the velocity in a window, as a share of the record's."""

LARGEST = 30.0
"""Largest change of a logarithm, beyond which powers overflow."""

UNDETERMINED = "the window has too few increments to determine its coefficients"
NO_TIME = "the window tells no correlation time of the noise from the relaxation time of the system"


@dataclass(frozen=True, slots=True, eq=False)
class ColouredWindow:
    """Model dx = f dt + u dt of one window, in internal units.

    drift         estimate of f
    rate          1/τ, per sampling interval
    kicks         a_v, diffusion of the velocity
    root          (k + 2, k + 2) lower triangular root of the covariance of f's raw coefficients,
                  log 1/τ and log a_v
    """

    drift: Estimate
    rate: float
    kicks: float
    root: Floats

    @property
    def strength(self) -> float:
        """Diffusion a = τ² a_v of the white noise that is as strong at low frequencies."""
        return self.kicks / self.rate**2

    @property
    def along_strength(self) -> Floats:
        """Change of log a along each column of the root; (k + 2,)."""
        return np.asarray(self.root[-1] - 2 * self.root[-2])


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Fits of one window at each correlation rate at which χ² has a minimum.

    n_windows   number of windows of samples
    fits        fits, the rates ascending
    free        χ² of the free force less that of no force
    degrees     number of coefficients of the free force
    """

    n_windows: int
    fits: tuple[OnTerms, ...] = ()
    free: float = 0.0
    degrees: int = 0

    @property
    def likely(self) -> list[OnTerms]:
        """Fits that are as good as the best."""
        best = min((fit.misfit for fit in self.fits), default=0.0)
        return [fit for fit in self.fits if fit.misfit <= best + CLOSE]


@dataclass(frozen=True, slots=True, eq=False)
class ColouredFits:
    """Fits of every window.

    models              model of each window, or the reason why there is none
    n_windows           number of windows of samples in each
    is_interchangeable  whether noise that is slower than the system fits all windows as well
    statistic, degrees  χ² of the form in windows that share no sample, and its degrees of freedom
    """

    models: tuple[ColouredWindow | str, ...]
    n_windows: tuple[int, ...]
    is_interchangeable: bool
    statistic: float
    degrees: int


def fits_of(
    problem: SecondOrderProblem, found: SecondOrderFit, noise: ColouredNoise, moving: MovingWindows
) -> ColouredFits:
    """Fit every window, from sums that are taken once for each piece.

    Where every window's two rates are interchangeable, the noise's is the faster in all of them.
    Else a window that fits two correlation times equally well takes the one nearer to the record's.

    Parameters
    ----------
    problem : positions in one coordinate
    found : free fit of the whole time series
    noise : its restriction to coloured noise, whose terms are tried
    moving : windows
    """
    windows = _Windows.of(problem, found, noise, moving)
    disjoint = moving.disjoint()
    support = _needed(windows, disjoint, noise.drift.estimate.support)
    candidates = [windows.candidates(w, support) for w in range(moving.count)]
    apart = [candidates[w] for w in disjoint]
    interchangeable = _are_interchangeable([noise.library.degrees[k] for k in support], apart)

    def model(window: int) -> ColouredWindow | str:
        of_window = candidates[window]
        if not of_window.fits:
            return UNDETERMINED if of_window.n_windows < windows.fewest else NO_TIME
        if interchangeable:
            return windows.model(window, support, of_window.likely[-1])
        distances = [abs(np.log(fit.rate / noise.rate)) for fit in of_window.likely]
        return windows.model(window, support, of_window.likely[int(np.argmin(distances))])

    known = [c for c in apart if c.fits]
    return ColouredFits(
        tuple(model(w) for w in range(moving.count)),
        tuple(c.n_windows for c in candidates),
        interchangeable,
        sum(min(fit.misfit for fit in c.fits) - c.free for c in known),
        sum(c.degrees - len(support) - 1 for c in known),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Windows:
    """Sums of every piece, and what all windows share."""

    problem: SecondOrderProblem
    found: SecondOrderFit
    library: Library
    form: Form
    moving: MovingWindows
    sums: BlockSums

    @classmethod
    def of(
        cls,
        problem: SecondOrderProblem,
        found: SecondOrderFit,
        noise: ColouredNoise,
        moving: MovingWindows,
    ) -> "_Windows":
        work = SecondOrderPass(
            problem.data,
            blocks_between(moving.edges),
            problem.space,
            problem.library,
            found.shape,
            found.kicks,
            np.zeros((1, problem.library.internal_size)),
            n_lags=0,
            pairs=True,
        )
        sums = problem.summing(work)
        assert sums is not None, "every record has windows, if none that count"
        form = Form.of(problem, noise.library)
        return cls(problem, found, noise.library, form, moving, sums)

    @property
    def fewest(self) -> int:
        """Fewest windows of samples that are fitted."""
        return FEWEST_A_TERM * self.problem.library.size

    @property
    def share(self) -> float:
        """Diffusion that Σ r² says, as a share of the kicks; see `Kicks.smoothed`."""
        return 1.5 if self.found.kicks.smoothed else 1.0

    def pieces(self, window: int) -> Sums:
        """Sum the pieces of a window."""
        return sums_of(self.sums, self.moving.pieces(window))

    def candidates(self, window: int, support: tuple[int, ...]) -> Candidates:
        """Fit a window at every correlation rate at which χ² has a minimum."""
        sums = self.pieces(window)
        n = sums[0].n_windows
        if n < self.fewest:
            return Candidates(n)
        share, fits, gain, degrees = 1.0, [], 0.0, 0
        for _ in range(2):
            try:
                equations = self._equations(sums, share)
            except NoDataUnderKernels:
                return Candidates(n)
            fits = on_terms(equations, self.form, self.library, support)
            free = solve(equations, np.eye(len(equations.score)), robust=False)
            if not fits or free is None:
                return Candidates(n)
            gain, degrees = float(equations.score @ free.values), len(equations.score)
            # The window's own kicks are those of its own force. All terms together err so much in a
            # short window that their residuals tell nothing.
            best = min(fits, key=lambda fit: fit.misfit)
            share = self._kicks(sums[1], self._force(best)) / float(
                self.found.kicks.diffusion[0, 0]
            )
        return Candidates(n, tuple(fits), -gain, degrees)

    def _force(self, fit: OnTerms) -> Floats:
        """Write the force of coloured noise along the internal functions, equation (S8); (J,)."""
        return np.asarray(self.form.at(fit.rate) @ fit.internal - fit.rate * self.form.own)

    def _equations(self, sums: Sums, share: float) -> NormalEquations:
        """Whiten the equations of the force; kicks are `share` times those of the record."""
        forces = replace(sums[0], kicks=share * sums[0].kicks)
        return forces.equations(0, float(self.found.kicks.noise[0]))

    def _kicks(self, residuals: ResidualSums, force: Floats) -> float:
        """Estimate a_v from the residuals of a force (J,); equation (S6)."""
        noise = float(residuals.noise[0, 0])
        kicks = (residuals.squares_of(force) - noise) / self.share / float(residuals.spans[0])
        # Strong measurement noise may exceed the residuals of a window by chance.
        return max(kicks, LEAST_KICKS * self._of_record)

    @property
    def _of_record(self) -> float:
        return float(self.found.kicks.diffusion[0, 0])

    def model(self, window: int, support: tuple[int, ...], fit: OnTerms) -> ColouredWindow:
        """Make the model of a window, with the joint covariance of all that it holds."""
        k, force, (forces, residuals) = len(fit.raw), self._force(fit), self.pieces(window)
        kicks = self._kicks(residuals, force)
        raw = _raw_terms(self.library, support)
        # Columns are along the raw coefficients and the rate.
        columns = np.column_stack(
            [self.form.at(fit.rate) @ raw.T, self.form.level @ fit.internal - self.form.own]
        )
        pairs, scale = residuals.pairs, self.share * float(residuals.spans[0])
        # The residuals contain the force, so the error of a_v has a part from the force's.
        along = 2 * (pairs[:-1, :-1] @ force - pairs[:-1, -1]) @ columns / scale
        own = kicks * np.sqrt(2 * overlap(self.found.residuals) / forces.n_windows)
        joint = np.zeros((k + 2, k + 2))
        joint[:-1, :-1] = fit.covariance
        joint[-1, :-1] = joint[:-1, -1] = fit.covariance @ along
        joint[-1, -1] = along @ fit.covariance @ along + own**2
        units = np.concatenate([np.ones(k), [1 / fit.rate, 1 / kicks]])
        root = np.linalg.cholesky(joint * np.outer(units, units)).astype(np.float64)
        return ColouredWindow(_estimate(raw, fit, support), fit.rate, kicks, root)


def _needed(
    windows: _Windows, disjoint: Sequence[int], support: tuple[int, ...]
) -> tuple[int, ...]:
    """Leave out terms of the record that its windows do not have.

    A record whose variance grows has heavy tails, and its drift then a cubic term that no window
    has: with noise that reddens from τ = 0.1 to 0.5 beside λ = 1 in eight records of eight. It cost
    half of the windows their gap.

    Parameters
    ----------
    windows : sums
    disjoint : windows that share no sample
    support : terms of the record
    """
    while len(support) > 1 and windows.problem.selection.method != "none":
        found = [windows.candidates(w, support) for w in disjoint]
        fits = [c.likely[-1] for c in found if c.fits]
        if not fits:
            break
        raw = np.array([fit.raw for fit in fits])
        errors = np.sqrt([np.diag(fit.covariance)[:-1] for fit in fits])
        mean = (raw / errors**2).sum(axis=0) / np.sqrt((1 / errors**2).sum(axis=0))
        p_values = chi2.sf(((raw / errors) ** 2).sum(axis=0), len(fits))
        weakest = int(np.argmin(np.abs(mean)))
        if mean[weakest] ** 2 > np.log(windows.found.n_windows) or p_values[weakest] < VARIES:
            break
        support = (*support[:weakest], *support[weakest + 1 :])
    return support


def _are_interchangeable(degrees: Sequence[int | None], apart: Sequence[Candidates]) -> bool:
    """Check whether noise that is slower than the system would fit all windows as well.

    Parameters
    ----------
    degrees : degree of each term
    apart : fits of windows that share no sample
    """
    if all(degree is not None and degree <= 1 for degree in degrees):
        return 1 in degrees
    both = [c.fits for c in apart if len(c.fits) > 1]
    difference = sum(fits[0].misfit - fits[-1].misfit for fits in both)
    return 2 * len(both) > len(apart) and abs(difference) <= CLOSE


def _raw_terms(library: Library, support: tuple[int, ...]) -> Floats:
    """Return the raw terms of a support along the internal functions; (k, J₁)."""
    rows = [[float(v) for v in library.change_of_basis[k]] for k in support]
    return np.array(rows).reshape(len(support), library.internal_size)


def _estimate(raw: Floats, fit: OnTerms, support: tuple[int, ...]) -> Estimate:
    covariance = fit.covariance[:-1, :-1]
    factor = np.zeros((raw.shape[1],) * 2)
    factor[:, : len(support)] = raw.T @ np.linalg.cholesky(covariance)
    errors = np.sqrt(np.diag(covariance))
    return Estimate(support, fit.internal, factor, fit.raw, errors, None, covariance)


def neighbourhood_of(
    window: ColouredWindow,
    problem: SecondOrderProblem,
    library: Library,
    bounds: tuple[float, float],
) -> Neighbourhood:
    """Make the white-noise models around that of a window, along the columns of its root.

    Parameters
    ----------
    window : model
    problem : units
    library : terms of f
    bounds : ends of the domain [state]
    """
    scales = problem.space.positions.scales[0]
    k = len(window.drift.support)
    raw = _raw_terms(library, window.drift.support)

    def around() -> Iterator[tuple[Floats, float]]:
        yield window.drift.internal, 0.0
        for column, along in zip(window.root.T, window.along_strength.tolist(), strict=True):
            for sign in (-1, 1):
                yield window.drift.internal + sign * raw.T @ column[:k], sign * along

    constant = np.zeros(library.internal_size)
    models = []
    for internal, change in around():
        a = constant.copy()
        # Where both rates of a window nearly coincide, errors have no bound.
        a[0] = window.strength * np.exp(np.clip(change, -LARGEST, LARGEST))
        models.append(process_of(library, internal, a, scales, bounds))
    return tuple(models)
