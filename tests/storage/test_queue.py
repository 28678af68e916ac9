"""What a worker hears: a task, an id, two time limits; nothing else."""

import json
import time
from typing import Any

import pytest
from celery import Celery

from contract.messages import RUN_JOB, Message, broker_queue
from storage.redis.connection import connect
from storage.redis.queue import CeleryQueue
from storage.stores import StoreUnavailable

MADE_UP = {"id", "root_id", "correlation_id", "reply_to", "delivery_tag", "origin"}
"""What is another with each message, or process."""


def test_message_holds_the_id_and_the_time_limits_only(redis_url: str) -> None:
    CeleryQueue(redis_url).publish(Message("job_1", 5.0, "large"))
    with Celery(broker=redis_url, set_as_current=False).connection_for_read() as connection:
        message: Any = connection.SimpleQueue(broker_queue("large")).get(timeout=5)
    assert message.headers["task"] == RUN_JOB
    assert message.headers["timelimit"] == [35.0, 5.0]
    assert message.content_type == "application/json"
    assert message.payload[:2] == [["job_1"], {}]


def test_message_is_the_one_that_celery_itself_would_send(redis_url: str) -> None:
    message = Message("job_1", 5.0)
    celery = Celery(broker=redis_url, set_as_current=False)
    celery.conf.update(task_serializer="json", task_ignore_result=True)
    celery.send_task(RUN_JOB, **message.options)
    CeleryQueue(redis_url).publish(message)
    ours, celerys = (
        json.loads(text) for text in connect(redis_url).lrange(broker_queue("small"), 0, 1)
    )  # type: ignore[union-attr]
    for part in ("headers", "properties"):
        assert {name for name in celerys[part] if name not in MADE_UP} == {
            name for name in ours[part] if name not in MADE_UP
        }
        assert {name: value for name, value in celerys[part].items() if name not in MADE_UP} == {
            name: value for name, value in ours[part].items() if name not in MADE_UP
        }
    assert {name: ours[name] for name in ours if name not in ("headers", "properties")} == {
        name: celerys[name] for name in celerys if name not in ("headers", "properties")
    }
    assert (
        ours["headers"]["id"] == ours["headers"]["root_id"] == ours["properties"]["correlation_id"]
    )


def test_a_broker_that_is_away_is_reported_at_once() -> None:
    queue = CeleryQueue("redis://127.0.0.1:1/0")
    started = time.monotonic()
    with pytest.raises(StoreUnavailable, match="not available"):
        queue.publish(Message("job_1", 5.0))
    assert time.monotonic() - started < 5
