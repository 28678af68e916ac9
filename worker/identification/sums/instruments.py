"""Instruments in several variables: Gaussian kernels where the data are, and the library itself.

Kernels cover a space of several dimensions thinly (docs/method.md §11). The library's own
functions, evaluated like the kernels at the state before the increment, are instruments too; with
them there are never fewer equations than coefficients. Away from all kernels they are tapered to
zero, because a polynomial gives all the weight to a few far excursions.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from worker.identification.data.library import Library

Floats = NDArray[np.float64]

BANDWIDTH_IN_SPACINGS = 1.5

TAPER = 0.1
"""Sum of all kernels at which the library's functions have half their weight."""

FEWEST_SAMPLES = 20
"""Samples of the sample set that a box needs to carry a kernel; of a short record one in 100."""

COVERED = 0.9
"""Share of the samples that must lie in such boxes; finer boxes hold too few samples each."""

FIRST_SPACING, FINEST_SPACING = 4.0, 0.05
"""Largest and smallest side of the boxes tried, in standard deviations."""


@dataclass(frozen=True, slots=True, eq=False)
class Embedding:
    """Coordinates in which distances are measured.

    They are decorrelated linear coordinates, and each angle as a point on its circle.

    mean        (l,) means of the l linear coordinates
    whitening   (l, l) symmetric inverse root of their covariance
    linear      positions of the linear coordinates
    angles      positions of the angles
    radii       radius of each angle's circle, so that its points have unit variance
    """

    mean: Floats
    whitening: Floats
    linear: tuple[int, ...]
    angles: tuple[int, ...]
    radii: tuple[float, ...]

    def __call__(self, y: Floats) -> Floats:
        """Embed internal coordinates, (n, d) → (n, l + 2·number of angles).

        A Gaussian of the distance on a circle is a von Mises kernel.
        """
        parts = [(y[:, list(self.linear)] - self.mean) @ self.whitening]
        for i, radius in zip(self.angles, self.radii, strict=True):
            parts.append(
                radius * np.stack([np.cos(np.pi * y[:, i]), np.sin(np.pi * y[:, i])], axis=1)
            )
        return np.concatenate(parts, axis=1)


def embed(sample: Floats, periods: tuple[float | None, ...]) -> Embedding:
    """Choose the embedding of a sample (n, d) of internal coordinates."""
    linear = tuple(i for i, p in enumerate(periods) if p is None)
    angles = tuple(i for i, p in enumerate(periods) if p is not None)
    inner = sample[:, list(linear)]
    mean = inner.mean(axis=0)
    deviation = inner.std(axis=0)
    values, vectors = (
        np.linalg.eigh(np.atleast_2d(np.corrcoef(inner, rowvar=False)))
        if len(linear)
        else (np.zeros(0),) * 2
    )
    # The symmetric root treats all variables alike: their order does not matter.
    root = (
        (vectors / np.sqrt(values.clip(min=1e-12))) @ vectors.T if len(linear) else np.zeros((0, 0))
    )
    radii = []
    for i in angles:
        resultant = np.exp(1j * np.pi * sample[:, i]).mean()
        radii.append(float(1 / np.sqrt(max(1 - abs(resultant) ** 2, 1e-3))))
    return Embedding(mean, root / deviation[:, None], linear, angles, tuple(radii))


@dataclass(frozen=True, slots=True, eq=False)
class Instruments:
    """Kernels K_j(y) = exp(−|u(y) − c_j|² / 2h²), equation (M20), and tapered library functions.

    The functions of the library are g_k(y) S/(S + TAPER), S = Σ_j K_j(y).

    centres     (n_kernels, D) in the embedding u
    bandwidth   h, in standard deviations of the decorrelated data
    tapered     whether the library's functions are tapered
    """

    embedding: Embedding
    centres: Floats
    bandwidth: float
    library: Library
    tapered: bool = True

    @property
    def n_kernels(self) -> int:
        """Number of kernels."""
        return len(self.centres)

    def kernels(self, y: Floats) -> Floats:
        """Evaluate the kernels at internal coordinates, (n, d) → (n, n_kernels)."""
        u, c = self.embedding(y) / self.bandwidth, self.centres / self.bandwidth
        # u·c − |u|²/2 − |c|²/2 in one product.
        rows = np.concatenate([u, -0.5 * (u**2).sum(axis=1)[:, None], np.ones((len(u), 1))], axis=1)
        columns = np.concatenate(
            [c, np.ones((len(c), 1)), -0.5 * (c**2).sum(axis=1)[:, None]], axis=1
        )
        # Any function of the state before the increment is an instrument, so single precision,
        # which is four times as fast, is enough.
        return np.asarray(np.exp((rows @ columns.T).astype(np.float32)).astype(np.float64))

    def at(self, y: Floats) -> tuple[Floats, Floats]:
        """Evaluate kernels (n, n_kernels) and tapered functions (n, n_functions) at (n, d)."""
        kernels = self.kernels(y)
        if not self.tapered:
            return kernels, self.library.internal(y)
        total = kernels.sum(axis=1)
        return kernels, self.library.internal(y) * (total / (total + TAPER))[:, None]


def make_instruments(
    sample: Floats,
    library: Library,
    periods: tuple[float | None, ...],
    *,
    count: int,
    bandwidth: float | None = None,
) -> Instruments:
    """Make at most `count` kernels on a regular grid of boxes.

    Every box that holds enough of the sample carries one, at the mean of its samples.

    Parameters
    ----------
    sample : (n, d) internal coordinates
    library : library whose functions are instruments too
    periods : period of each variable, or None
    count : number of kernels at most
    bandwidth : h in standard deviations; by default 1.5 times the boxes' side
    """
    embedding = embed(sample, periods)
    u = embedding(sample)
    spacing, centres = FIRST_SPACING, u.mean(axis=0)[None]
    while spacing > FINEST_SPACING:
        finer, share = _occupied(u, 0.9 * spacing)
        if len(finer) > count or share < COVERED:
            break
        spacing, centres = 0.9 * spacing, finer
    return Instruments(
        embedding,
        centres,
        BANDWIDTH_IN_SPACINGS * spacing if bandwidth is None else bandwidth,
        library,
    )


def _occupied(u: Floats, side: float) -> tuple[Floats, float]:
    """Find the boxes that hold enough samples: means there (n_boxes, D), share of all samples."""
    box = np.zeros(len(u), dtype=np.int64)
    for column in np.round(u / side).astype(np.int64).T:
        # One number a box, made small again after every coordinate.
        box = np.unique(box * (np.ptp(column) + 1) + column - column.min(), return_inverse=True)[1]
    counts = np.bincount(box)
    sums = np.stack([np.bincount(box, weights=column) for column in u.T], axis=1)
    enough = counts >= min(FEWEST_SAMPLES, max(3, len(u) // 100))
    return np.asarray(sums[enough] / counts[enough, None]), float(counts[enough].sum() / len(u))
