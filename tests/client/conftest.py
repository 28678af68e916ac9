"""What the client talks to: the service alone over a real store, or a whole installation."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvicorn

from itoscope_client import Client, Retries
from service.app import create_app
from service.settings import ServiceSettings
from standalone.preflight import free_port
from tests.acceptance.served import Served
from tests.service.conftest import RecordingQueue, RecordingReader


@pytest.fixture
def service_url(tmp_path: Path, empty_redis_url: str) -> Iterator[str]:
    """Address of the service over Redis; no worker, and a reader that reads nothing, as neither is the question."""
    settings = ServiceSettings(data_dir=tmp_path, redis_url=empty_redis_url)
    app = create_app(settings, reader=RecordingReader(), queue=RecordingQueue())
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off", port=free_port(), timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{server.config.port}"
    server.should_exit = True
    thread.join(10)


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One installation with a worker."""
    running = Served(tmp_path_factory.mktemp("client") / "data", free_port())
    try:
        yield running.wait_until_ready()
    finally:
        running.stop()


@pytest.fixture(scope="session")
def client(served: Served) -> Iterator[Client]:
    with Client(served.url, retries=Retries(attempts=3)) as client:
        yield client
