"""Sentences of a comparison: what differs, by how much, and against what."""

from typing import Any

from contract.comparison import (
    ComparedComponent,
    ComparedTerm,
    ComparisonResult,
    GroupEstimate,
    PermutationTest,
)
from contract.symbols import Symbols
from worker.documents.comparison import p_in_words, summary_of


def estimate(group: str, value: float | None, *ci: float) -> GroupEstimate:
    return GroupEstimate(group=group, value=value, ci=(ci[0], ci[1]) if ci else None)


def component(p: float, ratio: GroupEstimate, **others: Any) -> ComparedComponent:
    term = ComparedTerm(
        term="x",
        shared=False,
        values=(estimate("control", -1.0, -1.1, -0.9), estimate("treated", -1.8, -2.0, -1.6)),
        ratios=(ratio,),
        differences=(estimate("treated", -0.8, -1.0, -0.6),),
        p_value=p,
        adjusted_p_value=p,
    )
    tested = {"adjusted_p_value": p, "differs": p <= 0.05, "statistic": 1.0, "degrees": 1}
    return ComparedComponent(p_value=p, terms=(term,), **{**tested, **others})


def said(drift: ComparedComponent, diffusion: ComparedComponent) -> tuple[str, ...]:
    group: Any = type("Group", (), {"model": type("Model", (), {"periodic": {}})})
    result = ComparisonResult.model_construct(
        summary=(),
        reference="control",
        confidence=0.95,
        groups=(group,),
        drift={"x": drift},
        diffusion={"x,x": diffusion},
        quantities=(),
        permutations=PermutationTest(n_permutations=0),
    )
    return summary_of(result, Symbols({"x": "height"}))


def test_a_difference_is_said_with_its_ratio_and_an_equality_with_its_p_value() -> None:
    alike = component(0.4, estimate("treated", 1.0, 0.9, 1.1))
    assert said(component(2e-5, estimate("treated", 1.8, 1.5, 2.2)), alike) == (
        "The drift differs (p = 2e-5): the coefficient of height in treated is 1.80 times "
        "[1.50, 2.20] that in control.",
        "The diffusion does not differ (p = 0.4).",
    )


def test_without_a_ratio_the_difference_is_said_and_permuted_labels_warn() -> None:
    drift = component(
        0.01, GroupEstimate(group="treated", value=None, reason="…"), permuted_p_value=0.3
    )
    nothing = component(1.0, estimate("treated", None), statistic=0.0, degrees=0)
    first, second = said(drift, nothing)
    assert "in treated is smaller by 0.800 [0.600, 1.00] than in control" in first
    assert second.startswith("With labels permuted over trajectories p = 0.3: ")


def test_a_small_p_value_among_many_is_said_with_the_adjusted_one() -> None:
    ratio = estimate("treated", 1.1, 1.0, 1.2)
    drift = component(0.03, ratio, differs=False, adjusted_p_value=0.06)
    assert said(drift, component(0.4, ratio))[0] == (
        "The drift does not differ (p = 0.03, adjusted for 2 components 0.06)."
    )


def test_p_values_are_short() -> None:
    assert p_in_words(0.034) == "p = 0.034"
    assert p_in_words(2.4e-5) == "p = 2e-5"
    assert p_in_words(3e-20) == "p = 3e-20"
    assert p_in_words(0.0) == "p < 1e-99"
