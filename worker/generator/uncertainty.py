"""How uncertain the answer is, given models drawn from the coefficients' covariance."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from worker.generator.process import DiffusionProcess
from worker.generator.report import GeneratorReport, Range
from worker.generator.sample import analysed_alone
from worker.generator.together import analysed_together

FEWEST = 20
"""Samples below which no interval is given."""


@dataclass(frozen=True, slots=True)
class GeneratorSpread:
    """Central percentile intervals over the sampled models; None where too few samples have the quantity.

    They are the samples' own percentiles: the reference value lies inside them only if the samples put it there.

    eigenvalues    one interval for each eigenvalue of the reference [1/time]
    mean           (d,) intervals [state]
    covariance     (d, d) intervals [state²]
    passages       one interval for each passage of the reference, its mean time [time]
    kramers        likewise for the asymptotic formula [time]
    ergodic_share  share of the samples that have a stationary law; None without samples
    n_samples      how many models were analysed
    """

    eigenvalues: tuple[Range | None, ...]
    mean: tuple[Range | None, ...]
    covariance: tuple[tuple[Range | None, ...], ...]
    passages: tuple[Range | None, ...]
    kramers: tuple[Range | None, ...]
    ergodic_share: float | None
    n_samples: int


def spread(
    samples: Sequence[DiffusionProcess],
    reference: GeneratorReport,
    confidence: float,
    observed_range: Range | None = None,
) -> GeneratorSpread:
    """Intervals of the reference's numbers over models drawn around it.

    confidence      coverage of each central interval, 0 to 1; times are ranked by their logarithm
    observed_range  where given, each sample is first narrowed to where its noise is positive around the data [state]

    A sample that has no stationary law counts in `ergodic_share`; its infinite passage times count as infinite.
    """
    count = 0 if reference.spectrum is None else len(reference.spectrum.eigenvalues)
    pairs = tuple((passage.start, passage.to) for passage in reference.passages)
    together = analysed_together(samples, reference, pairs, observed_range)
    analysed = [
        found if found is not None else analysed_alone(sample, reference, pairs, observed_range)
        for sample, found in zip(samples, together, strict=True)
    ]
    law = [sample for sample in analysed if sample.settled]

    def interval(numbers: list[float | None]) -> Range | None:
        known = np.array([number for number in numbers if number is not None])
        if len(known) < max(FEWEST, len(numbers) / 2):
            return None
        # Order statistics, not interpolation: an infinite time must not turn its neighbour into nan.
        low, high = np.quantile(known, [(1 - confidence) / 2, (1 + confidence) / 2], method="nearest")
        return float(low), float(high)

    def time_interval(logs: list[float | None]) -> Range | None:
        found = interval(logs)
        with np.errstate(over="ignore"):
            return None if found is None else (float(np.exp(found[0])), float(np.exp(found[1])))

    tops = {point.at[0] for point in reference.fixed_points if not point.stable}
    return GeneratorSpread(
        eigenvalues=tuple(interval([s.rates[k] if k < len(s.rates) else None for s in law]) for k in range(count)),
        mean=(interval([sample.mean for sample in law]),),
        covariance=((interval([sample.variance for sample in law]),),),
        passages=tuple(time_interval([s.log_times[i] for s in analysed if s.log_times]) for i in range(len(pairs))),
        # To the top of the reference's barrier is to one side or the other of a sample's: the formula jumps there.
        kramers=tuple(
            None if tops & set(pair) else time_interval([s.log_kramers[i] for s in analysed if s.log_kramers])
            for i, pair in enumerate(pairs)
        ),
        ergodic_share=sum(sample.ergodic for sample in analysed) / len(analysed) if analysed else None,
        n_samples=len(analysed),
    )
