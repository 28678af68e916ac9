"""A file is dropped, read otherwise than meant, corrected on the preview, and identified."""

import base64
import io
import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
import scipy.io
from playwright.sync_api import Page, expect

from tests.acceptance.served import Served
from tests.browser.test_page import serious

STEP = 0.05
N = 1500


def relaxing(n: int = N, seed: int = 3) -> np.ndarray:
    """An Ornstein-Uhlenbeck process, dX = −X dt + dW, by its exact transitions."""
    rng, x, decay = np.random.default_rng(seed), np.zeros(n), np.exp(-STEP)
    for k, kick in enumerate(rng.normal(0, np.sqrt((1 - decay**2) / 2), n - 1)):
        x[k + 1] = decay * x[k] + kick
    return np.round(x, 5)


T, X = np.round(STEP * np.arange(N), 2), relaxing()
HEAT = np.round(21 + 0.01 * np.random.default_rng(4).normal(size=N), 4)
"""Temperature that was logged beside the position, as every rig does."""
ROWS = list(zip(T.tolist(), X.tolist(), HEAT.tolist(), strict=True))
NAMES = ("t", "position", "temperature")


def text(separator: str, header: bool, decimal: str = ".") -> bytes:
    lines = [separator.join(NAMES)] if header else []
    lines += [separator.join(map(str, row)).replace(".", decimal) for row in ROWS]
    return "\n".join(lines).encode()


def written(write: Callable[[io.BytesIO], Any]) -> bytes:
    file = io.BytesIO()
    write(file)
    return file.getvalue()


TABLE = pa.table(dict(zip(NAMES, (T, X, HEAT), strict=True)))
ARRAYS = dict(zip(NAMES, (T, X, HEAT), strict=True))
FORMATS: dict[str, bytes] = {
    "a.csv": text(",", header=True),
    "b.txt": text(" ", header=False),
    "c.tsv": text("\t", header=True),
    "d.csv": text(";", header=True, decimal=","),
    "e.json": json.dumps({name: values.tolist() for name, values in ARRAYS.items()}).encode(),
    "f.npy": written(lambda file: np.save(file, np.column_stack((T, X, HEAT)))),
    "g.npz": written(lambda file: np.savez(file, **ARRAYS)),
    "h.parquet": written(lambda file: pyarrow.parquet.write_table(TABLE, file)),
    "i.arrow": written(lambda file: pyarrow.feather.write_feather(TABLE, file)),
    "j.mat": written(lambda file: scipy.io.savemat(file, ARRAYS)),
}


def dropped(page: Page, *files: tuple[str, bytes]) -> None:
    """Drop files on the page."""
    handle = page.evaluate_handle(
        """files => {
          const data = new DataTransfer();
          for (const [name, text] of files) {
            const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
            data.items.add(new File([bytes], name));
          }
          return data;
        }""",
        [[name, base64.b64encode(content).decode()] for name, content in files],
    )
    page.dispatch_event("#drop", "drop", {"dataTransfer": handle})


@pytest.fixture(scope="module", autouse=True)
def _left_as_it_was(served: Served) -> Iterator[None]:
    """Delete the jobs and datasets of this file: others count theirs on the same installation."""
    yield
    with served.client() as client:
        for place in ("jobs", "datasets"):
            for item in client.get(f"/v1/{place}?limit=100").json()["items"]:
                client.delete(f"/v1/{place}/{item['id']}")


def roles(page: Page) -> list[str]:
    return page.eval_on_selector_all(
        ".columns select", "selects => selects.map((select) => select.value)"
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
def test_a_stray_column_is_left_out_on_the_preview_and_the_rest_identified(
    visit: Any, name: str
) -> None:
    page = visit.open()
    dropped(page, (name, FORMATS[name]))
    expect(page.locator(".read")).to_contain_text("1500 samples of")
    assert roles(page) == ["time", "state", "state"]
    assert "0.05" in page.locator(".columns .values").first.inner_text()
    page.select_option("#r-role-3", "ignored")
    page.click("#layout-form [type=submit]")
    expect(page.locator("#read-status")).to_contain_text("Read again: 1500 samples")
    assert roles(page) == ["time", "state", "ignored"]
    assert page.locator(".plot").count() == 2, "one variable against time, and its histogram"
    page.click("#job-form summary")
    page.check("#f-analysis-model_only")
    page.click("#job-form [type=submit]")
    expect(page.locator(".answer")).to_be_visible(timeout=60_000)
    assert page.locator(".equation").count() == 2, "one drift and one diffusion"
    expect(page.locator("h1:visible")).to_have_text(name)


def test_equation_and_axes_speak_the_name_and_unit_of_the_preview(visit: Any) -> None:
    page = visit.open()
    dropped(page, ("rig.csv", FORMATS["a.csv"]))
    expect(page.locator("#r-name-2")).to_have_value("position")
    expect(page.locator("#r-name-1")).to_be_hidden()
    page.select_option("#r-role-3", "ignored")
    expect(page.locator("#r-name-3")).to_be_hidden()
    page.fill("#r-name-2", "x^2")
    page.fill("#r-unit-2", "nm")
    page.click("#layout-form [type=submit]")
    expect(page.locator("#layout-form .fault:visible")).to_contain_text(
        "read as a number or a term"
    )
    expect(page.locator("#r-name-2")).to_be_focused()
    page.fill("#r-name-2", "height")
    page.click("#layout-form [type=submit]")
    expect(page.locator("#plot-course-height h3")).to_have_text("height against time (nm)")
    expect(page.locator(".read")).to_contain_text("1500 samples of height (position)")
    expect(page.locator("#r-name-2")).to_have_value("height")
    page.click("#job-form summary")
    page.check("#f-analysis-model_only")
    page.click("#job-form [type=submit]")
    expect(page.locator(".answer")).to_be_visible(timeout=60_000)
    assert "height" in page.locator(".equation").first.inner_text()
    assert "position" not in page.locator(".equations").inner_text()
    drift = json.loads(page.locator("#plot-drift script").text_content() or "")
    assert (drift["x"]["label"], drift["x"]["unit"]) == ("height", "nm")
    assert all("422" in line for line in visit.complaints)
    visit.complaints.clear()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_preview_keeps_nobody_out_and_fits_a_phone(visit: Any, theme: str) -> None:
    page = visit.page
    page.emulate_media(color_scheme=theme)
    page.set_viewport_size({"width": 390, "height": 800})
    visit.open()
    dropped(page, ("a.csv", FORMATS["a.csv"]))
    expect(page.locator("#plot-course-position canvas")).to_be_visible()
    assert serious(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_reading_again_is_in_place_and_keeps_the_form(visit: Any) -> None:
    page = visit.open()
    dropped(page, ("rig.csv", FORMATS["a.csv"]))
    expect(page.locator("#layout-form")).to_be_visible()
    first = page.url
    page.fill("#f-name", "my name")
    page.fill("#f-parameters-library-polynomial_degree", "2")
    page.click("#layout-form [type=submit]")
    expect(page.locator("#read-status")).to_contain_text("read already")
    for k in (1, 2, 3):
        page.select_option(f"#r-role-{k}", "ignored")
    page.click("#layout-form [type=submit]")
    expect(page.locator("#layout-form .fault:visible")).to_have_text(
        "At least one column must be a state."
    )
    page.select_option("#r-role-2", "state")
    page.fill("#r-dt", "soon")
    page.click("#layout-form [type=submit]")
    expect(page.locator("#r-dt")).to_be_focused()
    page.fill("#r-dt", "0.5")
    page.click("#layout-form [type=submit]")
    expect(page.locator(".read")).to_contain_text("Sampling interval 0.5")
    expect(page.locator("#layout-form [type=submit]")).to_be_focused()
    expect(page.locator("#f-name")).to_have_value("my name")
    expect(page.locator("#f-parameters-library-polynomial_degree")).to_have_value("2")
    expect(page.locator("#r-dt")).to_have_value("0.5")
    assert roles(page) == ["ignored", "state", "ignored"]
    assert page.url != first
    page.go_back()
    expect(page.locator(".read")).to_contain_text("Sampling interval 0.05")
    assert all("422" in line for line in visit.complaints)
    visit.complaints.clear()


def test_an_angle_is_offered_its_period_and_other_parameters_keep_what_was_set(
    visit: Any,
) -> None:
    page = visit.open()
    turning = np.cumsum(np.random.default_rng(2).normal(0.5, 3, 2000)) % 360
    lines = [f"{STEP * k:.2f},{angle:.3f}" for k, angle in enumerate(turning)]
    dropped(page, ("turning.csv", "\n".join(["t,phi (deg)", *lines]).encode()))
    page.click("text=Use period 360 for phi")
    period = page.locator("[data-path='parameters/periodic/phi']")
    expect(period).to_have_value("360")
    expect(period).to_be_focused()
    page.fill("#f-parameters-library-polynomial_degree", "0")
    page.fill("#f-name", "turning slowly")
    page.click("#job-form summary")
    page.fill("#f-parameters-kernels-count", "30")
    page.check("#f-analysis-model_only")
    page.click("#job-form [type=submit]")
    expect(page.locator(".answer")).to_be_visible(timeout=60_000)
    page.click("#again")
    expect(page.locator("[data-path='parameters/periodic/phi']")).to_have_value("360")
    for selector, value in {
        "#f-name": "turning slowly",
        "#f-parameters-library-polynomial_degree": "0",
        "#f-parameters-library-fourier_harmonics": "2",
        "#f-parameters-kernels-count": "30",
        "#f-analysis-confidence": "",
    }.items():
        expect(page.locator(selector)).to_have_value(value)
    expect(page.locator("#f-analysis-model_only")).to_be_checked()


def test_tracks_are_drawn_in_the_plane(visit: Any) -> None:
    page = visit.open()
    steps = np.cumsum(np.random.default_rng(1).normal(size=(60, 4, 2)), axis=0)
    lines = [
        f"{steps[f, p, 1]:.3f},{steps[f, p, 0]:.3f},{f},{p}" for f in range(60) for p in range(4)
    ]
    dropped(page, ("tracks.csv", "\n".join(["y,x,frame,particle", *lines]).encode()))
    expect(page.locator("#plot-paths canvas")).to_be_visible()
    expect(page.locator("#plot-paths .legend li")).to_have_count(4)


def test_several_files_are_trajectories_or_datasets_as_asked(visit: Any) -> None:
    halves = [
        ("run2.csv", "\n".join(["t,x", *(f"{t},{x}" for t, x, _ in ROWS[500:1000])]).encode()),
        ("run10.csv", "\n".join(["t,x", *(f"{t},{x}" for t, x, _ in ROWS[1000:])]).encode()),
        ("run1.csv", "\n".join(["t,x", *(f"{t},{x}" for t, x, _ in ROWS[:500])]).encode()),
    ]
    page = visit.open()
    dropped(page, *halves)
    expect(page.locator("#several")).to_be_visible()
    expect(page.locator("#several-heading")).to_be_focused()
    assert page.locator("#several-names li").all_inner_texts() == [
        "run1.csv",
        "run2.csv",
        "run10.csv",
    ]
    assert serious(page) == []
    page.click("#several [type=submit]")
    expect(page.locator(".read")).to_contain_text("1500 samples of x in 3 trajectories")
    page.click(".read summary")
    expect(page.locator(".read")).to_contain_text("in order: run1.csv, run2.csv, run10.csv")
    visit.open()
    dropped(page, *halves, ("photo.png", b"\x89PNG\r\n\x00"))
    page.check("#several [value=each]")
    page.click("#several [type=submit]")
    problem = page.locator("#upload-problem .problem")
    expect(problem).to_contain_text("1 of 4 files could not be read")
    expect(problem).to_contain_text("photo.png: ")
    page.goto(f"{visit.url}/#/datasets")
    for name, _ in halves:
        expect(page.locator("#datasets tbody")).to_contain_text(name)
    assert all("415" in line for line in visit.complaints)
    visit.complaints.clear()
