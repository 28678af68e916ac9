"""Progress as it is made: events are followed where there is a listener, resumed where a stream
breaks, and polls do without."""

import asyncio
import json
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any

import httpx
import pytest

from contract.records import Progress
from itoscope_client import AsyncClient, Client, Retries, WaitingTimedOut
from itoscope_client.progress import SILENT_STREAMS
from storage.redis.connection import connect
from storage.redis.jobs import JobStore
from tests.client.faulty import FaultyProxy

MODEL = {"drift": {"x": {"x": -1}}, "diffusion": {"x,x": {"1": 1}}}
STUBBORN = Retries(attempts=1000, base=0.01, longest=0.05)


def record(state: str, fraction: float = 0.0, attempt: int = 1) -> dict[str, Any]:
    return {
        "id": "job_x",
        "state": state,
        "attempt": attempt,
        "progress": {"fraction": fraction, "stage": "s", "message": ""},
    }


def event(number: int, state: str, fraction: float = 0.0, attempt: int = 1) -> bytes:
    data = {**record(state, fraction, attempt), "id": f"{number}-0", "at": "2026-01-01T00:00:00Z"}
    return f"event: job\ndata: {json.dumps(data)}\nid: {number}-0\nretry: 1000\n\n".encode()


class Breaks(httpx.SyncByteStream):
    """Pieces of a body, and then the connection is gone."""

    def __init__(self, *pieces: bytes) -> None:
        self.pieces = pieces

    def __iter__(self) -> Iterator[bytes]:
        yield from self.pieces
        raise httpx.ReadError("gone")


def stream(body: httpx.SyncByteStream | bytes) -> httpx.Response:
    headers = {"Content-Type": "text/event-stream; charset=utf-8"}
    return httpx.Response(
        200, headers=headers, **({"content": body} if isinstance(body, bytes) else {"stream": body})
    )


def watched(
    *answers: httpx.Response, silent: bool = False
) -> tuple[list[Mapping[str, Any]], list[httpx.Request]]:
    """What a listener is told where these are the answers, and what was asked."""
    told: list[Mapping[str, Any]] = []
    asked: list[httpx.Request] = []
    left = [*answers]

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return left.pop(0)

    with Client(
        "http://service", transport=httpx.MockTransport(answer), retries=Retries(base=0.001)
    ) as client:
        client.watch("job_x", progress=False if silent else told.append)
    assert left == []
    return told, asked


def fractions(told: list[Mapping[str, Any]]) -> list[float]:
    return [said["progress"]["fraction"] for said in told]


def found(document: Mapping[str, Any]) -> httpx.Response:
    return httpx.Response(200, json=document)


def test_a_stream_that_breaks_is_resumed_where_it_was() -> None:
    told, asked = watched(
        found(record("running", 0.1)),
        stream(
            Breaks(
                event(1, "running", 0.2), event(2, "running", 0.3), event(3, "running", 0.4)[:40]
            )
        ),
        found(record("running", 0.35)),
        stream(event(3, "running", 0.4) + event(4, "succeeded", 1.0)),
        found(record("succeeded", 1.0)),
    )
    assert [
        request.headers.get("Last-Event-ID")
        for request in asked
        if request.url.path.endswith("/events")
    ] == [None, "2-0"]
    shown = fractions(told)
    changes = [f for f, before in zip(shown, [None, *shown], strict=False) if f != before]
    assert changes == [0.1, 0.2, 0.3, 0.35, 0.4, 1.0]
    assert [said["state"] for said in told].count("succeeded") == 1


def test_what_was_before_the_record_is_not_told() -> None:
    """Who begins to watch later is told the job's whole story: the bar must not run back."""
    story = (
        event(1, "queued", 0.0, 0)
        + event(2, "running", 0.4)
        + event(3, "queued", 0.0)
        + event(4, "running", 0.1, 2)
    )
    told, _ = watched(
        found(record("running", 0.2, 2)),
        stream(story + event(5, "running", 0.5, 2)),
        found(record("cancelled", 0.5, 2)),
    )
    assert fractions(told) == [0.2, 0.5, 0.5]


def test_a_job_that_lost_its_worker_begins_again_before_the_listeners_eyes() -> None:
    pieces = [event(1, "running", 0.4), event(2, "queued", 0.0), event(3, "running", 0.1, 2)]
    told, _ = watched(
        found(record("running", 0.3)), stream(Breaks(*pieces)), found(record("succeeded", 1.0, 2))
    )
    assert [(said["state"], said["attempt"]) for said in told[1:4]] == [
        ("running", 1),
        ("queued", 1),
        ("running", 2),
    ]


@pytest.mark.parametrize("size", [1, 7, 64])
@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
def test_a_stream_may_come_in_any_pieces(size: int, newline: bytes) -> None:
    body = (
        b": hello\n\ndata: []\n\ndata: {\n\n"
        + event(1, "running", 0.2)
        + b":\n\n"
        + event(2, "running", 0.7)
    )
    body = body.replace(b"\n", newline)
    told, _ = watched(
        found(record("running", 0.1)),
        stream(Breaks(*(body[i : i + size] for i in range(0, len(body), size)))),
        found(record("succeeded", 1.0)),
    )
    assert sorted(set(fractions(told))) == [0.1, 0.2, 0.7, 1.0]


@pytest.mark.parametrize(
    "instead",
    [
        httpx.Response(404, json={}),
        httpx.Response(503),
        httpx.Response(200, text="<html>"),
        stream(b""),
    ],
    ids=["none", "busy", "a page", "nothing"],
)
def test_where_no_stream_comes_polls_do(instead: httpx.Response) -> None:
    running = record("running", 0.1)
    in_vain = [answer for _ in range(SILENT_STREAMS) for answer in (found(running), instead)]
    told, asked = watched(*in_vain, found(running), found(running), found(record("succeeded", 1.0)))
    assert sum(request.url.path.endswith("/events") for request in asked) == SILENT_STREAMS
    assert [request.headers.get("Prefer") for request in asked[-2:]] == ["wait=1", "wait=1"]
    assert fractions(told) == [0.1] * (SILENT_STREAMS + 2) + [1.0]


def test_who_does_not_listen_asks_for_no_stream() -> None:
    _, asked = watched(found(record("running")), found(record("succeeded")), silent=True)
    assert not any(request.url.path.endswith("/events") for request in asked)


class Worker:
    """Does a job step by step, each step a report."""

    def __init__(self, redis_url: str, job_id: str, steps: int = 20, pause: float = 0.05) -> None:
        self.jobs, self.job_id, self.steps, self.pause = (
            JobStore(connect(redis_url)),
            job_id,
            steps,
            pause,
        )
        self.thread = threading.Thread(target=self.work)
        self.thread.start()

    def work(self) -> None:
        time.sleep(0.2)
        self.jobs.claim(self.job_id, "test", 60.0)
        for n in range(1, self.steps + 1):
            time.sleep(self.pause)
            self.jobs.report(
                self.job_id,
                1,
                Progress(fraction=n / (self.steps + 1), stage="fitting", message="Fitting"),
            )
        self.jobs.cancel("default", self.job_id)


def submitted(url: str) -> str:
    with Client(url) as client:
        return str(client.submit({"kind": "generator", "model": MODEL})["id"])


@pytest.mark.parametrize("asynchronous", [False, True])
def test_the_bar_moves_with_every_report(
    service_url: str, empty_redis_url: str, asynchronous: bool
) -> None:
    job_id, told = submitted(service_url), list[Mapping[str, Any]]()

    async def watch() -> dict[str, Any]:
        async with AsyncClient(service_url) as client:
            return await client.watch(job_id, progress=told.append)

    worker = Worker(empty_redis_url, job_id)
    if asynchronous:
        ended = asyncio.run(watch())
    else:
        with Client(service_url) as client:
            ended = client.watch(job_id, progress=told.append)
    worker.thread.join()
    assert ended == told[-1]
    # A look each second sees two of the twenty.
    assert len(set(fractions(told))) > 15
    assert fractions(told) == sorted(fractions(told))


def test_a_stream_that_keeps_breaking_tells_every_report_once(
    service_url: str, empty_redis_url: str
) -> None:
    job_id, told = submitted(service_url), list[Mapping[str, Any]]()
    with (
        FaultyProxy(
            service_url, faults=["dropped before", "429", "503"], keeps_back=False, seed=5
        ) as proxy,
        Client(proxy.url, retries=STUBBORN) as client,
    ):
        worker = Worker(empty_redis_url, job_id, pause=0.03)
        assert client.watch(job_id, progress=told.append)["state"] == "cancelled"
        worker.thread.join()
    assert fractions(told) == sorted(fractions(told))
    assert [said["state"] for said in told].count("cancelled") == 1


def test_somebody_who_keeps_streams_back_holds_up_nobody(
    service_url: str, empty_redis_url: str
) -> None:
    job_id, told = submitted(service_url), list[Mapping[str, Any]]()
    with FaultyProxy(service_url, share=0.0) as proxy, Client(proxy.url) as client:
        worker = Worker(empty_redis_url, job_id, steps=3)
        assert client.watch(job_id, progress=told.append)["state"] == "cancelled"
        worker.thread.join()
    assert told[-1]["state"] == "cancelled"


def test_the_time_to_wait_ends_though_the_stream_goes_on(
    service_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("itoscope_client.waiting.SILENCE", 0.3)
    job_id, told = submitted(service_url), list[Mapping[str, Any]]()
    began = time.monotonic()
    with Client(service_url) as client, pytest.raises(WaitingTimedOut):
        client.watch(job_id, timeout=1.6, progress=told.append)
    assert 1.5 < time.monotonic() - began < 5
    assert {said["state"] for said in told} == {"queued"}


def test_what_a_listener_raises_ends_the_waiting(service_url: str) -> None:
    def tired(said: Mapping[str, Any]) -> None:
        calls.append(said)
        if len(calls) == 2:
            raise KeyboardInterrupt

    calls: list[Mapping[str, Any]] = []
    job_id = submitted(service_url)
    with Client(service_url) as client, pytest.raises(KeyboardInterrupt) as stopped:
        client.watch(job_id, progress=tired)
    assert job_id in stopped.value.__notes__[0]
