"""The problem that data and settings pose to the estimator."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from grammar.terms import variable_name
from worker.identification.checks.markov_tests import check_consecutive_samples, some_pairs
from worker.identification.checks.reflecting_boundaries import find_walls
from worker.identification.data.forcing import NO_FORCING, Forcing
from worker.identification.data.given_noise import GivenNoise
from worker.identification.data.inputs import (
    check_inputs,
    frozen_values,
    input_names,
    with_driving,
)
from worker.identification.data.library import Library, check_library_size, make_library
from worker.identification.data.preconditions import (
    check_independent,
    check_unwrapped,
    check_values,
)
from worker.identification.data.terms import evaluate
from worker.identification.data.trajectories import Trajectories
from worker.identification.data.windows import Coordinates, Space, measure_space
from worker.identification.errors import (
    DimensionNotSupported,
    IndependentSamples,
    InvalidLibrary,
)
from worker.identification.estimation.joint.potential_terms import Form, potential_terms
from worker.identification.estimation.kernel_choice import choose_instruments
from worker.identification.estimation.noise_correction import NoiseHandling
from worker.identification.estimation.problem import (
    Equality,
    Problem,
    Structure,
    make_grid,
)
from worker.identification.selection.constraints import Constraint
from worker.identification.selection.explosion import OpenEnds
from worker.identification.selection.support_selection import BIC, Criterion
from worker.identification.sums.block_sums import Summing, sums_here
from worker.identification.sums.instruments import Instruments, make_instruments
from worker.identification.sums.kernels import DEFAULT_COUNT, make_kernels
from worker.identification.sums.rules import RuleName
from worker.identification.sums.window_products import pairs_of
from worker.progress import Report, creeping

Floats = NDArray[np.float64]

SAMPLES_AT_ONCE = 1_000_000

LARGEST_ERROR = 1e70
"""Errors above it count as this one: the fourth power is a number."""

SINGULAR = 1e-9
"""Singular value below which an equation of coefficients follows from others."""

LONGEST_EXPOSURE = 1.01
"""Sampling intervals over which a sample may be an average; a clock may be off by a percent."""
Range = tuple[float, float]


@dataclass(frozen=True, slots=True)
class ComponentTerms:
    """What is known of the terms of a component, by their texts.

    known      coefficients that are held [data's units]
    required   terms that stay
    excluded   terms that are not considered
    only       whether there are no terms besides the known and required ones
    bounds     lowest and highest coefficient of terms [data's units]
    """

    known: Mapping[str, float] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    only: bool = False
    bounds: Mapping[str, Range] = field(default_factory=dict)

    @property
    def named(self) -> tuple[str, ...]:
        """Terms that are known, required, or have bounds."""
        return (*self.known, *self.required, *self.bounds)


@dataclass(frozen=True, slots=True)
class Sum:
    """Linear combination of coefficients that is known.

    factors   factors of the coefficients, by component and term
    value     what their sum is [data's units]
    """

    factors: Mapping[str, Mapping[str, float]]
    value: float = 0.0


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that decides an identification besides the data.

    kernel_count   number of kernels; None: chosen by cross-validation
    bandwidth      bandwidth of the kernels; None: by default
    centre_range   first and last centre of the kernels [state]; None: by default
    threshold      relative threshold of the estimator `paper`
    bounds         ends of the domain, by variable [state]
    periods        periods of angles, by variable [state]
    constraints    what is known of a component, by its name: `x` or `x,y`
    sums           linear combinations of coefficients that are known
    odd            whether x → −x leaves the dynamics as they are: drift odd, diffusion even
    potential      whether the drift is the slope of a potential, b = −∂U, or in detailed balance
                   at a constant diffusion, b = −½ a ∂Φ; None: it need not be
    noise_errors   known standard error of the samples, of all variables or by variable [state];
                   None: that of the data, if they have one
    exposure       known time over which each sample is an average [time]
    coordinates    internal coordinates; None: measured from the data
    forcing        functions of the time that drive the variables
    input_degree   highest total degree of the terms that hold an input
    frozen         value of each input at which the model is analysed, by name; its mean by default
    """

    dynamics: Literal["auto", "first-order", "second-order", "coloured-noise"] = "auto"
    estimator: Literal["efficient", "paper"] = "efficient"
    polynomial_degree: int = 4
    fourier_harmonics: int = 0
    extra_terms: tuple[str, ...] = ()
    diffusion_degree: int | None = None
    diffusion_structure: Structure = "full"
    kernel_count: int | None = DEFAULT_COUNT
    bandwidth: float | None = None
    centre_range: Range | None = None
    criterion: Criterion = BIC
    threshold: float = 0.25
    sampling_rule: RuleName | Literal["auto"] = "auto"
    measurement_noise: NoiseHandling = "auto"
    bounds: Mapping[str, Range] = field(default_factory=dict)
    periods: Mapping[str, float] = field(default_factory=dict)
    seed: int = 0
    constraints: Mapping[str, ComponentTerms] = field(default_factory=dict)
    sums: tuple[Sum, ...] = ()
    odd: bool = False
    potential: Form | None = None
    noise_errors: float | Mapping[str, float] | None = None
    exposure: float | None = None
    coordinates: Coordinates | None = None
    forcing: Forcing = NO_FORCING
    input_degree: int = 1
    frozen: Mapping[str, float] = field(default_factory=dict)

    @property
    def candidates(self) -> tuple[str, ...]:
        """Terms besides polynomials and harmonics: those that are named anywhere."""
        named = [t for c in self.constraints.values() for t in c.named]
        summed = [t for s in self.sums for terms in s.factors.values() for t in terms]
        return tuple(dict.fromkeys((*self.extra_terms, *named, *summed)))

    @property
    def restricted(self) -> bool:
        """Whether anything is known of the coefficients."""
        return bool(self.constraints or self.sums or self.odd or self.potential)

    def bounds_in(self, dimension: int) -> tuple[Range, ...]:
        """Return the ends of every variable's domain, infinite where open."""
        return tuple(self.bounds.get(variable_name(i), (-np.inf, np.inf)) for i in range(dimension))

    def periods_in(self, dimension: int) -> tuple[float | None, ...]:
        """Return the period of every variable, or None."""
        return tuple(self.periods.get(variable_name(i)) for i in range(dimension))


def problem_of(
    data: Trajectories,
    settings: Settings,
    report: Report,
    summing: Summing = sums_here,
    velocities: Mapping[int, tuple[int, float]] | None = None,
) -> Problem:
    """Make scales, library and instruments for these data. Raises IdentificationError.

    Parameters
    ----------
    data : trajectories
    settings : settings of the identification
    report : receives the progress
    summing : takes the sums over all the data
    velocities : variables whose drift is known, each with the variable that is its velocity and
        the factor of it
    """
    velocities = velocities or {}
    _check_estimator(data, settings)
    check_independent(data)
    periods = settings.periods_in(data.dimension)
    space = measure_space(data, periods)
    space = with_driving(data, space, settings.forcing)
    if settings.coordinates is not None:
        space = space.with_coordinates(settings.coordinates)
    space = space.at_rest([velocity for velocity, _ in velocities.values()])
    check_inputs(data, space)
    check_unwrapped(data, space)
    _check_samples(data, space)
    report(0.15, "identifying", "summing over the increments")
    library = make_library(
        (*space.scales, *space.inputs),
        polynomial_degree=settings.polynomial_degree,
        fourier_harmonics=settings.fourier_harmonics,
        extra_terms=settings.candidates,
        periods=periods,
        inputs=input_names(data),
        forcing=settings.forcing,
        input_degree=settings.input_degree,
    )
    if library.dimension > 1:
        check_library_size(library, data.n_increments)
    check_values(data, library, space)
    constraints = constraints_of(
        settings, library, space.units / space.time, np.outer(space.units, space.units) / space.time
    )
    form = settings.potential and potential_terms(settings.potential, library, settings.candidates)
    degree = 0 if settings.potential == "detailed-balance" else settings.diffusion_degree
    equalities = equalities_of(settings, library)
    given_noise = given_noise_of(data, settings, space)
    count = settings.kernel_count or DEFAULT_COUNT
    if library.dimension == 1:
        (scales,), (period,) = space.scales, periods
        width, ends = settings.bandwidth, settings.centre_range
        kernels = make_kernels(
            scales, count=count, bandwidth=width, centre_range=ends, period=period
        )
        problem = Problem(
            data,
            space,
            library,
            kernels,
            settings.criterion,
            "full",
            degree,
            summing=summing,
            constraints=constraints,
            equalities=equalities,
            form=form,
            given_noise=given_noise,
        )
        if settings.kernel_count is not None:
            return problem
        return replace(
            problem, grid=make_grid(scales, bandwidth=width, centre_range=ends, period=period)
        )
    y = states_of(data, space)

    def instruments(count: int) -> Instruments:
        made = make_instruments(y, library, periods, count=count, bandwidth=settings.bandwidth)
        # With the same noise everywhere a far sample deserves the weight a polynomial gives it.
        return replace(made, tapered=degree != 0)

    problem = Problem(
        data,
        space,
        library,
        instruments(count),
        settings.criterion,
        settings.diffusion_structure,
        degree,
        summing=summing,
        tell=creeping(report),
        velocities=velocities,
        constraints=constraints,
        equalities=equalities,
        form=form,
        given_noise=given_noise,
        frozen=frozen_values(data, space, settings.frozen),
    )
    return (
        problem if settings.kernel_count is not None else choose_instruments(problem, instruments)
    )


def constraints_of(
    settings: Settings, library: Library, to_drift: Floats, to_diffusion: Floats, first: int = 0
) -> dict[str, Constraint]:
    """Find the terms that are known, required or excluded in a library. Raises InvalidLibrary.

    Parameters
    ----------
    settings : settings of the identification
    library : library of terms
    to_drift : (k,) factors from internal units of the drift to the data's
    to_diffusion : (k, k) those of the diffusion
    first : number of the first variable that has a drift of its own
    """
    names = library.variables[first : first + len(to_drift)]
    factors = dict(zip(names, to_drift.tolist(), strict=True))
    for p, q in pairs_of(len(names)):
        factors[f"{names[p]},{names[q]}"] = float(to_diffusion[p, q])
    out = {}
    given = dict(settings.constraints)
    for component in {key for s in settings.sums for key in s.factors} | (
        set(factors) if settings.odd else set()
    ):
        given.setdefault(component, ComponentTerms())
    for component, terms in given.items():
        if component not in factors:
            raise InvalidLibrary(
                f"Nothing can be known of component {component}: it is not estimated. Components "
                f"are {', '.join(factors)}."
            )
        summed = {text for s in settings.sums for text in s.factors.get(component, ())}
        place = {text: library.position(text) for text in (*terms.named, *summed)}
        _check_single(component, terms, library)
        highest = settings.diffusion_degree if "," in component else None
        for text, k in place.items():
            degree = library.degrees[k]
            if highest is not None and (degree is None or degree > highest):
                raise InvalidLibrary(
                    f"The term {text} of the diffusion {component} is named in the constraints, "
                    f"and library.diffusion_degree is {highest}. Raise it, or leave it out."
                )
        excluded = {library.find(text) for text in terms.excluded}
        if settings.odd:
            excluded |= _of_wrong_parity(component, library, set(place.values()))
        # Zero is no value of such a coefficient.
        away = {text for text, (low, high) in terms.bounds.items() if not low <= 0 <= high}
        required = {*terms.required, *away, *(summed - set(terms.known))}
        out[component] = Constraint(
            candidates=() if terms.only else None,
            required=tuple(sorted(place[text] for text in required)),
            excluded=tuple(sorted(k for k in excluded if k is not None)),
            bounds=tuple(
                sorted(
                    (place[text], low / factors[component], high / factors[component])
                    for text, (low, high) in terms.bounds.items()
                )
            ),
            known=tuple(
                sorted((place[text], c / factors[component]) for text, c in terms.known.items())
            ),
        )
    return out


def _check_single(component: str, terms: ComponentTerms, library: Library) -> None:
    """Raise InvalidLibrary where one term is given twice, in two ways of writing it."""
    single: dict[int, str] = {}
    for text in (*terms.known, *terms.excluded, *terms.required):
        k = library.find(text)
        if k is not None and single.setdefault(k, text) != text:
            raise InvalidLibrary(
                f"The constraints of {component} name one term twice: {single[k]} and {text} are "
                "the same.",
                hints=(f"Leave {text} out of parameters.constraints.",),
            )


def given_noise_of(data: Trajectories, settings: Settings, space: Space) -> GivenNoise | None:
    """Return the measurement noise that is known of the samples, or of all data; None: it is not.

    Raises InvalidLibrary for a variable that the data do not have.
    """
    names = [variable_name(i) for i in range(data.dimension)]
    errors, spread = settings.noise_errors, 0.0
    if errors is None and data.errors is not None and settings.measurement_noise == "auto":
        squares, spread = _mean_squares(data.errors)
    elif isinstance(errors, Mapping):
        if not set(errors) <= set(names):
            raise InvalidLibrary(
                f"measurement_noise.std_error names {', '.join(sorted(set(errors) - set(names)))}; "
                f"the variables are {', '.join(names)}."
            )
        squares = np.array([errors.get(name, 0.0) for name in names])
        squares = squares.clip(max=LARGEST_ERROR) ** 2
    else:
        squares = np.full(data.dimension, min(errors or 0.0, LARGEST_ERROR) ** 2)
    exposure = (settings.exposure or 0.0) / space.time
    if exposure > LONGEST_EXPOSURE:
        raise InvalidLibrary(
            f"The exposure of {settings.exposure:.4g} is longer than the sampling interval of "
            f"{space.time:.4g}.",
            hints=("Give parameters.exposure in the data's unit of time.",),
        )
    if errors is None and not squares.any() and not exposure:
        return None
    for name, square, scales in zip(names, squares, space.scales, strict=True):
        if not square <= scales.deviation**2:
            raise InvalidLibrary(
                f"The standard error of the samples of {name} is larger than their standard "
                f"deviation of {scales.deviation:.4g}.",
                hints=(
                    "Give it in the data's unit of the state, in "
                    "parameters.measurement_noise.std_error or the column of errors.",
                ),
            )
    return GivenNoise(squares / space.units**2, exposure, spread)


def _mean_squares(errors: Floats) -> tuple[Floats, float]:
    """Return the mean square of the samples' errors (d,), and how far these squares vary."""
    count, moments = np.zeros(errors.shape[1]), np.zeros((2, errors.shape[1]))
    for start in range(0, len(errors), SAMPLES_AT_ONCE):
        each = np.asarray(errors[start : start + SAMPLES_AT_ONCE], dtype=np.float64)
        known = np.isfinite(each)
        squares = np.where(known, each, 0.0).clip(max=LARGEST_ERROR) ** 2
        count += known.sum(axis=0)
        moments += np.stack([squares.sum(axis=0), (squares**2).sum(axis=0)])
    mean, square = moments / np.maximum(count, 1)
    spread = np.sqrt((square - mean**2).clip(min=0)) / np.where(mean > 0, mean, 1.0)
    return mean, float(spread.max())


def _of_wrong_parity(component: str, library: Library, named: set[int]) -> set[int]:
    """Return the terms that a drift that is odd, or a diffusion that is even, does not have.

    Raises InvalidLibrary where something else is known of such a term.
    """
    y = np.random.default_rng(0).uniform(-1, 1, (16, library.dimension)) * library.units
    wanted = 1.0 if "," in component else -1.0
    with np.errstate(all="ignore"):
        mirrored = [
            evaluate(tree, {name: sign * y[:, i] for i, name in enumerate(library.variables)})
            for tree in library.trees
            for sign in (1.0, -1.0)
        ]
    wrong = set[int]()
    for k in range(library.size):
        here, there = (np.broadcast_to(v, len(y)) for v in mirrored[2 * k : 2 * k + 2])
        if not np.allclose(there, wanted * here, rtol=1e-9, atol=0, equal_nan=False):
            wrong.add(k)
    if wrong & named:
        texts = ", ".join(library.names[k] for k in sorted(wrong & named))
        parity = "even" if "," in component else "odd"
        raise InvalidLibrary(
            f"Something is known of {texts} in {component}, and constraints.odd leaves it "
            f"{parity} terms only.",
            hints=("Leave out constraints.odd, or what is known of this term.",),
        )
    return wrong


def equalities_of(settings: Settings, library: Library) -> tuple[Equality, ...]:
    """Find the terms of the known sums in a library; sums that follow from others are left out.

    Raises InvalidLibrary where no coefficients obey all sums, with known and excluded terms at
    their values.
    """
    held = {
        (component, library.find(text)): value
        for component, terms in settings.constraints.items()
        for text, value in ({**dict.fromkeys(terms.excluded, 0.0), **terms.known}).items()
    }
    sums = [
        Equality(
            tuple(
                (component, library.position(text), factor)
                for component, terms in s.factors.items()
                for text, factor in terms.items()
            ),
            s.value,
        )
        for s in settings.sums
    ]
    free = sorted({(c, k) for e in sums for c, k, _ in e.terms if (c, k) not in held})
    kept: list[Equality] = []
    rows: list[list[float]] = []
    for number, e in enumerate(sums, start=1):
        row = [sum(f for c, k, f in e.terms if (c, k) == at) for at in free]
        rest = e.value - sum(f * held.get((c, k), 0.0) for c, k, f in e.terms)
        # The size of an equation says nothing.
        largest = max(map(abs, row), default=0.0) or max(abs(e.value), abs(rest)) or 1.0
        rows.append([v / largest for v in (*row, rest)])
        whole = np.array(rows)
        if np.linalg.matrix_rank(whole, SINGULAR) > np.linalg.matrix_rank(whole[:, :-1], SINGULAR):
            raise InvalidLibrary(
                f"No coefficients obey equation {number} of constraints.equalities beside the "
                "equations before it and the terms that are known or excluded.",
                hints=("Leave one of them out of parameters.constraints.",),
            )
        if len(whole) > np.linalg.matrix_rank(whole, SINGULAR):
            rows.pop()
        else:
            kept.append(e)
    return tuple(kept)


def with_boundaries(problem: Problem, bounds: Sequence[Range]) -> Problem:
    """Add the reflecting boundaries that data of one variable show; on a circle there are none."""
    if problem.period is not None or problem.library.dimension > 1:
        return problem
    walls = find_walls(problem.data, bounds[0])
    low, high = bounds[0]
    ends = OpenEnds(
        bool(np.isinf([low, walls.low]).all()), bool(np.isinf([high, walls.high]).all())
    )
    return replace(problem, walls=walls, ends=ends)


def states_of(data: Trajectories, space: Space) -> Floats:
    """Return about 2·10⁴ samples, evenly over the record, in internal coordinates; (n, d + m)."""
    every = max(1, len(data.states) // 20_000)
    return space.internal(space.rows(data, slice(None, None, every)).copy())


def _check_samples(data: Trajectories, space: Space) -> None:
    """Raise IndependentSamples for a variable whose samples are independent; it names all such."""
    refused: dict[str, IndependentSamples] = {}
    for i, (scales, period) in enumerate(zip(space.scales, space.periods, strict=True)):
        column = Trajectories(data.states[:, i : i + 1], data.times, data.segments)
        variable = variable_name(i) if data.dimension > 1 else None
        try:
            check_consecutive_samples(some_pairs(column, scales, period), scales, variable)
        except IndependentSamples as error:
            refused[variable_name(i)] = error
    if not refused:
        return
    first, *more = refused.values()
    if not more:
        raise first
    _, *others = refused
    hints = (
        (
            f"Leave variables {', '.join(refused)} out: name the other columns in "
            "layout.state_columns.",
        )
        if len(refused) < data.dimension
        else ()
    )
    raise IndependentSamples(
        f"{first.message} The same holds of {', '.join(others)}.", hints=(*hints, *first.hints[1:])
    )


def _check_estimator(data: Trajectories, settings: Settings) -> None:
    driven = data.inputs is not None or settings.forcing.any
    if driven and (settings.estimator == "paper" or settings.centre_range is not None):
        what = (
            "The paper preset (Algorithm 1)" if settings.estimator == "paper" else "kernels.range"
        )
        raise InvalidLibrary(
            f"{what} knows no inputs and no forcing.",
            hints=("Leave it to the defaults, or upload the states alone.",),
        )
    if data.dimension == 1:
        if settings.estimator == "paper" and settings.diffusion_degree is not None:
            raise InvalidLibrary(
                "Algorithm 1 (estimator 'paper') has one library for drift and diffusion, and "
                "library.diffusion_degree is given.",
                hints=("Leave library.diffusion_degree out, or set estimator to 'efficient'.",),
            )
        return
    for unusable, what in (
        (settings.estimator == "paper", "The paper preset (Algorithm 1)"),
        (settings.centre_range is not None, "A range of kernel centres (kernels.range)"),
    ):
        if unusable:
            variables = ", ".join(variable_name(i) for i in range(data.dimension))
            raise DimensionNotSupported(
                f"{what} is for one variable, and the dataset has {data.dimension}: {variables}.",
                hints=(
                    "Leave it to the defaults, or name one column in layout.state_columns and "
                    "upload again.",
                ),
            )
