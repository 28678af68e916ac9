"""A worker as Celery's tutorial has it, with every default but the broker: `python plain.py URL`.

A negative control: jobs handed to it must be lost when it is killed, or the faults prove nothing.
"""

import sys
import time
from typing import Any

from celery import Celery

TASK = "plain.work"


def application(url: str) -> Celery:
    """The application; each job adds its number to the set `done`."""
    app = Celery("plain", broker=url, set_as_current=False)

    def work(number: int, seconds: float) -> None:
        time.sleep(seconds)
        client: Any = app.connection_for_write().default_channel.client
        client.sadd("done", number)

    app.task(name=TASK)(work)
    return app


if __name__ == "__main__":
    application(sys.argv[1]).Worker(
        concurrency=2, quiet=True, without_gossip=True, without_mingle=True
    ).start()
