"""The page's addresses: what they send, to whom, and under which policy."""

import gzip
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from service.access import keyring
from tests.service.first_visit import first_visit

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_allows_only_what_comes_from_here_and_nothing_inline(service: Any) -> None:
    page = service.client.get("/")
    assert page.headers["content-type"].startswith("text/html")
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "<style" not in page.text
    assert not re.search(r"<script(?![^>]*src=)", page.text)
    assert not re.search(r'\son\w+="|\sstyle="', page.text)
    addresses = re.findall(r'(?:src|href)="(/static[^"]+)"', page.text)
    assert len(addresses) >= 5
    for address in addresses:
        answer = service.client.get(address)
        assert answer.status_code == 200
        assert "immutable" in answer.headers["cache-control"]


def test_all_that_a_first_visit_loads_is_small(service: Any) -> None:
    loaded = list(
        first_visit(
            lambda address: service.client.get(address, headers={"Accept-Encoding": "identity"})
        )
    )
    assert {answer.status_code for answer in loaded} == {200}
    assert any(str(answer.url).endswith("/plots/ticks.js") for answer in loaded), (
        "a module that only a module names"
    )
    assert sum(len(answer.content) for answer in loaded) < 200_000


@pytest.mark.slow
@pytest.mark.parametrize("unprepared", [False, True])
def test_nothing_is_made_when_the_first_visitor_comes(unprepared: bool) -> None:
    """In a fresh process: no template compiled, no schema worked out, no file packed, no module
    imported. All of that took a third of a second; without the preparation it would be done then.
    """
    command = [
        sys.executable,
        "-m",
        "tests.service.first_visit",
        *(["--unprepared"] if unprepared else []),
    ]
    said = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    ).stdout
    made = json.loads(said.splitlines()[-1])
    assert made.pop("asked") > 10
    if unprepared:
        assert all(made[name] for name in ("compile", "json_schema", "compress"))
    else:
        assert made == dict.fromkeys(made, 0)


def test_static_files_are_sent_packed_to_who_understands_it(service: Any) -> None:
    address = re.search(r'src="(/static[^"]+app\.js)"', service.client.get("/").text)
    assert address
    with service.client.stream("GET", address[1], headers={"Accept-Encoding": "gzip"}) as answer:
        packed = b"".join(answer.iter_raw())
    assert (
        gzip.decompress(packed)
        == service.client.get(address[1], headers={"Accept-Encoding": "identity"}).content
    )


@pytest.mark.parametrize(
    "name", ["../app.py", "..%2f..%2fapp.py", "style.css/../../site.py", "nothing.js", ""]
)
def test_no_other_file_is_ever_sent(service: Any, name: str) -> None:
    assert service.client.get(f"/static/x/{name}").status_code == 404


def test_pieces_of_the_page_need_a_key_where_there_are_keys_and_the_page_does_not(
    service: Any,
) -> None:
    dataset, job = service.upload(), service.job()
    keyring.add(service.settings.key_file, "somebody")
    assert service.client.get("/").status_code == 200
    for address in (
        f"/pages/datasets/{dataset}",
        f"/pages/jobs/{job}",
        f"/pages/comparison?first={job}&second={job}",
        f"/v1/jobs/{job}/report",
    ):
        assert service.client.get(address).status_code == 401, address


def test_a_report_is_there_when_its_result_is(service: Any) -> None:
    job = service.job()
    assert service.client.get(f"/v1/jobs/{job}/report").json()["code"] == "job-not-finished"
    assert service.client.get(f"/pages/jobs/{job}").status_code == 409
