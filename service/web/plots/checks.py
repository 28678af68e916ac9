"""Plots that check the model: selection of terms, residuals, and predictions at longer times."""

from collections.abc import Iterator

import numpy as np

from contract.results import IdentificationResult, SelectionPath
from service.web.numbers import Units, plain
from service.web.plots.plot import SERIES, Axis, Layers, Plot, density_of


def check_plots(result: IdentificationResult, units: Units) -> Iterator[Plot]:
    """Draw the residuals and the Chapman–Kolmogorov test."""
    yield from _residuals(result)
    yield from _chapman_kolmogorov(result, units)


def selection_plots(result: IdentificationResult) -> Iterator[Plot]:
    """Draw the score of the best model with each number of terms."""
    layers = Layers()
    paths = [
        *((f"drift {key}", path) for key, path in result.selection.drift.items() if path.path),
        *((f"diffusion {key}", path) for key, path in result.selection.diffusion.items()),
    ]
    said = []
    for (name, path), style in zip(paths, SERIES, strict=False):
        sizes, losses = _losses(path)
        if len(sizes) < 2:
            continue
        layers.line(name, sizes, losses, style)
        layers.dots(name, sizes, losses, None, style)
        best = int(np.nanargmin(losses))
        said.append(f"{name}: best with {int(sizes[best])} terms")
    if said:
        values = np.concatenate([np.array(layer["y"], dtype=float) for layer in layers.made])
        # Only scores near the best matter; wrong models are worse by thousands.
        top = float(np.clip(np.nanquantile(values, 0.75), 20, 200))
        title = "Model selection: score below the best model"
        across, up = Axis("number of terms"), Axis("score difference", None, (-0.04 * top, top))
        summary = (
            "Score of the best model with each number of terms, relative to the best model "
            f"overall. {'; '.join(said)}."
        )
        note = (
            "The score is the gain in log-likelihood minus the penalty for the number of terms. A "
            "difference of 3 corresponds to a likelihood ratio of about 20."
        )
        yield Plot("selection", title, across, up, layers.made, summary, note)


def _losses(path: SelectionPath) -> tuple[np.ndarray, np.ndarray]:
    best: dict[int, float] = {}
    for entry in path.path:
        size = len(entry.support)
        best[size] = max(best.get(size, -np.inf), entry.score)
    sizes = np.array(sorted(best), dtype=float)
    scores = np.array([best[int(size)] for size in sizes])
    return sizes, (scores.max() - scores) if len(scores) else scores


def _residuals(result: IdentificationResult) -> Iterator[Plot]:
    observed = result.observed
    if observed is None:
        return
    layers = Layers()
    for (name, bins), style in zip(observed.residuals.items(), SERIES, strict=False):
        share = density_of(bins)
        if share is None:
            continue
        if len(observed.residuals) == 1:
            layers.bars("residuals", bins.edges, share)
        else:
            edges = np.array(bins.edges)
            share[share == 0] = np.nan
            layers.line(f"residuals of {name}", (edges[1:] + edges[:-1]) / 2, share, style)
    if not layers.made:
        return
    u = np.linspace(-5, 5, 161)
    normal = np.exp(-(u**2) / 2) / np.sqrt(2 * np.pi)
    layers.line("standard normal", u, normal, dashed=len(observed.residuals) > 1)
    moments = result.diagnostics.residuals
    summary = "Standardised residuals of the model, compared with the standard normal density."
    if moments.kurtosis is not None:
        summary += (
            f" Their kurtosis is {plain(moments.kurtosis, 3)}; 3 is expected for a normal "
            "distribution."
        )
    across, up = Axis("standardised residual", None, (-5.0, 5.0)), Axis("density")
    yield Plot("residuals", "Standardised residuals", across, up, layers.made, summary)


def _chapman_kolmogorov(result: IdentificationResult, units: Units) -> Iterator[Plot]:
    tests = result.diagnostics.chapman_kolmogorov
    names = list(dict.fromkeys(test.variable for test in tests))
    layers = Layers(log=True)
    for name, style in zip(names, SERIES, strict=False):
        of = [test for test in tests if test.variable == name]
        if len(of) > 1:
            label = "p-value" if len(names) == 1 else f"p-value of {name}"
            values = [max(test.p_value, 1e-6) for test in of]
            layers.line(label, [test.lag for test in of], values, style)
            layers.dots(label, [test.lag for test in of], values, None, style)
    if not layers.made:
        return
    layers.rule(y=1e-3)
    worst = min(tests, key=lambda test: test.p_value)
    summary = (
        "Chapman–Kolmogorov test: p-value of the error in the predicted mean and variance, by lag, "
        "under the null hypothesis that the model is correct. The smallest is "
        f"{plain(worst.p_value, 2)} at lag {plain(worst.lag, 3)}."
    )
    title = "Chapman–Kolmogorov test: prediction at longer times"
    across, up = Axis("lag", units.time, log=True), Axis("p-value", None, (5e-7, 1.5), log=True)
    note = "A p-value below the line means that the model is rejected at that lag."
    yield Plot("chapman-kolmogorov", title, across, up, layers.made, summary, note)
