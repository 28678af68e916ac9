"""Table tab:comparison, which has no numbers."""

from benchmarks.paper.parts import Claim, Part, Table

ROWS = (
    ("SINDy", "no", "no", "yes", "no"),
    ("stochastic SINDy", "yes", "yes", "yes", "no"),
    ("weak SINDy", "no", "no", "yes", "yes"),
    ("EDMD", "yes", "partial", "no", "yes"),
    ("neural SDE", "yes", "yes", "no", "yes"),
    ("the paper", "yes", "yes", "yes", "yes"),
)


def part() -> Part:
    """Make the part of the document."""
    return Part(
        "Comparison of methods",
        "table tab:comparison",
        (
            Table(
                "As published. Nothing in it can be measured.",
                ("method", "handles SDEs", "identifies a(x)", "symbolic output", "derivative-free"),
                ROWS,
                words=True,
            ),
        ),
        (
            "“Derivative-free” is no difference between the paper and stochastic SINDy: dividing "
            "every increment by the same dt and multiplying the normal equations by it again "
            "changes nothing (see *Noise against the step*). The service here has all four, and "
            "other differences: coarse samples, measurement noise, several variables, standard "
            "errors.",
        ),
        (
            Claim(
                "avoiding derivatives sets it apart from stochastic SINDy",
                "tab:comparison",
                "–",
                "the same normal equations but for a common factor dt",
                "no",
            ),
        ),
    )
