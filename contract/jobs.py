"""Job requests: the fields of every job, its webhook, and the two kinds that give one model."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from contract.base import Document, Name
from contract.datasets import DatasetReport
from contract.generator import AnalysisParameters, ModelOfJob, ModelTerms
from contract.identification import PRESETS, IdentificationParameters

SECRET_PREFIX = "whsec_"
MOST_NUMBERED = 10_000
"""Most trajectories that a job may name by their numbers."""


def _checked_url(text: str) -> str:
    """Return the address as given. Raises ValueError, which does not repeat it."""
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise _fault("is not a web address") from None
    if parts.scheme not in ("https", "http") or not host or port == 0:
        raise _fault("must begin with https:// and name a host")
    if parts.username is not None or parts.password is not None:
        raise _fault(
            "must not contain a user name or password; the signature identifies the sender"
        )
    if (
        parts.fragment
        or not text.isascii()
        or any(character <= " " or character in '\\"<>^`{|}\x7f' for character in text)
    ):
        raise _fault("contains characters that must be percent-encoded")
    return text


def _once_each(numbers: tuple[int, ...]) -> tuple[int, ...]:
    if len(set(numbers)) < len(numbers):
        raise PydanticCustomError("repeated", "must name each trajectory once")
    return numbers


def _fault(message: str) -> PydanticCustomError:
    return PydanticCustomError("webhook", "{message}", {"message": message})


class Webhook(Document):
    """An address that receives the job's record when the job has ended.

    The record is sent in a signed POST (Standard Webhooks).
    """

    url: Annotated[
        str,
        Field(min_length=1, max_length=2048, examples=["https://lab.example.org/itoscope"]),
        AfterValidator(_checked_url),
    ]
    """Address, beginning with `https://`. The operator decides which hosts are allowed."""


def host_allowed(url: str, patterns: Sequence[str]) -> bool:
    """Return whether the operator allows this address's host.

    A pattern is a host, `*.` and a domain for every host below it, or `*` for any host.
    """
    host = (urlsplit(url).hostname or "").rstrip(".").lower()
    for pattern in patterns:
        wanted = pattern.strip().rstrip(".").lower()
        if (
            wanted == "*"
            or host == wanted
            or (wanted.startswith("*.") and host.endswith(wanted[1:]))
        ):
            return True
    return False


Labels = Annotated[
    dict[Annotated[str, Field(max_length=63)], Annotated[str, Field(max_length=255)]],
    Field(max_length=32, examples=[{"experiment": "trap-17"}]),
]


DOUBLE_WELL = {"drift": {"x": {"x": 1.0, "x^3": -1.0}}, "diffusion": {"x,x": {"1": 0.25}}}
SHORT_RECORD = {"dt": 0.01, "trajectories": [[0.13, 0.17, 0.22, None, 0.18]]}
"""A model and a short time series, shown as examples in the interface."""


class InlineData(Document):
    """A small dataset sent within the job."""

    dt: Annotated[Annotated[float, Field(gt=0)] | None, Field(examples=[0.01])] = None
    """Sampling interval [time]. It may be omitted if `times` is given."""
    times: Annotated[
        Annotated[tuple[tuple[float, ...], ...], Field(max_length=10_000)] | None,
        Field(examples=[[[0.0, 0.01, 0.02]]]),
    ] = None
    """Sample times of each trajectory [time]."""
    trajectories: Annotated[
        tuple[tuple[float | tuple[float | None, ...] | None, ...], ...],
        Field(min_length=1, max_length=10_000, examples=[SHORT_RECORD["trajectories"]]),
    ]
    """Samples of each trajectory: a number per sample, or a list of d numbers per sample; `null`
    is a missing value [state]."""


class Job(Document):
    """The fields that every kind of job has; `contract.kinds` lists the kinds."""

    if TYPE_CHECKING:  # Each kind has its own field, after its other fields.
        kind: str

    labels: Labels = {}
    """Your own labels for this job. The list of jobs can be filtered by them."""
    timeout_seconds: Annotated[float, Field(ge=1, le=86_400)] = 600.0
    """Time limit on the worker, after which the job fails with `timed-out` [s]."""
    webhook: Annotated[
        Webhook | None, Field(examples=[{"url": "https://lab.example.org/itoscope"}])
    ] = None
    """Address that receives a signed POST when the job has ended."""

    @property
    def analyses(self) -> float:
        """Number of models that the job analyses, from which its computing time is estimated."""
        return 1.0

    @property
    def dataset_ids(self) -> tuple[str, ...]:
        """Ids of all datasets that the job starts from."""
        return ()


class DataJob(Job):
    """A job that starts from data."""

    dataset: Annotated[Name | None, Field(examples=["ds_9tq4m2k7h3xa5c6e"])] = None
    """Id of an uploaded dataset."""
    data: Annotated[InlineData | None, Field(examples=[SHORT_RECORD])] = None
    """The data themselves, instead of a dataset id."""
    trajectories: Annotated[
        Annotated[
            tuple[Annotated[int, Field(ge=0)], ...],
            Field(min_length=1, max_length=MOST_NUMBERED),
            AfterValidator(_once_each),
        ]
        | None,
        Field(examples=[[0, 1]]),
    ] = None
    """Numbers of the trajectories to use, counted from 0 in the order of the dataset; all of them
    if omitted."""
    parameters: IdentificationParameters = IdentificationParameters()
    """Parameters of the identification."""

    @property
    def dataset_ids(self) -> tuple[str, ...]:
        """Ids of all datasets that the job starts from."""
        return () if self.dataset is None else (self.dataset,)

    @property
    def fits_of_each(self) -> int:
        """Number of fits with each set of parameters."""
        return 1

    def parameter_sets(self) -> dict[str, IdentificationParameters]:
        """Return every set of identification parameters, by its place in the job."""
        return {"parameters": self.parameters}

    def unsuitable(self, data: DatasetReport) -> tuple[str, str] | None:
        """Return why this kind of job cannot use these data, and what to try; None if it can."""
        sets = self.parameter_sets().values()
        if data.inputs and any(p.with_velocities or p.estimator == "paper" for p in sets):
            return (
                "the dataset has inputs "
                f"({', '.join(i.column or i.symbol for i in data.inputs)}), which drive "
                "first-order dynamics, fitted by the efficient estimator",
                "Leave parameters.dynamics, parameters.estimator and preset out, or upload the "
                "states alone.",
            )
        if data.inputs and any(p.constraints.joint for p in sets):
            return (
                "the dataset has inputs, which are not combined with constraints.bounds, "
                "equalities, gradient or detailed_balance",
                "Leave these constraints out, or upload the states alone.",
            )
        return None


class IdentificationJob(DataJob):
    """Identify a model from data and analyse its generator."""

    kind: Literal["identification"]
    """Job kind: identify a model from data."""
    preset: Annotated[Literal["paper"] | None, Field(examples=["paper"])] = None
    """Named set of parameters. `paper`: Algorithm 1 with the settings of the source paper.
    Parameters given in the job take precedence."""
    analysis: AnalysisParameters = AnalysisParameters()
    """Quantities to derive from the model."""

    @property
    def analyses(self) -> float:
        """Number of analysed models: one, or none if only the model is requested."""
        return 0.0 if self.analysis.model_only else 1.0

    @model_validator(mode="before")
    @classmethod
    def _fill_from_preset(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        given = dict(given)
        parameters = given.get("parameters")
        if isinstance(parameters, dict) and "preset" in parameters:
            parameters = dict(parameters)
            given.setdefault("preset", parameters.pop("preset"))
            given["parameters"] = parameters
        preset = PRESETS.get(given["preset"]) if isinstance(given.get("preset"), str) else None
        if preset is not None and (parameters is None or isinstance(parameters, dict)):
            given["parameters"] = overlaid(preset.model_dump(mode="json"), parameters or {})
        return given


class ModelJob(Job):
    """A job that starts from a model."""

    model: Annotated[ModelTerms | ModelOfJob, Field(examples=[DOUBLE_WELL])]
    """The model, given by its terms or by the job that identified it."""


class GeneratorJob(ModelJob):
    """Analyse the generator of a given model."""

    kind: Literal["generator"]
    """Job kind: analyse a given model."""
    analysis: AnalysisParameters = AnalysisParameters()
    """Quantities to derive from the model."""

    @model_validator(mode="after")
    def _is_the_analysis(self) -> Self:
        if self.analysis.model_only:
            raise ValueError("a generator job analyses a model: omit analysis.model_only")
        if self.analysis.inputs:
            raise ValueError("the model of a generator job has no inputs: omit analysis.inputs")
        return self


def overlaid(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """Merge the values of `over` into `base`, object by object."""
    merged = dict(base)
    for key, value in over.items():
        below = merged.get(key)
        merged[key] = (
            overlaid(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
        )
    return merged
