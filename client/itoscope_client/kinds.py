"""The kinds of job: a method of both clients for each, and the class of its result."""

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from itoscope_client.calls import given
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
        """Identify a model from data: upload, submit, wait, read.

        data         NumPy array, list of trajectories, dict of arrays, pandas or xarray object, or
                     a path: CSV, JSON, NPY, NPZ, Parquet, Arrow, and, converted here, HDF5, MATLAB,
                     Zarr, netCDF, xvg
        t            sample times of arrays that are not `dt` apart
        parameters   parameters of the identification: {"library": {"polynomial_degree": 3}}
        analysis     quantities to compute from the model: {"passages": [{"from": -1, "to": 1}]}
        preset       "paper"
        timeout      seconds after which to stop waiting; the job continues
        progress     False for none, or a function that is given the job's record
        layout       dt, time_column, id_column, state_columns, ignored_columns, orientation, axes,
                     time_unit, state_unit, gap_factor

        Raises InputError, Problem, JobFailed, JobCancelled, WaitingTimedOut, Unreachable.
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
        """Fit a model in every window along one record of one variable: upload, submit, wait, read.

        data      one trajectory, in any form that `identify` accepts
        windows   number and length of the windows: {"count": 50, "share": 0.2}, or {"length": 2000}

        The other parameters and the errors are those of `identify`.
        """
        job = {"kind": "rolling", **given(windows=windows, parameters=parameters, labels=labels)}
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
        """Identify a model of the same data under each set of parameters, with sums taken once.

        over   replacements in `parameters` for each set:
               [{"library": {"polynomial_degree": 3}}, {"estimator": …}, …]

        The other parameters and the errors are those of `identify`. A set that has no model does
        not stop the others.
        """
        if isinstance(over, Mapping) or not all(isinstance(put, Mapping) for put in over):
            example = "[{'library': {'polynomial_degree': 3}}, …]"
            raise InputError(
                f"`over` is a list of parameters, one object for each model: {example}"
            )
        asked = given(parameters=parameters, analysis=analysis, labels=labels)
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
        """Analyse a model's generator again, for other quantities.

        model   earlier model, id of a job, or terms:
                {"drift": {"x": {"x": -1}}, "diffusion": {"x,x": …}}
        """
        job = _generator(model, analysis, labels)
        document = yield from computed(job, None, self._retries, listener(progress), timeout)
        return model_of(document, ask=self._asking())

    @operation
    def passage(self, model: Model | str, start: Any, end: Any) -> Flow[Passage]:
        """Return a model's first-passage time from its result, or else computed by the service."""
        known = model.known_passage(start, end) if isinstance(model, Model) else None
        if known is not None:
            return known
        job = _generator(model, {"passages": [{"from": _place(start), "to": _place(end)}]}, None)
        document = yield from computed(job, None, self._retries, silent, None)
        found = Model(document).known_passage(start, end)
        # None is found where the service spells the places in another way.
        return found if found is not None else passage_of(document["generator"]["passages"][0])


def identification(
    parameters: Mapping[str, Any] | None,
    analysis: Mapping[str, Any] | None,
    preset: str | None,
    labels: Mapping[str, str] | None,
) -> Document:
    """Return the document of an identification job without its dataset."""
    return {
        "kind": "identification",
        **given(parameters=parameters, analysis=analysis, preset=preset, labels=labels),
    }


def _generator(
    model: Model | str | Mapping[str, Any],
    analysis: Mapping[str, Any] | None,
    labels: Mapping[str, str] | None,
) -> Document:
    """Return the document of a job that analyses a model again."""
    if isinstance(model, Model):
        source: Any = model.source
    else:
        source = {"job": model} if isinstance(model, str) else dict(model)
    return {"kind": "generator", "model": source, **given(analysis=analysis, labels=labels)}


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
