"""What travels through the queues: a task name and ids, never data."""

from dataclasses import dataclass
from typing import Any, Literal

RUN_JOB = "itoscope.run_job"
"""Task with one argument, the job id."""

HELP_JOB = "itoscope.help_job"
"""Likewise: take shards of the job as long as there are any."""

HARD_LIMIT_GRACE_SECONDS = 30.0
"""Between a job's own time limit, which fails it politely, and the end of the process that runs it."""

QueueName = Literal["small", "large"]
QUEUES: tuple[QueueName, ...] = ("small", "large")
"""Jobs of seconds, and jobs of minutes and more: a worker serves both, or is kept for one."""


@dataclass(frozen=True, slots=True)
class Message:
    """Asks for a job to be run, or for help with it.

    timeout_seconds   the job's own time limit
    """

    job_id: str
    timeout_seconds: float
    queue: QueueName = "small"
    task: str = RUN_JOB

    @property
    def options(self) -> dict[str, Any]:
        """What to give to Celery's `send_task` beside the task's name."""
        return {
            "args": [self.job_id],
            "queue": broker_queue(self.queue),
            "soft_time_limit": self.timeout_seconds,
            "time_limit": self.timeout_seconds + HARD_LIMIT_GRACE_SECONDS,
            "ignore_result": True,
        }


def broker_queue(queue: str) -> str:
    """The name at the broker, which is the name of a Redis key that its access rules know."""
    return f"celery-{queue}"
