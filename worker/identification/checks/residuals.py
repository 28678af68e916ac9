"""Residuals of a fitted model: their size, shape and correlations."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from worker.identification.checks.markov_tests import ScoreTests

Floats = NDArray[np.float64]

SIGNIFICANT = 4.0
"""Standard errors from which a correlation is significant; one false alarm in 16 000 fits."""

DETERMINISTIC = 1e-3
"""Share of the increments' mean square below which residuals are not noise."""

NEARLY_DETERMINISTIC, GROWTH_WITHOUT_NOISE = 0.1, 4.0
"""Larger share below which residuals are no noise if their variance grows so over two steps.

A diffusion's grows by two, that of a variable driven by others by eight."""


@dataclass(frozen=True, slots=True, eq=False)
class ResidualMoments:
    """Sums over the residuals r of one variable's drift equation, internal units.

    powers       (5,) Σ u^p, p = 0 … 4, of u = r over its model's standard deviation, where â > 0
                 and does not vanish within a step;
                 over the rms of r if â > 0 hardly anywhere
    products     (6,) n, Σ r_n r_{n+1}, Σ (r_n r_{n+1})² over consecutive windows, then
                 n, Σ r_n r_{n+2}, Σ (r_n r_{n+2})²
    squares      (3,) Σ r², Σ Δy², number of windows
    zero_steps   share of increments that are exactly zero
    """

    powers: Floats
    products: Floats
    squares: Floats
    zero_steps: float

    def repeated(self, times: float) -> Self:
        """Return the moments with the errors that products of residuals seen several times have."""
        return replace(self, products=self.products * [1, 1, times, 1, 1, times])

    @property
    def n_windows(self) -> int:
        """Number of windows."""
        return int(self.squares[2])

    @property
    def mean_square(self) -> float:
        """Mean square of the increments."""
        return float(self.squares[1] / max(self.squares[2], 1.0))

    @property
    def kurtosis(self) -> float:
        """Kurtosis: 3 for Gaussian noise, larger for jumps and heavy tails."""
        return (
            float(self.powers[4] * self.powers[0] / self.powers[2] ** 2)
            if self.powers[2] > 0
            else 0.0
        )

    @property
    def is_deterministic(self) -> bool:
        """Whether next to nothing of the increments' mean square is noise."""
        return bool(self.squares[0] < DETERMINISTIC * self.squares[1])

    @property
    def is_noisy(self) -> bool:
        """Whether neighbouring residuals are anticorrelated beyond chance."""
        return (
            self.lag_one_z < -SIGNIFICANT
            and self.lag_one_correlation < -0.005
            and not self.is_deterministic
        )

    @property
    def is_persistent(self) -> bool:
        """Whether neighbouring residuals are correlated, enough to matter to a standard error."""
        return self.lag_one_z > SIGNIFICANT and self.lag_one_correlation > 0.05

    @property
    def is_blurred(self) -> bool:
        """Whether the residuals' correlation is that of samples averaged over an exposure.

        Only neighbours are correlated, by up to ¼ with the whole interval exposed."""
        near, far = self.lag_one_correlation, self.lag_two_correlation
        # Inertia and filters correlate farther; a drift fitted to blurred samples leaves a trace of
        # the other sign.
        only_neighbours = self.lag_two_z < SIGNIFICANT or far < 0.1 * near
        # Jumps and intermittent noise cause correlations of their own.
        of_a_diffusion = not (self.is_heavy_tailed or self.is_deterministic)
        return (
            self.lag_one_z > SIGNIFICANT
            and 0.02 < near < 0.35
            and only_neighbours
            and of_a_diffusion
        )

    @property
    def is_heavy_tailed(self) -> bool:
        """Whether the kurtosis exceeds 3 beyond chance, and by one at least."""
        n = self.powers[0]
        return bool(n >= 100 and self.kurtosis > 3 + max(1.0, 6 * np.sqrt(24 / n)))

    @property
    def lag_one_correlation(self) -> float:
        """Correlation of neighbouring residuals.

        It is +1 for a smooth path, −½ where measurement noise dominates, 0 if the model is correct.
        """
        pairs = self.products[0]
        if not pairs or not self.squares[0]:
            return 0.0
        return float(self.products[1] / pairs / (self.squares[0] / self.squares[2]))

    @property
    def lag_one_covariance(self) -> tuple[float, float]:
        """Covariance of neighbouring residuals, and its standard error."""
        n, products, squares = (float(v) for v in self.products[:3])
        return products / max(n, 1.0), float(np.sqrt(squares)) / max(n, 1.0)

    @property
    def lag_one_z(self) -> float:
        """Lag-one product over its own standard error."""
        return float(self.products[1] / np.sqrt(self.products[2])) if self.products[2] > 0 else 0.0

    @property
    def lag_two_correlation(self) -> float:
        """Correlation of residuals two windows apart."""
        if not self.products[3] or not self.squares[0]:
            return 0.0
        return float(self.products[4] / self.products[3] / (self.squares[0] / self.squares[2]))

    @property
    def lag_two_z(self) -> float:
        """Lag-two product over its own standard error."""
        return float(self.products[4] / np.sqrt(self.products[5])) if self.products[5] > 0 else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Residuals:
    """Residuals of every variable.

    moments   sums over the residuals, by variable
    growth    (d,) mean square residual over two steps, over one step; None for one variable
    scores    tests of what the drift leaves out, by variable; empty where not made
    """

    moments: tuple[ResidualMoments, ...]
    growth: Floats | None = None
    scores: tuple[ScoreTests, ...] = ()

    def noise_free(self) -> tuple[int, ...]:
        """Return variables that are deterministic, or driven by the noise of others only."""
        if self.growth is None:
            return ()
        found = []
        for p, (moments, growth) in enumerate(zip(self.moments, self.growth, strict=True)):
            share = moments.squares[0] / moments.squares[1] if moments.squares[1] else 0.0
            if share < DETERMINISTIC or (
                share < NEARLY_DETERMINISTIC and growth > GROWTH_WITHOUT_NOISE
            ):
                found.append(p)
        return tuple(found)
