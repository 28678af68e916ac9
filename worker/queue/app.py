"""The worker's composition root: settings, Celery, stores. Only here is the environment read."""

import gc
import os
import socket
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import cache, partial
from typing import Any

import structlog
from celery import Celery, signals
from celery.worker import state

from contract.messages import HARD_LIMIT_GRACE_SECONDS, HELP_JOB, RUN_JOB, broker_queue
from contract.results import Result
from storage.configuration import BadSettings, read
from storage.redis.connection import WeakDurability, broker_url, check_durability, connect
from storage.redis.jobs import JobStore
from storage.redis.queue import CeleryQueue
from storage.stores import Claim, Stores, StoreUnavailable
from storage.telemetry import Traces, TracingMissing, configure_logs, traces
from worker.fan_out.shards import Share, Sum
from worker.progress import Report
from worker.queue import lease, precompile
from worker.queue.liveness import Heartbeat, Pulse, heartbeat_step, watchdog_step
from worker.queue.settings import WorkerSettings
from worker.queue.tasks import Computation, help_job, run_job

SOFT_SHUTDOWN_SECONDS = 20.0
"""A running job gets this long to finish when the worker is stopped; then it goes to another."""
PATIENCE_SECONDS = SOFT_SHUTDOWN_SECONDS + 10.0
"""A worker that has not ended by then, although it was asked to, is killed; Compose gives 40 s."""
LONGEST_JOB_SECONDS = 86_400
ALIVE_SECONDS = 30.0

_CONFIGURATION = {
    "task_create_missing_queues": True,
    "task_serializer": "json",
    "accept_content": ["json"],
    "task_ignore_result": True,
    "task_acks_late": True,
    "task_reject_on_worker_lost": True,
    "worker_prefetch_multiplier": 1,
    "worker_disable_prefetch": True,
    # These are a backstop: each message carries its job's own limits.
    "task_soft_time_limit": LONGEST_JOB_SECONDS,
    "task_time_limit": LONGEST_JOB_SECONDS + HARD_LIMIT_GRACE_SECONDS,
    # Leases notice a lost worker. If this were shorter than a job, the broker would hand the job
    # out again while it runs.
    "broker_transport_options": {
        "visibility_timeout": LONGEST_JOB_SECONDS,
        "socket_timeout": 5,
        "socket_connect_timeout": 2,
        "socket_keepalive": True,
        "health_check_interval": 5,
    },
    "broker_connection_retry": True,
    "broker_connection_retry_on_startup": True,
    "broker_connection_max_retries": None,
    # Redis in trouble (READONLY, BUSY, NOPERM) is treated like a lost connection; otherwise its
    # answer would end the worker.
    "broker_channel_error_retry": True,
    "worker_cancel_long_running_tasks_on_connection_loss": False,
    "worker_enable_prefetch_count_reduction": False,
    "worker_soft_shutdown_timeout": SOFT_SHUTDOWN_SECONDS,
    # Memory does not grow with the jobs (measured over 1 500); a new child costs 1.2 s of CPU time,
    # most of it for imports.
    "worker_max_tasks_per_child": 2000,
    # Peak resident memory in kB: what one large job took is returned before the next begins.
    "worker_max_memory_per_child": 1_000_000,
    # A message sent to a child that was just ending goes to another child after 1 s, not 10 s. If
    # the first child did the work after all, the record says so: nothing is done twice.
    "worker_lost_wait": 1.0,
    # A child is up once the numerical libraries are imported, which takes seconds on a cold disk.
    "worker_proc_alive_timeout": 60.0,
    # Write access to Redis must not command the worker; heartbeats go through the job store.
    "worker_enable_remote_control": False,
    "worker_send_task_events": False,
    "worker_hijack_root_logger": False,
    "worker_redirect_stdouts": False,
}

_THREADS = (
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS", "NUMBA_NUM_THREADS",
)  # fmt: skip

_log = structlog.get_logger(__name__)


def main(arguments: Sequence[str] = ()) -> int:
    """Run the worker until a signal ends it and return the exit status.

    With the argument `alive`, return 0 if a worker of this host is alive and 1 if none is.
    """
    try:
        settings = read(WorkerSettings)
    except BadSettings as error:
        return _refused(str(error))
    if list(arguments) == ["alive"]:
        return _alive(settings)
    if arguments:
        return _refused(f"unknown argument {arguments[0]!r}; the worker takes none, or `alive`")
    return run(settings)


def run(settings: WorkerSettings, computation: Computation | None = None) -> int:
    """Run the worker until a signal ends it and return the exit status.

    computation   replaces `worker.jobs.kinds`
    """
    configure_logs()
    # NumPy and numba read these when they are imported, which only the forked children do.
    os.environ.update(dict.fromkeys(_THREADS, str(settings.threads)))
    # Billiard reads this when it is imported: SIGTERM then gives running jobs SOFT_SHUTDOWN_SECONDS
    # instead of for ever.
    os.environ.setdefault("REMAP_SIGTERM", "SIGQUIT")
    try:
        traces("worker").close()
        _wait_for_redis(settings)
    except (TracingMissing, WeakDurability) as error:
        return _refused(str(error))
    except KeyboardInterrupt:
        return 130
    signals.setup_logging.connect(_keep_our_logging)
    signals.worker_process_init.connect(partial(_give_way, settings.niceness), weak=False)
    if computation is None:
        precompile.copy_compiled_cache()
        signals.worker_process_init.connect(_warm_up)
    app = create_app(settings, computation or computation_of(settings))
    worker = app.Worker(
        # Workers on one machine differ in the process id; those in containers, where every process
        # is number 1, differ in the host name.
        hostname=f"itoscope-{os.getpid()}@{socket.gethostname()}",
        pool="prefork",
        concurrency=settings.worker_processes,
        queues=[broker_queue(queue) for queue in settings.queues],
        quiet=True,
        without_gossip=True,
        without_mingle=True,
        without_heartbeat=True,
    )
    worker.start()
    # Celery counts a requested stop as a failure when it came by the remapped SIGTERM.
    asked = any(
        flag is not None and flag is not False
        for flag in (state.should_stop, state.should_terminate)
    )
    return 0 if asked else int(worker.exitcode or 0)


def create_app(settings: WorkerSettings, computation: Computation) -> Celery:
    """Build the Celery application with its two tasks."""
    app = Celery("itoscope-worker", broker=broker_url(settings.redis_url), set_as_current=False)
    app.conf.update(_CONFIGURATION)

    publish = CeleryQueue(settings.redis_url).publish

    @cache
    def stores() -> Stores:
        """Open this child's own stores: connections must not cross a fork."""
        return _stores(settings)

    @cache
    def tracing() -> Traces:
        """Start this child's own tracing: its thread does not cross a fork."""
        own = traces("worker")
        signals.worker_process_shutdown.connect(lambda **_: own.close(), weak=False)
        return own

    def run_claimed(task: Any, job_id: str) -> None:
        owner = lease.owner(task.request.hostname, task.request.id)
        run_job(
            job_id,
            owner,
            stores(),
            settings.lease_seconds,
            computation,
            publish,
            tracing=tracing(),
            spoiled=_retire,
        )

    def help_claimed(task: Any, job_id: str) -> None:
        owner = lease.owner(task.request.hostname, task.request.id)
        help_job(job_id, owner, stores(), settings.lease_seconds, computation, _retire)

    app.task(name=RUN_JOB, bind=True)(run_claimed)
    app.task(name=HELP_JOB, bind=True)(help_claimed)

    pulse = Pulse()
    timeout = min(5.0, settings.lease_seconds / lease.BEATS_PER_LEASE)
    own = JobStore(connect(settings.redis_url, timeout=timeout))
    send_due = _webhook_sender(settings, own)
    overruns = lease.Overruns(own, settings.queues, settings.large_job_seconds)
    app.steps["worker"].add(
        lease.lease_step(own, settings.lease_seconds, publish, send_due, overruns)
    )
    app.steps["worker"].add(
        heartbeat_step(Heartbeat(own, pulse, queues=settings.queues), PATIENCE_SECONDS)
    )
    app.steps["consumer"].add(watchdog_step(pulse))
    return app


def _retire() -> None:
    """Have this child end after its job; another takes its place."""
    import billiard.pool  # not before REMAP_SIGTERM is set

    _log.warning("a child ends, because what stopped its job may have spoiled its libraries")
    # The child's loop has one way to end in order after a job: it looks at its memory. Where the
    # task raises SystemExit instead, the worker counts it as lost and delivers its message again.
    billiard.pool.mem_rss = lambda: sys.maxsize


def _webhook_sender(settings: WorkerSettings, jobs: JobStore) -> Callable[[], None] | None:
    """Return the function that sends due webhooks, or None if the operator allows no host."""
    if not settings.webhook_hosts:
        return None
    from worker.queue.webhooks import WebhookSender

    return WebhookSender(jobs, settings.webhook_hosts, settings.webhook_networks).send_due


def computation_of(settings: WorkerSettings) -> Computation:
    """Return the numerical computation, imported at its first use.

    The main process never loads the numerical libraries.
    """

    def execute(claim: Claim, stores: Stores, report: Report, share: Share) -> Result:
        from worker.jobs import kinds

        return kinds.execute(claim, stores, report, share, settings.fan_out_increments)

    def helper(
        claim: Claim, stores: Stores, work: bytes, shards: int
    ) -> AbstractContextManager[Sum]:
        from worker.jobs import kinds

        return kinds.helper(claim, stores, work, shards)

    return Computation(execute, helper, settings.job_memory_bytes)


def _keep_our_logging(**_: Any) -> None:
    """Do nothing: a connected receiver keeps Celery from configuring logs itself."""


def _give_way(niceness: int, **_: Any) -> None:
    """Lower this child's priority: requests and leases suffer from a delay, a job hardly does."""
    os.nice(niceness)


def _warm_up(**_: Any) -> None:
    """Import the numerical libraries before the first job asks for them."""
    try:
        import worker.jobs.kinds  # noqa: F401
    except Exception:
        _log.exception("the numerical core cannot be imported")
    # The libraries stay loaded; each garbage collection through them costs a small job 5 ms.
    gc.collect()
    gc.freeze()


def _stores(settings: WorkerSettings) -> Stores:
    """Open the stores of a child.

    The object store's library starts threads, which a child would miss if its parent had used it.
    """
    from storage.blobs import open_blobs

    datasets, results = open_blobs(settings.data_dir.absolute(), settings.blob_url)
    jobs = JobStore(connect(settings.redis_url), queues=settings.queues)
    return Stores(jobs=jobs, datasets=datasets, results=results)


def _wait_for_redis(settings: WorkerSettings) -> None:
    """Wait until a durable Redis answers, however long that takes. Raises WeakDurability."""
    client = connect(settings.redis_url)
    warned = False
    while True:
        try:
            return check_durability(client, allow_weak=settings.allow_weak_durability)
        except StoreUnavailable as error:
            if not warned:
                _log.warning("waiting for Redis", reason=str(error))
            warned = True
        time.sleep(0.5)


def _alive(settings: WorkerSettings) -> int:
    try:
        jobs = JobStore(connect(settings.redis_url))
        return 0 if jobs.workers_alive(ALIVE_SECONDS, socket.gethostname()) else 1
    except StoreUnavailable as error:
        return _refused(str(error), status=1)


def _refused(why: str, status: int = 2) -> int:
    print(f"itoscope worker: {why}", file=sys.stderr)
    return status
