"""Progress reports of a computation."""

from collections.abc import Callable
from itertools import count

Report = Callable[[float, str, str], None]
"""A function of fraction, stage and message."""

BEGIN, END = 0.15, 0.65
"""Fraction at which identification begins, and the fraction that it never reaches."""
SHARE = 0.05
"""Fraction of the rest by which one step of an unknown number advances."""


def creeping(report: Report) -> Callable[[str], None]:
    """Return a function of a message that reports one more step of an unknown number."""
    steps = count(1)

    def tell(what: str) -> None:
        report(END - (END - BEGIN) * (1 - SHARE) ** next(steps), "identifying", what)

    return tell
