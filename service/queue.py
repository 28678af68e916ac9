"""Telling the workers: one Celery message for each accepted job, holding its id and nothing else."""

from celery import Celery

from contract.messages import RUN_JOB, Message
from storage.connection import broker_url


class CeleryQueue:
    """Sends to the broker; never receives, keeps no results, tries twice."""

    def __init__(self, redis_url: str) -> None:
        self._celery = Celery("itoscope-service", broker=broker_url(redis_url), set_as_current=False)
        self._celery.conf.update(
            task_serializer="json",
            accept_content=["json"],
            task_ignore_result=True,
            broker_connection_retry=False,
            broker_transport_options={
                "visibility_timeout": 86_400,
                "socket_timeout": 5,
                "socket_connect_timeout": 2,
                "max_retries": 0,
            },
        )

    def publish(self, message: Message) -> None:
        """Ask for a job to be run. Raises the broker's error at once when it does not answer."""
        self._celery.send_task(
            RUN_JOB,
            **message.options,
            # Once more: after a restart of the broker the first connection of the pool is a dead one.
            retry=True,
            retry_policy={"max_retries": 1, "interval_start": 0.05},
        )

    def close(self) -> None:
        """Give the connections back."""
        self._celery.close()
