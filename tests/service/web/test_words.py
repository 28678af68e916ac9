"""What the page calls by its own words: parameters, addresses, and the terms of the glossary."""

import json
import re

import pytest

from service.routes.pages import _page
from service.web.glossary import entry_of, glossary
from service.web.views import report, result_view
from service.web.words import on_page, words
from tests.service.web.test_scripts import answers
from tests.service.web.test_views import finished
from tests.source_texts import texts_of

PARAMETER = re.compile(
    r"(?<![\w/])(?:(?:parameters|layout|analysis)\.|(?:library|kernels|selection)\.)[a-z_]+"
)
SAID = [
    (
        'Declare its period: parameters.periodic {"Phi": 360}, or unwrap it.',
        "Declare its period: 360 in the field “Period of Phi, if it is an angle”, or unwrap it.",
    ),
    (
        "Raise library.polynomial_degree or `parameters.library.extra_terms`.",
        "Raise “Polynomial degree” or “Extra terms”.",
    ),
    ("Leave it out of layout.state_columns.", "Leave it out of “State columns”."),
    ("Set sampling_rule to 'auto'.", "Set “Sampling rule” to 'auto'."),
    ("GET /v1/jobs lists your jobs.", "The page Jobs lists yours."),
    ("POST /v1/jobs/job_1/cancel first.", "Cancel it first."),
]


@pytest.mark.parametrize(("written", "said"), SAID)
def test_a_message_has_the_words_of_the_page_and_its_script_agrees(written: str, said: str) -> None:
    assert on_page(written) == said
    block = json.dumps(json.dumps(words()))
    document = (
        f"globalThis.document = {{ getElementById: () => ({{ dataset: {{ table: {block} }} }}) }};"
    )
    script = f"({{ onPage }}) => {{ {document} return onPage({json.dumps(written)}); }}"
    assert answers(script, "words.js") == said


def test_every_parameter_that_a_message_of_the_code_names_has_words() -> None:
    """Texts of the source: whatever looks like a parameter there becomes a label."""
    folders = ("worker/identification", "worker/jobs", "worker/generator", "service/readers")
    named = {name for text in texts_of(*folders) for name in PARAMETER.findall(text)}
    assert len(named) > 5
    assert {name for name in named if PARAMETER.search(on_page(f"Change {name} now."))} == set()


def test_warnings_on_the_page_have_its_words() -> None:
    given = finished()
    notice = given.result.warnings[0].model_copy(update={"message": "Raise `kernels.count`."})
    result = given.result.model_copy(update={"warnings": (notice,)})
    assert "Raise “Number of kernels”." in result_view(type(given)(given.record, result))


def test_labels_are_explained_in_the_words_of_the_glossary() -> None:
    assert entry_of("Mean first-passage time 0 → 1") is entry_of("First-passage time distribution")
    assert entry_of("Standardised residuals") is not None
    assert entry_of("Nothing of the kind") is None
    ids = [entry.id for entry in glossary()]
    assert len(set(ids)) == len(ids) > 25
    for html in (result_view(finished()), report(finished())[0]):
        asked = set(re.findall(r'popovertarget="([^"]+)"', html))
        assert {"help-relaxation-time", "help-drift"} <= asked
        assert asked == set(re.findall(r'<div popover id="([^"]+)"', html))


def test_the_page_holds_its_words() -> None:
    (table,) = re.findall(r"id=\"words\" data-table='(.*?)'", _page())
    assert json.loads(table) == words()
