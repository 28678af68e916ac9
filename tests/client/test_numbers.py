"""One number has the same digits on the page, in the report, in the shell and in Python."""

import inspect

import pytest

from itoscope_client.models import numbers as of_client
from service.web import numbers as of_page


@pytest.mark.parametrize(
    "name", [name for name, _ in inspect.getmembers(of_client, inspect.isfunction)]
)
def test_the_client_s_functions_are_those_of_the_page(name: str) -> None:
    assert inspect.getsource(getattr(of_client, name)) == inspect.getsource(getattr(of_page, name))


@pytest.mark.parametrize("name", ["_SMALLEST", "_LARGEST", "_SUPERSCRIPTS"])
def test_so_are_their_constants(name: str) -> None:
    assert getattr(of_client, name) == getattr(of_page, name)


def test_an_estimate_at_the_end_of_its_interval_is_said_to_be() -> None:
    assert of_client.with_interval(0.0, (0.0, 0.041)) == (
        "0",
        "0.000 to 0.041 (0 by the terms that were chosen, not by other likely ones)",
    )
    assert of_client.with_interval(2.0, (1.0, 2.0))[1].endswith("(the estimate is its upper end)")
    assert of_client.with_interval(0.01, (0.0, 0.041)) == ("0.010", "0.000 to 0.041")
