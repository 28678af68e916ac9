"""Many records on the page: a batch of them followed, saved and deleted; datasets compared."""

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import expect

from tests.browser.test_page import serious


def records(place: Path) -> Path:
    """Three records of an Ornstein-Uhlenbeck process, and one that is too short, in an archive."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for number, n in enumerate((400, 400, 20, 400)):
            rng, x = np.random.default_rng(number), [0.0]
            for kick in rng.standard_normal(n):
                x.append(0.9 * x[-1] + 0.3 * float(kick))
            rows = "\n".join(f"{0.1 * k:.1f},{value!r}" for k, value in enumerate(x))
            archive.writestr(f"trap-{number}.csv", f"t,x\n{rows}\n")
    place.write_bytes(packed.getvalue())
    return place


def test_a_batch_is_started_followed_saved_and_deleted(visit: Any, tmp_path: Path) -> None:
    page = visit.open()
    page.set_input_files("#file", records(tmp_path / "traps.zip"))
    expect(page.locator("#job-form")).to_be_visible()
    page.check("#f-each")
    page.fill("#f-name", "<b>traps</b>")
    page.click("#job-form [type=submit]")
    expect(page.locator("#batch-title")).to_have_text("<b>traps</b>")
    expect(page.locator("#batch-status")).to_have_text(
        "4 records: 3 succeeded, 1 failed", timeout=90_000
    )
    rows = page.locator("#batch-rows tbody tr")
    expect(rows).to_have_count(4)
    expect(rows.nth(0)).to_contain_text("trap-0")
    expect(rows.nth(0)).to_contain_text("*x")
    expect(rows.nth(2)).to_contain_text("Too few samples")
    assert serious(page) == []
    with page.expect_download() as download:
        page.click("#batch-csv")
    text = Path(download.value.path()).read_text()
    assert text.startswith("number,record,")
    assert len(text.splitlines()) == 5
    rows.nth(1).locator("a").click()
    expect(page.locator(".answer")).to_be_visible()
    page.click("#again")
    expect(page.locator("#job-form")).to_contain_text("Only trajectory 2 of this dataset")
    expect(page.locator("#f-each")).to_have_count(0)
    page.go_back()
    page.go_back()
    page.click("#batch-retry")
    expect(page.locator("#batch-status")).to_have_text(
        "4 records: 3 succeeded, 1 failed", timeout=60_000
    )
    page.click("nav a:has-text('Jobs')")
    page.click("#view-jobs a:has-text('Batches')")
    expect(page.locator("#batches tbody tr")).to_contain_text(["<b>traps</b>"])
    page.click("#batches tbody a")
    page.once("dialog", lambda dialog: dialog.accept())
    page.click("#batch-delete")
    expect(page.locator("#batches-status")).to_contain_text("No batches")
    assert visit.complaints == []


def test_chosen_datasets_are_compared_or_identified_each(visit: Any, tmp_path: Path) -> None:
    page = visit.open()
    with zipfile.ZipFile(records(tmp_path / "traps.zip")) as archive:
        names = [archive.extract(f"trap-{number}.csv", tmp_path) for number in (0, 1, 3)]
    page.set_input_files("#file", names)
    page.check("#several [value=each]")
    page.click("#several [type=submit]")
    rows = page.locator("#datasets tbody tr")
    for number in (0, 1, 3):
        rows.filter(has_text=f"trap-{number}.csv").locator("[type=checkbox]").first.check()
        expect(page.locator("#analyse-together")).to_be_enabled(enabled=number > 0)
    page.click("#analyse-together")
    expect(page.locator("#together h1")).to_have_text("3 datasets")
    assert serious(page) == []
    page.locator("[data-dataset]").nth(0).fill("2")
    page.locator("[data-dataset]").nth(1).fill("1")
    page.locator("[data-dataset]").nth(2).fill("1")
    page.click("#job-form [type=submit]")
    expect(page.locator("#result")).to_contain_text("Ratios to 2", timeout=90_000)
    expect(page.locator("#result")).to_contain_text("in 2")
    page.go_back()
    page.select_option("#f-kind", "population")
    expect(page.locator("[data-dataset]").first).to_be_hidden()
    page.click("#job-form [type=submit]")
    expect(page.locator("#result")).to_contain_text("3 records", timeout=90_000)
    page.go_back()
    page.select_option("#f-kind", "identification")
    expect(page.locator("[data-dataset]").first).to_be_hidden()
    page.fill("#f-name", "each of three")
    page.click("#job-form [type=submit]")
    expect(page.locator("#batch-status")).to_have_text("3 records: 3 succeeded", timeout=90_000)
    expect(page.locator("#batch-title")).to_have_text("each of three")
    assert visit.complaints == []
