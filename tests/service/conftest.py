"""The application over stores that are quick, with a reader that reads nothing but says it did."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import structlog
from fastapi.testclient import TestClient

from contract.datasets import DatasetReport, Layout, LengthReport, SamplingReport, Variable
from contract.messages import Message
from contract.problems import ProblemError
from service.app import create_app
from service.readers.errors import UnreadableData
from service.settings import ServiceSettings
from storage.stores import Stores

REPORT = DatasetReport(
    format="csv",
    layout=Layout(),
    variables=(Variable(name="x", column="voltage"),),
    n_trajectories=1,
    n_segments=1,
    n_samples=3,
    n_increments=2,
    duration=2.0,
    lengths=LengthReport(min=3, median=3, max=3),
    dt=SamplingReport(median=1.0, min=1.0, max=1.0, jitter=0.0, source="time_column"),
    range=((0.0, 1.0),),
)


@dataclass
class RecordingReader:
    """Notes what it was given; refuses what contains `bad`."""

    seen: list[tuple[bytes, str | None, str | None, Layout]] = field(default_factory=list)
    written: int = 0
    """Bytes of states that it makes of any upload."""
    trajectories: int = 1
    """Number of trajectories that it finds in any upload."""

    def __call__(
        self,
        path: Path,
        media_type: str | None,
        filename: str | None,
        layout: Layout,
        folder: Path,
        room: int,
    ) -> DatasetReport:
        content = path.read_bytes()
        self.seen.append((content, media_type, filename, layout))
        if b"bad" in content:
            fault = ProblemError(detail="row 2 is not a number", pointer="#/trajectories/0/1")
            raise UnreadableData("Row 2 is not a number.", "Remove the row.", errors=(fault,))
        for name in ("states.npy", "times.npy", "segments.npy"):
            (folder / name).write_bytes(b"0" * self.written if name == "states.npy" else b"")
        return REPORT.model_copy(update={"n_trajectories": self.trajectories})


@dataclass
class RecordingQueue:
    """Notes what was published; `broken` makes it fail as a broker that is away."""

    published: list[Message] = field(default_factory=list)
    broken: bool = False

    def publish(self, message: Message) -> None:
        if self.broken:
            raise ConnectionError("the broker is away")
        self.published.append(message)


@dataclass
class Service:
    """The application and everything around it."""

    client: TestClient
    stores: Stores
    reader: RecordingReader
    queue: RecordingQueue
    settings: ServiceSettings

    def upload(self, content: bytes = b"t,x\n0,0\n1,1\n2,0\n") -> str:
        """A dataset's id."""
        answer = self.client.post(
            "/v1/datasets", content=content, headers={"Content-Type": "text/csv"}
        )
        assert answer.status_code in (200, 201), answer.text
        return str(answer.json()["id"])

    def job(self, **fields: object) -> str:
        """The id of a job that nobody has started yet."""
        answer = self.client.post(
            "/v1/jobs", json={"kind": "identification", "dataset": self.upload(), **fields}
        )
        assert answer.status_code == 202, answer.text
        return str(answer.json()["id"])

    def finish(self, job_id: str, body: bytes = b'{"schema_version": "1.0"}') -> None:
        """Do a worker's work."""
        claim = self.stores.jobs.claim(job_id, "test", 30.0)
        assert claim is not None
        name = self.stores.results.put(claim.tenant, job_id, claim.attempt, body)
        assert self.stores.jobs.succeed(job_id, claim.attempt, name)


@pytest.fixture(autouse=True, scope="module")
def _plain_logs() -> Iterator[None]:
    """structlog's own default draws every traceback in a box with all variables, which takes
    seconds."""
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.KeyValueRenderer(),
        ]
    )
    yield
    structlog.reset_defaults()


@pytest.fixture
def settings(tmp_path: Path) -> ServiceSettings:
    return ServiceSettings(
        data_dir=tmp_path,
        max_upload_bytes=1_000_000,
        max_json_bytes=1_000_000,
        max_job_bytes=20_000,
        body_idle_seconds=0.2,
    )


@pytest.fixture(scope="session")
def client() -> Iterator[TestClient]:
    """One application for all: FastAPI works out its routes with the first request, which takes
    longer than most tests."""
    with TestClient(create_app(ServiceSettings()), base_url="http://127.0.0.1") as client:
        yield client


@pytest.fixture
def service(client: TestClient, settings: ServiceSettings, stores: Stores) -> Service:
    reader, queue = RecordingReader(), RecordingQueue()
    client.app.state.context = create_app(
        settings, stores=stores, reader=reader, queue=queue
    ).state.context  # type: ignore[attr-defined]
    return Service(client, stores, reader, queue, settings)
