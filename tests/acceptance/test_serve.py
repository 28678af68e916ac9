"""`python -m standalone serve`: what it promises to whoever runs it."""

import math
import os
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from standalone import valkey
from standalone.preflight import free_port
from standalone.supervisor import Supervisor
from tests.acceptance.jobs import MODEL_ONLY
from tests.acceptance.served import Served, descendants, finished, gone_within


def ornstein_uhlenbeck(n: int = 2000, dt: float = 0.05) -> bytes:
    """A record of dX = -X dt + dW with its exact transitions, as CSV with a time column."""
    source, decay, x = random.Random(1), math.exp(-dt), 0.0
    lines = ["t,x"]
    for i in range(n):
        lines.append(f"{i * dt:.6g},{x:.9g}")
        x = x * decay + math.sqrt((1 - decay**2) / 2) * source.gauss(0.0, 1.0)
    return "\n".join(lines).encode()


def upload(client: httpx.Client) -> str:
    response = client.post(
        "/v1/datasets", content=ornstein_uhlenbeck(), headers={"Content-Type": "text/csv"}
    )
    assert response.is_success, response.text
    return str(response.json()["id"])


def submit(client: httpx.Client, dataset: str) -> str:
    response = client.post(
        "/v1/jobs", json={"kind": "identification", "dataset": dataset, **MODEL_ONLY}
    )
    assert response.status_code == 202, response.text
    return str(response.json()["id"])


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator["Installation"]:
    place = Installation(tmp_path_factory.mktemp("serve") / "my data")
    yield place
    place.kill()


class Installation:
    """A folder and a port. To start costs more than most of the tests here: what one leaves running
    is the next one's."""

    def __init__(self, data_dir: Path) -> None:
        self._data_dir, self._port = data_dir, free_port()
        self._served: Served | None = None

    def start(self, **settings: str) -> Served:
        """Anew, and alone."""
        self.kill()
        # What a killed worker was sent is found missing once the lease is over.
        self._served = Served(
            self._data_dir, self._port, {"ITOSCOPE_LEASE_SECONDS": "5", **settings}
        )
        return self._served.wait_until_ready()

    def running(self) -> Served:
        """As the test before has left it, or started."""
        if self._served is None or self._served.process.poll() is not None:
            return self.start()
        return self._served

    def kill(self) -> None:
        if self._served is not None:
            self._served.stop(signal.SIGKILL)


def child(pid: int, command: str) -> int:
    """The process below `pid` whose command holds these words."""
    [found] = [each for each, words in descendants(pid).items() if command in words][:1]
    return found


def test_it_says_one_line_when_it_answers(installation: Installation) -> None:
    served = installation.start()
    [line] = served.said
    assert served.url in line
    assert f"{served.url}/docs" in line
    assert str(served.data_dir) in line
    with served.client() as client:
        assert client.get("/healthz").status_code == 200
        assert client.get("/readyz").status_code == 200


def test_datasets_jobs_and_results_are_there_after_a_restart(installation: Installation) -> None:
    served = installation.running()
    with served.client() as client:
        dataset = upload(client)
        job = submit(client, dataset)
        record = finished(client, job)
        assert record["state"] == "succeeded", record
        result = client.get(f"/v1/jobs/{job}/result").content
    ends_in_order(served, signal.SIGTERM)
    with installation.start().client() as client:
        assert client.get(f"/v1/datasets/{dataset}").status_code == 200
        assert client.get(f"/v1/jobs/{job}").json()["state"] == "succeeded"
        assert client.get(f"/v1/jobs/{job}/result").content == result


def ends_in_order(served: Served, number: signal.Signals) -> None:
    """The signal ends everything within seconds, and with status 0."""
    family = descendants(served.process.pid)
    assert len(family) >= 4  # store, service, worker, guard
    asked = time.monotonic()
    assert served.stop(number) == 0
    assert time.monotonic() - asked < 10
    assert gone_within(1, family)


def test_an_interruption_ends_everything_as_a_termination_does(installation: Installation) -> None:
    ends_in_order(installation.running(), signal.SIGINT)


def test_nothing_outlives_a_supervisor_that_was_killed_and_the_folder_can_be_served_again(
    installation: Installation,
) -> None:
    served = installation.running()
    family = descendants(served.process.pid)
    served.stop(signal.SIGKILL)
    again = installation.start()
    assert gone_within(1, family)
    assert again.process.poll() is None


@pytest.mark.parametrize(("part", "name"), [("-m worker", "worker"), ("-server", "embedded store")])
def test_a_killed_part_comes_back_and_the_job_is_done(
    installation: Installation, part: str, name: str
) -> None:
    served = installation.running()
    os.kill(child(served.process.pid, part), signal.SIGKILL)
    deadline = time.monotonic() + 20
    with served.client() as client:
        while not any(f"{name} ended unexpectedly" in line for line in served.said):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        while client.get("/v1/jobs").status_code == 503:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        record = finished(client, submit(client, upload(client)))
    assert record["state"] == "succeeded", record


def test_the_end_of_the_service_ends_everything_with_a_clear_line(
    installation: Installation,
) -> None:
    served = installation.running()
    family = descendants(served.process.pid)
    os.kill(child(served.process.pid, "-m service"), signal.SIGKILL)
    assert served.process.wait(20) == 1
    assert gone_within(1, family)
    served.stop()
    assert "the service ended unexpectedly (signal SIGKILL)" in served.said[-1]


def test_with_a_configured_redis_and_bucket_nothing_is_embedded_or_in_the_data_folder(
    installation: Installation, tmp_path: Path, bucket: str
) -> None:
    """Service and worker share nothing else."""
    with Supervisor(print) as supervisor:
        store = valkey.embedded(valkey.find_server(), tmp_path, tmp_path / "valkey.log", os.environ)
        supervisor.start(store.program)
        assert supervisor.watch(lambda: valkey.answers(store.url), seconds=20)
        served = installation.start(ITOSCOPE_REDIS_URL=store.url, ITOSCOPE_BLOB_URL=bucket)
        before = kept(served.data_dir)
        assert not any("-server" in words for words in descendants(served.process.pid).values())
        with served.client() as client:
            dataset = upload(client)
            record = finished(client, submit(client, dataset))
            assert record["state"] == "succeeded", record
            result = client.get(f"/v1/jobs/{record['id']}/result").raise_for_status().json()
            assert result["model"]["drift"]["x"]["expression"].startswith("-")
            assert kept(served.data_dir) == before
            assert client.delete(f"/v1/datasets/{dataset}").status_code == 204
            assert client.delete(f"/v1/jobs/{record['id']}").status_code == 204
        assert served.stop() == 0
        assert valkey.answers(store.url)


def kept(data_dir: Path) -> set[Path]:
    return {
        path
        for name in ("datasets", "results")
        for path in (data_dir / name).rglob("*")
        if path.is_file()
    }
