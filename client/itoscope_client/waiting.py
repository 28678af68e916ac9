"""The wait for a job by long polls, between which the connection may break.

With a listener the job's events are followed between polls, so that progress is shown at once.
"""

from collections.abc import Mapping
from math import inf
from typing import Any

from itoscope_client import calls, flows
from itoscope_client.errors import JobCancelled, JobFailed, Unreachable
from itoscope_client.flows import Retries
from itoscope_client.progress import SILENCE, TERMINAL, EventFollower, Listener, silent

FIRST_WAIT, LONG_WAIT = 1, 5
"""Seconds that a poll may last: short at first, longer for jobs that run for minutes."""
EAGER_SECONDS = 20.0


class WaitingTimedOut(TimeoutError):
    """The job, or batch, has not ended within the given time; it continues."""

    def __init__(self, job_id: str, seconds: float) -> None:
        self.job_id = job_id
        self.seconds = seconds
        super().__init__(
            f"{job_id} had not ended after {seconds:g} s; it continues. {how_to_resume(job_id)}"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return WaitingTimedOut, (self.job_id, self.seconds)


def how_to_resume(job_id: str) -> str:
    """Write how to wait for a job or a batch again, and how to cancel it."""
    if job_id.startswith("batch_"):
        resume = f"Resume with client.wait_batch({job_id!r}) or `itoscope batch {job_id}`"
        return f"{resume}; cancel with client.cancel_batch({job_id!r})."
    resume = f"Resume with client.wait({job_id!r}) or `itoscope watch {job_id}`"
    return f"{resume}; cancel with client.cancel({job_id!r})."


def ended(
    job_id: str, retries: Retries, listener: Listener, timeout: float | None
) -> flows.Flow[dict[str, Any]]:
    """Return the job's record once it has ended, however it ended. Raises WaitingTimedOut."""
    began = flows.clock()
    events = EventFollower(job_id, listener)
    try:
        while True:
            elapsed = flows.clock() - began
            left = None if timeout is None else timeout - elapsed
            # A stream sends at most once a second: the end of a time limit needs polls.
            listens = listener is not silent and events.worthwhile
            follows = listens and (left is None or left > SILENCE)
            wait = 0 if follows else FIRST_WAIT if elapsed < EAGER_SECONDS else LONG_WAIT
            if left is not None:
                wait = min(wait, max(0, int(left)))
            record = yield from flows.document(
                calls.get_job(job_id, wait), flows.limited(retries, left)
            )
            events.update(record)
            if record["state"] in TERMINAL:
                return record
            if left is not None and left <= 0:
                assert timeout is not None
                raise WaitingTimedOut(job_id, timeout)
            if follows:
                yield from events.follow(
                    until=inf if timeout is None else began + timeout - SILENCE
                )
            elif wait == 0:
                yield flows.Pause(0.1 if left is None else min(0.1, max(0.0, left)))
    except GeneratorExit:
        raise
    except BaseException as error:
        # The end of the wait, for example by Ctrl-C, does not end the job.
        if isinstance(error, Unreachable) or not isinstance(error, Exception):
            error.add_note(f"{job_id} continues. {how_to_resume(job_id)}")
        raise


def result(record: Mapping[str, Any], retries: Retries) -> flows.Flow[dict[str, Any]]:
    """Return the result document of a job that has ended. Raises JobFailed, JobCancelled."""
    if record["state"] == "failed":
        raise JobFailed(record["id"], record.get("error") or {})
    if record["state"] == "cancelled":
        raise JobCancelled(f"{record['id']} was cancelled and has no result.")
    return (yield from flows.document(calls.get_result(record["id"]), retries))
