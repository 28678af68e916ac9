"""How a computation says how far it has come."""

from collections.abc import Callable
from itertools import count

Report = Callable[[float, str, str], None]
"""Fraction, stage, message."""

BEGIN, END = 0.15, 0.65
"""Where identification begins, and what it never comes to."""
SHARE = 0.05
"""Of what is left, by which a step goes on where nobody knows how many will follow."""


def creeping(report: Report) -> Callable[[str], None]:
    """Tells of steps of which nobody knows how many will follow, by what each is about."""
    steps = count(1)

    def tell(what: str) -> None:
        report(END - (END - BEGIN) * (1 - SHARE) ** next(steps), "identifying", what)

    return tell
