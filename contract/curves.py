"""Drift and diffusion as curves, and the data they should describe, for plotting.

All grids have at most a few hundred points, and nothing is computed from them.
"""

from contract.base import Document, Interval


class Curve(Document):
    """A function of one variable, evaluated on a grid."""

    values: tuple[float | None, ...]
    """Value at each grid point."""
    band: tuple[Interval, ...] = ()
    """Pointwise confidence interval, from models drawn within the uncertainty of the fit; empty
    if there is none."""


class Curves(Document):
    """Drift and diffusion of one variable, or of one position and its velocity on the line v = 0.

    The grid covers the range of the data, or of the stationary distribution.
    """

    grid: tuple[float, ...]
    """Grid points [state]."""
    drift: Curve
    """Drift b on the grid [state/time]; of a model of second order the force F(x, 0)
    [state/time²]."""
    diffusion: Curve
    """Diffusion a on the grid [state²/time]; of a model of second order that of the velocity at
    rest [state²/time³]."""
    friction: Curve | None = None
    """Friction −∂F/∂v at rest, of a model of second order [1/time]."""


class DriftField(Document):
    """Drift of two variables, or of a position and its velocity, on a coarse grid."""

    grid: tuple[tuple[float, ...], tuple[float, ...]]
    """Grid points of each variable [state]."""
    values: tuple[tuple[tuple[float | None, float | None], ...], ...]
    """Both drift components at each pair of grid points; rows follow the first variable
    [state/time]."""


class Bins(Document):
    """A histogram with bins of equal width. Values outside the bins are not counted."""

    edges: tuple[float, ...]
    """Bin edges, one more than there are bins."""
    counts: tuple[int, ...]
    """Number of values in each bin."""


class KramersMoyal(Document):
    """Kramers–Moyal estimates of drift and diffusion of one variable, by bin.

    They come from the increments that start in each bin and are not corrected for the finite
    sampling interval. Bins with fewer than ten increments are omitted.
    """

    at: tuple[float, ...]
    """Mean state in each bin [state]."""
    drift: tuple[float | None, ...]
    """Drift estimate Σ Δx / Σ Δt in each bin [state/time]."""
    drift_std_error: tuple[float | None, ...]
    """Standard error of `drift`, in the same unit."""
    diffusion: tuple[float | None, ...]
    """Diffusion estimate Σ (Δx − drift Δt)² / Σ Δt in each bin [state²/time]."""
    diffusion_std_error: tuple[float | None, ...]
    """Standard error of `diffusion`, in the same unit."""
    noise_corrected: bool = False
    """True if the estimates are corrected for measurement noise of variance s². Each state is
    then paired with the increment of the following step, which is independent of the noise in
    that state, and 2s²/Δt is subtracted from the diffusion."""


class JointBins(Document):
    """A two-dimensional histogram with bins of equal size."""

    edges: tuple[tuple[float, ...], tuple[float, ...]]
    """Bin edges of each variable [state]."""
    counts: tuple[tuple[int, ...], ...]
    """Number of samples in each bin; rows follow the first variable."""


class Observed(Document):
    """Data for plotting beside the model.

    At most half a million samples are used, in blocks spread over the time series.
    """

    n_samples: int
    """Number of samples used."""
    histograms: dict[str, Bins]
    """Histogram of the samples, by variable [state]."""
    residuals: dict[str, Bins]
    """Histogram of the standardised residuals (Δx − b Δt) / √(a Δt + 2s²) from −6 to 6, by
    variable, where s² is the measurement noise variance that the model was corrected for. If the
    model is correct and the sampling interval short, they are standard normal."""
    kramers_moyal: KramersMoyal | None = None
    """Kramers–Moyal estimates; one variable only."""
    joint_histogram: JointBins | None = None
    """Joint histogram of the samples; two variables only."""
