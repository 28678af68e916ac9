"""The border of the core, which says x, y, z: jobs and results in the words of the file."""

import ast
import re
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from contract.generator import ModelTerms
from contract.jobs import GeneratorJob, IdentificationJob
from contract.kinds import RESULT
from contract.problems import problem
from contract.results import Component, Estimate, Model, Notice, Term
from contract.sweep import SweepJob
from contract.symbols import (
    SENTENCES,
    Symbols,
    UnknownWord,
    faults_of_words,
    in_words,
    job_in_standard_names,
)
from worker.jobs.generator import in_standard_names
from worker.jobs.problems import JobProblem

ROOT = Path(__file__).resolve().parents[3]
FOR_PROGRAMS = {
    "code", "component", "components", "convention", "data", "dataset", "dataset_sha256",
    "equivalent", "instance", "job", "method", "pointer", "record", "records", "sampling_rule",
    "support", "term", "time_unit", "title", "type", "variable", "version",
    "datasets", "group", "name", "reference", "summary",
}  # fmt: skip
"""Text fields of results that hold codes, ids, units, or terms by standard names; of a comparison
names of groups, and words that have the symbols already."""

ANGLES = Symbols({"x": "phi", "y": "S_P_500"})
SWAPPED = Symbols({"x": "v", "y": "x_"})


def text_fields(document: type[BaseModel], seen: set[type[BaseModel]]) -> Iterator[str]:
    if document in seen:
        return
    seen.add(document)
    for name, field in document.model_fields.items():
        if _holds_text(field.annotation):
            yield name
        for part in _documents(field.annotation):
            yield from text_fields(part, seen)


def _holds_text(kind: Any) -> bool:
    if typing.get_origin(kind) in (dict, typing.Literal):
        return False
    return kind is str or any(_holds_text(part) for part in typing.get_args(kind))


def _documents(kind: Any) -> Iterator[type[BaseModel]]:
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        yield kind
    for part in typing.get_args(kind):
        yield from _documents(part)


def test_every_text_in_a_result_is_for_people_or_for_programs() -> None:
    found = {name for kind in _documents(RESULT._type) for name in text_fields(kind, set[Any]())}
    assert found == SENTENCES | FOR_PROGRAMS
    assert not SENTENCES & FOR_PROGRAMS


def test_a_job_is_understood_in_both_words() -> None:
    def job(x: str, y: str) -> IdentificationJob:
        return IdentificationJob.model_validate(
            {
                "kind": "identification",
                "dataset": "ds_1",
                "parameters": {
                    "periodic": {x: 360.0},
                    "domain": {y: [0.0, None]},
                    "library": {"extra_terms": [f"{y}^5", f"{y}*sin(2*{x})"]},
                    "constraints": {
                        "known": {"drift": {y: {y: -1.0}}, "diffusion": {f"{x},{y}": {"1": 0.0}}},
                        "required": {"drift": {x: [f"sin({x})"]}},
                        "excluded": {"diffusion": {f"{y},{y}": [f"{y}^2"]}},
                        "bounds": {"drift": {x: {f"cos({x})": [0.0, None]}}},
                        "equalities": [{"diffusion": {f"{y},{y}": {y: 1.0}}, "equals": 2.0}],
                        "odd": True,
                    },
                },
                "analysis": {
                    "passages": [{"from": {x: [0.0, 9.0]}, "to": {y: [1.0, None]}}],
                    "committors": [{"from": {y: [None, 0.0]}, "to": {y: [1.0, None]}}],
                },
            }
        )

    standard = job("x", "y")
    assert job_in_standard_names(job("phi", "S_P_500"), ANGLES) == standard
    assert job_in_standard_names(standard, ANGLES) == standard


def test_an_angles_terms_are_understood_in_its_value_and_its_phase() -> None:
    given = IdentificationJob.model_validate(
        {
            "kind": "identification",
            "parameters": {
                "periodic": {"phi": 360.0},
                "library": {"extra_terms": ["sin(4*pi*phi/360)", "cos(3*phi)"]},
            },
        }
    )
    found = job_in_standard_names(given, ANGLES)
    assert found.parameters.library.extra_terms == ("sin(2*x)", "cos(3*x)")


def test_a_variant_is_understood_with_what_it_is_merged_into() -> None:
    given = SweepJob.model_validate(
        {
            "kind": "sweep",
            "parameters": {"periodic": {"phi": 360.0}},
            "variants": [
                {"library": {"extra_terms": ["sin(2*pi*phi/360)"]}},
                {"domain": {"S_P_500": [0.0, None]}},
            ],
        }
    )
    found = job_in_standard_names(given, ANGLES)
    assert found.variants[0] == {"library": {"extra_terms": ("sin(x)",)}}
    assert found.variants[1] == {"domain": {"y": [0.0, None]}}


def test_a_word_that_may_be_two_variables_is_refused() -> None:
    assert SWAPPED.standard("v") == "x"
    assert SWAPPED.standard("x_") == "y"
    assert SWAPPED.standard("y") == "y"
    with pytest.raises(UnknownWord, match="'x' may be a column or the standard name of v"):
        SWAPPED.standard("x")
    with pytest.raises(UnknownWord, match="'w' is not a variable here"):
        SWAPPED.standard("w")
    given = IdentificationJob.model_validate(
        {
            "kind": "identification",
            "parameters": {
                "domain": {"x": [0.0, None]},
                "library": {"extra_terms": ["w^2"]},
                "constraints": {
                    "known": {"drift": {"w": {"v": 1.0}, "v": {"w": 1.0}}},
                    "excluded": {"diffusion": {"v": ["v"], "v,v": ["1", "w"]}},
                    "bounds": {"diffusion": {"x_,x_": {"w^2": [None, 0.0]}}},
                    "equalities": [{"drift": {"v": {"v": 1.0}, "w": {"v": 1.0}}}],
                },
            },
        }
    )
    faults = dict(faults_of_words(given.parameters, SWAPPED))
    assert set(faults) == {
        ("domain", "x"),
        ("library", "extra_terms", "0"),
        ("constraints", "known", "drift", "w"),
        ("constraints", "known", "drift", "v", "w"),
        ("constraints", "excluded", "diffusion", "v"),
        ("constraints", "excluded", "diffusion", "v,v", "1"),
        ("constraints", "bounds", "diffusion", "x_,x_", "w^2"),
        ("constraints", "equalities", "0", "drift", "w"),
    }


def test_words_are_for_people_and_keys_for_programs() -> None:
    term = Term(term="sin(x)", value=2.0, active=True)
    model = Model(
        drift={"x": Component(expression="2*sin(2*pi*x/360) + y", terms=(term,))},
        diffusion={},
        periodic={"x": 360.0},
    )
    found = in_words(model, ANGLES, {})
    assert found.drift["x"].expression == "2*sin(2*pi*phi/360) + S_P_500"
    assert found.drift["x"].terms == (term,)
    assert found.symbols == ANGLES.symbols
    why = Estimate(value=None, reason="x = 3 lies outside; cos(x) and y^2 do not help")
    assert in_words(why, ANGLES, {"x": 360.0}).reason == (
        "phi = 3 lies outside; cos(2*pi*phi/360) and S_P_500^2 do not help"
    )
    fault = problem(422, "code", "Title", "Variable y jumps.", "Declare its period: y=360.")
    assert in_words(fault, ANGLES, {}).hints == ("Declare its period: S_P_500=360.",)


def test_what_the_reader_said_stays_as_it_is() -> None:
    of_the_reader = Notice(code="a", message="column 'x' is constant")
    of_the_core = Notice(code="b", message="x is driven")
    given = (of_the_reader,)
    assert in_words(of_the_reader, SWAPPED, {}, given) == of_the_reader
    assert in_words(of_the_core, SWAPPED, {}, given).message == "v is driven"


def test_a_model_may_have_names_of_its_own() -> None:
    given = ModelTerms.model_validate(
        {
            "drift": {"v": {"v": -1.0}, "phi": {"sin(2*pi*phi/360)": -50.0, "v": 3.0}},
            "diffusion": {"v,v": {"1": 1.0}, "phi,phi": {"1": 9.0}},
            "periodic": {"phi": 360.0},
        }
    )
    found = in_standard_names(given)
    assert found.symbols.symbols == {"x": "v", "y": "phi"}
    assert found.model.drift == {"x": {"x": -1.0}, "y": {"sin(y)": -50.0, "x": 3.0}}
    assert list(found.model.diffusion) == ["x,x", "y,y"]
    assert found.model.periodic == {"y": 360.0}
    assert found.periods(GeneratorJob(kind="generator", model=given)) == {"y": 360.0}


@pytest.mark.parametrize(
    ("drift", "said"),
    [
        ({"v": {"1": 1.0}, "x": {"1": 1.0}}, "'x' cannot be the name of variable 2. Use x_."),
        ({"sin": {"1": 1.0}}, "'sin' cannot be the name of variable 1. Use sin_."),
        ({"a b": {"1": 1.0}}, "'a b' cannot be the name of variable 1. Use a_b."),
    ],
)
def test_a_name_that_no_term_can_hold_is_refused(drift: dict[str, Any], said: str) -> None:
    given = ModelTerms.model_validate({"drift": drift, "diffusion": {"x,x": {"1": 1.0}}})
    with pytest.raises(JobProblem) as error:
        in_standard_names(given)
    assert f"{error.value.problem.detail} {error.value.problem.hints[0]}" == said


def test_a_model_in_words_that_it_has_no_drift_for_is_refused() -> None:
    with pytest.raises(ValidationError, match="names w, which has no drift"):
        ModelTerms.model_validate({"drift": {"v": {"w": 1.0}}, "diffusion": {"v,v": {"1": 1.0}}})


STANDARD = re.compile(r"(?<![\w.])(?:[xyz]|x\d+)(?![\w(])")
AS_VARIABLE = re.compile(rf"{STANDARD.pattern}(?= = | →|[|^*)/+-])")


def strange_words(source: str) -> list[str]:
    """The strings of a module, without its docstrings, in which x, y, z may be no variable."""
    tree = ast.parse(source)
    said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    texts = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said
    ]
    sentences = [text for text in texts if " " in text]
    return [t for t in sentences if len(STANDARD.findall(t)) != len(AS_VARIABLE.findall(t))]


@pytest.mark.parametrize("room", ["identification", "generator", "comparison", "rolling"])
def test_in_the_cores_sentences_these_words_are_variables(room: str) -> None:
    modules = sorted((ROOT / "worker" / room).rglob("*.py"))
    assert [t for module in modules for t in strange_words(module.read_text("utf-8"))] == []


def test_another_meaning_is_found() -> None:
    assert strange_words("f'the slope has z of {z} and p of {p}'") == ["the slope has z of "]
    assert strange_words("f'the well at x = {at}, x → ∞, of x^2'") == []
