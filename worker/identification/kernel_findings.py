"""What the reader should know about the kernels that were used."""

from collections.abc import Iterator

from worker.identification.diagnostics import Finding
from worker.identification.efficient import Identified
from worker.identification.library import Library
from worker.identification.precision import gain_of_narrower

MATERIAL = 1.5
"""Ratio of variances beyond which kernels are said to smooth away what the data know; standard errors are a quarter larger."""

MOST_KERNELS = 100
"""More are not compared with twice as many."""


def kernel_findings(identified: Identified, library: Library) -> Iterator[Finding]:
    """Whether they were chosen as asked for, and whether the library varies faster than they do."""
    choice = identified.choice
    if choice is not None and choice.chosen is None:
        yield Finding(
            "kernels-not-chosen",
            "Kernels could not be chosen by cross-validation: "
            + (
                "there are too few samples for it. "
                if not choice.candidates
                else "none of those tried tells the terms of the library apart. "
            )
            + f"{len(identified.kernels.centres)} kernels were used, as by default.",
        )
    elif choice is None and len(identified.kernels.centres) <= MOST_KERNELS:
        statistics = identified.statistics
        gain = gain_of_narrower(
            identified.kernels,
            statistics.nodes,
            library.internal(statistics.nodes),
            statistics.time,
            identified.variance,
        )
        if gain > MATERIAL:
            yield Finding(
                "wide-kernels",
                "Terms of the library vary within the width of a kernel, which smooths away what would tell them; narrower "
                'kernels would know the drift better. Set kernels to "auto", or raise kernels.count.',
                {"variance_ratio": min(float(gain), 1e6)},
            )
