"""Every hint of docs/problems.md, followed to the letter: it helps, or names another true cause.

A test provokes a problem, finds in it the words of the hint, and does what they say.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from tests.acceptance.jobs import MODEL_ONLY
from tests.acceptance.served import finished

ROOT = Path(__file__).resolve().parents[3]
RNG = np.random.default_rng(31)
OU_MODEL = {"drift": {"x": {"x": -1}}, "diffusion": {"x,x": {"1": 1}}}


def ou(n: int, dt: float) -> np.ndarray:
    """An exact path of dX = −X dt + dW from its law."""
    decay = np.exp(-dt)
    noise = np.sqrt((1 - decay**2) / 2) * RNG.normal(size=n)
    path = np.empty(n)
    path[0] = noise[0] / np.sqrt(1 - decay**2)
    for k in range(1, n):
        path[k] = decay * path[k - 1] + noise[k]
    return np.round(path, 6)


def angle(n: int, dt: float) -> np.ndarray:
    """A rotating angle in degrees, wrapped."""
    turned = np.cumsum(0.8 * dt + 0.7 * np.sqrt(dt) * RNG.normal(size=n))
    return np.round((np.degrees(turned) + 180) % 360 - 180, 4)


def inertial(n: int, dt: float, friction: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Position and velocity of x″ = −γ (x′ + x − noise), whose velocity relaxes in 1/γ."""
    x, v = np.zeros(n * 10), np.zeros(n * 10)
    h, noise = dt / 10, np.sqrt(dt / 10) * RNG.normal(size=n * 10)
    for k in range(1, n * 10):
        v[k] = v[k - 1] - friction * (h * (v[k - 1] + x[k - 1]) - noise[k])
        x[k] = x[k - 1] + h * v[k]
    return np.round(x[::10], 8), np.round(v[::10], 6)


def csv(**columns: Any) -> bytes:
    """A table."""
    rows = [",".join(map(str, row)) for row in zip(*columns.values(), strict=True)]
    return "\n".join([",".join(columns), *rows, ""]).encode()


class Answer:
    """What came of an upload and a job: the code of the problem, and its words."""

    def __init__(self, problem: Mapping[str, Any] | None) -> None:
        self.code = problem["code"] if problem else None
        self.detail = problem["detail"] if problem else ""
        self.hints = " ".join(problem["hints"]) if problem else ""


def answer(
    client: httpx.Client,
    data: bytes | None,
    job: Mapping[str, Any] | None = None,
    content_type: str = "text/csv",
    **layout: Any,
) -> Answer:
    """Upload data, run a job, and return what came of it. A job of None is an upload alone."""
    request = dict(job or {})
    if data is not None:
        given = {k: ",".join(v) if isinstance(v, list) else v for k, v in layout.items()}
        sent = client.post(
            "/v1/datasets", params=given, content=data, headers={"Content-Type": content_type}
        )
        if sent.is_error:
            return Answer(sent.json())
        if job is None:
            return Answer(None)
        request["dataset"] = sent.json()["id"]
    submitted = client.post("/v1/jobs", json=request)
    if submitted.is_error:
        return Answer(submitted.json())
    record = finished(client, submitted.json()["id"])
    return Answer(record["error"])


def identification(**parameters: Any) -> dict[str, Any]:
    return {"kind": "identification", "parameters": parameters, **MODEL_ONLY}


LINEAR = {"library": {"polynomial_degree": 1}}
T = np.round(0.05 * np.arange(3000), 2)
X, Y = ou(3000, 0.05), ou(3000, 0.05)
PLAIN = identification(**LINEAR)


def test_too_few_samples_for_the_library(client: httpx.Client) -> None:
    rich = identification(library={"polynomial_degree": 6})
    short = csv(t=T[:200], x=X[:200], y=Y[:200])
    found = answer(client, short, rich)
    assert found.code == "too-few-samples"
    assert "Lower library.polynomial_degree" in found.hints
    assert answer(client, short, PLAIN).code is None
    assert "record longer" in found.hints
    assert answer(client, csv(t=T[:600], x=X[:600], y=Y[:600]), rich).code is None


def test_too_few_samples_at_all(client: httpx.Client) -> None:
    found = answer(client, csv(t=T[:30], x=X[:30]), PLAIN)
    assert found.code == "too-few-samples"
    assert "several trajectories" in found.hints
    several = csv(run=np.arange(3000) // 30, t=np.tile(T[:30], 100), x=X)
    assert answer(client, several, PLAIN).code is None


def test_constant_data(client: httpx.Client) -> None:
    data = csv(t=T, valve=np.ones(3000), x=X)
    found = answer(client, data, state_columns="valve")
    assert found.code == "constant-data"
    assert "state_columns" in found.hints
    assert answer(client, data, PLAIN, state_columns="x").code is None


@pytest.mark.parametrize("unit", [1e60, 1e-60])
def test_values_out_of_range(unit: float, client: httpx.Client) -> None:
    found = answer(client, csv(t=T, x=[repr(unit * x) for x in X.tolist()]), PLAIN)
    assert found.code == "values-out-of-range"
    assert "unit" in found.hints
    assert answer(client, csv(t=T, x=X), PLAIN).code is None


def test_collinear_variables(client: httpx.Client) -> None:
    data = csv(t=T, Top=X, Bottom=Y, Sum=np.round(X + 2 * Y, 6))
    job = identification(**LINEAR)
    found = answer(client, data, job)
    assert found.code == "collinear-variables"
    assert all(name in found.detail for name in ("Top", "Bottom", "Sum"))
    left_out = re.search(r"Leave (\w+) out: name the other columns in layout", found.hints)
    assert left_out is not None
    others = {"Top", "Bottom", "Sum"} - {left_out[1]}
    assert answer(client, data, job, state_columns=",".join(sorted(others))).code is None


@pytest.mark.parametrize(
    "job", [{"preset": "paper"}, {"parameters": {"kernels": {"range": [-1, 1]}}}]
)
def test_options_for_one_variable(job: dict[str, Any], client: httpx.Client) -> None:
    data = csv(t=T, x=X, y=Y)
    whole = {"kind": "identification", **MODEL_ONLY, **job}
    found = answer(client, data, whole)
    assert found.code == "dimension-not-supported"
    assert "defaults" in found.hints
    assert answer(client, data, PLAIN).code is None
    assert "state_columns" in found.hints
    # The paper's algorithm then wants several trajectories, and says so.
    one = answer(client, data, whole, state_columns="x")
    assert one.code in ((None, "too-few-samples") if "preset" in job else (None,))


def test_the_papers_preset_wants_several_trajectories(client: httpx.Client) -> None:
    paper = {"kind": "identification", "preset": "paper", **MODEL_ONLY}
    found = answer(client, csv(t=T, x=X), paper)
    assert found.code == "too-few-samples"
    assert "omit the preset" in found.hints
    assert answer(client, csv(t=T, x=X), PLAIN).code is None
    assert "several trajectories" in found.hints
    data = csv(run=np.arange(3000) // 300, t=np.tile(T[:300], 10), x=X)
    assert answer(client, data, paper).code is None


ROLLING = {"kind": "rolling", "parameters": LINEAR, "windows": {"count": 3, "share": 0.5}}


def test_rolling_windows_over_several_variables(client: httpx.Client) -> None:
    data = csv(t=T, x=X, y=Y)
    found = answer(client, data, ROLLING)
    assert found.code == "invalid-request"
    assert "state_columns" in found.hints
    assert answer(client, data, ROLLING, state_columns="x").code is None


def test_rolling_windows_over_several_trajectories(client: httpx.Client) -> None:
    data = csv(run=np.arange(3000) // 1500, t=T, x=X)
    found = answer(client, data, ROLLING)
    assert found.code == "invalid-request"
    assert "id_column=none" in found.hints
    assert answer(client, data, ROLLING, id_column="none").code is None
    assert "one trajectory on its own" in found.hints
    assert answer(client, csv(t=T[:1500], x=X[:1500]), ROLLING).code is None


def test_windows_longer_than_the_record(client: httpx.Client) -> None:
    def job(**windows: float) -> dict[str, Any]:
        return {**ROLLING, "windows": {"count": 3, **windows}}

    data = csv(t=T, x=X)
    found = answer(client, data, job(length=1000))
    assert found.code == "invalid-windows"
    assert "shorter length" in found.hints
    assert answer(client, data, job(length=70)).code is None
    assert "windows.share" in found.hints
    assert answer(client, data, job(share=0.5)).code is None
    short = answer(client, data, job(length=0.3))
    assert short.code == "invalid-windows"
    assert "larger windows.length" in short.hints
    assert answer(client, data, job(length=70)).code is None


def test_a_wrapped_angle(client: httpx.Client) -> None:
    data = csv(t=T, phi=angle(3000, 0.05))
    found = answer(client, data, identification(library={"fourier_harmonics": 1}))
    assert found.code == "wrapped-variable"
    declared = re.search(r'parameters\.periodic \{"(\w+)": ([\d.]+)\}', found.hints)
    assert declared is not None
    periodic = {declared[1]: float(declared[2])}
    library = {"polynomial_degree": 0, "fourier_harmonics": 1}
    assert answer(client, data, identification(periodic=periodic, library=library)).code is None
    assert "unwrap" in found.hints
    unwrapped = csv(t=T, phi=np.round(np.unwrap(angle(3000, 0.05), period=360), 4))
    assert answer(client, unwrapped, PLAIN).code is None


def test_independent_samples(client: httpx.Client) -> None:
    found = answer(client, csv(t=20 * T, x=ou(3000, 20)), PLAIN)
    assert found.code == "sampling-too-coarse"
    assert "several times within one relaxation time" in found.hints
    assert answer(client, csv(t=T, x=X), PLAIN).code is None


def test_alternating_samples(client: httpx.Client) -> None:
    data = csv(t=T[1:], x=np.round(np.diff(ou(3000, 20)), 6))
    found = answer(client, data, PLAIN)
    assert found.code == "sampling-too-coarse"
    assert "differenced series" in found.hints
    assert answer(client, csv(t=T, x=X), PLAIN).code is None


def test_a_column_of_independent_samples_beside_a_process(client: httpx.Client) -> None:
    noise = np.round(21 + 0.01 * RNG.normal(size=3000), 4)
    data = csv(**{"t": T, "Position (nm)": X, "Temperature (C)": noise})
    found = answer(client, data, PLAIN)
    assert found.code == "sampling-too-coarse"
    assert "Temperature" in found.detail
    assert "Leave variable Temperature out: name the other columns" in found.hints
    assert answer(client, data, PLAIN, state_columns="Position").code is None


FIRST = identification(dynamics="first-order", **LINEAR)
SECOND = identification(dynamics="second-order", **LINEAR)


def test_the_position_of_an_inertial_process(client: httpx.Client) -> None:
    x, v = inertial(6000, 0.05)
    t = np.round(0.05 * np.arange(6000), 2)
    found = answer(client, csv(t=t, x=x), FIRST)
    assert found.code == "second-order-dynamics"
    assert "Set parameters.dynamics to second-order" in found.hints
    assert answer(client, csv(t=t, x=x), SECOND).code is None
    assert answer(client, csv(t=t, x=x), PLAIN).code is None
    assert "position and velocity together" in found.hints
    assert answer(client, csv(t=t, x=x, v=v), FIRST).code is None
    assert "sample more slowly" in found.hints
    x, _ = inertial(60_000, 0.01, friction=20.0)
    t = np.round(0.01 * np.arange(60_000), 2)
    assert answer(client, csv(t=t, x=x), FIRST).code == "second-order-dynamics"
    assert answer(client, csv(t=t[::40], x=x[::40]), FIRST).code is None


def test_no_velocity_is_seen(client: httpx.Client) -> None:
    data = csv(t=T, x=X)
    found = answer(client, data, SECOND)
    assert found.code == "not-second-order"
    assert "first-order or auto" in found.hints
    assert answer(client, data, FIRST).code is None
    assert answer(client, data, PLAIN).code is None
    assert "Sample faster" in found.hints
    x, _ = inertial(60_000, 0.01, friction=20.0)
    t = np.round(0.01 * np.arange(60_000), 2)
    slow = answer(client, csv(t=t[::40], x=x[::40]), SECOND)
    assert slow.code == "not-second-order"
    assert answer(client, csv(t=t, x=x), SECOND).code is None


def test_no_correlation_time_of_the_noise(client: httpx.Client) -> None:
    """The path is an integrated random walk, whose velocity never forgets."""
    x = np.round(np.cumsum(np.cumsum(RNG.normal(size=3000))) * 1e-2, 6)
    data = csv(t=np.arange(3000), x=x)
    found = answer(client, data, identification(dynamics="coloured-noise", **LINEAR))
    assert found.code == "no-correlation-time"
    assert "first-order, or to second-order" in found.hints
    assert answer(client, data, FIRST).code == "second-order-dynamics"
    assert answer(client, data, SECOND).code is None


def test_no_data_under_kernels(client: httpx.Client) -> None:
    data = csv(t=T, x=X)
    found = answer(client, data, identification(kernels={"range": [100, 110]}, **LINEAR))
    assert found.code == "no-data-under-kernels"
    assert "inside the data's range" in found.hints
    assert answer(client, data, identification(kernels={"range": [-1, 1]}, **LINEAR)).code is None
    assert "auto" in found.hints
    assert answer(client, data, identification(kernels={"range": "auto"}, **LINEAR)).code is None


def test_an_unknown_term(client: httpx.Client) -> None:
    def job(term: str) -> dict[str, Any]:
        return identification(library={"polynomial_degree": 1, "extra_terms": [term]})

    data = csv(t=T, x=X)
    found = answer(client, data, job("sinn(x)"))
    assert found.code == "invalid-request"
    for term in ("x^2", "sin(x)", "cos(2*x)"):
        assert answer(client, data, job(term)).code is None


def test_a_term_without_a_value(client: httpx.Client) -> None:
    def job(*terms: str) -> dict[str, Any]:
        return identification(library={"polynomial_degree": 1, "extra_terms": list(terms)})

    data = csv(t=T, x=X)
    found = answer(client, data, job("log(x)"))
    assert found.code == "invalid-library"
    assert "Remove it from library.extra_terms" in found.hints
    assert answer(client, data, job()).code is None
    for term in ("sqrt(x^2+1)", "1/(1+x^2)"):
        assert term in found.hints
        assert answer(client, data, job(term)).code is None


def test_too_many_terms(client: httpx.Client) -> None:
    data = csv(t=T, x=X, y=Y, z=ou(3000, 0.05), w=ou(3000, 0.05), u=ou(3000, 0.05))
    found = answer(client, data, identification(library={"polynomial_degree": 8}))
    assert found.code == "invalid-library"
    assert "Lower library.polynomial_degree" in found.hints
    assert answer(client, data, PLAIN).code is None
    assert "state_columns" in found.hints
    job = identification(library={"polynomial_degree": 8})
    assert answer(client, data, job, state_columns="x").code is None


def generator(model: Mapping[str, Any], **analysis: Any) -> dict[str, Any]:
    return {"kind": "generator", "model": model, "analysis": analysis}


def test_an_empty_domain(client: httpx.Client) -> None:
    found = answer(client, None, generator({**OU_MODEL, "domain": {"x": [2, -2]}}))
    assert found.code in ("invalid-domain", "invalid-request")
    assert answer(client, None, generator({**OU_MODEL, "domain": {"x": [-2, 2]}})).code is None


def test_a_coefficient_without_a_value(client: httpx.Client) -> None:
    model = {"drift": {"x": {"log(x)": -1}}, "diffusion": {"x,x": {"1": 1}}}
    found = answer(client, None, generator(model))
    assert found.code == "undefined-coefficients"
    assert "domain" in found.detail + found.hints
    again = answer(client, None, generator({**model, "domain": {"x": [0.1, 5]}}))
    assert again.code is None
    assert "terms" in found.detail + found.hints
    assert answer(client, None, generator(OU_MODEL)).code is None


FREE = {
    "drift": {"x": {"x": 1}, "y": {"y": 1}},
    "diffusion": {"x,x": {"1": 1}, "y,y": {"1": 1}},
}
PLANE = {
    "drift": {"x": {"x": -1}, "y": {"y": -1}},
    "diffusion": {"x,x": {"1": 1}, "y,y": {"1": 1}},
}


def planned(model: Any, target: Mapping[str, Any], **fields: Any) -> dict[str, Any]:
    return {"kind": "plan", "model": model, "target": target, **fields}


def test_a_plan_without_a_distribution_or_with_coarse_samples(client: httpx.Client) -> None:
    target = {"quantity": "coefficient", "component": "x", "term": "x"}
    free = {"drift": {"x": {"x": 1}}, "diffusion": {"x,x": {"1": 1}}}
    found = answer(client, None, planned(free, target))
    assert found.code == "no-plan"
    assert "a force keeps together" in found.detail
    assert answer(client, None, planned(OU_MODEL, target)).code is None
    coarse = answer(client, None, planned(OU_MODEL, target, dt=[10]))
    assert coarse.code == "no-plan"
    assert "intervals up to 1.5 in `dt`" in coarse.detail
    assert answer(client, None, planned(OU_MODEL, target, dt=[1.5])).code is None
    plane = answer(client, None, planned(PLANE, target))
    assert plane.code == "no-plan"
    assert "a model of its own" in plane.detail


def test_a_plan_for_an_escape_from_a_single_well(client: httpx.Client) -> None:
    found = answer(client, None, planned(OU_MODEL, {"quantity": "passage"}))
    assert found.code == "no-such-quantity"
    assert "target.from and target.to" in found.detail
    again = planned(OU_MODEL, {"quantity": "passage", "from": -1, "to": 1})
    assert answer(client, None, again).code is None


def test_reflecting_ends_without_a_range(client: httpx.Client) -> None:
    found = answer(client, None, generator(FREE, reflecting_ends=True))
    assert found.code == "no-finite-range"
    assert "finite domain" in found.detail + found.hints
    bounded = {**FREE, "domain": {"x": [-2, 2], "y": [-2, 2]}}
    assert answer(client, None, generator(bounded, reflecting_ends=True)).code is None


def test_reflecting_ends_of_three_variables(client: httpx.Client) -> None:
    names = ("x", "y", "z")
    model = {
        "drift": {name: {name: 1} for name in names},
        "diffusion": {f"{name},{name}": {"1": 1} for name in names},
    }
    found = answer(client, None, generator(model, reflecting_ends=True))
    assert found.code == "unsupported-dimension"
    assert "omit reflecting_ends" in found.detail + found.hints
    assert answer(client, None, generator(model)).code is None
    assert answer(client, None, generator(PLANE)).code is None


def test_a_term_too_steep_to_be_resolved(client: httpx.Client) -> None:
    steep = {"drift": {"x": {"x^9": -1}}, "diffusion": {"x,x": {"1": 1}}}
    found = answer(client, None, generator({**steep, "domain": {"x": [-1e8, 1e8]}}))
    assert found.code == "unresolved-landscape"
    assert "narrow the domain" in found.detail
    assert answer(client, None, generator({**steep, "domain": {"x": [-2, 2]}})).code is None


def test_noise_too_weak_to_be_resolved(client: httpx.Client) -> None:
    def job(noise: float) -> dict[str, Any]:
        return generator(
            {
                "drift": {"x": {"x": -1}},
                "diffusion": {"x,x": {"1": noise}},
                "domain": {"x": [-2, 2]},
            }
        )

    found = answer(client, None, job(1e-300))
    assert found.code == "unresolved-landscape"
    assert "larger diffusion" in found.detail
    assert answer(client, None, job(0.1)).code is None


def test_a_job_that_takes_too_long(client: httpx.Client) -> None:
    slow = csv(t=np.arange(120_000) * 0.05, **{c: ou(120_000, 0.05) for c in "xyzw"})
    job = {"kind": "identification", "parameters": {"library": {"polynomial_degree": 4}}}
    found = answer(client, slow, {**job, "timeout_seconds": 1})
    assert found.code == "timed-out"
    assert "timeout_seconds" in found.detail + found.hints
    quick = {**identification(library={"polynomial_degree": 1}), "timeout_seconds": 300}
    assert answer(client, slow, quick).code is None


# --- files --------------------------------------------------------------------------------------


def test_files_that_cannot_be_read(client: httpx.Client) -> None:
    good = csv(t=T, x=X)
    empty = answer(client, b"\n")
    assert empty.code == "empty-file"
    bad = answer(client, good.replace(b"\n0.1,", b"\n0.1,oops "))
    assert bad.code == "unreadable-data"
    assert "Row 4, column 2 ('x')" in bad.detail
    assert "Write NaN or nothing for a missing value" in bad.hints
    assert answer(client, re.sub(rb"\n0\.1,[^\n]*", b"\n0.1,NaN", good)).code is None
    assert answer(client, re.sub(rb"\n0\.1,[^\n]*", b"\n0.1,", good)).code is None


def test_a_faulty_column_is_omitted_by_state_columns(client: httpx.Client) -> None:
    words = ["1.5"] * 3000
    words[1] = "oops"
    data = csv(t=T, x=X, remark=words)
    found = answer(client, data)
    assert found.code == "unreadable-data"
    assert "omit the column by state_columns" in found.hints
    assert answer(client, data, state_columns="x").code is None


def test_rows_of_different_lengths(client: httpx.Client) -> None:
    data = csv(t=T, x=X).replace(b"\n0.1,", b"\n0.1,1,")
    found = answer(client, data)
    assert found.code == "unreadable-data"
    assert "Write NaN for a missing value" in found.hints
    rows = "\n".join(",".join(map(str, X[k * 300 : k * 300 + 300 - k])) for k in range(10))
    ragged = answer(client, rows.encode(), dt=0.05, orientation="columns")
    assert ragged.code == "unreadable-data"
    assert "set orientation=rows" in ragged.hints
    assert answer(client, rows.encode(), dt=0.05, orientation="rows").code is None


def test_times_that_repeat(client: httpx.Client) -> None:
    mixed = csv(t=np.repeat(T[:1500], 2), probe=np.tile([1.5, 2.5], 1500), x=X)
    found = answer(client, mixed, state_columns="x")
    assert found.code == "unreadable-data"
    assert "id_column" in found.hints
    assert answer(client, mixed, PLAIN, id_column="probe", state_columns="x").code is None
    coarse = csv(t=np.floor(T / 20).astype(int), x=X)
    found = answer(client, coarse)
    if found.code is not None:
        assert "give dt" in found.hints
        assert answer(client, coarse, PLAIN, dt=0.05).code is None


def test_a_layout_that_does_not_fit(client: httpx.Client) -> None:
    data = csv(t=T, x=X)
    found = answer(client, data, state_columns="y")
    assert found.code == "layout-mismatch"
    assert "2 ('x')" in found.detail
    assert answer(client, data, PLAIN, state_columns="x").code is None
    found = answer(client, data, axes="ntd")
    assert found.code == "layout-mismatch"
    for axes in ("td", "tn", "nt"):
        assert f"axes={axes}" in found.hints
    assert answer(client, data, axes="td").code is None


def test_other_formats(client: httpx.Client) -> None:
    found = answer(client, b"%PDF-1.7 ...", content_type="application/octet-stream")
    assert found.code == "unsupported-media-type"
    assert "CSV" in found.hints
    assert answer(client, csv(t=T, x=X), content_type="application/octet-stream").code is None


def test_too_large_data(client: httpx.Client) -> None:
    wide = ",".join(["1"] * 10_001).encode() + b"\n"
    found = answer(client, wide * 3)
    assert found.code == "too-large-data"
    assert "Upload wide arrays as NPY" in found.hints


# --- requests -----------------------------------------------------------------------------------


def test_requests_that_are_mended_as_the_hint_says(client: httpx.Client) -> None:
    def code(response: httpx.Response) -> Any:
        return response.json()["code"] if response.is_error else None

    job = generator(OU_MODEL)
    broken = client.post(
        "/v1/jobs", content=b'{"kind": NaN}', headers={"Content-Type": "application/json"}
    )
    assert code(broken) == "invalid-json"
    assert code(client.post("/v1/jobs", json=job)) is None
    many = [("file", (f"{k}.csv", b"1", "text/csv")) for k in range(5)]
    form = client.post("/v1/jobs", files=many)
    assert code(form) == "invalid-multipart"
    files = {"file": ("a.csv", csv(t=T, x=X), "text/csv")}
    data = {"job": '{"kind": "identification"}'}
    assert code(client.post("/v1/jobs", files=files, data=data)) is None
    digest = {"Content-Digest": "sha-256=:" + "A" * 43 + "=:", "Content-Type": "text/csv"}
    assert code(client.post("/v1/datasets", content=b"1\n2\n", headers=digest)) == "digest-mismatch"
    assert code(client.get("/v1/jobs/job_none")) == "not-found"
    assert code(client.get("/v1/jobs")) is None
    assert code(client.get("/v1/datasets")) is None
    assert code(client.put("/v1/jobs")) == "method-not-allowed"
    assert "/v1/jobs" in client.get("/docs").text
    compressed = client.post(
        "/v1/datasets",
        content=b"1",
        headers={"Content-Encoding": "gzip", "Content-Type": "text/csv"},
    )
    assert code(compressed) == "unsupported-media-type"
    assert "without Content-Encoding" in compressed.json()["hints"][0]


def test_results_that_are_asked_for_as_the_hint_says(client: httpx.Client) -> None:
    key = {"Idempotency-Key": "hints-1"}
    first = client.post("/v1/jobs", json=generator(OU_MODEL), headers=key).json()["id"]
    other = client.post("/v1/jobs", json=generator(PLANE), headers=key)
    assert other.json()["code"] == "idempotency-mismatch"
    again = client.post("/v1/jobs", json=generator(PLANE), headers={"Idempotency-Key": "hints-2"})
    assert again.is_success
    finished(client, first)
    xml = client.get(f"/v1/jobs/{first}/result", headers={"Accept": "application/xml"})
    assert xml.json()["code"] == "not-acceptable"
    for kind in ("application/json", "application/x-npz"):
        assert client.get(f"/v1/jobs/{first}/result", headers={"Accept": kind}).is_success
    given = client.get(f"/v1/jobs/{first}/draws").json()
    assert given["code"] == "no-draws"
    assert "kind identification" in given["hints"][0]
    data = {"dt": 0.05, "trajectories": [ou(4_000, 0.05).tolist()]}
    measured = {"kind": "identification", "data": data, **MODEL_ONLY}
    found = client.post("/v1/jobs", json=measured).json()["id"]
    finished(client, found)
    assert client.get(f"/v1/jobs/{found}/draws", params={"count": 3}).json()["count"] == 3
    assert client.delete(f"/v1/jobs/{first}").is_success
    assert client.get(f"/v1/jobs/{first}").json()["code"] == "gone"
    slow = csv(t=np.arange(60_000) * 0.05, x=ou(60_000, 0.05), y=ou(60_000, 0.05))
    dataset = client.post(
        "/v1/datasets", content=slow, headers={"Content-Type": "text/csv"}
    ).json()["id"]
    job = {"kind": "identification", "dataset": dataset}
    running = client.post("/v1/jobs", json=job).json()["id"]
    early = client.get(f"/v1/jobs/{running}/result")
    assert early.json()["code"] == "job-not-finished"
    assert "Prefer: wait=" in early.json()["hints"][0]
    client.post(f"/v1/jobs/{running}/cancel")
    record = finished(client, running)
    assert record["state"] == "cancelled"
    assert client.get(f"/v1/jobs/{running}/result").json()["code"] == "job-cancelled"
    assert client.delete(f"/v1/jobs/{running}").is_success


NAMED = {
    # Its hint is to report an id to the operator; only a mistake of ours provokes it.
    "internal-error": "service/test_errors.py",
    # Submission refuses every such term first, as `invalid-request`: test_an_unknown_term.
    "unknown-term": "worker/identification/data/test_terms.py",
}
"""Codes whose hints are not followed, and the tests that provoke them where they arise."""


def test_every_code_of_the_documentation_is_provoked() -> None:
    table = (ROOT / "docs" / "problems.md").read_text()
    documented = set(re.findall(r"^\| `([a-z-]+)` \|", table, re.MULTILINE))
    others = ("test_hints_of_limits.py", "../test_inputs.py")
    files = [Path(__file__), *(Path(__file__).parent / name for name in others)]
    source = "".join(re.sub(r"(?s)\nNAMED = \{.*?\n\}", "", file.read_text()) for file in files)
    here = set(re.findall(r'== "([a-z]+(?:-[a-z]+)*)"', source))
    here |= set(re.findall(r'code in \("([a-z-]+)"', source))
    assert documented - here == NAMED.keys()
    for code, place in NAMED.items():
        text = (ROOT / "tests" / place).read_text()
        assert f'"{code}"' in text or code.title().replace("-", "") in text, (code, place)
