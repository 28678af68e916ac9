"""What the reader should know about the kernels that were used."""

from collections.abc import Iterator

from worker.identification.checks.diagnostics import Finding
from worker.identification.data.library import Library
from worker.identification.equations.relative_efficiency import gain_of_narrower
from worker.identification.estimation.scalar_estimator import Identified
from worker.identification.selection.cross_validation import KernelChoice

MATERIAL = 1.5
"""Ratio of variances beyond which kernels are said to smooth away what the data know; standard errors are a quarter larger."""

MOST_KERNELS = 100
"""More are not compared with twice as many."""


def not_chosen(choice: KernelChoice | None, n_kernels: int) -> Iterator[Finding]:
    """Where a choice was asked for and could not be made."""
    if choice is not None and choice.chosen is None:
        reason = (
            "no candidate distinguishes the terms of the library"
            if choice.candidates
            else "there are too few samples"
        )
        yield Finding(
            "kernels-not-chosen",
            f"Kernels could not be chosen by cross-validation: {reason}. The default of {n_kernels} kernels was used.",
        )


def kernel_findings(identified: Identified, library: Library) -> Iterator[Finding]:
    """Whether they were chosen as asked for, and whether the library varies faster than they do."""
    yield from not_chosen(identified.choice, len(identified.kernels.centres))
    if identified.choice is None and len(identified.kernels.centres) <= MOST_KERNELS:
        statistics = identified.statistics
        gain = gain_of_narrower(
            identified.kernels,
            statistics.nodes,
            library.internal(statistics.nodes),
            statistics.time,
            identified.variance,
            MATERIAL,
        )
        if gain > MATERIAL:
            yield Finding(
                "wide-kernels",
                "Terms of the library vary within the width of a kernel, which averages out their effect; narrower kernels would "
                'determine the drift more precisely. Set kernels to "auto", or raise kernels.count.',
                {"variance_ratio": min(float(gain), 1e6)},
            )
