"""The names in a job, checked by their types before anything is sent."""

import json
from typing import Any

import httpx
import pytest

import itoscope_client
from itoscope_client import Client, InputError
from itoscope_client.requests import JOBS, checked, documents
from itoscope_client.requests.checking import _fields
from service.openapi.examples import JOBS as EXAMPLES
from service.openapi.schemas import schemas
from tests.acceptance.served import ROOT


def said(**job: Any) -> str:
    with pytest.raises(InputError) as refused:
        checked(job, JOBS["identification"])
    return str(refused.value)


def test_every_example_of_the_interface_is_known() -> None:
    for job in EXAMPLES.values():
        checked(job, JOBS[job["kind"]])


@pytest.mark.parametrize(
    "job",
    [
        {"parameters": {"kernels": "auto"}},
        {"parameters": {"kernels": {"count": "auto", "bandwidth": 0.2, "range": [-1, 1]}}},
        {"parameters": {"periodic": {"any word": 360}, "domain": {"x": (0.0, None)}}},
        {"analysis": {"passages": [{"from": {"x": [None, 0.8]}, "to": [1.0, 2.0]}]}},
        {"preset": None, "labels": {"parametres": "are my own"}},
    ],
)
def test_what_is_right_passes(job: dict[str, Any]) -> None:
    assert checked(job, JOBS["identification"]) is job


@pytest.mark.parametrize(
    ("job", "message"),
    [
        (
            {"parameters": {"library": {"polynomial_degre": 3}}},
            "parameters.library.polynomial_degre is not a known field; "
            "did you mean 'polynomial_degree'?",
        ),
        (
            {"parameters": {"polynomial_degree": 3}},
            "parameters.polynomial_degree is not a known field; "
            'did you mean parameters={"library": {"polynomial_degree": …}}?',
        ),
        (
            {"parameters": {"passages": []}},
            'parameters.passages is not a known field; did you mean analysis={"passages": …}?',
        ),
        (
            {"analysis": {"passages": [{"form": 1, "to": 2}]}},
            "analysis.passages.0.form is not a known field; did you mean 'from'?",
        ),
        (
            {"parameters": {"selection": {"method": "latso_cv"}}},
            "parameters.selection.method cannot be 'latso_cv'; did you mean 'lasso_cv'?",
        ),
        ({"parameters": {"kernels": "aut"}}, "did you mean 'auto'?"),
        ({"parameters": {"xyz": 1}}, "known are library, kernels, dynamics"),
    ],
)
def test_what_is_wrong_is_said_with_what_was_meant(job: dict[str, Any], message: str) -> None:
    assert message in said(**job)


def test_every_fault_is_said() -> None:
    assert said(parameters={"sed": 1, "kernels": {"cuont": 3}}).count("did you mean") == 2


def test_nothing_is_sent_first() -> None:
    def never(request: httpx.Request) -> httpx.Response:
        raise AssertionError(f"{request.method} {request.url} was sent")

    client = Client("http://x.test", transport=httpx.MockTransport(never))
    data, wrong = [0.0, 1.0, 0.0], {"polynomial_degre": 1}
    for call in (
        lambda: client.identify(data, dt=1.0, parameters={"library": wrong}),
        lambda: client.roll(data, dt=1.0, windows={"cuont": 3}),
        lambda: client.sweep(data, dt=1.0, over=[{}, {"library": wrong}]),
        lambda: client.analyse({"drift": {"x": {"x": -1}}, "difusion": {"x,x": {"1": 1}}}),
    ):
        with pytest.raises(InputError, match="did you mean"):
            call()
    with pytest.raises(InputError, match=r"over\[1\].library.polynomial_degre"):
        client.sweep(data, dt=1.0, over=[{}, {"library": wrong}])
    with pytest.raises(InputError, match=r"dtt is not an option for reading data; .*'dt'"):
        client.identify(data, dtt=1.0)
    with pytest.raises(InputError, match=r'did you mean parameters={"library": {"polynomial_deg'):
        client.identify(data, dt=1.0, polynomial_degree=3)


def test_the_types_are_those_of_the_schema() -> None:
    schema = json.loads((ROOT / "openapi" / "schemas" / "job-request-1.0.json").read_text())
    assert schema == schemas()["job-request-1.0"]
    for name, part in schema["$defs"].items():
        assert set(_fields(getattr(documents, name))) == set(part["properties"])
        assert getattr(documents, name).__required_keys__ == set(part.get("required", ()))


def test_the_package_has_a_version() -> None:
    assert itoscope_client.__version__
