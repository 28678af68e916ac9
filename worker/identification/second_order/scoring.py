"""Maximum of the filter's quasi-likelihood, by Fisher's scoring from a blind start.

One pass gives the score and the information along all parameters, so a step costs as much as the
likelihood. Where nothing is known, a linear force is fitted first: its likelihood is exact and has
one maximum in practice, and its noise and diffusion are a safe start for all terms.
"""

from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from worker.identification.regression import NormalEquations
from worker.identification.second_order.filter import (
    Likelihood,
    Positions,
    Terms,
    log_likelihood,
    monomials,
)

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

SETTLED, NEARLY = 1e-6, 1e-2
"""Square of a step, in standard errors, at which the scoring ends, and from which it has converged
where no step climbs: the rest is what a change in the number of sub-steps does."""

MOST_STEPS = 40

MOST_DAMPING = 1e4
"""Damping from which steps are too short to lead anywhere."""

RIDGE = 1e-10
"""Share of the normalised information that is added, so that unidentified directions stay put."""

LOSS, JUMP = 1e-3, 0.1
"""Log-likelihood that a step may lose to rounding, and to a change in the number of sub-steps."""

NEGLIGIBLE = 1e-4
"""Share of the innovations' variance below which a falling noise or diffusion is held."""

FIRST_DIFFUSION, FIRST_NOISE = 1.0, 1e-3
"""Diffusion and noise that the blind start begins with, in internal units: much diffusion makes the
filter follow the data, whatever the force."""

BLIND_SAMPLES = 20_000
"""Samples that suffice for a start."""

LINEAR = np.array([[0, 0], [1, 0], [0, 1]])
CONSTANT = np.array([[0, 0]])


class Parametrised(Protocol):
    """Terms of a model that has a likelihood."""

    @property
    def size(self) -> int:
        """Number of parameters."""

    @property
    def scales(self) -> tuple[int, ...]:
        """Positions of the parameters that are positive."""

    def likelihood(self, record: Positions, parameters: Floats) -> Likelihood:
        """Compute the log-likelihood with its score and information."""

    def log_likelihood(
        self, record: Positions, parameters: Floats, substeps: Integers | None = None
    ) -> float:
        """Compute the log-likelihood alone; −inf where the parameters are explosive."""


T = TypeVar("T", bound=Parametrised)


@dataclass(frozen=True, slots=True, eq=False)
class Polished(Generic[T]):
    """Parameters at the maximum of the likelihood.

    terms        terms of the model
    parameters   (size,) parameters
    likelihood   likelihood there
    held         (size,) whether a parameter is at the end of its range: no noise, or no diffusion
    converged    whether the last step was a small part of the standard errors
    """

    terms: T
    parameters: Floats
    likelihood: Likelihood
    held: NDArray[np.bool_]
    converged: bool

    @property
    def force(self: "Polished[Terms]") -> Floats:
        """Coefficients of F; (K,)."""
        return self.parameters[: self.terms.n_force]

    @property
    def diffusion(self: "Polished[Terms]") -> Floats:
        """Coefficients of a; (L,)."""
        return self.parameters[self.terms.n_force :][: self.terms.n_diffusion]

    @property
    def noise(self: "Polished[Terms]") -> float:
        """Variance of the measurement noise."""
        known = self.terms.noise
        return float(self.parameters[-1]) if known is None else known


def polished(record: Positions, terms: Terms, start: Floats | None = None) -> Polished[Terms]:
    """Maximise the likelihood along all parameters at once.

    The scoring begins at the start that is given or at a blind one, whichever is the more likely.

    Parameters
    ----------
    record, terms : record, and the terms of the model
    start : (size,) parameters to start from, or None
    """
    starts = [blind_start(record, terms)]
    if start is not None:
        starts.append(np.asarray(start, dtype=np.float64))
    values = [log_likelihood(record, terms, parameters) for parameters in starts]
    return scored(record, terms, starts[int(np.argmax(values))])


def blind_start(record: Positions, terms: Terms) -> Floats:
    """Find parameters without a start: of a linear force, then of all terms; (size,).

    A long record is represented by a part of it.
    """
    part = _part(record)
    noise = [FIRST_NOISE] if terms.noise is None else []
    linear = monomials(LINEAR, CONSTANT, terms.noise)
    found = scored(part, linear, np.array([0.0, 0.0, 0.0, FIRST_DIFFUSION, *noise]))
    constant = replace(terms, diffusion=CONSTANT, diffusion_basis=np.eye(1))
    force = _along(terms.force_basis, terms.force, LINEAR, found.force)
    start = np.concatenate([force, found.parameters[len(LINEAR) :]])
    if log_likelihood(part, constant, start) == -np.inf:
        start[: terms.n_force] = 0.0
    found = scored(part, constant, start)
    diffusion = _along(terms.diffusion_basis, terms.diffusion, CONSTANT, found.diffusion)
    start = np.concatenate([found.force, diffusion, found.parameters[terms.n_force + 1 :]])
    return scored(part, terms, start).parameters if terms.n_diffusion > 1 else start


def _along(
    basis: Floats, exponents: NDArray[np.int64], others: NDArray[np.int64], values: Floats
) -> Floats:
    """Find the coefficients along a basis of a sum of other monomials, as nearly as it has them."""
    target = np.zeros(len(exponents))
    for exponent, value in zip(others, values, strict=True):
        target[(exponents == exponent).all(axis=1)] = value
    return np.asarray(np.linalg.lstsq(basis.T, target, rcond=1e-12)[0])


def _part(record: Positions) -> Positions:
    """Take whole segments from all over the record, up to the samples that suffice."""
    sizes = record.segments[:, 1] - record.segments[:, 0]
    every = max(1, int(sizes.sum()) // BLIND_SAMPLES)
    segments = record.segments[:: min(every, len(sizes)), :2].copy()
    before = np.cumsum(segments[:, 1] - segments[:, 0]) - (segments[:, 1] - segments[:, 0])
    segments[:, 1] = np.minimum(segments[:, 1], segments[:, 0] + BLIND_SAMPLES - before)
    return replace(record, segments=segments[before < BLIND_SAMPLES])


def scored(record: Positions, terms: T, start: Floats) -> Polished[T]:
    """Maximise the likelihood by Fisher's scoring, damped where a full step does not climb."""
    here = np.array(start, dtype=np.float64)
    at, damping, length = terms.likelihood(record, here), 0.0, np.inf
    held = np.zeros(terms.size, dtype=bool)
    for _ in range(MOST_STEPS):
        if at.value == -np.inf or length < SETTLED:
            break
        held = _held(terms, here, at, len(record.positions))
        step = _Step(at, held)
        length = step.length
        while True:
            there = _moved(terms, here, step.damped(damping))
            value = terms.log_likelihood(record, there, at.substeps)
            if value >= at.value - LOSS:
                new = terms.likelihood(record, there)
                if new.value >= at.value - JUMP:
                    break
            damping = max(4 * damping, 1e-3)
            if length < NEARLY or damping > MOST_DAMPING:
                return Polished(terms, here, at, held, length < NEARLY)
        here, at = there, new
        damping = damping / 8 if damping > 1e-4 else 0.0
    return Polished(terms, here, at, held, length < NEARLY)


def _held(terms: Parametrised, parameters: Floats, at: Likelihood, n: int) -> NDArray[np.bool_]:
    """Find noise or diffusion that falls towards zero and hardly counts any more; (size,)."""
    held = np.zeros(terms.size, dtype=bool)
    score, information = at.score, at.information
    for i in terms.scales:
        share = parameters[i] * np.sqrt(2 * information[i, i] / n)
        held[i] = score[i] < 0 and share < NEGLIGIBLE
    return held


class _Step:
    """Fisher's scoring step, in normalised directions of the information."""

    def __init__(self, at: Likelihood, held: NDArray[np.bool_]) -> None:
        information = at.information
        norms = np.sqrt(np.diag(information).clip(min=0))
        self._size, self._free = len(norms), np.flatnonzero(~held & (norms > 0))
        self._norms = norms[self._free]
        normalised = information[np.ix_(self._free, self._free)]
        normalised = normalised / np.outer(self._norms, self._norms)
        values, self._vectors = np.linalg.eigh(normalised)
        self._values = values.clip(min=0) + RIDGE
        self._score = self._vectors.T @ (at.score[self._free] / self._norms)

    @property
    def length(self) -> float:
        """Square of the step, in standard errors."""
        return float((self._score**2 / self._values).sum())

    def damped(self, damping: float) -> Floats:
        """Compute the step with this share of the normalised information added; (size,)."""
        out = np.zeros(self._size)
        along = self._score / (self._values + damping)
        out[self._free] = self._vectors @ along / self._norms
        return out


def _moved(terms: Parametrised, parameters: Floats, step: Floats) -> Floats:
    """Take a step; noise and diffusion change by a factor, of e² at most, and so stay positive."""
    out = parameters + step
    for i in terms.scales:
        out[i] = parameters[i] * np.exp(np.clip(step[i] / parameters[i], -2, 2))
    return out


def force_equations(found: Polished[Terms], diffusion: Floats | None = None) -> NormalEquations:
    """Write the likelihood near its maximum as normal equations of F's coefficients.

    Diffusion and noise are profiled out: what their uncertainty costs is off the information.

    Parameters
    ----------
    found : parameters with the likelihood's derivatives
    diffusion : (n, L) directions in which the diffusion is uncertain; None for all
    """
    k, n = found.terms.n_force, found.terms.n_diffusion
    return _equations(found, 0, k, k, np.eye(n) if diffusion is None else diffusion)


def diffusion_equations(found: Polished[Terms], force: Floats | None = None) -> NormalEquations:
    """Write the likelihood near its maximum as normal equations of a's coefficients.

    Parameters
    ----------
    found : parameters with the likelihood's derivatives
    force : (n, K) directions in which the force is uncertain; None for all
    """
    k, n = found.terms.n_force, found.terms.n_diffusion
    return _equations(found, k, n, 0, np.eye(k) if force is None else force)


def _equations(
    found: Polished[Terms], first: int, count: int, first_other: int, others: Floats
) -> NormalEquations:
    """Profile others and the noise out of score and information."""
    size = found.terms.size
    noise = size - 1 if found.terms.noise is None and not found.held[-1] else size
    nuisance = np.zeros((len(others) + size - noise, size))
    nuisance[: len(others), first_other : first_other + others.shape[1]] = others
    nuisance[len(others) :, noise:] = 1.0
    return profiled(found, np.arange(first, first + count), nuisance)


def profiled(found: Polished[T], kept: Integers, nuisance: Floats) -> NormalEquations:
    """Write the likelihood near its maximum as normal equations of some parameters.

    Others are profiled out by Schur's complement. In every block the same combination of scores is
    taken, so that the parts of the blocks add up.

    Parameters
    ----------
    found : parameters with the likelihood's derivatives
    kept : positions of the parameters that the equations are of
    nuisance : (n, size) directions in which others are uncertain; those with a parameter at the end
        of its range count as known
    """
    at = found.likelihood
    nuisance = nuisance[~(nuisance[:, found.held] != 0).any(axis=1)]
    change = np.eye(found.terms.size)[kept]
    if len(nuisance):
        of_nuisance = nuisance @ at.information
        norms = np.sqrt(np.einsum("ij,ij->i", of_nuisance, nuisance))
        norms = np.where(norms > 0, norms, 1.0)
        normalised = of_nuisance @ nuisance.T / np.outer(norms, norms)
        inverse = np.linalg.pinv(normalised, 1e-10, hermitian=True) / np.outer(norms, norms)
        change = change - change @ of_nuisance.T @ inverse @ nuisance
    blocks = change @ at.block_information @ change.T
    block_score = at.block_score @ change.T
    values, information = found.parameters[kept], blocks.sum(axis=0)
    eigenvalues, vectors = np.linalg.eigh(information)
    return NormalEquations(
        information=information,
        score=information @ values + block_score.sum(axis=0),
        block_information=blocks,
        block_score=blocks @ values + block_score,
        design=(vectors * np.sqrt(eigenvalues.clip(min=0))).T,
    )
