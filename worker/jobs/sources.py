"""The dataset of a job, opened as memory maps."""

import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from contract.comparison import ComparisonJob
from contract.datasets import Dataset, DatasetReport, LengthReport
from contract.jobs import DataJob
from contract.problems import Problem, ProblemError, problem
from contract.results import Notice
from contract.symbols import Symbols, symbols_of_dataset
from storage.stores import Stores
from worker.identification.data.trajectories import (
    LARGEST_SIZE,
    SMALLEST_SIZE,
    Trajectories,
)
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


@dataclass(frozen=True, slots=True)
class Groups:
    """Records of groups, the one that others are compared with first.

    records    record of each group, whose description is that of all its data
    datasets   datasets of each group
    """

    records: Mapping[str, Record]
    datasets: Mapping[str, tuple[Dataset, ...]]

    @property
    def first(self) -> Dataset:
        """First dataset of the first group."""
        return next(iter(self.datasets.values()))[0]

    @property
    def symbols(self) -> Symbols:
        """Symbol of each variable, which is the same in all groups."""
        return symbols_of_dataset(self.first)

    @property
    def warnings(self) -> tuple[Notice, ...]:
        """Warnings of the reader."""
        every = (d for datasets in self.datasets.values() for d in datasets)
        return tuple(notice for dataset in every for notice in dataset.report.warnings)

    def periods(self, job: DataJob) -> Mapping[str, float]:
        """Return the period of each angle, by standard name."""
        return job.parameters.periodic


@contextmanager
def record_of(tenant: str, job: DataJob, stores: Stores) -> Iterator[Record]:
    """Open the job's dataset, or all of them as one record; memory does not grow with it.

    Raises JobProblem where a dataset is gone.
    """
    _check_parameters(job)
    with (
        ExitStack() as held,
        _joined(
            [
                held.enter_context(_opened(tenant, dataset, stores))
                for dataset in job.dataset_ids or (None,)
            ]
        ) as record,
        _of_trajectories(record, job.trajectories) as chosen,
    ):
        yield chosen


@contextmanager
def _opened(tenant: str, dataset_id: str | None, stores: Stores) -> Iterator[Record]:
    dataset = stores.datasets.get(tenant, dataset_id) if dataset_id is not None else None
    if dataset is None:
        raise JobProblem(_dataset_gone(dataset_id))
    try:
        files = stores.datasets.files(tenant, dataset.id)
        with files as folder:
            yield _record_in(Path(folder), dataset)
    except KeyError as error:
        raise JobProblem(_dataset_gone(dataset.id)) from error


def _check_parameters(job: DataJob) -> None:
    for place, parameters in job.parameter_sets().items():
        check_sizes(f"{place}/domain", parameters.domain)
        check_sizes(f"{place}/periodic", parameters.periodic)


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


@contextmanager
def _of_trajectories(record: Record, numbers: Sequence[int] | None) -> Iterator[Record]:
    """Yield a record of some trajectories alone, with their samples and no others.

    Raises JobProblem where the record has no trajectory of a number.
    """
    if numbers is None:
        yield record
        return
    data, chosen = record.data, np.unique(np.asarray(numbers, dtype=np.int64))
    n_trajectories = record.dataset.report.n_trajectories
    if chosen[-1] >= n_trajectories:
        detail = f"there is no trajectory {chosen[-1]}; the last one is {n_trajectories - 1}"
        raise JobProblem(invalid("trajectories", detail, "The first one has the number 0."))
    rows = np.asarray(data.segments)[np.isin(data.segments[:, 2], chosen)]
    lengths = rows[:, 1] - rows[:, 0]
    stops = np.cumsum(lengths)
    moved = [stops - lengths, stops, np.searchsorted(chosen, rows[:, 2])]
    segments = np.stack(moved, axis=1).astype(np.int64)
    with tempfile.TemporaryFile() as file:
        taken = partial(_samples_of, rows=rows, file=file)
        alone = Trajectories(
            taken(data.states),
            taken(data.times),
            segments,
            None if data.inputs is None else taken(data.inputs),
            None if data.errors is None else taken(data.errors),
        )
        yield Record(
            record.dataset.model_copy(update={"report": _report_of(alone, record.dataset.report)}),
            alone,
            tuple(record.names[k] for k in chosen.tolist()) if record.names else (),
            tuple(record.groups[k] for k in chosen.tolist()) if record.groups else (),
        )


def _samples_of(samples: Any, rows: NDArray[np.int64], file: IO[bytes]) -> Any:
    """Return the samples of some segments, one segment after the other.

    Those that lie side by side are a view. Others are copied to the file.
    """
    if np.array_equal(rows[1:, 0], rows[:-1, 1]):
        return samples[rows[0, 0] : rows[-1, 1]]
    return _copied([samples[first:stop] for first, stop, _ in rows], file)


ROWS = 1 << 16
"""Number of samples that are copied at once."""


def _copied(pieces: Sequence[Any], file: IO[bytes]) -> Any:
    """Copy arrays, one after the other, to the end of a file, and return them as one array in it.

    Memory does not grow with them.
    """
    offset = file.seek(0, os.SEEK_END)
    for piece in pieces:
        for start in range(0, len(piece), ROWS):
            file.write(np.ascontiguousarray(piece[start : start + ROWS]).tobytes())
    file.flush()
    shape = (sum(map(len, pieces)), *pieces[0].shape[1:])
    return np.memmap(file, pieces[0].dtype, mode="r", offset=offset, shape=shape)


def _report_of(alone: Trajectories, whole: DatasetReport) -> DatasetReport:
    """Return a dataset's report with the sizes of some of its trajectories."""
    starts, stops = alone.segments[:, 0], alone.segments[:, 1]
    lengths = np.bincount(alone.segments[:, 2], weights=stops - starts)
    columns = range(alone.dimension)
    return whole.model_copy(
        update={
            "n_trajectories": alone.n_trajectories,
            "n_segments": len(alone.segments),
            "n_samples": len(alone.times),
            "n_increments": alone.n_increments,
            "duration": float((alone.times[stops - 1] - alone.times[starts]).sum()),
            "lengths": LengthReport(
                min=int(lengths.min()), median=float(np.median(lengths)), max=int(lengths.max())
            ),
            "range": tuple(
                (float(alone.states[:, k].min()), float(alone.states[:, k].max())) for k in columns
            ),
        }
    )


@contextmanager
def groups_of(tenant: str, job: ComparisonJob, stores: Stores) -> Iterator[Groups]:
    """Open the datasets of a job's groups; memory does not grow with them.

    Raises JobProblem where a dataset is gone.
    """
    _check_parameters(job)
    with ExitStack() as held:

        def opened(dataset_id: str | None) -> Record:
            return held.enter_context(_opened(tenant, dataset_id, stores))

        if job.groups:
            parts = {name: tuple(map(opened, ids)) for name, ids in job.groups.items()}
        else:
            whole = opened(job.dataset)
            numbers: dict[str, list[int]] = {}
            for number, name in enumerate(whole.groups):
                numbers.setdefault(name, []).append(number)
            parts = {
                name: (held.enter_context(_of_trajectories(whole, chosen)),)
                for name, chosen in numbers.items()
            }
        names = job.in_order(tuple(parts))
        yield Groups(
            {name: held.enter_context(_joined(parts[name])) for name in names},
            {name: tuple(record.dataset for record in parts[name]) for name in names},
        )


@contextmanager
def _joined(records: Sequence[Record]) -> Iterator[Record]:
    """Yield one record of all trajectories; those of several datasets are copied to a file."""
    first = records[0]
    if len(records) == 1:
        yield first
        return
    segments, samples, trajectories = [], 0, 0
    for record in records:
        segments.append(record.data.segments + np.array([samples, samples, trajectories]))
        samples += len(record.data.times)
        trajectories += record.dataset.report.n_trajectories
    with tempfile.TemporaryFile() as file:

        def together(name: str) -> Any:
            pieces = [getattr(record.data, name) for record in records]
            return None if any(piece is None for piece in pieces) else _copied(pieces, file)

        data = Trajectories(
            together("states"),
            together("times"),
            np.concatenate(segments).astype(np.int64),
            together("inputs"),
            together("errors"),
        )
        every = (notice for record in records for notice in record.warnings)
        report = _report_of(data, first.dataset.report).model_copy(
            update={"warnings": tuple({(w.code, w.message): w for w in every}.values())}
        )
        yield Record(
            first.dataset.model_copy(update={"report": report}), data, tuple(_names_of(records))
        )


def _names_of(records: Sequence[Record]) -> Iterator[str]:
    """Yield a name for each trajectory of several datasets, which begins with the dataset's."""
    labels = [record.dataset.label or record.dataset.id for record in records]
    for record, label in zip(records, labels, strict=True):
        alone = labels.count(label) == 1
        source = label if alone else f"{label} ({record.dataset.id})"
        count = record.dataset.report.n_trajectories
        names = record.names or tuple(str(n + 1) for n in range(count))
        if count == 1 and not record.names:
            yield source
        else:
            yield from (f"{source}: {name}" for name in names)


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
