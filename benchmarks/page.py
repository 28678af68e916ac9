"""How soon does the page answer, and how much does it load?

    python -m benchmarks.page [URL]

It visits a running service with Chromium. Without a URL it starts an installation of its own, whose
first visit is then the first of all. Time to interactive is from the navigation's start until every
button has its handler; each visit is of a browser without a cache.
"""

import statistics
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from standalone.preflight import free_port
from tests.acceptance.served import Served
from tests.browser.conftest import ARGUMENTS, CHROMIUM, watched

VISITS = 5
"""Number of visits after the first."""


def visited(browser: Browser, url: str) -> tuple[float, float, int, int]:
    """Return times of first paint and interactivity [ms], bytes over the wire, and requests."""
    context = browser.new_context()
    visit = watched(context, url)
    page = visit.open()
    ready = float(page.evaluate("performance.getEntriesByName('interactive')[0].startTime"))
    painted = float(
        page.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0")
    )
    page.wait_for_timeout(200)
    found = painted, ready, visit.transferred, len(visit.asked)
    context.close()
    return found


def main(url: str) -> None:
    """Print the first visit, and the medians of the later ones."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=ARGUMENTS)
        first, *visits = [visited(browser, url) for _ in range(1 + VISITS)]
        browser.close()
    print(f"the first visit: first paint {first[0]:.0f} ms, interactive {first[1]:.0f} ms")
    painted, ready, size, requests = (
        statistics.median(column) for column in zip(*visits, strict=True)
    )
    print(f"{VISITS} after it: first paint {painted:.0f} ms, interactive {ready:.0f} ms (bar 1000)")
    print(f"{size / 1000:.0f} kB in {requests:.0f} requests (bar 300 kB)")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(sys.argv[1])
    else:
        with tempfile.TemporaryDirectory() as folder:
            served = Served(Path(folder) / "data", free_port()).wait_until_ready()
            try:
                main(served.url)
            finally:
                served.stop()
