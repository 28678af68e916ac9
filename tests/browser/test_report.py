"""The report is one file that asks nobody for anything."""

from pathlib import Path
from typing import Any

import httpx
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, expect

from tests.acceptance.served import finished
from tests.browser.conftest import watched

EXAMPLE = Path(__file__).parents[2] / "examples" / "double_well.csv"
DRAWN = """[...document.querySelectorAll("figure canvas")].every(canvas => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  return new Set(data).size > 8;
})"""
MODELS: dict[str, dict[str, Any]] = {
    "well": {"drift": {"x": {"x": 1, "x^3": -1}}, "diffusion": {"x,x": {"1": 0.25}}},
    "rotating": {
        "drift": {"x": {"x": -1, "y": 2}, "y": {"x": -2, "y": -1}},
        "diffusion": {"x,x": {"1": 1}, "y,y": {"1": 1}},
    },
    "angle": {
        "drift": {"x": {"1": 1, "sin(x)": -1}},
        "diffusion": {"x,x": {"1": 1}},
        "periodic": {"x": 6.283185307179586},
    },
    "outward": {"drift": {"x": {"x": 1}}, "diffusion": {"x,x": {"1": 1}}},
    "three": {
        "drift": {v: {v: -1} for v in "xyz"},
        "diffusion": {f"{v},{v}": {"1": 1} for v in "xyz"},
    },
}


def report_of(client: httpx.Client, job: dict[str, Any], file: Path) -> Path:
    """The saved report of a job that has to succeed."""
    job_id = client.post("/v1/jobs", json=job).raise_for_status().json()["id"]
    assert finished(client, job_id)["state"] == "succeeded"
    answer = client.get(f"/v1/jobs/{job_id}/report").raise_for_status()
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    file.write_bytes(answer.content)
    return file


@pytest.mark.parametrize("name", ["data", *MODELS])
def test_a_saved_report_opens_offline_without_a_request_or_a_complaint(
    browser: Browser, client: httpx.Client, tmp_path: Path, name: str
) -> None:
    if name == "data":
        dataset = client.post(
            "/v1/datasets", files={"file": ("double_well.csv", EXAMPLE.read_bytes())}
        ).json()["id"]
        job: dict[str, Any] = {"kind": "identification", "dataset": dataset}
    else:
        job = {"kind": "generator", "model": MODELS[name], "analysis": {"eigenfunctions": True}}
    file = report_of(client, job, tmp_path / "report.html")
    assert file.stat().st_size < 1_000_000
    context = browser.new_context(offline=True)
    visit = watched(context, "")
    page = visit.page
    page.goto(file.as_uri())
    expect(page.locator("figure canvas").first).to_be_visible()
    assert visit.asked == [file.as_uri()]
    assert visit.complaints == []
    text = page.inner_text("body")
    for word in ("NaN", "undefined", "null", "None", "Infinity"):
        assert word not in text, word
    assert "±" in text or name != "data"
    assert page.evaluate(DRAWN), "every plot has something on it"
    if name in ("data", "rotating"):
        assert [
            v["id"]
            for v in Axe().run(page).response["violations"]
            if v["impact"] in ("serious", "critical")
        ] == []
    page.click("#theme")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    assert visit.complaints == []
    context.close()


def test_a_changed_script_does_not_run(
    browser: Browser, client: httpx.Client, tmp_path: Path
) -> None:
    """The policy inside the file holds: nothing runs in a report but what was put there."""
    file = report_of(
        client, {"kind": "generator", "model": MODELS["outward"]}, tmp_path / "report.html"
    )
    file.write_text(
        file.read_text().replace("</main>", "<script>document.title = 'taken'</script></main>")
    )
    context = browser.new_context(offline=True)
    visit = watched(context, "")
    visit.page.goto(file.as_uri())
    assert "taken" not in visit.page.title()
    assert any("Content Security Policy" in line for line in visit.complaints)
    context.close()
