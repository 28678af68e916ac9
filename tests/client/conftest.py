"""What the client talks to: the service alone over a real store, or a whole installation."""

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uvicorn

from contract.datasets import DatasetReport, Layout
from itoscope_client import Client, Retries
from itoscope_client.inputs import LayoutOptions, asked, upload_of
from service.app import create_app
from service.readers.formats.sniffing import format_of
from service.readers.options import Layout as ReaderLayout
from service.readers.options import Limits
from service.readers.reading import read as read_file
from service.settings import ServiceSettings
from standalone.preflight import free_port
from tests.acceptance.served import Served
from tests.service.conftest import RecordingQueue, RecordingReader


@pytest.fixture
def service_url(tmp_path: Path, empty_redis_url: str) -> Iterator[str]:
    """Address of the service over Redis; no worker, and a reader that reads nothing, as neither is
    the question."""
    settings = ServiceSettings(data_dir=tmp_path, redis_url=empty_redis_url)
    app = create_app(settings, reader=RecordingReader(), queue=RecordingQueue())
    server = uvicorn.Server(
        uvicorn.Config(
            app, log_config=None, lifespan="off", port=free_port(), timeout_graceful_shutdown=1
        )
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{server.config.port}"
    server.should_exit = True
    thread.join(10)


@pytest.fixture(scope="session")
def client(served: Served) -> Iterator[Client]:
    with Client(served.url, retries=Retries(attempts=3)) as client:
        yield client


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., tuple[DatasetReport, np.ndarray[Any, Any]]]:
    """Report and states of what the service reads from data."""

    def reading(
        data: Any, t: Any = None, **layout: Any
    ) -> tuple[DatasetReport, np.ndarray[Any, Any]]:
        upload = upload_of(data, t, LayoutOptions(**layout))
        content = b"".join(upload.pieces())
        (tmp_path / "upload").write_bytes(content)
        form = format_of(content[:4096], upload.content_type, upload.filename)
        given = Layout.model_validate(asked(upload.layout)).model_dump(mode="json")
        report = read_file(
            tmp_path / "upload", form, ReaderLayout.from_json(given), Limits(), tmp_path
        )
        return DatasetReport.model_validate(report), np.load(tmp_path / "states.npy")

    return reading
