"""Messages in the queues: a task name and ids, never data."""

from dataclasses import dataclass
from typing import Any, Literal

RUN_JOB = "itoscope.run_job"
"""Name of the task that runs a job; its one argument is the job id."""

HELP_JOB = "itoscope.help_job"
"""Name of the task that takes a job's shards as long as there are any; same argument."""

HARD_LIMIT_GRACE_SECONDS = 30.0
"""Seconds from a job's own time limit, which fails the job, to the kill of its process."""

QueueName = Literal["small", "large"]
QUEUES: tuple[QueueName, ...] = ("small", "large")
"""Queues of jobs of seconds, and of minutes and more; a worker serves both or only one."""


@dataclass(frozen=True, slots=True)
class Message:
    """Message that asks a worker to run a job, or to help with it.

    timeout_seconds   the job's own time limit [s]
    """

    job_id: str
    timeout_seconds: float
    queue: QueueName = "small"
    task: str = RUN_JOB

    @property
    def options(self) -> dict[str, Any]:
        """Arguments of Celery's `send_task`, besides the task's name."""
        return {
            "args": [self.job_id],
            "queue": broker_queue(self.queue),
            "soft_time_limit": self.timeout_seconds,
            "time_limit": self.timeout_seconds + HARD_LIMIT_GRACE_SECONDS,
            "ignore_result": True,
        }


def broker_queue(queue: str) -> str:
    """Return the queue's name at the broker: the name of a Redis key that its ACL allows."""
    return f"celery-{queue}"
