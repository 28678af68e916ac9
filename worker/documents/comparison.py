"""The part of the diagnostics that compares a model with its data."""

from typing import Any

from contract import results
from worker.comparison.autocorrelation import Autocorrelation
from worker.comparison.compare import Comparison


def comparison_of(comparison: Comparison, variables: tuple[str, ...]) -> dict[str, Any]:
    """Return the fields of `results.Diagnostics` that the comparison fills."""
    return {
        "density_total_variation": comparison.total_variation,
        "autocorrelation": {
            name: _autocorrelation(found)
            for name, found in zip(variables, comparison.autocorrelation, strict=False)
        },
        "chapman_kolmogorov": tuple(
            results.ChapmanKolmogorov(
                variable=variables[test.variable],
                lag=test.lag,
                statistic=test.statistic,
                degrees_of_freedom=test.degrees_of_freedom,
                p_value=test.p_value,
                mean_difference=test.mean_difference,
                spread_difference=test.spread_difference,
                n_windows=test.n_windows,
            )
            for test in comparison.chapman_kolmogorov
        ),
        "comparison_share": comparison.share,
        "comparison_reason": comparison.reason,
    }


def _autocorrelation(found: Autocorrelation) -> results.DataAutocorrelation:
    return results.DataAutocorrelation(
        lags=tuple(found.lags.tolist()),
        data=tuple(found.data.tolist()),
        band=tuple((float(low), float(high)) for low, high in found.band),
        model=tuple(found.model.tolist()),
        p_value=found.p_value,
        reason=found.reason,
    )
