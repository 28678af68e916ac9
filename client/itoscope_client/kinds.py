"""The kinds of job: a method of both clients for each, and the class of its result."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Unpack

from itoscope_client.calls import given
from itoscope_client.errors import InputError
from itoscope_client.flows import Flow
from itoscope_client.inputs import LayoutOptions
from itoscope_client.models.comparison import Comparison
from itoscope_client.models.estimates import Passage, passage_of
from itoscope_client.models.model import Model, model_of
from itoscope_client.models.plan import Plan
from itoscope_client.models.population import Population
from itoscope_client.models.rolling import Rolling
from itoscope_client.models.sweep import Sweep
from itoscope_client.operations import (
    Document,
    Operations,
    computed,
    listener,
    of_data,
    operation,
    uploaded,
)
from itoscope_client.progress import Listener, silent
from itoscope_client.requests import (
    JOBS,
    AnalysisParameters,
    IdentificationParameters,
    ModelTerms,
    PlanTarget,
    RollingWindows,
    checked,
)

__all__ = ["Comparison", "Model", "Plan", "Population", "Rolling", "Sweep"]


class Kinds(Operations):
    """One method for each kind of job."""

    @operation
    def identify(
        self,
        data: Any,
        *,
        t: Any = None,
        parameters: IdentificationParameters | None = None,
        analysis: AnalysisParameters | None = None,
        preset: Literal["paper"] | None = None,
        labels: Mapping[str, str] | None = None,
        timeout_seconds: float | None = None,
        timeout: float | None = None,
        progress: bool | Listener = True,
        **layout: Unpack[LayoutOptions],
    ) -> Flow[Model]:
        """Identify a model from data: upload, submit, wait, read.

        data         NumPy array, list of trajectories, dict of arrays, pandas or xarray object, or
                     a path: CSV, JSON, NPY, NPZ, Parquet, Arrow, and, converted here, HDF5, MATLAB,
                     Zarr, netCDF, xvg
        t            sample times of arrays that are not `dt` apart
        parameters   parameters of the identification: {"library": {"polynomial_degree": 3}}
        analysis     quantities to compute from the model: {"passages": [{"from": -1, "to": 1}]}
        preset       "paper"
        timeout_seconds  time limit of the job on the worker
        timeout      seconds after which to stop waiting; the job continues
        progress     False for none, or a function that is given the job's record
        layout       dt, time_column, id_column, state_columns, ignored_columns, orientation, axes,
                     time_unit, state_unit, state_names, gap_factor

        Raises InputError, Problem, JobFailed, JobCancelled, WaitingTimedOut, Unreachable.
        """
        job = identification(parameters, analysis, preset, labels, timeout_seconds)
        document = yield from of_data(
            data, t, layout, job, self._retries, listener(progress), timeout
        )
        return model_of(document, ask=self._asking())

    @operation
    def roll(
        self,
        data: Any,
        *,
        t: Any = None,
        windows: RollingWindows | None = None,
        parameters: IdentificationParameters | None = None,
        confidence: float | None = None,
        labels: Mapping[str, str] | None = None,
        timeout_seconds: float | None = None,
        timeout: float | None = None,
        progress: bool | Listener = True,
        **layout: Unpack[LayoutOptions],
    ) -> Flow[Rolling]:
        """Fit a model in every window along one record of one variable: upload, submit, wait, read.

        data         one trajectory, in any form that `identify` accepts
        windows      number and length of the windows: {"count": 50, "share": 0.2}, or
                     {"length": 2000}
        confidence   confidence level of every interval; default: 0.95

        The other parameters and the errors are those of `identify`.
        """
        job = rolling(windows, parameters, confidence, labels, timeout_seconds)
        return Rolling(
            (yield from of_data(data, t, layout, job, self._retries, listener(progress), timeout))
        )

    @operation
    def population(
        self,
        data: Any,
        *,
        t: Any = None,
        parameters: IdentificationParameters | None = None,
        confidence: float | None = None,
        labels: Mapping[str, str] | None = None,
        timeout_seconds: float | None = None,
        timeout: float | None = None,
        progress: bool | Listener = True,
        **layout: Unpack[LayoutOptions],
    ) -> Flow[Population]:
        """Estimate how coefficients differ between records: upload, submit, wait, read.

        data         three trajectories or more, in any form that `identify` accepts, or a list of
                     files or ids of datasets, whose trajectories are the records: ["a.csv", …]
        confidence   confidence level of every interval; default: 0.95

        The other parameters and the errors are those of `identify`; the layout is that of every
        file.
        """
        job = populating(parameters, confidence, labels, timeout_seconds)
        parts = parts_of(data)
        if len(parts) == 1 and not is_dataset_id(parts[0]):
            found = of_data(parts[0], t, layout, job, self._retries, listener(progress), timeout)
            return Population((yield from found))
        job["datasets"] = yield from self._ids_of(parts, layout)
        found = computed(job, None, self._retries, listener(progress), timeout)
        return Population((yield from found))

    def _ids_of(self, parts: Sequence[Any], layout: LayoutOptions) -> Flow[list[str]]:
        """Return the ids of datasets, of which those that are no ids are uploaded."""
        ids: list[str] = []
        for part in parts:
            if is_dataset_id(part):
                ids.append(part)
            else:
                ids.append((yield from uploaded(part, None, layout, self._retries))["id"])
        return ids

    @operation
    def sweep(
        self,
        data: Any,
        *,
        over: Sequence[IdentificationParameters],
        t: Any = None,
        parameters: IdentificationParameters | None = None,
        analysis: AnalysisParameters | None = None,
        labels: Mapping[str, str] | None = None,
        timeout_seconds: float | None = None,
        timeout: float | None = None,
        progress: bool | Listener = True,
        **layout: Unpack[LayoutOptions],
    ) -> Flow[Sweep]:
        """Identify a model of the same data under each set of parameters, with sums taken once.

        over   replacements in `parameters` for each set:
               [{"library": {"polynomial_degree": 3}}, {"estimator": …}, …]

        The other parameters and the errors are those of `identify`. A set that has no model does
        not stop the others.
        """
        job = sweeping(over, parameters, analysis, labels, timeout_seconds)
        document = yield from of_data(
            data, t, layout, job, self._retries, listener(progress), timeout
        )
        return Sweep(document, ask=self._asking())

    @operation
    def compare(
        self,
        groups: Any,
        *,
        reference: str | None = None,
        parameters: IdentificationParameters | None = None,
        analysis: AnalysisParameters | None = None,
        labels: Mapping[str, str] | None = None,
        timeout_seconds: float | None = None,
        timeout: float | None = None,
        progress: bool | Listener = True,
        **layout: Unpack[LayoutOptions],
    ) -> Flow[Comparison]:
        """Compare groups: which coefficients and which time scales differ.

        groups      data of each group: {"control": "a.csv", "treated": ["b.csv", "c.csv"]}, in any
                    form that `identify` accepts, or ids of datasets; or one file, array or id whose
                    trajectories have groups, with `group_column`
        reference   group that the others are compared with; default: the first

        The other parameters and the errors are those of `identify`; the layout is that of every
        file.
        """
        job = comparing(reference, parameters, analysis, labels, timeout_seconds)
        if isinstance(groups, Mapping):
            found: dict[str, list[str]] = {}
            for name, given in groups.items():
                found[str(name)] = yield from self._ids_of(parts_of(given), layout)
            job["groups"] = found
        elif is_dataset_id(groups):
            job["dataset"] = groups
        else:
            dataset = yield from uploaded(groups, None, layout, self._retries)
            job["dataset"] = dataset["id"]
        document = yield from computed(job, None, self._retries, listener(progress), timeout)
        return Comparison(document, ask=self._asking())

    @operation
    def analyse(
        self,
        model: Model | str | ModelTerms,
        *,
        analysis: AnalysisParameters | None = None,
        labels: Mapping[str, str] | None = None,
        timeout_seconds: float | None = None,
        timeout: float | None = None,
        progress: bool | Listener = True,
    ) -> Flow[Model]:
        """Analyse a model's generator again, for other quantities.

        model   earlier model, id of a job, or terms:
                {"drift": {"x": {"x": -1}}, "diffusion": {"x,x": …}}
        """
        job = generating(model, analysis, labels, timeout_seconds)
        document = yield from computed(job, None, self._retries, listener(progress), timeout)
        return model_of(document, ask=self._asking())

    @operation
    def plan(
        self,
        model: Model | str | ModelTerms,
        *,
        target: PlanTarget | None = None,
        escape_time: float | None = None,
        relaxation_time: float | None = None,
        noise: float | None = None,
        dt: Sequence[float] | None = None,
        trajectory_duration: float | None = None,
        start: float | None = None,
        max_duration: float | None = None,
        seed: int | None = None,
        labels: Mapping[str, str] | None = None,
        timeout_seconds: float | None = None,
        timeout: float | None = None,
        progress: bool | Listener = True,
    ) -> Flow[Plan]:
        """Plan a measurement: how long and how often to record.

        model            earlier model, id of a job, or terms
        target           quantity and precision: {"quantity": "coefficient", "component": "x",
                         "term": "x^3", "precision": 0.05}, or {"quantity": "difference",
                         "component": "x", "term": "x", "other": -1.2, "power": 0.9}
        escape_time      instead of `target`: wanted standard error, as a fraction, of the slower
                         mean first-passage time between two wells
        relaxation_time  instead of `target`: that of the longest relaxation time
        noise            standard deviation of the measurement noise; default: that of the model's
                         data
        dt               sampling intervals to choose from
        trajectory_duration  duration of every trajectory; default: one for all
        start            state at which every trajectory begins; default: anywhere
        max_duration     longest total duration that can be recorded
        seed             seed of the simulated records
        """
        job = planning(
            model,
            target,
            escape_time,
            relaxation_time,
            noise=noise,
            dt=None if dt is None else list(dt),
            trajectory_duration=trajectory_duration,
            start=start,
            max_duration=max_duration,
            seed=seed,
            labels=labels,
            timeout_seconds=timeout_seconds,
        )
        return Plan((yield from computed(job, None, self._retries, listener(progress), timeout)))

    @operation
    def passage(self, model: Model | str, start: Any, end: Any) -> Flow[Passage]:
        """Return a model's first-passage time from its result, or else computed by the service."""
        known = model.known_passage(start, end) if isinstance(model, Model) else None
        if known is not None:
            return known
        wanted: AnalysisParameters = {"passages": [{"from": _place(start), "to": _place(end)}]}
        job = generating(model, wanted, None)
        document = yield from computed(job, None, self._retries, silent, None)
        found = Model(document).known_passage(start, end)
        # None is found where the service spells the places in another way.
        return found if found is not None else passage_of(document["generator"]["passages"][0])


def identification(
    parameters: IdentificationParameters | None,
    analysis: AnalysisParameters | None,
    preset: str | None,
    labels: Mapping[str, str] | None,
    timeout_seconds: float | None = None,
) -> Document:
    """Return the document of an identification without its dataset. Raises InputError."""
    return _job(
        "identification",
        parameters=parameters,
        analysis=analysis,
        preset=preset,
        labels=labels,
        timeout_seconds=timeout_seconds,
    )


def rolling(
    windows: RollingWindows | None,
    parameters: IdentificationParameters | None,
    confidence: float | None,
    labels: Mapping[str, str] | None,
    timeout_seconds: float | None = None,
) -> Document:
    """Return the document of a rolling job without its dataset. Raises InputError."""
    return _job(
        "rolling",
        windows=windows,
        parameters=parameters,
        confidence=confidence,
        labels=labels,
        timeout_seconds=timeout_seconds,
    )


def populating(
    parameters: IdentificationParameters | None,
    confidence: float | None,
    labels: Mapping[str, str] | None,
    timeout_seconds: float | None = None,
) -> Document:
    """Return the document of a population job without its dataset. Raises InputError."""
    return _job(
        "population",
        parameters=parameters,
        confidence=confidence,
        labels=labels,
        timeout_seconds=timeout_seconds,
    )


def sweeping(
    over: Sequence[IdentificationParameters],
    parameters: IdentificationParameters | None,
    analysis: AnalysisParameters | None,
    labels: Mapping[str, str] | None,
    timeout_seconds: float | None = None,
) -> Document:
    """Return the document of a sweep without its dataset. Raises InputError."""
    if isinstance(over, Mapping) or not all(isinstance(put, Mapping) for put in over):
        example = "[{'library': {'polynomial_degree': 3}}, …]"
        raise InputError(f"`over` is a list of parameters, one object for each model: {example}")
    variants = [
        checked(dict(put), IdentificationParameters, f"over[{number}]")
        for number, put in enumerate(over)
    ]
    return _job(
        "sweep",
        variants=variants,
        parameters=parameters,
        analysis=analysis,
        labels=labels,
        timeout_seconds=timeout_seconds,
    )


def comparing(
    reference: str | None,
    parameters: IdentificationParameters | None,
    analysis: AnalysisParameters | None,
    labels: Mapping[str, str] | None,
    timeout_seconds: float | None = None,
) -> Document:
    """Return the document of a comparison without its groups. Raises InputError."""
    return _job(
        "comparison",
        reference=reference,
        parameters=parameters,
        analysis=analysis,
        labels=labels,
        timeout_seconds=timeout_seconds,
    )


def is_dataset_id(given: Any) -> bool:
    """Return whether a group's data are the id of a dataset, and not the name of a file."""
    return isinstance(given, str) and given.startswith("ds_") and not Path(given).exists()


def parts_of(given: Any) -> list[Any]:
    """Return the datasets that were given: several files or ids, or else one dataset."""
    if isinstance(given, list | tuple) and given and all(isinstance(p, str | Path) for p in given):
        return list(given)
    return [given]


def generating(
    model: Model | str | ModelTerms,
    analysis: AnalysisParameters | None,
    labels: Mapping[str, str] | None,
    timeout_seconds: float | None = None,
) -> Document:
    """Return the document of a job that analyses a model. Raises InputError."""
    return _job(
        "generator",
        model=_source(model),
        analysis=analysis,
        labels=labels,
        timeout_seconds=timeout_seconds,
    )


def planning(
    model: Model | str | ModelTerms,
    target: PlanTarget | None,
    escape_time: float | None,
    relaxation_time: float | None,
    **fields: Any,
) -> Document:
    """Return the document of a job that plans a measurement. Raises InputError."""
    asked = [
        dict(target) if target is not None else None,
        {"quantity": "passage", "precision": escape_time} if escape_time is not None else None,
        {"quantity": "relaxation_time", "precision": relaxation_time}
        if relaxation_time is not None
        else None,
    ]
    known = [each for each in asked if each is not None]
    if len(known) != 1:
        raise InputError(
            "a plan has one aim: give `escape_time` or `relaxation_time`, the relative standard "
            "error that is wanted, or a `target`"
        )
    return _job("plan", model=_source(model), target=known[0], **fields)


def _source(model: Model | str | ModelTerms) -> Any:
    """Return the model of a job's document."""
    if isinstance(model, Model):
        return model.source
    return {"job": model} if isinstance(model, str) else dict(model)


def _job(kind: str, **fields: Any) -> Document:
    """Return a job's document. Raises InputError, before anything is sent, for unknown names."""
    return checked({"kind": kind, **given(**fields)}, JOBS[kind])


def _place(place: Any) -> Any:
    """Convert a place to JSON's types."""
    if isinstance(place, Mapping):
        return {name: list(ends) for name, ends in place.items()}
    if hasattr(place, "tolist"):
        return place.tolist()
    if isinstance(place, list | tuple):
        return [float(x) for x in place]
    if isinstance(place, int | float):
        return float(place)
    raise InputError(
        f"a place is a number, a point [x, y], or a region {{'x': (0.8, None)}}, not {place!r}"
    )
