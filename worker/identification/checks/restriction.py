"""Test of what was given before a fit, against the fit without it."""

from dataclasses import dataclass
from typing import Literal

from scipy.stats import chi2


@dataclass(frozen=True, slots=True)
class Restriction:
    """Test of what was given of several coefficients, against the free fit.

    kind        `bounds`, `equalities`, `gradient`, `detailed-balance` or `measurement-noise`
    components  components it is about, by name
    given       what was given, in words
    free        what the free fit says instead, in words
    dof         degrees of freedom of χ²; None for a mixture of several
    p_value     probability of a larger statistic if what was given is true
    """

    kind: Literal["bounds", "equalities", "gradient", "detailed-balance", "measurement-noise"]
    components: tuple[str, ...]
    given: str
    free: str
    statistic: float
    dof: int | None
    p_value: float


def noise_restriction(
    variables: tuple[str, ...],
    variances: tuple[float, float, float],
    unit: float,
    *,
    blurred: bool = False,
) -> Restriction:
    """Test measurement noise that was given against its free estimate.

    Parameters
    ----------
    variables : names of the variables
    variances : variance that was given, its estimate, and that one's standard error
    unit : unit of the variances [state²]
    blurred : whether an exposure was given; the variances are those of the noise less the blur
    """
    known, free, error = variances
    statistic = ((free - known) / error) ** 2
    given, less = "standard error of the samples", ""
    if blurred:
        given, less = f"exposure and the {given}", " less the motion blur"
    return Restriction(
        "measurement-noise",
        variables,
        given,
        f"the variance of the measurement noise{less} is {free * unit:.3g} ± {error * unit:.2g} "
        f"instead of {known * unit:.3g}",
        statistic,
        1,
        float(chi2.sf(statistic, 1)),
    )
