"""The models of the same data under several sets of parameters."""

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from itoscope_client.errors import JobFailed, needed
from itoscope_client.models.model import Ask, Model
from itoscope_client.models.numbers import with_interval


class Sweep:
    """A model for each set of parameters, in their order: `sweep[0]`, `for model in sweep.models`.

    document   the service's result document, with what has no property here
    """

    def __init__(self, document: Mapping[str, Any], *, ask: Ask | None = None) -> None:
        self.document = document
        self._items: tuple[Mapping[str, Any], ...] = tuple(document["items"])
        self._models = tuple(
            None if item.get("model") is None else Model(_alone(document, item), ask=ask)
            for item in self._items
        )

    @property
    def job_id(self) -> str:
        """Identifier of the job that found the models."""
        return str(self.document["job"])

    @property
    def over(self) -> tuple[Mapping[str, Any], ...]:
        """Replacements in the job's parameters by each set."""
        return tuple(item["parameters"] for item in self._items)

    @property
    def models(self) -> tuple[Model | None, ...]:
        """Model of each set; None where it has none."""
        return self._models

    @property
    def errors(self) -> tuple[JobFailed | None, ...]:
        """Error of each set without a model; None where it has one."""
        return tuple(
            None if item.get("error") is None else JobFailed(self.job_id, item["error"])
            for item in self._items
        )

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, number: int) -> Model:
        """Return the model of a set. Raises JobFailed where it has none."""
        model = self._models[number]
        if model is None:
            raise self.errors[number] or JobFailed(self.job_id, {})
        return model

    def __iter__(self) -> Iterator[Model]:
        """Yield every model. Raises JobFailed at a set without a model."""
        return (self[number] for number in range(len(self)))

    def to_frame(self) -> Any:
        """Return every set as a row of a pandas DataFrame. Raises MissingDependency.

        A row has the set's replacements, equations and relaxation time.
        """
        pandas = needed("pandas", "to_frame()")
        return pandas.DataFrame([_row(*each) for each in self._each()])

    def __reduce__(self) -> tuple[Any, ...]:
        return Sweep, (self.document,)

    def __repr__(self) -> str:
        lines = [f"  {_words(put)}: {_outcome(model, item)}" for put, model, item in self._each()]
        return "\n".join([f"<Sweep of {len(self)} sets of parameters", *lines, ">"])

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td style='text-align:left'><code>{escape(_words(put))}</code></td>"
            f"<td style='text-align:left'>{escape(_outcome(model, item))}</td></tr>"
            for put, model, item in self._each()
        )
        return f"<table>{rows}</table>"

    def _each(self) -> Iterator[tuple[Mapping[str, Any], Model | None, Mapping[str, Any]]]:
        return zip(self.over, self.models, self._items, strict=True)


def _alone(document: Mapping[str, Any], item: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result of one set like a single job's, except for its `kind`."""
    provenance = document.get("provenance") or {}
    parameters = _overlaid(provenance.get("parameters") or {}, item["parameters"])
    return {
        **{name: document.get(name) for name in ("schema_version", "kind", "job", "data")},
        **{
            name: item.get(name)
            for name in ("model", "selection", "generator", "diagnostics", "warnings")
        },
        "provenance": {**provenance, "parameters": parameters},
    }


def _overlaid(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Merge one object into another recursively, as the service does."""
    put = {
        name: _overlaid(under[name], value)
        if isinstance(value, Mapping) and isinstance(under.get(name), Mapping)
        else value
        for name, value in over.items()
    }
    return {**under, **put}


def _flat(put: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """Flatten `{"library": {"polynomial_degree": 3}}` to `{"library.polynomial_degree": 3}`."""
    flat: dict[str, Any] = {}
    for name, value in put.items():
        nested = isinstance(value, Mapping) and value
        flat |= _flat(value, f"{above}{name}.") if nested else {f"{above}{name}": value}
    return flat


def _row(put: Mapping[str, Any], model: Model | None, item: Mapping[str, Any]) -> dict[str, Any]:
    row = _flat(put)
    if model is None:
        return {**row, "error": (item.get("error") or {}).get("detail")}
    times = model.relaxation_times
    ends = model.relaxation_interval or (None, None)
    return {
        **row, "model": "; ".join(model.equations), "n_terms": len(model.active_terms),
        "relaxation_time": float(times[0]) if len(times) else None, "relaxation_time_low": ends[0],
        "relaxation_time_high": ends[1],
        "warnings": ", ".join(str(warning["code"]) for warning in model.warnings), "error": None,
    }  # fmt: skip


def _words(put: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in _flat(put).items()) or "as given"


def _outcome(model: Model | None, item: Mapping[str, Any]) -> str:
    if model is None:
        return str((item.get("error") or {}).get("detail", "no model"))
    times = model.relaxation_times
    found = "; ".join(model.equations)
    if not len(times):
        return found
    return (
        f"{found}; relaxation time {with_interval(float(times[0]), model.relaxation_interval)[0]}"
    )
