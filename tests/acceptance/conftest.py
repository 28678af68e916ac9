"""How acceptance tests talk to the installation."""

from collections.abc import Iterator

import httpx
import pytest

from tests.acceptance.served import Served


@pytest.fixture(scope="session")
def client(served: Served) -> Iterator[httpx.Client]:
    with served.client() as client:
        yield client
