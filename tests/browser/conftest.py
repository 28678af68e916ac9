"""Debian's Chromium in front of a real installation: store, worker, service. Nothing else is
reached."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from standalone.preflight import free_port
from tests.acceptance.served import Served

CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = [
    *(
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
    ),
    *("--disable-component-update", "--disable-sync"),
]
expect.set_options(
    timeout=30_000
)  # a machine that does much else at the same time is no fault of the page


@dataclass
class Visit:
    """A page of the browser, and what it did: errors and warnings it logged, addresses it asked,
    bytes that came."""

    page: Page
    url: str
    complaints: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    transferred: int = 0

    def open(self, place: str = "#/") -> Page:
        """Go there, and wait until the page answers."""
        self.page.goto(f"{self.url}/{place}")
        self.page.wait_for_selector("html[data-ready]")
        return self.page


def watched(context: BrowserContext, url: str) -> Visit:
    """A new page whose doings are noted."""
    visit = Visit(context.new_page(), url)
    visit.page.on(
        "console",
        lambda message: (
            visit.complaints.append(message.text) if message.type in ("error", "warning") else None
        ),
    )
    visit.page.on("pageerror", lambda error: visit.complaints.append(str(error)))
    visit.page.on("request", lambda request: visit.asked.append(request.url))
    network = context.new_cdp_session(visit.page)
    network.send("Network.enable")

    def arrived(event: dict[str, float]) -> None:
        visit.transferred += int(event["encodedDataLength"])

    network.on("Network.loadingFinished", arrived)
    return visit


@pytest.fixture(scope="session")
def chromium() -> Path:
    if not CHROMIUM.exists():
        pytest.skip(f"there is no {CHROMIUM}: apt-get install chromium")
    return CHROMIUM


# Of a module, not of the session: while Playwright runs, no other test of the process can start an
# event loop.
@pytest.fixture(scope="module")
def browser(chromium: Path) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(chromium), args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def served(chromium: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One installation for all, whose keys one of them sets; none is started where there is no
    browser."""
    running = Served(tmp_path_factory.mktemp("served") / "data", free_port())
    try:
        yield running.wait_until_ready()
    finally:
        running.stop()


@pytest.fixture(scope="module")
def client(served: Served) -> Iterator[httpx.Client]:
    with served.client() as client:
        yield client


@pytest.fixture
def visit(browser: Browser, served: Served) -> Iterator[Visit]:
    """A browser that was never here. It must not complain, and ask nobody else."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True)
    found = watched(context, served.url)
    yield found
    context.close()
    assert found.complaints == []
    assert [url for url in found.asked if not url.startswith((served.url, "blob:", "data:"))] == []
