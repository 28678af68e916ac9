"""Problems that the job store itself writes into a record when no worker is left to report them."""

from contract.problems import Problem, problem


def worker_lost(attempts: int) -> Problem:
    """Return the problem of a job whose attempts all ended with a lost worker."""
    return problem(
        500,
        "worker-lost",
        "The worker was lost",
        f"The job was started {attempts} times, and each time its worker stopped without a result.",
        hints=(
            "The computation may need more memory than the worker has: "
            "try fewer samples, kernels or terms.",
            "If smaller jobs fail in the same way, the workers have a problem: "
            "contact the operator.",
        ),
    )


def timed_out(timeout_seconds: float | None = None) -> Problem:
    """Return the problem of a job that was still running when its time limit had passed."""
    limit = (
        "its time limit" if timeout_seconds is None else f"its time limit of {timeout_seconds:g} s"
    )
    return problem(
        504,
        "timed-out",
        "The job exceeded its time limit",
        f"The job was still running after {limit}.",
        hints=(
            "Increase `timeout_seconds`, or reduce the job: fewer samples, terms or eigenpairs.",
        ),
    )
