"""What travels through the queue: a task name and ids, never data."""

RUN_JOB = "itoscope.run_job"
"""Task with one argument, the job id."""

HARD_LIMIT_GRACE_SECONDS = 30.0
"""Between a job's own time limit, which fails it politely, and the end of the process that runs it."""

QUEUE = "celery"
"""The one queue of this release (the name the broker's access rules know)."""
