"""Why quantities are absent: the kinds of reasons, and the sentences that are always the same.

A sentence that names numbers or places is written where these are known.
"""

from dataclasses import dataclass
from enum import Enum


class Outcome(Enum):
    """Kind of a reason; code and tests tell reasons apart by it. Its value says what it means."""

    ESCAPES = "the process is pushed outward, without return"
    ABSORBED = "the process ends at an end of the domain and never leaves it again"
    UNCONFINED = "nothing holds the process back, so that its density is not normalisable"
    DETERMINISTIC = "the process has no noise at all"
    NOT_POSITIVE = "the diffusion is zero or negative somewhere, but has to be positive there"
    DEGENERATE = "the noise does not act in every direction, or does not reach it by the drift"
    UNDEFINED = "drift or diffusion is not a finite number where it is needed"
    NO_WELL = "no stable fixed point was found, next to which the process could be linearised"
    NOT_ANALYSED = "the analysis ended with an error, which says what is wrong with the process"
    NOT_ERGODIC = "there is no stationary distribution, and the quantity is defined by one"
    INFINITE = "the integral that defines the quantity diverges"
    CONTINUOUS = "the spectrum is continuous where the rates would be"
    OVERFLOWS = "the quantity is finite, and no floating-point number holds it"
    OUTSIDE = "a place lies outside the domain, or the start outside the interval to be left"
    UNREACHABLE = "the process never comes to the place"
    IMMEDIATE = "the passage starts where it ends"
    NO_PLACE = "what was given as a place is none of this process"
    NOT_DEFINED = "the quantity is not defined, or not computed, for processes of this kind"
    NO_BARRIER = "no barrier is climbed from a well, or it has no parabola for Kramers' formula"
    UNRESOLVED = "the numerical solution does not reach its accuracy"
    LEFT_OUT = "a well that holds next to no probability was left out"
    LINEARISED = "the numbers are those of the process linearised at a fixed point"


@dataclass(frozen=True, slots=True)
class Reason:
    """Reason why a quantity is absent, incomplete or only approximate.

    outcome   its kind
    sentence  the reason in words, for a reader
    """

    outcome: Outcome
    sentence: str

    def __str__(self) -> str:
        """Return the sentence."""
        return self.sentence


NO_NOISE = Reason(
    Outcome.DETERMINISTIC,
    "no stationary distribution with a density: the diffusion is zero everywhere, the process is "
    "deterministic",
)
NOISE_NOT_POSITIVE = Reason(
    Outcome.NOT_POSITIVE,
    "the diffusion is not positive everywhere, so these quantities are undefined; give other terms "
    "or another domain",
)
NOISE_NEGATIVE = Reason(
    Outcome.NOT_POSITIVE,
    "no stationary distribution: the diffusion tensor is negative in one direction; refit with "
    "fewer terms",
)
BROWNIAN = Reason(
    Outcome.UNCONFINED,
    "no stationary distribution: nothing holds the process back along one direction (Brownian "
    "motion)",
)
UNDAMPED = Reason(
    Outcome.UNCONFINED,
    "no stationary distribution: an oscillation is undamped, and its amplitude grows like Brownian "
    "motion",
)
NO_DENSITY = Reason(
    Outcome.DEGENERATE,
    "no stationary distribution with a density: the noise does not reach every direction",
)
NO_PRODUCTION = Reason(
    Outcome.DEGENERATE,
    "the noise does not act in every direction, so entropy production is not defined",
)
ONE_WAY = Reason(
    Outcome.NOT_DEFINED,
    "the noise vanishes or is not the same for opposite velocities, so that a path backwards is "
    "impossible and entropy production is infinite",
)
NO_LAW = Reason(Outcome.NOT_ERGODIC, "there is no stationary distribution to start from")

NO_VARIANCE = Reason(
    Outcome.INFINITE, "the variance is infinite, so there is no autocorrelation function"
)
CONTINUOUS_TO_ZERO = Reason(
    Outcome.CONTINUOUS,
    "no isolated rate: the spectrum is continuous down to zero, and correlations decay slower than "
    "exponentially",
)
RATES_TOO_SMALL = Reason(
    Outcome.OVERFLOWS,
    "the slowest rates are below the smallest floating-point number, because the barriers are too "
    "high",
)
DENSITY_TOO_LOW = Reason(
    Outcome.OVERFLOWS,
    "the density on the way is below e^-2000 of its peak, too low for floating-point numbers",
)

FAR_OUT = Reason(
    Outcome.UNREACHABLE,
    "a region of the passage lies so far out that the process never comes near it",
)
NEVER_HIT = Reason(
    Outcome.UNREACHABLE,
    "a process of two variables with noise never hits a single point; give a region as the target",
)
NO_WAY = Reason(Outcome.IMMEDIATE, "the passage takes no time")
NO_STATES = Reason(
    Outcome.NO_PLACE,
    "two numbers name no states of a process of several coordinates; give points or regions",
)
NO_REGIONS = Reason(
    Outcome.NO_PLACE,
    "a committor of two variables is between two regions; a single point is never hit",
)
NO_NUMBERS = Reason(
    Outcome.NO_PLACE,
    "in one variable a committor is between two numbers or two disjoint intervals; give those",
)
NOT_TWO_NUMBERS = Reason(
    Outcome.NO_PLACE, "in one variable a passage is between two numbers; give two numbers"
)
OVERLAP = Reason(Outcome.NO_PLACE, "the two regions overlap")
WHOLE_PLANE = Reason(
    Outcome.NO_PLACE,
    "a region without any bound is the whole plane; give an interval for at least one variable",
)

FOR_ONE = Reason(
    Outcome.NOT_DEFINED,
    "exits from intervals are for one variable; request the passage to a region instead",
)
FOR_TWO = Reason(
    Outcome.NOT_DEFINED, "passages and committors between regions are for two variables"
)
TWO_WAYS = Reason(
    Outcome.NOT_DEFINED,
    "an angle can pass in either direction, over either barrier; only the exact time is given",
)
ANGLE = Reason(
    Outcome.NOT_DEFINED,
    "the moments of an angle depend on the choice of origin, so they are omitted",
)
TOO_FLAT = Reason(
    Outcome.NO_BARRIER,
    "the drift is too flat at a well or a barrier, or the noise too strong; the formula does not "
    "apply",
)

ONE_BARRIER = Reason(
    Outcome.NO_BARRIER,
    "the formula is for a passage in the position from one well over one barrier, whatever the "
    "velocity",
)
NO_PARABOLA = Reason(
    Outcome.NO_BARRIER,
    "the barrier is lower than the thermal energy, or has no parabola; the formula does not apply",
)

TOO_STEEP = Reason(
    Outcome.UNRESOLVED, "the potential is too steep for the standard deviation to be resolved"
)
TOO_STEEP_ON_THE_WAY = Reason(
    Outcome.UNRESOLVED,
    "the potential along the passage is too steep for the distribution to be resolved",
)
TOO_SHORT = Reason(
    Outcome.UNRESOLVED, "the passage is so short that its distribution is not resolved"
)
RARE_START = Reason(
    Outcome.UNRESOLVED,
    "the passage starts where the process hardly ever is, so the distribution of its time is not "
    "resolved",
)
HEAVY_TAIL = Reason(
    Outcome.UNRESOLVED,
    "the density's tail is too heavy: most of the variance comes from extremely rare values",
)
TOO_WEAK_FOR_FOURIER = Reason(
    Outcome.UNRESOLVED,
    "the autocorrelation does not converge: the noise is too weak for the Fourier method",
)
TOO_WEAK_FOR_CELLS = Reason(
    Outcome.UNRESOLVED,
    "the autocorrelation does not converge on the finest cells: the noise is too weak for them",
)
RATES_TOO_FAR_APART = Reason(
    Outcome.UNRESOLVED,
    "the autocorrelation does not converge: rates differ too much between regions",
)
TIME_UNSETTLED = Reason(
    Outcome.UNRESOLVED,
    "the time does not converge on the finest cells: a region is too narrow for them, the noise "
    "too weak, or the time too long",
)
COMMITTOR_UNSETTLED = Reason(
    Outcome.UNRESOLVED,
    "the committor does not converge on the finest cells: a region is too narrow for them, or the "
    "noise too weak",
)
TOO_MANY_EDGES = Reason(Outcome.UNRESOLVED, "the regions of the passage have too many edges")
