"""Warnings about what follows from a model: its analysis, and its comparison with the data."""

from collections.abc import Iterator, Sequence
from typing import Literal

from worker.identification.findings.finding import Finding

FEW_TRANSITIONS = 10

DRIVEN = "inputs or forcing drive the states, so that they are no Markov process by themselves"
MODEL_ONLY = "only the model was requested (analysis.model_only)"


def sentence_findings(
    code: Literal["diffusion-cut", "extrapolated"], sentences: Sequence[str]
) -> Iterator[Finding]:
    """Warn of a domain cut where the diffusion is not positive, or of results outside the data."""
    yield from (Finding(code, f"{sentence[:1].upper()}{sentence[1:]}.") for sentence in sentences)


def not_analysed(reason: str) -> Iterator[Finding]:
    """Warn of a model that the analysis could not resolve: it may have a distribution or not."""
    yield Finding(
        "not-analysed",
        f"The model was identified, but its analysis failed: {reason.rstrip('.')}. Whether it has "
        "a stationary distribution is not known.",
    )


def rarely_ergodic(share: float | None, confidence: float) -> Iterator[Finding]:
    """Warn where more sampled models have no stationary distribution than intervals leave out.

    share   share of the models drawn around the estimate that have one
    """
    if share is not None and share < confidence:
        yield Finding(
            "ergodic-share",
            f"{100 * (1 - share):.2g} % of the models within the fit's uncertainty have no "
            "stationary distribution: poorly determined terms make the drift point outward. Where "
            "that happens beyond the data, rates and times hold until the process gets there. A "
            "lower library.polynomial_degree, a selection of terms instead of all of them, a "
            "domain, or a longer time series helps.",
            {"ergodic_share": share},
        )


def few_transitions(one: str, other: str, seen: int) -> Iterator[Finding]:
    """Warn of first-passage times that rest on few transitions, or none.

    Parameters
    ----------
    one, other : the two places, written out
    seen : number of transitions between them in the data, in both directions
    """
    if seen < FEW_TRANSITIONS:
        count = (
            "No transition was"
            if seen == 0
            else "Only one transition was"
            if seen == 1
            else f"Only {seen} transitions were"
        )
        yield Finding(
            "few-transitions",
            f"{count} observed between {one} and {other} in either direction: the mean "
            "first-passage times between them are extrapolated from the drift where the data are, "
            "and uncertain. Record longer, or start trajectories at both.",
            {"places": [one, other], "seen": seen},
        )


def stationary_density_differs(distance: float) -> Finding:
    """Warn of a stationary distribution that differs from that of the data.

    distance   total variation between the two densities, 0 to 1
    """
    return Finding(
        "stationary-density",
        "The model's stationary density differs from that of the data: their total variation "
        f"distance is {distance:.2g}, where 0 is equality and 1 no overlap. Its mean, variance and "
        "rates say little about the region of the data: the time series had not relaxed to the "
        "stationary distribution, or poorly determined terms move that distribution away. A longer "
        "time series, a lower library.polynomial_degree, a domain, or trajectories that start "
        "further out helps.",
        {"total_variation": distance},
    )


def wrong_at_longer_times(
    lag: float, mean: float, spread: float, p_value: float, lags: Sequence[float]
) -> Finding:
    """Warn of a model that is wrong at longer times than the sampling interval.

    Parameters
    ----------
    lag : lag of the largest difference [time]
    mean : largest difference of the conditional mean [standard deviations]
    spread : largest difference of the conditional second moment [variances]
    p_value : significance under the null hypothesis that the model is correct
    lags : all lags at which there is a difference [time]
    """
    return Finding(
        "chapman-kolmogorov",
        f"At a lag of {lag:.4g} the model disagrees with the data (Chapman–Kolmogorov test, p = "
        f"{p_value:.1g}): the conditional mean differs by up to {mean:.2g} standard deviations of "
        f"the state, the conditional second moment by {spread:.2g} variances. The coefficients "
        "depend on the time scale at which they are fitted: a hidden variable or other memory, "
        "measurement noise, or a sampling interval too coarse for the sampling rule. Relaxation "
        "times are those of this model, not of the data.",
        {"lags": list(lags), "lag": lag, "p_value": p_value},
    )


def autocorrelation_differs(difference: float, p_value: float) -> Finding:
    """Warn of an autocorrelation function that differs from that of the data."""
    return Finding(
        "autocorrelation",
        "The autocorrelation of the data differs from that of the model by up to "
        f"{difference:.2g}, outside the confidence band of the data (p = {p_value:.1g}). The data "
        "have a longer or shorter memory than this model: a hidden variable, a trend, or a time "
        "series that had not relaxed.",
        {"difference": difference, "p_value": p_value},
    )
