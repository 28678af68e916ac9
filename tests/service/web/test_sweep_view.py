"""The table of a sweep calls parameters by the labels of their fields."""

from service.web.sweep_view import changes_in_words


def test_changed_parameters_are_words_and_no_json() -> None:
    changed = {
        "selection": {"method": "pastis"},
        "library": {"polynomial_degree": 6, "extra_terms": ["x^6", "sin(x)"]},
    }
    assert changes_in_words(changed) == (
        "Selection method: pastis; Polynomial degree: 6; Extra terms: x^6, sin(x)"
    )
    assert changes_in_words({}) == ""
