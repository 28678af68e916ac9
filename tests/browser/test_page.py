"""What a person does: with the mouse, with the keyboard only, in the dark, on a phone, with a
key."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from service.access import keyring
from tests.acceptance.served import Served, finished

EXAMPLE = Path(__file__).parents[2] / "examples" / "double_well.csv"
ROTATING = {
    "kind": "generator",
    "model": {
        "drift": {"x": {"x": -1, "y": 2}, "y": {"x": -2, "y": -1}},
        "diffusion": {"x,x": {"1": 1}, "y,y": {"1": 0.5}},
    },
}
CUBIC = {
    "kind": "generator",
    "model": {"drift": {"x": {"x": 1, "x^3": -1}}, "diffusion": {"x,x": {"1": 0.25}}},
}
OUTWARD = {"kind": "generator", "model": {"drift": {"x": {"x": 1}}, "diffusion": {"x,x": {"1": 1}}}}
SLOW = {
    "kind": "generator",
    "model": {
        "drift": {"x": {"y": 1}, "y": {"y": 1, "x^2*y": -1, "x": -1}},
        "diffusion": {"x,x": {"1": 0.04}, "y,y": {"1": 0.04}},
    },
}
SHORT = "t,x\n" + "".join(f"{0.1 * k:.1f},{(k * k) % 7}\n" for k in range(20))


@pytest.fixture(scope="module")
def jobs(client: httpx.Client) -> dict[str, str]:
    """The ids of some jobs that have ended: of one variable, of two, without a law, failed."""
    dataset = client.post(
        "/v1/datasets", files={"file": ("double_well.csv", EXAMPLE.read_bytes())}
    ).json()["id"]
    short = client.post("/v1/datasets", files={"file": ("short.csv", SHORT.encode())}).json()["id"]
    wanted: dict[str, dict[str, Any]] = {
        "well": {
            "kind": "identification",
            "dataset": dataset,
            "analysis": {"eigenfunctions": True},
        },
        "cubic": CUBIC,
        "rotating": ROTATING,
        "outward": OUTWARD,
        "failed": {"kind": "identification", "dataset": short},
    }
    ids = {
        name: client.post("/v1/jobs", json={**job, "labels": {"name": name}}).json()["id"]
        for name, job in wanted.items()
    }
    states = {name: finished(client, job)["state"] for name, job in ids.items()}
    assert states == {
        "well": "succeeded",
        "cubic": "succeeded",
        "rotating": "succeeded",
        "outward": "succeeded",
        "failed": "failed",
    }
    return ids


def serious(page: Page) -> list[str]:
    """What axe finds that keeps people out."""
    found = Axe().run(page).response["violations"]
    return [
        f"{v['id']}: {node['html'][:120]} {node.get('failureSummary', '')[:200]}"
        for v in found
        if v["impact"] in ("serious", "critical")
        for node in v["nodes"]
    ]


def test_from_a_file_to_the_answer_its_report_and_a_comparison(
    visit: Any, jobs: dict[str, str], tmp_path: Path
) -> None:
    page = visit.open()
    page.set_input_files("#file", EXAMPLE)
    expect(page.locator("#job-form")).to_be_visible()
    expect(page.locator(".read")).to_contain_text("6001 samples of x in one trajectory")
    expect(page.locator("#plot-course-x canvas")).to_be_visible()
    expect(page.locator("#estimate")).to_contain_text("Estimated time")
    page.fill("#f-name", "my <b>first</b> job")
    page.click("#job-form [type=submit]")
    expect(page.locator("#progress, .answer").first).to_be_visible()
    expect(page.locator(".answer")).to_be_visible(timeout=60_000)
    expect(page.locator("h1:visible")).to_have_text("my <b>first</b> job")
    expect(page.locator(".answer")).to_contain_text("Relaxation time")
    assert page.locator(".equation math").count() >= 4
    expect(page.locator(".checks")).to_contain_text("passes 6 of 6 checks")
    expect(page.locator("#plot-residuals canvas")).to_be_hidden()
    page.click(".checks a:has-text('prediction at longer times')")
    expect(page.locator("#plot-chapman-kolmogorov")).to_be_focused()
    for fold in ("dynamics", "selection"):
        page.click(f"#group-{fold} > summary")
    for plot in (
        "drift",
        "diffusion",
        "potential",
        "density",
        "autocorrelation-x",
        "eigenfunctions",
        "selection",
        "residuals",
    ):
        expect(page.locator(f"#plot-{plot} canvas")).to_be_visible()
    assert visit.transferred < 300_000

    saved = {}
    for button, name in (("report", "html"), ("json", "json"), ("npz", "npz"), ("csv", "csv")):
        with page.expect_download() as download:
            page.click(f"[data-save={button}]")
        saved[name] = tmp_path / f"saved.{name}"
        download.value.save_as(saved[name])
        assert download.value.suggested_filename == f"my_b_first_b_job.{name}"
    with page.expect_download() as download:
        page.click("[data-save=draws]")
    download.value.save_as(tmp_path / "draws.npz")
    assert download.value.suggested_filename == "my_b_first_b_job-draws.npz"
    with np.load(tmp_path / "draws.npz", allow_pickle=False) as drawn:
        assert drawn["drift.x.coefficients"].shape[0] == 500
    assert json.loads(saved["json"].read_text())["kind"] == "identification"
    assert saved["npz"].read_bytes()[:2] == b"PK"
    assert '"x^3"' in saved["csv"].read_text()
    assert saved["html"].read_text().startswith("<!doctype html>")
    for kind, start in (("PNG", b"\x89PNG"), ("SVG", b"<svg"), ("CSV", b",x,")):
        with page.expect_download() as download:
            page.click(f"#plot-drift .plot-tools button:has-text('{kind}')")
        path = tmp_path / f"drift.{kind.lower()}"
        download.value.save_as(path)
        assert path.read_bytes().startswith(start)
    page.click("#plot-drift button:has-text('Table')")
    assert page.locator("#plot-drift tbody tr").count() > 100

    page.click("nav >> text=Jobs")
    page.fill("#filter-name", "well")
    page.press("#filter-name", "Tab")
    expect(page.locator("#jobs tbody tr")).to_have_count(1)
    page.locator("#jobs tbody input").check()
    page.fill("#filter-name", "")
    page.press("#filter-name", "Tab")
    every = page.request.get(f"{visit.url}/v1/jobs?limit=25").json()["items"]
    expect(page.locator("#jobs tbody tr")).to_have_count(len(every))
    for name in ("well", "cubic"):
        page.get_by_label(f"Compare {name}").check()
    page.click("#compare")
    expect(page.locator(".side")).to_have_count(2)
    expect(page.locator("#plot-drift .legend")).to_contain_text("95 % confidence interval")
    expect(page.locator("#plot-drift .legend li")).to_have_count(3)


def test_with_the_keyboard_only(visit: Any) -> None:
    page = visit.open()

    def go_to(selector: str) -> None:
        for _ in range(80):
            page.keyboard.press("Tab")
            if page.evaluate("s => document.activeElement.matches(s)", selector):
                return
        raise AssertionError(f"{selector} is not reached with Tab")

    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    go_to("#paste")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "pasted"
    page.evaluate(
        "text => navigator.clipboard === undefined || (document.activeElement.value = text)", SHORT
    )
    go_to("#pasting button")
    page.keyboard.press("Enter")
    expect(page.locator("#job-form")).to_be_visible()
    page.go_back()
    go_to("#example")
    page.keyboard.press("Enter")
    expect(page.locator("#job-form")).to_be_visible()
    assert page.evaluate("document.activeElement.tagName") == "H1", (
        "the new view is where reading goes on"
    )
    go_to("#f-parameters-library-polynomial_degree")
    page.keyboard.type("eleven")
    go_to("#job-form [type=submit]")
    page.keyboard.press("Enter")
    expect(page.locator("[aria-invalid]")).to_be_focused()
    expect(page.locator(".fault:visible")).to_have_count(1)
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("3")
    go_to("#job-form [type=submit]")
    page.keyboard.press("Enter")
    expect(page.locator(".answer")).to_be_visible(timeout=60_000)
    go_to("[data-save=csv]")
    with page.expect_download():
        page.keyboard.press("Enter")
    go_to("#plot-drift button[aria-expanded]")
    page.keyboard.press("Enter")
    go_to("#plot-drift .scroll")
    assert all("422" in line for line in visit.complaints), (
        "the browser itself notes the answer to eleven"
    )
    visit.complaints.clear()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_view_keeps_people_out_in_either_theme(
    visit: Any, jobs: dict[str, str], theme: str, client: httpx.Client
) -> None:
    page = visit.page
    page.emulate_media(color_scheme=theme)
    dataset = client.get(f"/v1/jobs/{jobs['well']}").json()["dataset"]
    views = {
        "#/": "#drop",
        f"#/datasets/{dataset}": "#plot-course-x canvas",
        f"#/jobs/{jobs['well']}": "#plot-drift canvas",
        f"#/jobs/{jobs['rotating']}": "#plot-density-and-drift canvas",
        f"#/jobs/{jobs['outward']}": ".verdict",
        f"#/jobs/{jobs['failed']}": ".problem",
        "#/jobs": "#jobs tbody tr",
        "#/datasets": "#datasets tbody tr",
        "#/model": "#model-form",
        f"#/compare/{jobs['well']}/{jobs['cubic']}": ".side",
    }
    for place, sign in views.items():
        visit.open(place)
        expect(page.locator(sign).first).to_be_visible()
        assert serious(page) == [], place
        dark = (
            page.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
        )
        assert dark == (theme == "dark")


def test_the_next_measurement_is_planned_from_a_result(visit: Any, jobs: dict[str, str]) -> None:
    page = visit.open(f"#/jobs/{jobs['well']}")
    page.click("#plan summary")
    expect(page.locator("#p-quantity option")).to_contain_text(
        ["relaxation time", "coefficient of x in the drift", "coefficient of 1 in the diffusion"]
    )
    for field, value in (("#p-precision", "200"), ("#p-precision", "nan"), ("#p-noise", "-1")):
        usual = page.input_value(field)
        page.fill(field, value)
        page.click("#plan [type=submit]")
        expect(page.locator(f".field:has({field}) .fault")).to_be_visible()
        page.fill(field, usual)
    assert serious(page) == []
    page.click("#plan [type=submit]")
    expect(page.locator("#result")).to_contain_text("To know the relaxation time", timeout=60_000)
    expect(page.locator("#plan")).to_be_hidden()


def test_the_pointer_reads_values_with_their_intervals(visit: Any, jobs: dict[str, str]) -> None:
    page = visit.open(f"#/jobs/{jobs['well']}")
    page.click("#group-dynamics > summary")
    page.locator("#plot-committors .u-over").hover()
    expect(page.locator("#plot-committors .readout")).to_have_text(
        re.compile(r"0\.97\d* before −0\.97\d* [\d.]+ \([\d.]+ to [\d.]+\)")
    )
    visit.open(f"#/jobs/{jobs['rotating']}")
    page.locator("#plot-density-and-drift .u-over").hover()
    readout = page.locator("#plot-density-and-drift .readout")
    expect(readout).to_have_text(
        re.compile(r"^x .* · y .* · stationary density of the model 0\.\d+")
    )


def test_a_zoom_fills_the_height_and_is_undone(visit: Any, jobs: dict[str, str]) -> None:
    page = visit.open(f"#/jobs/{jobs['well']}")
    over, reset = (
        page.locator(f"#plot-drift {part}") for part in (".u-over", "button:has-text('Reset zoom')")
    )
    over.scroll_into_view_if_needed()

    def picture() -> str:
        page.mouse.move(0, 0)
        page.wait_for_timeout(100)
        return str(page.evaluate("document.querySelector('#plot-drift canvas').toDataURL()"))

    whole, box = picture(), over.bounding_box()
    assert box is not None
    expect(reset).to_be_hidden()
    for undo in (reset.click, over.dblclick):
        page.mouse.move(box["x"] + 0.4 * box["width"], box["y"] + 50)
        page.mouse.down()
        page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 60, steps=5)
        page.mouse.up()
        expect(reset).to_be_visible()
        assert picture() != whole
        undo()
        expect(reset).to_be_hidden()
        assert picture() == whole


def test_the_switch_of_themes_holds_and_repaints_the_plots(
    visit: Any, jobs: dict[str, str]
) -> None:
    page = visit.open(f"#/jobs/{jobs['well']}")
    expect(page.locator("#plot-drift canvas")).to_be_visible()
    before = page.evaluate("document.querySelector('#plot-drift canvas').toDataURL()")
    page.click("#theme")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.wait_for_function(
        "old => document.querySelector('#plot-drift canvas').toDataURL() !== old", arg=before
    )
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    expect(page.locator("#theme")).to_have_text("Light")


def test_nothing_is_wider_than_a_phone(visit: Any, jobs: dict[str, str]) -> None:
    page = visit.page
    page.set_viewport_size({"width": 360, "height": 740})
    for place in (
        "#/",
        f"#/jobs/{jobs['well']}",
        f"#/jobs/{jobs['rotating']}",
        "#/jobs",
        "#/datasets",
        "#/model",
        f"#/compare/{jobs['well']}/{jobs['cubic']}",
    ):
        visit.open(place)
        page.wait_for_timeout(150)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, place


def test_a_file_is_dropped(visit: Any) -> None:
    page = visit.open()
    dropped = page.evaluate_handle(
        """text => {
          const data = new DataTransfer();
          data.items.add(new File([text], "dropped.csv"));
          return data;
        }""",
        EXAMPLE.read_text().replace("t,x", "t,dropped"),
    )
    page.dispatch_event("#drop", "drop", {"dataTransfer": dropped})
    expect(page.locator("h1:visible")).to_have_text("dropped.csv")
    expect(page.locator("#f-name")).to_have_value("dropped.csv")


def test_a_refused_file_says_why_and_what_to_try(visit: Any) -> None:
    page = visit.open()
    page.click("#paste")
    page.fill("#pasted", "t,x\n" + "0,1\n" * 30)
    page.click("text=Read numbers")
    expect(page.locator("#upload-problem .problem")).to_contain_text("What to try")
    expect(page.locator("#layout")).to_have_attribute("open", "")
    # The browser itself notes every answer that is no success.
    assert all("422" in line for line in visit.complaints)
    visit.complaints.clear()


def test_a_stream_of_events_that_does_not_come_through_is_replaced_by_asking(
    visit: Any, jobs: dict[str, str]
) -> None:
    page = visit.page
    page.route(re.compile(r"/events$"), lambda route: route.abort())
    record = json.loads(page.request.get(f"{visit.url}/v1/jobs/{jobs['well']}").body())
    asked = iter(
        [
            {
                **record,
                "state": "running",
                "progress": {"fraction": 0.5, "stage": "identifying", "message": ""},
            }
        ]
    )
    page.route(
        re.compile(rf"/v1/jobs/{jobs['well']}$"),
        lambda route: route.fulfill(json=next(asked, record)),
    )
    visit.open(f"#/jobs/{jobs['well']}")
    expect(page.locator(".answer")).to_be_visible(timeout=15_000)
    visit.complaints.clear()


def test_a_service_that_was_away_is_found_again(visit: Any, jobs: dict[str, str]) -> None:
    page, away = visit.page, re.compile("/(v1|pages)/")
    record = json.loads(page.request.get(f"{visit.url}/v1/jobs/{jobs['well']}").body())
    running = {"fraction": 0.5, "stage": "identifying", "message": ""}
    page.route(
        re.compile(rf"/v1/jobs/{jobs['well']}$"),
        lambda route: route.fulfill(json={**record, "state": "running", "progress": running}),
        times=1,
    )
    page.route(re.compile("/(events|validate)$"), lambda route: route.abort())
    visit.open(f"#/jobs/{jobs['well']}")
    expect(page.locator("#elapsed")).to_contain_text("elapsed")
    page.route(away, lambda route: route.abort())
    expect(page.locator("#stage")).to_contain_text("cannot be reached. The job may go on")
    page.unroute(away)
    expect(page.locator(".answer")).to_be_visible()
    # The same on a page that is opened while there is no service behind it.
    page.route(away, lambda route: route.abort())
    page.click("nav >> text=Jobs")
    expect(page.locator("#message")).to_contain_text("The page tries again by itself.")
    page.unroute(away)
    expect(page.locator("#jobs tbody tr").first).to_be_visible()
    expect(page.locator("#message")).to_be_empty()
    visit.complaints.clear()


def test_every_kind_of_job_is_started_from_the_page(
    visit: Any, jobs: dict[str, str], client: httpx.Client
) -> None:
    dataset = client.get(f"/v1/jobs/{jobs['well']}").json()["dataset"]

    def started() -> dict[str, Any]:
        expect(page.locator(".answer")).to_be_visible(timeout=60_000)
        job = page.url.rpartition("/")[2]
        return dict(client.get(f"/v1/jobs/{job}").json())

    page = visit.open(f"#/datasets/{dataset}")
    page.select_option("#f-kind", "rolling")
    page.fill("#f-windows-count", "5")
    expect(page.locator("#f-analysis-passages")).to_be_hidden()
    page.click("#job-form [type=submit]")
    made = started()
    assert (made["kind"], made["request"]["windows"]["count"]) == ("rolling", 5)

    visit.open(f"#/datasets/{dataset}")
    page.select_option("#f-kind", "sweep")
    page.click("#job-form [type=submit]")
    expect(page.locator(".fault:visible")).to_contain_text("Enter the values to try")
    assert serious(page) == []
    page.fill("#f-variants-library-polynomial_degree", "1, 3")
    page.click("#job-form [type=submit]")
    made = started()
    assert made["request"]["variants"] == [{"library": {"polynomial_degree": n}} for n in (1, 3)]

    visit.open("#/model")
    page.fill("#m-drift", "u: u - u^3")
    page.fill("#m-diffusion", "u: 0.25")
    page.fill("#m-analysis-passages", "-1, 1")
    page.click("#model-form [type=submit]")
    made = started()
    assert made["request"]["model"]["drift"] == {"u": {"u": 1.0, "u^3": -1.0}}
    assert len(made["request"]["analysis"]["passages"]) == 1


def test_datasets_are_listed_and_deleted_and_give_their_jobs_a_name(
    visit: Any, client: httpx.Client
) -> None:
    text = SHORT.replace("t,x", "t,height").encode()
    dataset = client.post("/v1/datasets", files={"file": ("stray file.csv", text)}).json()["id"]
    job = client.post("/v1/jobs", json={"kind": "identification", "dataset": dataset}).json()["id"]
    finished(client, job)
    page = visit.open("#/jobs")
    page.fill("#filter-name", "STRAY")
    expect(page.locator("#jobs tbody tr")).to_have_count(1)
    expect(page.locator("#jobs tbody tr")).to_contain_text("stray file.csv")
    page.click("nav >> text=Datasets")
    row = page.locator("#datasets tbody tr", has_text="stray file.csv")
    expect(row).to_contain_text("height")
    page.once("dialog", lambda dialog: dialog.accept())
    row.get_by_role("button").click()
    expect(row).to_have_count(0)
    assert client.get(f"/v1/datasets/{dataset}").status_code == 404


@pytest.fixture
def key(served: Served) -> Iterator[str]:
    """From now on the service asks for a key."""
    path = served.data_dir / "api-keys"
    yield keyring.add(path, "default")
    path.unlink()


def test_where_keys_are_needed_the_page_asks_once_and_forgets_with_the_tab(
    visit: Any, jobs: dict[str, str], key: str
) -> None:
    page = visit.page
    page.goto(f"{visit.url}/#/jobs/{jobs['well']}")
    expect(page.locator("#key-dialog")).to_be_visible()
    page.fill("#key", "wrong")
    page.press("#key", "Enter")
    expect(page.locator("#key-fault")).to_contain_text("not valid")
    page.fill("#key", key)
    page.press("#key", "Enter")
    expect(page.locator("#plot-drift canvas")).to_be_visible()
    with page.expect_download() as download:
        page.click("[data-save=report]")
    assert download.value.suggested_filename == "well.html"
    page.reload()
    expect(page.locator("#plot-drift canvas")).to_be_visible()
    expect(page.locator("#key-dialog")).to_be_hidden()
    assert key not in page.evaluate(
        "JSON.stringify([localStorage, document.cookie, location.href])"
    )
    other = page.context.new_page()
    other.goto(f"{visit.url}/#/jobs")
    expect(other.locator("#key-dialog")).to_be_visible()
    assert all("401" in line for line in visit.complaints)
    visit.complaints.clear()


def test_a_running_job_is_cancelled(visit: Any, client: httpx.Client) -> None:
    """The last one here: the worker may go on with the job for a while."""
    job = client.post("/v1/jobs", json={**SLOW, "labels": {"name": "slow"}}).json()["id"]
    page = visit.open(f"#/jobs/{job}")
    expect(page.locator("#progress")).to_be_visible()
    expect(page.locator("#stage")).not_to_be_empty()
    assert serious(page) == []
    page.click("#cancel")
    expect(page.locator(".verdict")).to_contain_text("was cancelled")
    assert client.get(f"/v1/jobs/{job}").json()["state"] == "cancelled"
    page.once("dialog", lambda dialog: dialog.accept())
    page.click("#delete")
    expect(page.locator("#jobs")).to_be_visible()
    assert client.get(f"/v1/jobs/{job}").status_code == 410
