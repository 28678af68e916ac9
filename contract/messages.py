"""What travels through the queue: a task name and ids, never data."""

RUN_JOB = "itoscope.run_job"
"""Task with one argument, the job id."""

QUEUE = "celery"
"""The one queue of this release (the name the broker's access rules know)."""
