"""A term has the same value in the client as in the worker."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from itoscope_client.models.process import function_of
from itoscope_client.models.terms import parse
from worker.identification.data import terms as of_the_worker

X = np.array([-1.7, -0.3, 0.4, 2.2])
VALUES = {"x": X, "y": X[::-1].copy()}

NUMBERS = st.sampled_from(["1", "2", "0.5", "3.", ".25", "1e-2", "2E3"])
ATOMS = st.one_of(NUMBERS, st.sampled_from(["x", "y"]))
TERMS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*/"), inner).map(lambda p: f"{p[0]} {p[1]} {p[2]}"),
        st.tuples(
            inner, st.sampled_from(["^", "**"]), st.sampled_from(["2", "3", "-1", "0.5", "x"])
        ).map(lambda p: f"({p[0]}){p[1]}{p[2]}"),
        st.tuples(inner, st.sampled_from(["^2", "^3", "^-2"])).map(
            lambda p: f"-{p[0]}{p[1]}" if p[0] in ("x", "y") else p[0]
        ),
        inner.map(lambda t: f"({t})"),
        inner.map(lambda t: f"-({t})"),
        st.tuples(st.sampled_from(["sin", "cos", "exp", "tanh", "sqrt", "log"]), inner).map(
            lambda p: f"{p[0]}({p[1]})"
        ),
    ),
    max_leaves=6,
)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(TERMS)
def test_every_term_has_the_value_that_the_worker_gives_it(text: str) -> None:
    with np.errstate(all="ignore"):
        ours = np.broadcast_to(function_of(parse(text))(VALUES), X.shape)
    theirs = of_the_worker.evaluate(of_the_worker.parse(text, ("x", "y")), VALUES)
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)


@pytest.mark.parametrize(
    ("text", "at_two"),
    [
        ("-x^2", -4.0),
        ("2^3^2", 512.0),
        ("x^-1", 0.5),
        ("8/2/2", 2.0),
        ("1 - 2 - 3", -4.0),
        ("-2*x", -4.0),
        ("x/(1+x^2)", 0.4),
    ],
)
def test_signs_powers_and_quotients_bind_as_written(text: str, at_two: float) -> None:
    assert function_of(parse(text))({"x": np.array([2.0])}) == pytest.approx([at_two])
