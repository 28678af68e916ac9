"""Every operation of the client as a flow: what to ask, what to do with the answer."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from itoscope_client import calls, flows, waiting
from itoscope_client.calls import Call
from itoscope_client.errors import InputError, Unreachable
from itoscope_client.flows import Flow
from itoscope_client.inputs import LayoutOptions, upload_of
from itoscope_client.models import Model, Passage
from itoscope_client.models.estimates import passage_of
from itoscope_client.progress import Listener, ProgressBar, silent
from itoscope_client.retries import Retries

Document = dict[str, Any]
PAGE = 100
"""Items asked for at once."""


def listener(progress: bool | Listener) -> Listener:
    """Who is told how far a job has come."""
    if callable(progress):
        return progress
    bar = ProgressBar()
    return bar if progress and bar.shown else silent


def identification(
    parameters: Mapping[str, Any] | None, analysis: Mapping[str, Any] | None, preset: str | None, labels: Mapping[str, str] | None
) -> Document:
    """The job, but for its data."""
    return {"kind": "identification", **_given(parameters=parameters, analysis=analysis, preset=preset, labels=labels)}


def generator(
    model: Model | str | Mapping[str, Any], analysis: Mapping[str, Any] | None, labels: Mapping[str, str] | None
) -> Document:
    """The job that analyses a model once more."""
    if isinstance(model, Model):
        source: Any = model.source
    else:
        source = {"job": model} if isinstance(model, str) else dict(model)
    return {"kind": "generator", "model": source, **_given(analysis=analysis, labels=labels)}


def rolling(
    windows: Mapping[str, Any] | None, parameters: Mapping[str, Any] | None, labels: Mapping[str, str] | None
) -> Document:
    """The job, but for its data."""
    return {"kind": "rolling", **_given(windows=windows, parameters=parameters, labels=labels)}


def sweep(
    over: Sequence[Mapping[str, Any]],
    parameters: Mapping[str, Any] | None,
    analysis: Mapping[str, Any] | None,
    labels: Mapping[str, str] | None,
) -> Document:
    """The job, but for its data."""
    if isinstance(over, Mapping) or not all(isinstance(put, Mapping) for put in over):
        raise InputError("`over` is a list of parameters, one object for each model: [{'library': {'polynomial_degree': 3}}, …]")
    variants = [dict(put) for put in over]
    return {"kind": "sweep", "variants": variants, **_given(parameters=parameters, analysis=analysis, labels=labels)}


def of_data(
    data: Any, t: Any, layout: LayoutOptions, job: Document, retries: Retries, told: Listener, timeout: float | None
) -> Flow[Document]:
    """Upload, submit, wait, read: the result document."""
    dataset = yield from uploaded(data, t, layout, retries)
    return (yield from computed({**job, "dataset": dataset["id"]}, None, retries, told, timeout))


def computed(job: Mapping[str, Any], key: str | None, retries: Retries, told: Listener, timeout: float | None) -> Flow[Document]:
    """Submit, wait, read."""
    record = yield from submitted(job, key, retries)
    return (yield from waited(record["id"], retries, told, timeout))


def submitted(job: Mapping[str, Any], idempotency_key: str | None, retries: Retries) -> Flow[Document]:
    """One job, however often it has to be sent."""
    key = idempotency_key or calls.new_idempotency_key()
    try:
        return (yield from flows.document(calls.create_job(job, key), retries))
    except (KeyboardInterrupt, Unreachable) as error:
        error.add_note(f"Whether the job was accepted is not known. client.submit(job, idempotency_key={key!r}) finds out.")
        raise


def waited(job_id: str, retries: Retries, told: Listener, timeout: float | None) -> Flow[Document]:
    """The result document of a job, once it has ended."""
    record = yield from waiting.ended(job_id, retries, told, timeout)
    return (yield from waiting.result(record, retries))


def watched(job_id: str, retries: Retries, told: Listener, timeout: float | None) -> Flow[Document]:
    """Its record, once it has ended."""
    return (yield from waiting.ended(job_id, retries, told, timeout))


def passage(model: Model | str, start: Any, end: Any, retries: Retries) -> Flow[Passage]:
    """From the result, or by a job of its own."""
    known = model.known_passage(start, end) if isinstance(model, Model) else None
    if known is not None:
        return known
    asked = {"passages": [{"from": _place(start), "to": _place(end)}]}
    document = yield from computed(generator(model, asked, None), None, retries, silent, None)
    found = Model(document).known_passage(start, end)
    if found is not None:
        return found
    # The places as the service spells them.
    return passage_of(document["generator"]["passages"][0])


def result(job_id: str, retries: Retries) -> Flow[Document]:
    return (yield from flows.document(calls.get_result(job_id), retries))


def report(job_id: str, retries: Retries) -> Flow[str]:
    return (yield from flows.text(calls.get_report(job_id), retries))


def validated(job: Mapping[str, Any], retries: Retries) -> Flow[Document]:
    return (yield from flows.document(calls.validate_job(job), retries))


def job(job_id: str, retries: Retries) -> Flow[Document]:
    return (yield from flows.document(calls.get_job(job_id), retries))


def jobs(filters: Mapping[str, str | None], labels: Mapping[str, str], limit: int, retries: Retries) -> Flow[list[Document]]:
    return (yield from _pages(lambda size, cursor: calls.list_jobs(size, cursor, filters, labels), limit, retries))


def cancelled(job_id: str, retries: Retries) -> Flow[Document]:
    return (yield from flows.document(calls.cancel_job(job_id), retries))


def deleted_job(job_id: str, retries: Retries) -> Flow[None]:
    return (yield from flows.nothing(calls.delete_job(job_id), retries))


def uploaded(data: Any, t: Any, layout: LayoutOptions, retries: Retries) -> Flow[Document]:
    return (yield from flows.document(calls.create_dataset(upload_of(data, t, layout)), retries))


def dataset(dataset_id: str, retries: Retries) -> Flow[Document]:
    return (yield from flows.document(calls.get_dataset(dataset_id), retries))


def datasets(limit: int, retries: Retries) -> Flow[list[Document]]:
    return (yield from _pages(calls.list_datasets, limit, retries))


def deleted_dataset(dataset_id: str, retries: Retries) -> Flow[None]:
    return (yield from flows.nothing(calls.delete_dataset(dataset_id), retries))


def _pages(call: Callable[[int, str | None], Call], limit: int, retries: Retries) -> Flow[list[Document]]:
    """At most `limit` items, from as many pages as that takes."""
    found: list[Document] = []
    cursor: str | None = None
    while len(found) < limit:
        page = yield from flows.document(call(min(PAGE, limit - len(found)), cursor), retries)
        found += page["items"]
        cursor = page.get("next_cursor")
        if cursor is None:
            break
    return found


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
    raise InputError(f"a place is a number, a point [x, y], or a region {{'x': (0.8, None)}}, not {place!r}")


def _given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
