"""First-order dynamics driven by coloured noise, as a restricted force of second order.

dx = f(x) dt + u dt with an Ornstein–Uhlenbeck process u of correlation time τ is a process of
second order: its velocity v = f + u has the force F = f/τ + (f′ − 1/τ) v, equation (S8). The
restriction is linear in the coefficients of f once τ is given.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize_scalar
from scipy.stats import chi2

from worker.identification.data.library import Library, make_library
from worker.identification.regression import NormalEquations, solve
from worker.identification.second_order.estimator import SecondOrderFit, SecondOrderProblem
from worker.identification.selection.best_subset import Estimate
from worker.identification.selection.support_selection import (
    AlternativeSupport,
    Selected,
    choose,
)

Floats = NDArray[np.float64]

FASTEST, SLOWEST = 1e-4, 3.0
"""Correlation rates that are tried, in units of one over the sampling interval."""

ROUNDS = 4
"""Rounds in which the terms of f and the correlation time follow from each other."""


@dataclass(frozen=True, slots=True, eq=False)
class ColouredNoise:
    """Drift f and correlation time of the noise, in internal units.

    drift         drift f of the position
    library       library of f, in the position alone
    rate          1/τ, per sampling interval
    rate_error    its standard error
    covariance    (k + 1, k + 1) covariance of f's raw coefficients and the rate
    statistic     χ² of the restriction of the force to this form
    degrees       its degrees of freedom
    """

    drift: Selected
    library: Library
    rate: float
    rate_error: float
    covariance: Floats
    statistic: float
    degrees: int

    @property
    def is_linear(self) -> bool:
        """Whether f is linear, so that its rate and the noise's are interchangeable."""
        return _is_linear(self.library, self.drift)

    @property
    def p_value(self) -> float:
        """Probability of a larger statistic where the noise is an Ornstein–Uhlenbeck process."""
        return float(chi2.sf(self.statistic, max(self.degrees, 1)))


def coloured_noise(problem: SecondOrderProblem, found: SecondOrderFit) -> ColouredNoise | None:
    """Restrict the force along a single coordinate to that of coloured noise.

    Returns None where no correlation time is determined.

    Parameters
    ----------
    problem : problem of one coordinate
    found : its free fit
    """
    equations = found.equations[0]
    library = drift_library(problem)
    form = Form.of(problem, library)
    everything = np.eye(library.internal_size)
    rate, basis = _best_rate(equations, form, everything), everything
    chosen: Selected | None = None
    for _ in range(ROUNDS):
        if rate is None:
            return None
        coefficients = _given(equations, form, basis, rate)
        of_drift = _without_rate(equations, form, rate, coefficients)
        chosen = choose(of_drift, None, library, found.n_windows, problem.selection)
        basis = _span(library, chosen)
        before, rate = rate, _best_rate(equations, form, basis)
        if rate is not None and abs(rate - before) < 1e-6 * before:
            break
    if rate is None or chosen is None:
        return None
    slower = -_given(equations, form, basis, rate)[1] if _is_linear(library, chosen) else 0.0
    if slower > rate:
        # Both rates of a linear model fit equally well either way: the faster is taken as noise's.
        rate = float(slower)
        coefficients = _given(equations, form, basis, rate)
        of_drift = _without_rate(equations, form, rate, coefficients)
        chosen = choose(of_drift, None, library, found.n_windows, problem.selection)
    estimate = chosen.estimate
    covariance = _joint_covariance(
        equations, form, library, estimate.support, estimate.internal, rate
    )
    if covariance is None:
        return None
    free = solve(equations, np.eye(len(equations.score)), robust=False)
    gain = 0.0 if free is None else float(equations.score @ free.values)
    best = _best_rate(equations, form, everything)
    lost = np.inf if best is None else gain + _misfits(equations, form, everything, [best])[0]
    return ColouredNoise(
        chosen,
        library,
        rate,
        float(np.sqrt(covariance[-1, -1])),
        covariance,
        float(lost),
        len(equations.score) - library.internal_size - 1,
    )


def drift_library(problem: SecondOrderProblem) -> Library:
    """Make the library of f: the powers of the position that the force's library has."""
    space = problem.space
    return make_library(
        space.positions.scales,
        polynomial_degree=max(e[0] for e in problem.library.internal_exponents),
        periods=space.positions.periods,
        variables=problem.library.variables[:1],
    )


@dataclass(frozen=True, slots=True, eq=False)
class OnTerms:
    """Coloured noise of a drift on given terms, in internal units.

    internal     (J₁,) coefficients of f along its library's internal functions
    raw          (k,) coefficients of its raw terms
    rate         1/τ, per sampling interval
    misfit       χ² of the restricted force less that of no force
    covariance   (k + 1, k + 1) covariance of the raw coefficients and the rate
    """

    internal: Floats
    raw: Floats
    rate: float
    misfit: float
    covariance: Floats


def on_terms(
    equations: NormalEquations, form: "Form", library: Library, support: tuple[int, ...]
) -> list[OnTerms]:
    """Fit f on given terms: every correlation rate at which χ² has a minimum, ascending.

    A linear f has two of them, equally deep: its own rate and the noise's are interchangeable.

    Parameters
    ----------
    equations : equations of the free force
    form : form of the force
    library : library of f
    support : terms of f
    """
    terms = list(support)
    scaled, found = library.scaled_terms[terms], []
    for rate, misfit in _minima(equations, form, scaled):
        along = _along(equations, form, scaled, rate)
        internal = scaled.T @ along
        covariance = _joint_covariance(equations, form, library, support, internal, rate)
        if covariance is not None:
            raw = along / library.term_scales[terms]
            found.append(OnTerms(internal, raw, rate, misfit, covariance))
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """The force's coefficients (S8): rate · level + slope for f's coefficients, and −rate · own.

    level, slope   (J, J₁) of f/τ and f′ v
    own            (J,) of v
    """

    level: Floats
    slope: Floats
    own: Floats

    @classmethod
    def of(cls, problem: SecondOrderProblem, library: Library) -> "Form":
        """Make the form of the force for this library of f."""
        exponents = problem.library.internal_exponents
        place = {e: i for i, e in enumerate(exponents)}
        unit = float(problem.space.velocity_units[0])
        powers = library.powers_of_internal
        level, slope = (
            np.zeros((len(exponents), len(powers))),
            np.zeros((len(exponents), len(powers))),
        )
        for j, (power,) in enumerate(library.internal_exponents):
            level[place[power, 0], j] = 1.0
            if power:
                slope[place[power - 1, 1], j] = power * unit
        own = np.zeros(len(exponents))
        own[place[0, 1]] = unit
        # From monomials to the internal functions of the force.
        back = np.linalg.inv(problem.library.powers_of_internal)
        return cls(back @ level @ powers, back @ slope @ powers, back @ own)

    def at(self, rate: float) -> Floats:
        """Return the slope of the force's coefficients in f's; (J, J₁)."""
        return rate * self.level + self.slope


def _given(equations: NormalEquations, form: Form, basis: Floats, rate: float) -> Floats:
    """Estimate f's coefficients in the span of a basis (k, J₁), given the rate; (J₁,)."""
    return np.asarray(basis.T @ _along(equations, form, basis, rate))


def _along(equations: NormalEquations, form: Form, basis: Floats, rate: float) -> Floats:
    """Estimate f's coefficients along the rows of a basis (k, J₁), given the rate; (k,)."""
    columns = form.at(rate) @ basis.T
    target = equations.score + rate * equations.information @ form.own
    return np.asarray(
        np.linalg.lstsq(columns.T @ equations.information @ columns, columns.T @ target)[0]
    )


def _misfits(equations: NormalEquations, form: Form, basis: Floats, rates: ArrayLike) -> Floats:
    """Compute the χ² of the restricted force less that of no force at rates (n,); (n,)."""
    r = np.asarray(rates, dtype=np.float64)[:, None]
    level, slope, own = form.level @ basis.T, form.slope @ basis.T, form.own
    information, score = equations.information, equations.score
    # The columns are r · level + slope, and −r · own is known.
    mixed = level.T @ information @ slope
    products = (
        r[..., None] ** 2 * (level.T @ information @ level)
        + r[..., None] * (mixed + mixed.T)
        + slope.T @ information @ slope
    )
    by_level, by_slope = level.T @ information @ own, slope.T @ information @ own
    target = r * (level.T @ score) + slope.T @ score + r**2 * by_level + r * by_slope
    gain = np.einsum("nj,njk,nk->n", target, np.linalg.pinv(products, hermitian=True), target)
    known = r[:, 0] ** 2 * (own @ information @ own) + 2 * r[:, 0] * (own @ score)
    return np.asarray(known - gain)


def _minima(equations: NormalEquations, form: Form, basis: Floats) -> list[tuple[float, float]]:
    """Find the rates at which χ² has a minimum between those tried, ascending, and χ² there."""

    def misfit(logarithm: float) -> float:
        return float(_misfits(equations, form, basis, [np.exp(logarithm)])[0])

    tried = np.linspace(np.log(FASTEST), np.log(SLOWEST), 60)
    values = _misfits(equations, form, basis, np.exp(tried))
    lowest = np.flatnonzero((values[1:-1] < values[:-2]) & (values[1:-1] <= values[2:])) + 1
    found = [
        minimize_scalar(
            misfit, bounds=(tried[k - 1], tried[k + 1]), method="bounded", options={"xatol": 1e-9}
        )
        for k in lowest.tolist()
    ]
    return [(float(np.exp(best.x)), float(best.fun)) for best in found]


def _best_rate(equations: NormalEquations, form: Form, basis: Floats) -> float | None:
    """Find the rate of the best restricted force; None where it is at an end of those tried."""
    found = _minima(equations, form, basis)
    if not found:
        return None
    rate, misfit = min(found, key=lambda minimum: minimum[1])
    ends = _misfits(equations, form, basis, [FASTEST, SLOWEST])
    return rate if misfit <= ends.min() else None


def _without_rate(
    equations: NormalEquations, form: Form, rate: float, coefficients: Floats
) -> NormalEquations:
    """Make the equations of f's coefficients; the rate's error is taken out of them."""
    along = form.level @ coefficients - form.own
    weighted = equations.information @ along
    columns = form.at(rate)
    columns = columns - np.outer(along, weighted @ columns / (weighted @ along))
    known = -rate * form.own
    return NormalEquations(
        information=columns.T @ equations.information @ columns,
        score=columns.T @ (equations.score - equations.information @ known),
        block_information=columns.T @ equations.block_information @ form.at(rate),
        block_score=(equations.block_score - equations.block_information @ known) @ columns,
        design=equations.design @ columns,
    )


def _is_linear(library: Library, selected: Selected) -> bool:
    degrees = [library.degrees[k] for k in selected.estimate.support]
    return all(degree is not None and degree <= 1 for degree in degrees)


def _span(library: Library, selected: Selected) -> Floats:
    """Return the terms of a support along the internal functions; (k, J₁)."""
    return np.asarray(library.scaled_terms[list(selected.estimate.support)])


def _joint_covariance(
    equations: NormalEquations,
    form: Form,
    library: Library,
    support: tuple[int, ...],
    internal: Floats,
    rate: float,
) -> Floats | None:
    """Compute the covariance of f's raw coefficients and the rate; None where it is singular."""
    raw = np.array([[float(v) for v in library.change_of_basis[k]] for k in support])
    raw = raw.reshape(len(support), library.internal_size)
    along = form.level @ internal - form.own
    columns = np.column_stack([form.at(rate) @ raw.T, along])
    found = solve(equations, columns.T, robust=False)
    return None if found is None else found.covariance


def restricted(
    problem: SecondOrderProblem, found: SecondOrderFit, noise: ColouredNoise
) -> SecondOrderFit:
    """Give a fit of second order the force of coloured noise in place of its free one."""
    likely = tuple(
        AlternativeSupport(
            force_of(problem, _with_drift(noise, alternative.estimate)), alternative.weight, None
        )
        for alternative in noise.drift.alternatives
    )
    return replace(found, force=(Selected(force_of(problem, noise), (), (), alternatives=likely),))


def _with_drift(noise: ColouredNoise, estimate: Estimate) -> ColouredNoise:
    """Return the noise with another support of f, whose errors take the rate as it is."""
    covariance = np.zeros((len(estimate.raw) + 1,) * 2)
    covariance[:-1, :-1] = estimate.covariance
    covariance[-1, -1] = noise.covariance[-1, -1]
    return replace(noise, drift=replace(noise.drift, estimate=estimate), covariance=covariance)


def force_of(problem: SecondOrderProblem, noise: ColouredNoise) -> Estimate:
    """Write the force of coloured noise as coefficients of the library's terms, equation (S8)."""
    library, rate, estimate = problem.library, noise.rate, noise.drift.estimate
    place = {e: k for k, e in enumerate(library.exponents)}
    # Coefficients and their slopes in f's raw coefficients and the rate, by term of the force.
    rows: dict[int, Floats] = {}
    size = len(estimate.support) + 1
    # Terms in v are of raw velocities: their unit is the data's, and time's the sampling interval.
    time = problem.space.positions.time

    def add(exponents: tuple[int, int], value: float, slope: Floats) -> None:
        k = place[exponents]
        rows[k] = rows.get(k, np.zeros(size + 1)) + np.concatenate([[value], slope])

    per_velocity = time / problem.space.positions.units[0]
    for i, term in enumerate(estimate.support):
        (power,) = noise.library.exponents[term] or (0,)
        c = float(estimate.raw[i])
        level = np.zeros(size)
        level[i], level[-1] = rate, c
        add((power, 0), c * rate, level)
        if power:
            slope = np.zeros(size)
            slope[i] = power * time
            add((power - 1, 1), c * power * time, slope)
    own = np.zeros(size)
    own[-1] = -per_velocity
    add((0, 1), -rate * per_velocity, own)
    support = tuple(sorted(rows))
    raw = np.array([rows[k][0] for k in support])
    jacobian = np.array([rows[k][1:] for k in support])
    covariance = jacobian @ noise.covariance @ jacobian.T
    change = np.array([[float(v) for v in library.change_of_basis[k]] for k in support])
    root = np.linalg.cholesky(noise.covariance + 1e-14 * np.diag(np.diag(noise.covariance)))
    factor = np.zeros((library.internal_size,) * 2)
    spread = change.T @ jacobian @ root
    factor[:, : spread.shape[1]] = spread
    return Estimate(
        support,
        change.T @ raw,
        factor,
        raw,
        np.sqrt(np.diag(covariance)),
        None,
        covariance,
    )
