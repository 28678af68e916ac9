"""What a decision about the order rests on, in sentences for the user."""

from typing import Literal

Evidence = Literal[
    "increments-independent",
    "velocity-resolved",
    "force-resolved",
    "averaged-over-exposure",
    "smoothed",
    "nothing-but-noise",
    "diffusion-and-velocity",
    "neither",
    "variables-differ",
    "velocity-recorded",
    "values-rest",
    "regular",
    "too-short",
]
"""What decided, or left undecided."""

SENTENCES: dict[Evidence, str] = {
    "increments-independent": (
        "Increments at intervals of {step} have no memory of each other beyond {memory}: the "
        "positions themselves diffuse, as in a process of first order. A velocity that is "
        "forgotten within less than {step} would leave no trace at this sampling."
    ),
    "averaged-over-exposure": (
        "Neighbouring increments are correlated ({near:+.2f}), those farther apart are not: the "
        "trace of samples that are means over an exposure (motion blur), about {width:.2g} "
        "sampling intervals long, of a process of first order. A velocity that is forgotten within "
        "one interval of {step} would look alike; only finer sampling tells."
    ),
    "velocity-resolved": (
        "The path is smooth: increments at intervals of {step} are correlated by {near:+.2f}, two "
        "intervals apart by {far:+.2f}, and second differences are kicks to a velocity. The "
        "process is of second order. A process of first order behind a filter with one pole (RC, "
        "exponential smoothing) is the same process, and the record cannot tell them apart."
    ),
    "force-resolved": (
        "Noise hides whether the path is smooth as with inertia or as behind a filter ({kind}, "
        "about {width:.2g} sampling intervals wide), but a force in position and velocity explains "
        "the record better than any filtered process of first order with the same spectrum: what "
        "it leaves of second differences at intervals of {step} is kicks to the velocity and "
        "measurement noise. The process is of second order."
    ),
    "smoothed": (
        "The path is smooth, but as a process of first order behind a filter is ({kind}, about "
        "{width:.2g} sampling intervals wide), and not as one with inertia. Whether there is "
        "inertia below this width was removed by the filter. Upload the record as measured, or "
        "only samples several times that far apart."
    ),
    "nothing-but-noise": (
        "Nothing but noise shows at intervals of {step}: neither diffusion nor kicks to a velocity "
        "move the state visibly, beside what is periodic or the same all the time. Sample more "
        "finely if neighbouring samples forget each other, or reduce the noise."
    ),
    "diffusion-and-velocity": (
        "The path has a velocity with a memory, but the positions diffuse besides: a hidden "
        "variable moves a process of first order, or the velocity is forgotten within about one "
        "sampling interval ({step}). Sample more finely, or add the variable."
    ),
    "neither": (
        "The path is smoother or more regular than a process of first order, and no process of "
        "second order with noise either: a periodic or deterministic signal, a filter or an "
        "interpolation, or forces too strong for this sampling interval ({step}). Upload the "
        "record as measured, or sample more finely."
    ),
    "variables-differ": (
        "The variables are of different order: {about} diffuse{s}, another one is smooth like the "
        "position of an inertial process. Identify them apart, or upload the velocity of the "
        "smooth variable as one more column."
    ),
    "velocity-recorded": (
        "The increments of {about} are those of an integral of the other variables: its velocity "
        "is recorded, and together they are a process of first order."
    ),
    "values-rest": (
        "Many values repeat the one before: they are rounded more coarsely than the process moves, "
        "held, or filtered by a median, which hides whether it has inertia. Use more digits, or "
        "upload the record as measured."
    ),
    "regular": (
        "The path is constant or straight to rounding error: nothing random moves the position or "
        "its velocity."
    ),
    "too-short": (
        "Too few neighbouring samples at comparable intervals: the order of a process shows in "
        "twenty samples in a row, in several places."
    ),
}
