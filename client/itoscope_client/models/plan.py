"""A plan: what to record so that a quantity of a model has a given error."""

from collections.abc import Mapping
from typing import Any

from itoscope_client.errors import needed


class Plan:
    """What to record, in words (`plan.message`, `print(plan)`) and numbers.

    document   the service's result document, with what has no property here
    """

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document = document

    @property
    def job_id(self) -> str:
        """Identifier of the job that made the plan."""
        return str(self.document["job"])

    @property
    def message(self) -> str:
        """The plan in words."""
        return str(self.document["message"])

    @property
    def duration(self) -> float:
        """Total duration of all trajectories [time]."""
        return float(self.document["best"]["duration"])

    @property
    def dt(self) -> float:
        """Sampling interval [time]."""
        return float(self.document["best"]["dt"])

    @property
    def trajectories(self) -> int:
        """Number of trajectories."""
        return int(self.document["best"]["trajectories"])

    @property
    def samples(self) -> int:
        """Number of samples of all trajectories."""
        return int(self.document["best"]["samples"])

    @property
    def precision(self) -> float:
        """Standard error of the quantity over its value, if the plan is followed."""
        return float(self.document["quantity"]["precision"])

    @property
    def reachable(self) -> float | None:
        """Standard error over the value after `max_duration`; None if none was given."""
        value = self.document.get("reachable")
        return None if value is None else float(value)

    @property
    def check(self) -> Mapping[str, Any]:
        """The simulated records: `predicted`, `claimed` and `realised` relative errors."""
        check: Mapping[str, Any] = self.document["check"]
        return check

    @property
    def warnings(self) -> tuple[Mapping[str, Any], ...]:
        """Warnings, each with `code`, `message` and `details`."""
        return tuple(self.document.get("warnings", ()))

    def to_frame(self) -> Any:
        """Return every sampling interval as a row of a pandas DataFrame. Raises MissingDependency.

        A row has the interval, the durations with and without noise, trajectories and samples.
        """
        return needed("pandas", "to_frame()").DataFrame(list(self.document["options"]))

    def __str__(self) -> str:
        return self.message

    def __repr__(self) -> str:
        return f"<Plan: {self.message}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return Plan, (self.document,)
