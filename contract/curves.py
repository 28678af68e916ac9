"""What a person looks at before believing a model: its drift and diffusion as curves, and the data they should describe.

For drawing. Everything is on grids of at most a few hundred points, and nothing is computed from it.
"""

from contract.base import Document, Interval


class Curve(Document):
    """A function of one variable, on the grid beside it."""

    values: tuple[float | None, ...]
    """At each point."""
    band: tuple[Interval, ...] = ()
    """Confidence interval at each point, from the models drawn around the estimate; empty where there are none."""


class Curves(Document):
    """Drift and diffusion of one variable where its data are, or its stationary law."""

    grid: tuple[float, ...]
    """[state]"""
    drift: Curve
    """[state/time]"""
    diffusion: Curve
    """[state²/time]"""


class DriftField(Document):
    """The drift of two variables on a coarse grid."""

    grid: tuple[tuple[float, ...], tuple[float, ...]]
    """Points of each variable [state]."""
    values: tuple[tuple[tuple[float | None, float | None], ...], ...]
    """Both components at each pair of points, the first variable's rows [state/time]."""


class Bins(Document):
    """Equal bins and the numbers that fell into them; what lies outside is not counted."""

    edges: tuple[float, ...]
    """One more than bins."""
    counts: tuple[int, ...]
    """Of each bin."""


class KramersMoyal(Document):
    """Drift and diffusion straight from the increments that start in each bin of one variable.

    Not corrected for the sampling interval; bins in which fewer than ten increments start are left out.
    """

    at: tuple[float, ...]
    """Mean state of each bin [state]."""
    drift: tuple[float | None, ...]
    """Σ Δx / Σ Δt [state/time]"""
    drift_std_error: tuple[float | None, ...]
    """Of `drift`."""
    diffusion: tuple[float | None, ...]
    """Σ (Δx − drift Δt)² / Σ Δt [state²/time]"""
    diffusion_std_error: tuple[float | None, ...]
    """Of `diffusion`."""
    noise_corrected: bool = False
    """Where the model was corrected for measurement noise of variance s²: then the increments of the step after are taken, which
    the noise of the state that was seen has no part in, and 2s²/Δt is taken off the diffusion."""


class JointBins(Document):
    """Samples of two variables in a table of equal bins."""

    edges: tuple[tuple[float, ...], tuple[float, ...]]
    """[state]"""
    counts: tuple[tuple[int, ...], ...]
    """The first variable's rows."""


class Observed(Document):
    """The data as they are drawn beside the model: at most half a million samples, in stretches spread over the record."""

    n_samples: int
    """How many were looked at."""
    histograms: dict[str, Bins]
    """Of the samples, by variable [state]."""
    residuals: dict[str, Bins]
    """Of (Δx − b Δt) / √(a Δt + 2s²) over −6 … 6, by variable, s² the measurement noise that the model was corrected for;
    standard normal where the model is right and the interval short."""
    kramers_moyal: KramersMoyal | None = None
    """Of one variable."""
    joint_histogram: JointBins | None = None
    """Of two variables."""
