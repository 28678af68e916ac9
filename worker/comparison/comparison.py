"""Groups of trajectories compared: models on common terms, and what differs between them."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from grammar.terms import variable_name
from worker.analysis import Analysed, AnalysisSettings, analyse_model
from worker.comparison.permutations import Permutations, permute_labels
from worker.comparison.quantities import ComparedQuantity, Quantity, compared, quantities_of
from worker.comparison.ratios import holm
from worker.comparison.shared_terms import GroupEstimate, JointComponent, joint_component
from worker.identification.data.inputs import input_names, with_driving
from worker.identification.data.trajectories import Trajectories
from worker.identification.data.windows import (
    Coordinates,
    Space,
    common_coordinates,
    measure_space,
)
from worker.identification.errors import (
    IdentificationError,
    SecondOrderDynamics,
    ValuesOutOfRange,
)
from worker.identification.estimation.setup import ComponentTerms, Settings
from worker.identification.identified_model import Coefficients, IdentifiedModel, identified_model
from worker.identification.second_order.order import decide_order
from worker.identification.second_order.recorded_velocities import recorded_velocities
from worker.identification.sums.block_sums import Summing, sums_here
from worker.progress import Report

Floats = NDArray[np.float64]

NARROWEST = 1000.0
"""Largest ratio of the width of all groups to a group's own. Coefficients of x − x³ were right to
10⁻⁴ at 1000, wrong by 4 % at 2000, and not found at 3000."""

SIGNED = ("mean", "mean-velocity")
"""Quantities that are compared by their differences; all others are positive."""

FARTHEST = 25.0
"""Largest distance of a group from the middle of all, in its own half-widths. x − x³ about another
level was found at 21, and at 42 its cubic term was lost."""


@dataclass(frozen=True, slots=True, eq=False)
class ComparedComponent:
    """A component in all groups.

    terms       names of its terms that are present
    found       coefficients of each group and of all together, in the data's units
    adjusted    p-value that all its coefficients are equal, adjusted by Holm for the number of
                components
    by_term     p-value of each present term, adjusted by Holm for the terms of all components
    """

    terms: tuple[str, ...]
    found: JointComponent
    adjusted: float = 1.0
    by_term: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Models of groups on common terms, and what differs.

    models      by group, on the common terms
    analysed    analysis of each; None where only the models were asked for
    components  by name: `x` for the drift, `x,y` for the diffusion
    quantities  relaxation times, passages, moments, by what they are
    adjusted    p-value of each quantity, adjusted by Holm for their number
    permuted    test of each component by permuted labels
    """

    models: Mapping[str, IdentifiedModel]
    analysed: Mapping[str, Analysed | None]
    components: Mapping[str, ComparedComponent]
    quantities: Mapping[Quantity, ComparedQuantity]
    adjusted: Mapping[Quantity, float]
    permuted: Permutations


def compare(
    groups: Mapping[str, Trajectories],
    settings: Settings,
    asked: AnalysisSettings,
    report: Report,
    summing: Summing = sums_here,
) -> Comparison:
    """Compare groups. Raises IdentificationError.

    Parameters
    ----------
    groups : trajectories by group; the others are compared with the first
    settings : settings of every identification
    asked : what is derived of each model
    report : receives the progress
    summing : takes the sums over all the data of a group
    """
    names = list(groups)
    for name, data in groups.items():
        with _named(name):
            _check_first_order(data, settings)
    periods = settings.periods_in(groups[names[0]].dimension)
    spaces = []
    for name, data in groups.items():
        with _named(name):
            space = measure_space(data, periods)
            spaces.append(with_driving(data, space, settings.forcing))
    coordinates = common_coordinates(spaces)
    for name, space in zip(names, spaces, strict=True):
        with _named(name):
            _check_place(space, coordinates)
    settings = replace(
        settings,
        coordinates=coordinates,
        dynamics="first-order",
        frozen=_common_inputs(groups, spaces) | dict(settings.frozen),
    )

    def identified(settings: Settings, share: float) -> dict[str, IdentifiedModel]:
        out = {}
        for number, (name, data) in enumerate(groups.items()):
            report(share + 0.2 * number / len(names), "identifying", f"group {name}")
            with _named(name):
                out[name] = identified_model(data, settings, report_nothing, summing)
        return out

    free = identified(settings, 0.05)
    if settings.measurement_noise == "auto":
        settings = replace(settings, measurement_noise="possible")
    union = _union(list(free.values()), settings)
    models = identified(_with_terms(settings, union), 0.25)
    components = _joint(models, groups, settings)
    present = {key: components[key].terms if key in components else () for key in union}
    if present != union:
        models = identified(_with_terms(settings, present), 0.45)
    report(0.65, "comparing", "labels permuted over trajectories")
    permuted = _permuted(models, groups, components, settings.seed)
    analysed: dict[str, Analysed | None] = dict.fromkeys(names)
    quantities: dict[Quantity, ComparedQuantity] = {}
    if not asked.model_only:
        for number, (name, data) in enumerate(groups.items()):
            report(0.7 + 0.25 * number / len(names), "analysing", f"group {name}")
            analysed[name] = analyse_model(models[name], data, asked, report_nothing)
        quantities = _quantities(analysed, tuple(models[names[0]].drift), asked)
    adjusted = holm([q.p_value for q in quantities.values()])
    return Comparison(
        models,
        analysed,
        components,
        quantities,
        dict(zip(quantities, adjusted, strict=True)),
        permuted,
    )


@contextmanager
def _named(group: str) -> Iterator[None]:
    """Say of which group an error of the core is."""
    try:
        yield
    except IdentificationError as error:
        raise type(error)(f"Group {group}: {error.message}", hints=error.hints) from error


def _check_first_order(data: Trajectories, settings: Settings) -> None:
    """Raise SecondOrderDynamics where velocities are hidden, or recorded beside their positions."""
    if settings.dynamics != "auto" or data.inputs is not None or settings.forcing.any:
        return
    periods = settings.periods_in(data.dimension)
    if any(pair.source != "secants" for pair in recorded_velocities(data, periods)):
        raise SecondOrderDynamics(
            "a column is the velocity of another. Groups are compared by models of first order, "
            "in which a position would have noise of its own.",
            hints=(
                "Name the velocities alone in layout.state_columns to compare their dynamics.",
                "Set parameters.dynamics to first-order to compare the columns as they are.",
            ),
        )
    order = decide_order(data, periods)
    if order.order == 2:
        raise SecondOrderDynamics(
            f"{order.reason} Groups are compared by models of first order, of states without "
            "hidden velocities.",
            hints=(
                "Identify each group by a job of its own, which fits force and friction.",
                "Sample more slowly than the velocity relaxes, or set parameters.dynamics to "
                "first-order.",
            ),
        )


def _common_inputs(groups: Mapping[str, Trajectories], spaces: Sequence[Space]) -> dict[str, float]:
    """Return the mean of each input and of the time over all groups, where models are compared."""
    names = (*input_names(next(iter(groups.values()))), *spaces[0].forcing.names)
    weights = [data.n_increments for data in groups.values()]
    means = np.average([[s.mean for s in space.inputs] for space in spaces], 0, weights)
    found = dict(zip(names, means.tolist(), strict=True))
    return {name: mean for name, mean in found.items() if name not in spaces[0].forcing.waves}


def _check_place(space: Space, coordinates: Coordinates) -> None:
    """Raise ValuesOutOfRange where a group is too narrow or too far off for terms in common."""
    for i, (scales, period) in enumerate(zip(space.scales, space.periods, strict=True)):
        origin, unit = coordinates[i]
        low, high = scales.bulk
        away = abs(scales.origin - origin) / scales.unit
        if period is not None or (unit <= NARROWEST * scales.unit and away <= FARTHEST):
            continue
        raise ValuesOutOfRange(
            f"{variable_name(i)} lies between {low:.4g} and {high:.4g}, and in all groups together "
            f"between {origin - unit:.4g} and {origin + unit:.4g}. Over such "
            "different ranges terms in common cannot be told apart.",
            hints=(
                "Check that all groups are in the same unit.",
                "Subtract the reference level of each group before the upload, if only the "
                "deviations from it are to be compared.",
            ),
        )


def report_nothing(fraction: float, stage: str, message: str) -> None:
    """Ignore the progress of one group."""


def _union(models: Sequence[IdentifiedModel], settings: Settings) -> dict[str, tuple[str, ...]]:
    """Return the terms that some model has and that are not known, in the library's order."""
    out = {}
    for key in _coefficients(models[0]).estimates:
        known = settings.constraints.get(key, ComponentTerms()).known
        supports = {k for m in models for k in _coefficients(m).estimates[key].support}
        names = (_coefficients(models[0]).library.names[k] for k in sorted(supports))
        out[key] = tuple(name for name in names if name not in known)
    return out


def _coefficients(model: IdentifiedModel) -> Coefficients:
    assert model.coefficients is not None, "the estimator is the efficient one"
    return model.coefficients


def _with_terms(settings: Settings, terms: Mapping[str, tuple[str, ...]]) -> Settings:
    """Return settings under which each component has just these terms."""
    constraints = dict(settings.constraints)
    for key, required in terms.items():
        given = constraints.get(key, ComponentTerms())
        constraints[key] = replace(given, required=required, only=True)
    return replace(settings, constraints=constraints)


def _joint(
    models: Mapping[str, IdentifiedModel], groups: Mapping[str, Trajectories], settings: Settings
) -> dict[str, ComparedComponent]:
    """Select terms and shared coefficients of each component."""
    out: dict[str, ComparedComponent] = {}
    first = _coefficients(next(iter(models.values())))
    library = first.library
    for key, of_first in first.estimates.items():
        constraint = settings.constraints.get(key, ComponentTerms())
        known = constraint.known
        terms = [k for k in of_first.support if library.names[k] not in known]
        if not terms:
            continue
        estimates = []
        for name, model in models.items():
            found = _coefficients(model)
            estimate, unit = found.estimates[key], found.units[key]
            held = [i for i, k in enumerate(estimate.support) if library.names[k] in known]
            given = estimate.raw[held] @ library.term_rows[[estimate.support[i] for i in held]]
            estimates.append(
                GroupEstimate(
                    (estimate.internal - given) * unit,
                    estimate.internal_factor * unit,
                    groups[name].n_increments,
                )
            )
        kept = [j for j, k in enumerate(terms) if library.names[k] in constraint.required]
        joint = joint_component(library.term_rows[terms], estimates, kept)
        out[key] = ComparedComponent(tuple(library.names[terms[k]] for k in joint.present), joint)
    by_term = iter(holm([test.p_value for c in out.values() for test in c.found.by_term]))
    tested = [key for key, c in out.items() if c.terms]
    whole = dict(zip(tested, holm([out[k].found.equality.p_value for k in tested]), strict=True))
    return {
        key: replace(c, adjusted=whole.get(key, 1.0), by_term=tuple(next(by_term) for _ in c.terms))
        for key, c in out.items()
    }


def _permuted(
    models: Mapping[str, IdentifiedModel],
    groups: Mapping[str, Trajectories],
    components: Mapping[str, ComparedComponent],
    seed: int,
) -> Permutations:
    """Test the present terms of every component by permuted labels."""
    first = next(iter(models.values()))
    found = _coefficients(first)
    library, names = found.library, list(first.drift)
    wanted = {
        key: (
            tuple(names.index(name) for name in key.split(",")),
            library.term_rows[[library.names.index(term) for term in component.terms]],
        )
        for key, component in components.items()
        if component.terms
    }
    diagonal = np.array([found.estimates[f"{name},{name}"].internal for name in names])
    drifts = []
    for model in models.values():
        own = _coefficients(model)
        drifts.append([own.estimates[v].internal * own.units[v] / found.units[v] for v in names])
    return permute_labels(
        list(groups.values()), first.space, library, wanted, diagonal, np.array(drifts), seed
    )


def _quantities(
    analysed: Mapping[str, Analysed | None], names: tuple[str, ...], asked: AnalysisSettings
) -> dict[Quantity, ComparedQuantity]:
    """Compare every quantity that two groups or more have."""
    first = next(iter(analysed.values()))
    assert first is not None, "an analysis was asked for"
    by_group = {
        group: quantities_of(found, names, len(asked.passages), first)
        for group, found in analysed.items()
        if found is not None
    }
    out = {}
    for what in dict.fromkeys(w for found in by_group.values() for w in found):
        having = {group: found[what] for group, found in by_group.items() if what in found}
        difference = compared(having, asked.confidence, logarithm=what.kind not in SIGNED)
        if difference is not None:
            out[what] = difference
    return out
