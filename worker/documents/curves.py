"""The parts of a result document that are drawn: curves, drift field and observations."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from contract import curves as pictures
from grammar.terms import variable_name
from worker.documents.numbers import plain, row_of, written
from worker.validation.empirical import Bins, KramersMoyal, Observed
from worker.validation.plot_data import Curve, Curves, DriftField

Floats = NDArray[np.float64]


def curves_document(curves: Curves | None) -> pictures.Curves | None:
    """Write drift and diffusion on a grid of one variable."""
    if curves is None:
        return None
    friction = None if curves.friction is None else _curve(curves.friction)
    drift, diffusion = _curve(curves.drift), _curve(curves.diffusion)
    return written(pictures.Curves, curves, drift=drift, diffusion=diffusion, friction=friction)


def field_document(field: DriftField | None) -> pictures.DriftField | None:
    """Write the drift field on a grid of two variables."""
    if field is None:
        return None
    return written(pictures.DriftField, field)


def observed_document(observed: Observed, variables: Sequence[str] = ()) -> pictures.Observed:
    """Write histograms and Kramers–Moyal moments of the data.

    variables   names of the variables; default: x, y, z, …
    """
    names = tuple(variables) or tuple(variable_name(k) for k in range(len(observed.histograms)))
    joint = None
    if observed.joint_edges is not None:
        edges, counts = plain(observed.joint_edges), plain(observed.joint_counts)
        joint = pictures.JointBins(edges=edges, counts=counts)
    moments = observed.kramers_moyal
    return pictures.Observed(
        n_samples=observed.n_samples,
        histograms=_bins(names, observed.histograms),
        # Of positions whose velocities are variables there are none.
        residuals=_bins(names[-len(observed.residuals) :], observed.residuals),
        kramers_moyal=None if moments is None else _kramers_moyal(moments),
        joint_histogram=joint,
    )


def _curve(curve: Curve) -> pictures.Curve:
    band = () if curve.band is None else tuple(zip(*map(row_of, curve.band), strict=True))
    return pictures.Curve(values=row_of(curve.values), band=band)


def _kramers_moyal(moments: KramersMoyal) -> pictures.KramersMoyal:
    seen = np.isfinite(moments.at)
    return pictures.KramersMoyal(
        at=tuple(moments.at[seen].tolist()),
        drift=row_of(moments.drift[seen]),
        drift_std_error=row_of(moments.drift_error[seen]),
        diffusion=row_of(moments.diffusion[seen]),
        diffusion_std_error=row_of(moments.diffusion_error[seen]),
        noise_corrected=moments.noise_corrected,
    )


def _bins(names: Sequence[str], by_variable: tuple[Bins, ...]) -> dict[str, pictures.Bins]:
    return {
        name: written(pictures.Bins, bins) for name, bins in zip(names, by_variable, strict=True)
    }
