"""Send a job of the kind `mean` through service, worker and client; write what each made of it.

Run in a copy of the source that has this kind: `python use.py REDIS_URL DATA_DIR FOUND`. The
answer goes to the file FOUND, because the service's and the worker's threads log to standard
output, where a line of theirs can fall into the middle of the answer.
"""

import json
import queue
import sys
import threading
import time
from pathlib import Path
from typing import Any

import httpx
import uvicorn

import itoscope_client
from contract.messages import Message
from service.app import create_app, open_stores
from service.openapi import examples
from service.settings import ServiceSettings
from standalone.preflight import free_port
from worker.queue.app import computation_of
from worker.queue.settings import WorkerSettings
from worker.queue.tasks import run_job

SAMPLES = [9.0, 1.0, 2.0, 3.0, -7.0]


class Accepted(queue.Queue[Message]):
    """Takes messages where the broker would."""

    def publish(self, message: Message) -> None:
        self.put(message)


def main(redis_url: str, data_dir: Path) -> dict[str, Any]:
    settings = ServiceSettings(data_dir=data_dir, redis_url=redis_url)
    stores, accepted, outcomes = open_stores(settings), Accepted(), list[str]()

    def work() -> None:
        computation = computation_of(WorkerSettings(data_dir=data_dir, redis_url=redis_url))
        while True:
            job_id = accepted.get().job_id
            outcomes.append(
                run_job(job_id, "worker", stores, 60.0, computation, lambda message: None)
            )

    app = create_app(settings, stores=stores, queue=accepted)
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off", port=free_port()))
    for target in (server.run, work):
        threading.Thread(target=target, daemon=True).start()
    while not server.started:
        time.sleep(0.01)
    url = f"http://127.0.0.1:{server.config.port}"
    with itoscope_client.Client(url) as client, httpx.Client(base_url=url) as http:
        found = client.mean(SAMPLES, dt=0.1, trim=0.2, progress=False)  # type: ignore[attr-defined]
        job = found.document["job"]
        return {
            "outcomes": outcomes,
            "class": [type(found).__name__, "Mean" in itoscope_client.__all__],
            "means": found.by_variable,
            "document": http.get(f"/v1/jobs/{job}/result").json(),
            "schema": http.get("/v1/schemas/mean-result").json(),
            "request": http.get("/v1/schemas/job-request").json(),
            "openapi": http.get("/openapi.json").json(),
            "example": examples.JOBS["the mean of the data"],
            "report": http.get(f"/v1/jobs/{job}/report").text,
            "piece": http.get(f"/pages/jobs/{job}").text,
            "page": http.get("/").text,
            "listed": [record["id"] for record in client.jobs(kind="mean")],
            "checked": client.validate(
                {"kind": "mean", "dataset": found.document["provenance"]["dataset"]}
            ),
            "refused": http.post("/v1/jobs", json={"kind": "mode"}).json(),
            "compared": http.get("/pages/comparison", params={"first": job, "second": job}).json(),
        }


if __name__ == "__main__":
    Path(sys.argv[3]).write_text(json.dumps(main(sys.argv[1], Path(sys.argv[2]))), "utf-8")
