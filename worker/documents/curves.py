"""The parts of a result document that are drawn: curves, drift field and observations."""

import numpy as np
from numpy.typing import NDArray

from contract import curves as pictures
from grammar.terms import variable_name
from worker.comparison.empirical import Bins, KramersMoyal, Observed
from worker.comparison.plot_data import Curve, Curves, DriftField
from worker.documents.numbers import number

Floats = NDArray[np.float64]


def curves_document(curves: Curves | None) -> pictures.Curves | None:
    """Write drift and diffusion on a grid of one variable."""
    if curves is None:
        return None
    return pictures.Curves(
        grid=tuple(curves.grid.tolist()),
        drift=_curve(curves.drift),
        diffusion=_curve(curves.diffusion),
    )


def field_document(field: DriftField | None) -> pictures.DriftField | None:
    """Write the drift field on a grid of two variables."""
    if field is None:
        return None
    first, second = (tuple(points.tolist()) for points in field.grid)
    values = tuple(tuple((number(b[0]), number(b[1])) for b in row) for row in field.values)
    return pictures.DriftField(grid=(first, second), values=values)


def observed_document(observed: Observed) -> pictures.Observed:
    """Write histograms and Kramers–Moyal moments of the data, of any number of variables."""
    joint = None
    if observed.joint_edges is not None and observed.joint_counts is not None:
        first, second = (tuple(edges.tolist()) for edges in observed.joint_edges)
        joint = pictures.JointBins(
            edges=(first, second),
            counts=tuple(tuple(row) for row in observed.joint_counts.tolist()),
        )
    return pictures.Observed(
        n_samples=observed.n_samples,
        histograms={variable_name(k): _bins(bins) for k, bins in enumerate(observed.histograms)},
        residuals={variable_name(k): _bins(bins) for k, bins in enumerate(observed.residuals)},
        kramers_moyal=None
        if observed.kramers_moyal is None
        else _kramers_moyal(observed.kramers_moyal),
        joint_histogram=joint,
    )


def _curve(curve: Curve) -> pictures.Curve:
    band = () if curve.band is None else tuple(zip(*map(_numbers, curve.band), strict=True))
    return pictures.Curve(values=_numbers(curve.values), band=band)


def _kramers_moyal(moments: KramersMoyal) -> pictures.KramersMoyal:
    seen = np.isfinite(moments.at)
    return pictures.KramersMoyal(
        at=tuple(moments.at[seen].tolist()),
        drift=_numbers(moments.drift[seen]),
        drift_std_error=_numbers(moments.drift_error[seen]),
        diffusion=_numbers(moments.diffusion[seen]),
        diffusion_std_error=_numbers(moments.diffusion_error[seen]),
        noise_corrected=moments.noise_corrected,
    )


def _bins(bins: Bins) -> pictures.Bins:
    return pictures.Bins(edges=tuple(bins.edges.tolist()), counts=tuple(bins.counts.tolist()))


def _numbers(values: Floats) -> tuple[float | None, ...]:
    return tuple(values.tolist()) if np.isfinite(values).all() else tuple(number(v) for v in values)
