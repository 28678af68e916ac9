"""The dataset of a job, opened as memory maps."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from contract.datasets import Dataset
from contract.jobs import DataJob
from contract.problems import Problem, ProblemError, problem
from contract.results import Notice
from contract.symbols import Symbols, symbols_of_dataset
from storage.stores import Stores
from worker.identification.data.trajectories import LARGEST_SIZE, SMALLEST_SIZE, Trajectories
from worker.jobs.problems import JobProblem


@dataclass(frozen=True, slots=True)
class Record:
    """A dataset's description and its samples.

    names    name of each trajectory; empty where the upload names none
    groups   group of each trajectory; empty without groups
    """

    dataset: Dataset
    data: Trajectories
    names: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()

    @property
    def symbols(self) -> Symbols:
        """Symbol of each variable."""
        return symbols_of_dataset(self.dataset)

    @property
    def warnings(self) -> tuple[Notice, ...]:
        """Warnings of the reader."""
        return self.dataset.report.warnings

    def periods(self, job: DataJob) -> Mapping[str, float]:
        """Return the period of each angle, by standard name."""
        return job.parameters.periodic


@contextmanager
def record_of(tenant: str, job: DataJob, stores: Stores) -> Iterator[Record]:
    """Open the job's dataset as memory maps; memory does not grow with it.

    Raises JobProblem where the dataset is gone.
    """
    dataset = stores.datasets.get(tenant, job.dataset) if job.dataset is not None else None
    if dataset is None:
        raise JobProblem(_dataset_gone(job.dataset))
    for place, parameters in job.parameter_sets().items():
        check_sizes(f"{place}/domain", parameters.domain)
        check_sizes(f"{place}/periodic", parameters.periodic)
    try:
        files = stores.datasets.files(tenant, dataset.id)
        with files as folder:
            yield _record_in(Path(folder), dataset)
    except KeyError as error:
        raise JobProblem(_dataset_gone(dataset.id)) from error


def _record_in(folder: Path, dataset: Dataset) -> Record:
    """Open the files of a dataset."""

    def opened(name: str) -> Any:
        path = folder / f"{name}.npy"
        return np.load(path, mmap_mode="r") if path.exists() else None

    words: dict[str, list[str]] = {}
    if (folder / "trajectories.json").exists():
        words = json.loads((folder / "trajectories.json").read_bytes())
    arrays = (opened(name) for name in ("states", "times", "segments", "inputs", "errors"))
    return Record(
        dataset,
        Trajectories(*arrays),
        tuple(words.get("names", ())),
        tuple(words.get("groups", ())),
    )


def check_variables(where: str, given: Mapping[str, object], known: Sequence[str]) -> None:
    """Check that the names given at a place of the job are known variables. Raises JobProblem."""
    unknown = sorted(set(given) - set(known))
    if unknown:
        detail = f"there is no {unknown[0]!r} here; known: {', '.join(known)}"
        raise JobProblem(invalid(f"{where}/{unknown[0]}", detail, f"Use {' or '.join(known[:6])}."))


def check_sizes(where: str, given: object) -> None:
    """Check that states at a place of the job have sizes to compute with. Raises JobProblem.

    A domain up to 1e308 ended as an internal error.
    """
    match given:
        case Mapping():
            for name, value in given.items():
                check_sizes(f"{where}/{name}", value)
        case (float() as low, float() as high) if 0 < high - low < 1e-9 * max(abs(low), abs(high)):
            detail = f"from {low!r} to {high!r} there are few doubles"
            raise JobProblem(invalid(where, detail, "Measure the state from another origin."))
        case Sequence() if not isinstance(given, str):
            for place, value in enumerate(given):
                check_sizes(f"{where}/{place}", value)
        case int() | float() if given and not SMALLEST_SIZE <= abs(given) <= LARGEST_SIZE:
            detail = f"{given:g} is too large or too small to compute with"
            hint = "Use other units, and null for an end that is open."
            raise JobProblem(invalid(where, detail, hint))


@contextmanager
def understood(pointer: str, symbols: Symbols) -> Iterator[None]:
    """Turn the error of a word that names no variable, or of a wrong term, into a JobProblem."""
    try:
        yield
    except ValueError as error:
        hint = f"The variables are {', '.join(symbols.symbols.values())}."
        raise JobProblem(invalid(pointer, str(error), hint)) from None


def invalid(pointer: str, detail: str, hint: str) -> Problem:
    """Write the problem of a job that does not fit its data or model, at a place of the job."""
    return problem(
        422,
        "invalid-request",
        "The job does not fit the data or model",
        detail[:1].upper() + detail[1:] + ".",
        hint,
        errors=(ProblemError(detail=detail, pointer=f"#/{pointer}"),),
    )


def _dataset_gone(dataset: str | None) -> Problem:
    return problem(
        422,
        "dataset-gone",
        "The dataset is not there",
        f"Dataset {dataset} was deleted after the job was accepted.",
        "Upload the data again and submit the job anew.",
    )
