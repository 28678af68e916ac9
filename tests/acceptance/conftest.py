"""One installation (store, worker, service) for all acceptance tests that only talk to it."""

from collections.abc import Iterator

import httpx
import pytest

from standalone.preflight import free_port
from tests.acceptance.served import Served


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One installation for all tests that only talk to it."""
    webhooks = {"ITOSCOPE_WEBHOOK_HOSTS": "127.0.0.1", "ITOSCOPE_WEBHOOK_NETWORKS": "127.0.0.0/8"}
    running = Served(tmp_path_factory.mktemp("served") / "data with spaces", free_port(), webhooks)
    try:
        yield running.wait_until_ready()
    finally:
        running.stop()


@pytest.fixture(scope="session")
def client(served: Served) -> Iterator[httpx.Client]:
    with served.client() as client:
        yield client
