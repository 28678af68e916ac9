"""What starts a job: a method of both clients for each kind of job, with the class of its result."""

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from itoscope_client.errors import InputError
from itoscope_client.flows import Flow
from itoscope_client.inputs import LayoutOptions
from itoscope_client.models.estimates import Passage, passage_of
from itoscope_client.models.model import Model, model_of
from itoscope_client.models.rolling import Rolling
from itoscope_client.models.sweep import Sweep
from itoscope_client.operations import Document, Operations, computed, listener, of_data, operation
from itoscope_client.progress import Listener, silent

__all__ = ["Model", "Rolling", "Sweep"]


class Kinds(Operations):
    """One method for each kind of job."""

    @operation
    def identify(
        self,
        data: Any,
        *,
        t: Any = None,
        parameters: Mapping[str, Any] | None = None,
        analysis: Mapping[str, Any] | None = None,
        preset: str | None = None,
        labels: Mapping[str, str] | None = None,
        timeout: float | None = None,
        progress: bool | Listener = True,
        **layout: Unpack[LayoutOptions],
    ) -> Flow[Model]:
        """From data to the model: upload, submit, wait, read.

        data         NumPy array, list of trajectories, dict of arrays, pandas or xarray object, or a path: CSV, JSON, NPY, NPZ,
                     Parquet, Arrow, and, converted here, HDF5, MATLAB, Zarr, netCDF, xvg
        t            sample times of arrays, where they are not `dt` apart
        parameters   of the identification, as in the interface: {"library": {"polynomial_degree": 3}}
        analysis     what to read off the model: {"passages": [{"from": -1, "to": 1}]}
        preset       "paper"
        timeout      seconds after which to stop waiting; the job goes on
        progress     False for none, or a function that is given the job's record
        layout       dt, time_column, id_column, state_columns, orientation, axes, time_unit, state_unit, gap_factor

        Raises InputError, Problem (of the service), JobFailed, JobCancelled, WaitingTimedOut, Unreachable.
        """
        job = identification(parameters, analysis, preset, labels)
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
        windows: Mapping[str, Any] | None = None,
        parameters: Mapping[str, Any] | None = None,
        labels: Mapping[str, str] | None = None,
        timeout: float | None = None,
        progress: bool | Listener = True,
        **layout: Unpack[LayoutOptions],
    ) -> Flow[Rolling]:
        """A window moved along one record of one variable: upload, submit, wait, read.

        data         as of `identify`, one trajectory
        windows      how many and how long: {"count": 50, "share": 0.2}, or {"length": 2000}
        parameters, labels, timeout, progress, layout   as of `identify`, and the same errors
        """
        job = {"kind": "rolling", **_given(windows=windows, parameters=parameters, labels=labels)}
        return Rolling(
            (yield from of_data(data, t, layout, job, self._retries, listener(progress), timeout))
        )

    @operation
    def sweep(
        self,
        data: Any,
        *,
        over: Sequence[Mapping[str, Any]],
        t: Any = None,
        parameters: Mapping[str, Any] | None = None,
        analysis: Mapping[str, Any] | None = None,
        labels: Mapping[str, str] | None = None,
        timeout: float | None = None,
        progress: bool | Listener = True,
        **layout: Unpack[LayoutOptions],
    ) -> Flow[Sweep]:
        """The same data under several sets of parameters, whose sums are taken once: upload, submit, wait, read.

        over         what each set puts in place of `parameters`: [{"library": {"polynomial_degree": 3}}, {"estimator": …}, …]
        data, parameters, analysis, labels, timeout, progress, layout   as of `identify`, and the same errors

        A set that has no model does not hinder the others.
        """
        if isinstance(over, Mapping) or not all(isinstance(put, Mapping) for put in over):
            example = "[{'library': {'polynomial_degree': 3}}, …]"
            raise InputError(
                f"`over` is a list of parameters, one object for each model: {example}"
            )
        asked = _given(parameters=parameters, analysis=analysis, labels=labels)
        job = {"kind": "sweep", "variants": [dict(put) for put in over], **asked}
        document = yield from of_data(
            data, t, layout, job, self._retries, listener(progress), timeout
        )
        return Sweep(document, ask=self._asking())

    @operation
    def analyse(
        self,
        model: Model | str | Mapping[str, Any],
        *,
        analysis: Mapping[str, Any] | None = None,
        labels: Mapping[str, str] | None = None,
        timeout: float | None = None,
        progress: bool | Listener = True,
    ) -> Flow[Model]:
        """Read more off a model: an earlier one, a job's id, or terms {"drift": {"x": {"x": -1}}, "diffusion": {"x,x": …}}."""
        job = _generator(model, analysis, labels)
        document = yield from computed(job, None, self._retries, listener(progress), timeout)
        return model_of(document, ask=self._asking())

    @operation
    def passage(self, model: Model | str, start: Any, end: Any) -> Flow[Passage]:
        """First passage of a model; computed by the service where its result does not have it."""
        known = model.known_passage(start, end) if isinstance(model, Model) else None
        if known is not None:
            return known
        job = _generator(model, {"passages": [{"from": _place(start), "to": _place(end)}]}, None)
        document = yield from computed(job, None, self._retries, silent, None)
        found = Model(document).known_passage(start, end)
        # Where that is None, the result has the places as the service spells them.
        return found if found is not None else passage_of(document["generator"]["passages"][0])


def identification(
    parameters: Mapping[str, Any] | None,
    analysis: Mapping[str, Any] | None,
    preset: str | None,
    labels: Mapping[str, str] | None,
) -> Document:
    """The job, but for its data."""
    return {
        "kind": "identification",
        **_given(parameters=parameters, analysis=analysis, preset=preset, labels=labels),
    }


def _generator(
    model: Model | str | Mapping[str, Any],
    analysis: Mapping[str, Any] | None,
    labels: Mapping[str, str] | None,
) -> Document:
    """The job that analyses a model once more."""
    if isinstance(model, Model):
        source: Any = model.source
    else:
        source = {"job": model} if isinstance(model, str) else dict(model)
    return {"kind": "generator", "model": source, **_given(analysis=analysis, labels=labels)}


def _place(place: Any) -> Any:
    """As JSON has it."""
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


def _given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
