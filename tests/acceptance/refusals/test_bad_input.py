"""Input that cannot be used: a clear problem, nothing kept, and the next request is answered."""

import io
import pickle
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from tests.acceptance.served import Served

NPY, NPZ, CSV, JSON, ANY = (
    "application/x-npy",
    "application/x-npz",
    "text/csv",
    "application/json",
    "application/octet-stream",
)


def npy(array: Any, **options: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, **options)
    return buffer.getvalue()


def bomb() -> bytes:
    """400 kB that unpack to 51 million zeros."""
    buffer, count = io.BytesIO(), 51_000_000
    with (
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("x.npy", "w") as member,
    ):
        np.lib.format.write_array_header_1_0(
            member, {"descr": "<f8", "fortran_order": False, "shape": (count,)}
        )
        for _ in range(51):
            member.write(bytes(8_000_000))
    return buffer.getvalue()


WALK = np.random.default_rng(0).standard_normal(500).cumsum()
CONSTANT = "t,x\n" + "".join(f"{n},2.5\n" for n in range(200))
STANDING = "t,x\n" + "".join(f"0,{n}\n" for n in range(60))

UPLOADS = {
    "an empty file": (b"", CSV, 422, "empty-file"),
    "a pickle": (pickle.dumps({"x": [1.0, 2.0]}), ANY, 422, "unreadable-data"),
    "an object array": (
        npy(np.array([{}, []], dtype=object), allow_pickle=True),
        NPY,
        422,
        "unreadable-data",
    ),
    "one sample": (b"t,x\n0,1.0\n", CSV, 422, "too-few-samples"),
    "a constant column": (CONSTANT.encode(), CSV, 422, "constant-data"),
    "NaN everywhere": (npy(np.full(500, np.nan)), NPY, 422, "too-few-samples"),
    "infinities": (npy(np.array([1.0, np.inf] * 100)), NPY, 422, "unreadable-data"),
    "complex numbers": (npy(WALK + 0j), NPY, 422, "unreadable-data"),
    "a CSV of text": (b"name,town\n" + b"ann,york\n" * 50, CSV, 422, "unreadable-data"),
    "time that stands still": (STANDING.encode(), CSV, 422, "unreadable-data"),
    "a truncated npy": (npy(WALK)[:-100], NPY, 422, "unreadable-data"),
    "an npy that ends inside its header": (npy(WALK)[:40], NPY, 422, "unreadable-data"),
    "an npy that declares a terabyte": (
        npy(WALK).replace(b"(500,), }" + b" " * 9, b"(100000000000,), }"),
        NPY,
        413,
        "too-large-data",
    ),
    "a zip bomb": (bomb(), NPZ, 413, "too-large-data"),
    "an image's content type": (npy(WALK), "image/png", 415, "unsupported-media-type"),
    "a CSV that is called npy": (b"t,x\n0,1\n1,2\n", NPY, 422, "unreadable-data"),
}

JOBS = {
    "an unknown field": (
        b'{"kind": "generator", "model": {"job": "job_x"}, "colour": "red"}',
        JSON,
        422,
        "invalid-request",
    ),
    "no kind": (b"{}", JSON, 422, "invalid-request"),
    "a dataset that is not there": (
        b'{"kind": "identification", "dataset": "ds_aaaaaaaaaaaaaaaa"}',
        JSON,
        422,
        "invalid-request",
    ),
    "NaN in the JSON": (
        b'{"kind": "generator", "model": {"drift": {"x": {"x": NaN}}}}',
        JSON,
        400,
        "invalid-json",
    ),
    "JSON that breaks off": (b'{"kind":', JSON, 400, "invalid-json"),
    "JSON of a hundred thousand levels": (b"[" * 100_000, JSON, 400, "invalid-json"),
    "constant inline data": (
        b'{"kind": "identification", "data": {"dt": 1, "trajectories": [[' + b"1," * 99 + b"1]]}}",
        JSON,
        422,
        "constant-data",
    ),
    "a content type that is no job": (
        b"kind: generator",
        "text/yaml",
        415,
        "unsupported-media-type",
    ),
}


@pytest.fixture(autouse=True)
def nothing_is_kept(served: Served, client: httpx.Client) -> Iterator[None]:
    def kept() -> tuple[set[Path], Any, Any]:
        files = {
            path
            for folder in ("datasets", "results", "uploads")
            for path in (served.data_dir / folder).rglob("*")
        }
        return files, client.get("/v1/datasets").json(), client.get("/v1/jobs").json()

    before = kept()
    yield
    assert kept() == before
    assert client.get("/healthz").status_code == 200


def check(what: str, response: httpx.Response, status: int, code: str) -> None:
    assert response.headers["Content-Type"] == "application/problem+json"
    problem = response.json()
    assert (response.status_code, problem["status"], problem["code"]) == (status, status, code)
    assert problem["detail"]
    assert problem["hints"], problem


@pytest.mark.parametrize("what", UPLOADS)
def test_an_upload_that_cannot_be_used_is_a_clear_problem(client: httpx.Client, what: str) -> None:
    body, content_type, status, code = UPLOADS[what]
    layout = {} if content_type == CSV else {"dt": 0.1}
    check(
        what,
        client.post(
            "/v1/datasets", params=layout, content=body, headers={"Content-Type": content_type}
        ),
        status,
        code,
    )


@pytest.mark.parametrize("what", JOBS)
def test_a_job_that_cannot_be_run_is_a_clear_problem(client: httpx.Client, what: str) -> None:
    body, content_type, status, code = JOBS[what]
    check(
        what,
        client.post("/v1/jobs", content=body, headers={"Content-Type": content_type}),
        status,
        code,
    )
