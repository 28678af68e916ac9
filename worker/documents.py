"""Core values → documents. Numbers stay finite; what is missing is null, with a reason where a reader would ask."""

import base64
import json
import math
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contract import results
from contract.datasets import Dataset
from contract.generator import ModelTerms
from contract.jobs import GeneratorJob, IdentificationJob
from worker.fit_documents import data_of, diagnostics_of, model_of, selection_of
from worker.generator.analysis import GeneratorReport
from worker.generator.passage_law import PROBABILITIES
from worker.generator.passages import Passage
from worker.generator.spatial_law import SpatialLaw
from worker.generator.timing import Timing
from worker.generator.uncertainty import GeneratorSpread
from worker.identification.answers import Answer
from worker.identification.diagnostics import Finding
from worker.identification.model import expression
from worker.identification.multivariate.answer import JointAnswer
from worker.numbers import number, plain
from worker.pipeline import Analysed

Floats = NDArray[np.float64]
LONGEST_PLAIN_ARRAY = 2_000


def identification_result(
    job_id: str, job: IdentificationJob, dataset: Dataset, answer: Answer | JointAnswer, analysed: Analysed, seconds: float
) -> results.IdentificationResult:
    """The document of an identification."""
    found = (*answer.findings, *analysed.findings, *_of_generator(analysed.generator))
    return results.IdentificationResult(
        job=job_id,
        data=data_of(dataset, answer),
        model=model_of(answer, job.analysis.confidence),
        selection=selection_of(answer),
        generator=_generator(analysed.generator, analysed.spread),
        diagnostics=diagnostics_of(answer, analysed.generator),
        warnings=(*dataset.report.warnings, *(_warning(f) for f in found)),
        provenance=results.Provenance(
            version=_version(),
            dataset=dataset.id,
            dataset_sha256=dataset.sha256,
            parameters=job.parameters.model_dump(mode="json"),
            analysis=job.analysis.model_dump(mode="json", by_alias=True),
            seconds=round(seconds, 4),
        ),
    )


def generator_result(
    job_id: str, job: GeneratorJob, model: ModelTerms, analysed: Analysed, seconds: float
) -> results.GeneratorResult:
    """The document of a generator analysis."""
    return results.GeneratorResult(
        job=job_id,
        model=results.Model(drift=_given(model.drift), diffusion=_given(model.diffusion)),
        generator=_generator(analysed.generator, analysed.spread),
        warnings=tuple(_warning(f) for f in (*analysed.findings, *_of_generator(analysed.generator))),
        provenance=results.Provenance(
            version=_version(),
            parameters=model.model_dump(mode="json"),
            analysis=job.analysis.model_dump(mode="json", by_alias=True),
            seconds=round(seconds, 4),
        ),
    )


def model_terms(body: bytes) -> ModelTerms:
    """The active terms of the model in a result document, with the domain and period it was identified or given with."""
    document = json.loads(body)
    parameters = document["provenance"]["parameters"]
    return ModelTerms(
        drift=_active(document["model"]["drift"]),
        diffusion=_active(document["model"]["diffusion"]),
        domain=parameters.get("domain", {}),
        periodic=parameters.get("periodic", {}),
    )


def _active(components: dict[str, Any]) -> dict[str, dict[str, float]]:
    return {key: {t["term"]: t["value"] for t in c["terms"] if t["active"]} for key, c in components.items()}


def _given(components: dict[str, dict[str, float]]) -> dict[str, results.Component]:
    return {
        key: results.Component(
            expression=expression(terms),
            terms=tuple(results.Term(term=name, value=value, active=value != 0) for name, value in terms.items()),
        )
        for key, terms in components.items()
    }


def _generator(report: GeneratorReport, spread: GeneratorSpread | None) -> results.GeneratorAnalysis:
    return results.GeneratorAnalysis(
        ergodic=report.ergodic,
        reason=report.reason,
        domain=(number(report.domain[0]), number(report.domain[1])),
        domains=tuple((number(low), number(high)) for low, high in report.domains),
        boundaries=report.boundaries,
        approximation=report.approximation,
        spectrum=_spectrum(report, spread),
        stationary=_stationary(report, spread),
        fixed_points=tuple(
            results.FixedPoint(at=p.at, stable=p.stable, jacobian_eigenvalues=tuple(_eigenvalue(rate) for rate in p.rates))
            for p in report.fixed_points
        ),
        barriers=tuple(
            results.Barrier(from_=b.start, over=b.over, to=b.to, height=number(b.height), height_over_noise=b.height_over_noise)
            for b in report.barriers
            if math.isfinite(b.height_over_noise)
        ),
        passages=tuple(_passage(p, i, spread) for i, p in enumerate(report.passages)),
        local_relaxation=None
        if report.local_relaxation is None
        else results.LocalRelaxation(grid=_array(report.local_relaxation.grid), rate=_array(report.local_relaxation.rate)),
        ergodic_share=None if spread is None else spread.ergodic_share,
    )


def _spectrum(report: GeneratorReport, spread: GeneratorSpread | None) -> results.Spectrum | None:
    spectrum = report.spectrum
    if spectrum is None:
        return None
    count = len(spectrum.eigenvalues)
    intervals = spread.eigenvalues if spread is not None else (None,) * count
    frequencies = spread.frequencies if spread is not None and spread.frequencies else (None,) * count
    fundamental = [k for k in range(count) if not spectrum.overtones[k]]
    overtones = [k for k in range(count) if spectrum.overtones[k]]
    return results.Spectrum(
        eigenvalues=tuple(_eigenvalue(spectrum.eigenvalues[k], intervals[k], frequencies[k]) for k in fundamental),
        overtones=tuple(_eigenvalue(spectrum.eigenvalues[k], intervals[k], frequencies[k]) for k in overtones),
        relaxation_times=tuple(float(spectrum.relaxation_times[k]) for k in fundamental),
        eigenfunctions=()
        if spectrum.eigenfunctions is None
        else tuple(_array(f) for f in np.real(spectrum.eigenfunctions)[fundamental]),
        reason=spectrum.reason,
    )


def _eigenvalue(
    value: complex, ci: tuple[float, float] | None = None, im_ci: tuple[float, float] | None = None
) -> results.Eigenvalue:
    period = 2 * math.pi / abs(value.imag) if value.imag else None
    return results.Eigenvalue(re=float(value.real), im=float(value.imag), ci=ci, im_ci=im_ci, period=period)


def _stationary(report: GeneratorReport, spread: GeneratorSpread | None) -> results.Stationary | None:
    law = report.stationary
    if law is None:
        return None
    spatial = law if isinstance(law, SpatialLaw) else None
    values = _array(law.density) if law.density.size > LONGEST_PLAIN_ARRAY or law.density.ndim == 1 else _rows(law.density)
    return results.Stationary(
        mean=law.mean,
        mean_ci=() if spread is None else spread.mean,
        covariance=law.covariance,
        covariance_ci=() if spread is None else spread.covariance,
        skewness=law.skewness,
        kurtosis=law.kurtosis,
        density=results.Density(grid=tuple(_array(g) for g in law.grid), values=values),
        reason=law.reason,
        current=None if spatial is None or spatial.current is None else _encoded(spatial.current),
        circulation=None if spatial is None else spatial.circulation,
        entropy_production=None if spatial is None else spatial.entropy_production,
    )


def _passage(passage: Passage, index: int, spread: GeneratorSpread | None) -> results.Passage:
    return results.Passage(
        from_=passage.start,
        to=passage.to,
        mean_time=_estimate(passage.mean_time, None if spread is None else spread.passages[index]),
        kramers=_estimate(passage.kramers, None if spread is None else spread.kramers[index]),
        standard_deviation=None if passage.deviation is None else _estimate(passage.deviation, None),
        quantiles=tuple(results.Quantile(probability=p, time=t) for p, t in zip(PROBABILITIES, passage.quantiles, strict=False)),
    )


def _estimate(timing: Timing, ci: tuple[float, float] | None) -> results.Estimate:
    interval = None if ci is None else (number(ci[0]), number(ci[1]))
    return results.Estimate(value=timing.value, ci=interval, reason=timing.reason)


def _of_generator(report: GeneratorReport) -> Sequence[Finding]:
    if report.ergodic or report.reason is None:
        return ()
    said = [report.reason, *([report.approximation] if report.approximation else [])]
    sentences = (f"{sentence[:1].upper()}{sentence[1:].rstrip('.')}." for sentence in said)
    return (Finding("not-ergodic", " ".join(sentences)),)


def _warning(finding: Finding) -> results.Notice:
    return results.Notice(code=finding.code, message=finding.message, details=plain(dict(finding.details)))


def _array(values: Floats) -> results.Array:
    return _encoded(values) if values.size > LONGEST_PLAIN_ARRAY else tuple(number(v) for v in values)


def _rows(values: Floats) -> tuple[tuple[float | None, ...], ...]:
    return tuple(tuple(number(v) for v in row) for row in values)


def _encoded(values: Floats) -> results.EncodedArray:
    data = base64.b64encode(np.ascontiguousarray(values, dtype="<f8").tobytes()).decode()
    return results.EncodedArray(shape=values.shape, data=data)


def _version() -> str:
    try:
        return version("itoscope")
    except PackageNotFoundError:
        return VERSION


VERSION = "0.1.0"
