"""Groups of trajectories compared: models on common terms, and what differs between them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from worker.analysis import Analysed, AnalysisSettings, analyse_model
from worker.comparison.quantities import ComparedQuantity, GroupQuantity, compared, quantities_of
from worker.comparison.shared_terms import GroupEstimate, JointComponent, joint_component
from worker.identification.data.trajectories import Trajectories
from worker.identification.data.windows import common_coordinates, measure_space
from worker.identification.estimation.setup import ComponentTerms, Settings
from worker.identification.identified_model import Coefficients, IdentifiedModel, identified_model
from worker.identification.sums.block_sums import Summing, sums_here
from worker.progress import Report

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class ComparedComponent:
    """A component in all groups.

    terms    names of its terms, those that are present first
    units    factor from internal units to the data's, by group
    """

    terms: tuple[str, ...]
    found: JointComponent


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Models of groups on common terms, and what differs.

    models      by group, on the common terms
    analysed    analysis of each; None where only the models were asked for
    components  by name: `x` for the drift, `x,y` for the diffusion
    quantities  relaxation times, passages, moments, by what they are
    """

    models: Mapping[str, IdentifiedModel]
    analysed: Mapping[str, Analysed | None]
    components: Mapping[str, ComparedComponent]
    quantities: Mapping[str, ComparedQuantity]


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
    first = next(iter(groups.values()))
    periods = settings.periods_in(first.dimension)
    spaces = [measure_space(data, periods) for data in groups.values()]
    settings = replace(settings, coordinates=common_coordinates(spaces), dynamics="first-order")

    def identified(settings: Settings, share: float) -> dict[str, IdentifiedModel]:
        out = {}
        for number, (name, data) in enumerate(groups.items()):
            report(share + 0.3 * number / len(names), "identifying", f"group {name}")
            out[name] = identified_model(data, settings, report_nothing, summing)
        return out

    free = identified(settings, 0.05)
    models = identified(_with_terms(settings, _union(list(free.values()))), 0.35)
    components = _joint(models, groups, settings)
    present = {key: component.terms for key, component in components.items()}
    if present != _union(list(models.values())):
        models = identified(_with_terms(settings, present), 0.65)
    analysed: dict[str, Analysed | None] = dict.fromkeys(names)
    quantities: dict[str, ComparedQuantity] = {}
    if not asked.model_only:
        for name, data in groups.items():
            analysed[name] = analyse_model(models[name], data, asked, report_nothing)
        quantities = _quantities(analysed, tuple(models[names[0]].drift), asked.confidence)
    return Comparison(models, analysed, components, quantities)


def report_nothing(fraction: float, stage: str, message: str) -> None:
    """Ignore the progress of one group."""


def _union(models: Sequence[IdentifiedModel]) -> dict[str, tuple[str, ...]]:
    """Return the terms that some model has, by component, in the library's order."""
    out = {}
    for key in _coefficients(models[0]).estimates:
        supports = {k for m in models for k in _coefficients(m).estimates[key].support}
        out[key] = tuple(_coefficients(models[0]).library.names[k] for k in sorted(supports))
    return out


def _coefficients(model: IdentifiedModel) -> Coefficients:
    assert model.coefficients is not None, "the estimator is the efficient one"
    return model.coefficients


def _with_terms(settings: Settings, terms: Mapping[str, tuple[str, ...]]) -> Settings:
    """Return settings under which each component has just these terms."""
    constraints = dict(settings.constraints)
    for key, required in terms.items():
        given = constraints.get(key, ComponentTerms())
        free = tuple(term for term in required if term not in given.known)
        constraints[key] = replace(given, required=free, only=True)
    return replace(settings, constraints=constraints)


def _joint(
    models: Mapping[str, IdentifiedModel], groups: Mapping[str, Trajectories], settings: Settings
) -> dict[str, ComparedComponent]:
    """Select terms and shared coefficients of each component."""
    out: dict[str, ComparedComponent] = {}
    first = _coefficients(next(iter(models.values())))
    library = first.library
    for key, of_first in first.estimates.items():
        known = settings.constraints.get(key, ComponentTerms()).known
        terms = [k for k in of_first.support if library.names[k] not in known]
        if not terms:
            continue
        # Terms along the internal functions, as the data's units have them.
        rows = library.term_scales[:, None] * library.scaled_terms
        estimates = []
        for name, model in models.items():
            found = _coefficients(model)
            estimate, unit = found.estimates[key], found.units[key]
            held = [i for i, k in enumerate(estimate.support) if library.names[k] in known]
            given = estimate.raw[held] @ rows[[estimate.support[i] for i in held]]
            estimates.append(
                GroupEstimate(
                    (estimate.internal - given) * unit,
                    estimate.internal_factor * unit,
                    groups[name].n_increments,
                )
            )
        joint = joint_component(rows[terms], estimates)
        out[key] = ComparedComponent(tuple(library.names[terms[k]] for k in joint.present), joint)
    return out


def _quantities(
    analysed: Mapping[str, Analysed | None], names: tuple[str, ...], confidence: float
) -> dict[str, ComparedQuantity]:
    """Compare every quantity that two groups or more have."""
    by_group: dict[str, dict[str, GroupQuantity]] = {
        group: quantities_of(found, names) for group, found in analysed.items() if found is not None
    }
    out = {}
    for what in dict.fromkeys(w for found in by_group.values() for w in found):
        having = {group: found[what] for group, found in by_group.items() if what in found}
        difference = compared(having, confidence, logarithm="mean of" not in what)
        if difference is not None:
            out[what] = difference
    return out
