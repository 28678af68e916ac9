"""How soon the page answers, and how much it loads: `python -m benchmarks.page [URL]`, with Chromium, of a service that runs.

Without a URL it starts an installation of its own. Time to interactive is from the navigation's start until every button has its
handler; five visits, each of a browser that was never there. Quiet machine, 2 cores: see the numbers at the end.
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


def first_visit(browser: Browser, url: str) -> tuple[float, float, int, int]:
    """Milliseconds until something is painted, until the page is interactive; bytes over the wire; requests."""
    context = browser.new_context()
    visit = watched(context, url)
    page = visit.open()
    ready = float(page.evaluate("performance.getEntriesByName('interactive')[0].startTime"))
    painted = float(page.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0"))
    page.wait_for_timeout(200)
    found = painted, ready, visit.transferred, len(visit.asked)
    context.close()
    return found


def main(url: str) -> None:
    """Print the medians."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=ARGUMENTS)
        visits = [first_visit(browser, url) for _ in range(VISITS)]
        browser.close()
    painted, ready, size, requests = (statistics.median(column) for column in zip(*visits, strict=True))
    print(f"first paint {painted:.0f} ms, interactive {ready:.0f} ms (bar 1000)")
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
