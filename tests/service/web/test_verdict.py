"""The verdict: it counts the checks that were made, and agrees with the warnings."""

import re

import pytest

from contract.results import ChapmanKolmogorov, Diagnostics, Notice, Residuals
from service.web.views import result_view
from tests.service.web.test_views import finished

MADE = Diagnostics(
    residuals=Residuals(mean=0.0, variance=1.0, skewness=0.0, kurtosis=3.0),
    density_total_variation=0.02,
    chapman_kolmogorov=(
        ChapmanKolmogorov(
            variable="x",
            lag=0.1,
            statistic=4.0,
            degrees_of_freedom=4,
            p_value=0.4,
            mean_difference=0.01,
            spread_difference=0.01,
            n_windows=500,
        ),
    ),
)


def shown(found: Diagnostics, *codes: str, estimator: str = "efficient") -> str:
    given = finished()
    notices = tuple(Notice(code=code, message="Something.") for code in codes)
    provenance = given.result.provenance.model_copy(update={"parameters": {"estimator": estimator}})
    changes = {"diagnostics": found, "warnings": notices, "provenance": provenance}
    result = given.result.model_copy(update=changes)
    return result_view(type(given)(given.record, result))


def outcomes(html: str) -> dict[str, str]:
    found = re.findall(r'<li class="(passed|failed|not-made)"><a href="#(.*?)">(.*?)</a>', html)
    ids = set(re.findall(r'\sid="([^"]+)"', html))
    assert {place for _, place, _ in found} <= ids, "every link leads to something"
    return {name: outcome for outcome, _, name in found}


def test_a_model_that_passes_every_check_says_so() -> None:
    html = shown(MADE)
    assert "The model passes 6 of 6 checks." in html
    assert set(outcomes(html).values()) == {"passed"}


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("memory", "independent residuals"),
        ("persistent-increments", "independent residuals"),
        ("heavy-tails", "Gaussian residuals"),
        ("noise-changes", "same model at all times"),
        ("drift-misfit", "shape of drift and diffusion"),
        ("stationary-density", "stationary density"),
        ("autocorrelation", "prediction at longer times"),
    ],
)
def test_a_warning_fails_its_check_and_is_linked_from_it(code: str, name: str) -> None:
    html = shown(MADE, code)
    assert "The model passes 5 of 6 checks." in html
    assert {n for n, outcome in outcomes(html).items() if outcome == "failed"} == {name}
    assert f'<a href="#warning-{code}">{name}</a> (failed)' in html
    # What explains the failure is not folded away.
    assert 'id="group-checks" open' in html


def test_warnings_that_are_no_checks_leave_the_verdict_alone() -> None:
    assert "The model passes 6 of 6 checks." in shown(MADE, "few-transitions", "terms-undecided")


def test_checks_that_were_not_made_are_not_passed() -> None:
    html = shown(MADE.model_copy(update={"chapman_kolmogorov": ()}), estimator="paper")
    assert "The model passes 3 of 3 checks." in html
    assert [n for n, outcome in outcomes(html).items() if outcome == "not-made"] == [
        "same model at all times",
        "shape of drift and diffusion",
        "prediction at longer times",
    ]
    assert "The model was not checked." in shown(Diagnostics())
