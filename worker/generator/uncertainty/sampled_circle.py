"""A sample whose coordinate is an angle."""

import numpy as np
from numpy.typing import NDArray

from worker.generator.circle.analysis import circular_fixed_points, points_of
from worker.generator.circle.correlations import RESOLVED, CircleCorrelations, correlations_near
from worker.generator.circle.fourier import MODES, fourier_rates_near
from worker.generator.circle.passages import (
    circular_committor,
    circular_exit,
    circular_log_quantiles,
    circular_times,
)
from worker.generator.circle.unrolled_circle import opened
from worker.generator.line.spectrum import matched
from worker.generator.process import ScalarProcess
from worker.generator.quantities.correlations import Memory
from worker.generator.quantities.report import GeneratorReport, Range
from worker.generator.uncertainty.sampled_model import (
    Sample,
    committors_of,
    exit_numbers,
    exits_of,
    log_time_of,
    values_of,
)
from worker.generator.uncertainty.topography import topography_on_the_circle


def sample_on_the_circle(
    model: ScalarProcess, reference: GeneratorReport, pairs: tuple[Range, ...]
) -> Sample:
    """The sample analysed like the reference, all questions on one landscape of the turn."""
    low, between = reference.domain[0], committors_of(reference)
    remembered = reference.memory if isinstance(reference.memory, Memory) else None
    fixed = circular_fixed_points(model, low)
    circle = opened(model, low, points_of(fixed, pairs, between, exits_of(reference)))
    own = None if remembered is None else correlations_near(model, circle, remembered)
    curves = (None, None)
    if remembered is not None and own is not None:
        curves = (
            own.autocorrelation(remembered.lags)[0],
            own.power_spectrum(remembered.frequencies)[0],
        )
    rates = _rates_round(model, low, reference, own)
    found = [circular_times(circle, start, to) for start, to in pairs]
    topography, current = topography_on_the_circle(model, circle, fixed, reference)
    return Sample(
        ergodic=True,
        settled=True,
        rates=tuple(float(rate) for rate in rates.real),
        frequencies=tuple(float(rate) for rate in rates.imag),
        log_times=tuple(log_time_of(mean) for mean, _ in found),
        log_deviations=tuple(deviation.log_value for _, deviation in found),
        log_kramers=(None,) * len(pairs),
        log_quantiles=tuple(
            circular_log_quantiles(circle, passage, mean)
            for passage, (mean, _) in zip(reference.passages, found, strict=True)
        ),
        log_integrated_time=None if own is None else float(np.log(own.integrated_time)),
        exits=tuple(exit_numbers(circular_exit(circle, triple)) for triple in exits_of(reference)),
        committors=tuple(values_of(circular_committor(circle, pair)) for pair in between),
        topography=topography,
        current=current,
        autocorrelation=curves[0],
        power_spectrum=curves[1],
    )


def _rates_round(
    model: ScalarProcess, low: float, reference: GeneratorReport, own: CircleCorrelations | None
) -> NDArray[np.complex128]:
    """(k,) the rates of a model on the turn from `low`, those that stand for the reference's, as far as it has them [1/time]."""
    assert model.period is not None
    wanted = (
        np.zeros(0, np.complex128) if reference.spectrum is None else reference.spectrum.eigenvalues
    )
    if own is not None or not len(wanted):
        return wanted if own is None else matched(own.rates, wanted)
    for modes in MODES[1:]:
        rates, last = fourier_rates_near(model, low, model.period, modes, wanted)
        if last < RESOLVED:
            return matched(rates, wanted)
    return wanted[:0]
