"""What a worker hears: a task, an id, two time limits; nothing else."""

import time
from typing import Any

import pytest
from celery import Celery

from contract.messages import RUN_JOB, Message, broker_queue
from service.queue import CeleryQueue


def test_message_holds_the_id_and_the_time_limits_only() -> None:
    queue = CeleryQueue("memory://")
    queue.publish(Message("job_1", 5.0, "large"))
    with Celery(broker="memory://", set_as_current=False).connection_for_read() as connection:
        message: Any = connection.SimpleQueue(broker_queue("large")).get(timeout=1)
    assert message.headers["task"] == RUN_JOB
    assert message.headers["timelimit"] == [35.0, 5.0]
    assert message.content_type == "application/json"
    assert message.payload[:2] == [["job_1"], {}]


def test_a_broker_that_is_away_is_reported_at_once() -> None:
    queue = CeleryQueue("redis://127.0.0.1:1/0")
    started = time.monotonic()
    with pytest.raises(Exception, match="Connection refused"):
        queue.publish(Message("job_1", 5.0))
    assert time.monotonic() - started < 5
