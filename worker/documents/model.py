"""The parts of a result document that describe an identified model."""

import math
from collections.abc import Mapping
from statistics import NormalDist
from typing import Any

import numpy as np

from contract import results
from contract.datasets import Dataset
from contract.identification import IdentificationParameters
from grammar.spelling import in_values
from worker.documents.numbers import number, table, written
from worker.identification.checks.residuals import ResidualMoments
from worker.identification.component_fit import ComponentFit, TermFit
from worker.identification.identified_model import ColouredNoiseFit, IdentifiedModel
from worker.identification.model_sampling import confidence_interval
from worker.identification.selection.best_subset import Curve
from worker.identification.selection.kernel_scores import KernelChoice
from worker.identification.symbolic_process import expression
from worker.validation.validation import Validation


def data_of(dataset: Dataset, answer: IdentifiedModel) -> results.DataSummary:
    """Write the summary of the data that a model was identified from."""
    return data_summary(dataset, answer.scales.time)


def data_summary(dataset: Dataset, dt: float) -> results.DataSummary:
    """Write the summary of a dataset; `dt` is the median sampling interval [time]."""
    variables = tuple(v.model_dump() for v in dataset.report.variables)
    return written(results.DataSummary, dataset.report, variables=variables, dt=dt)


def model_of(
    answer: IdentifiedModel, parameters: IdentificationParameters, confidence: float
) -> results.Model:
    """Write every component of drift and diffusion with its coefficients' confidence intervals."""
    periods = parameters.periodic
    return results.Model(
        drift={key: _component(fit, periods, confidence) for key, fit in answer.drift.items()},
        diffusion={
            key: _component(fit, periods, confidence) for key, fit in answer.diffusion.items()
        },
        inputs={} if answer.driving is None else dict(answer.driving.inputs),
        order=answer.order,
        potential=_potential(answer, periods, confidence),
        restriction_tests=tuple(
            written(
                results.RestrictionTest,
                test,
                restriction=test.kind,
                degrees_of_freedom=test.dof,
            )
            for test in answer.restrictions
        ),
        coloured_noise=_coloured_noise(answer.coloured_noise, periods, confidence),
        periodic=periods,
        domain=parameters.domain,
    )


def _potential(
    answer: IdentifiedModel, periods: Mapping[str, float], confidence: float
) -> results.Potential | None:
    if answer.potential is None:
        return None
    form, fit = answer.potential
    component = _component(fit, periods, confidence)
    return results.Potential(
        form=form,
        expression=component.expression,
        terms=component.terms,
        covariance=component.covariance,
    )


def _coloured_noise(
    found: ColouredNoiseFit | None, periods: Mapping[str, float], confidence: float
) -> results.ColouredNoise | None:
    if found is None:
        return None
    z = NormalDist().inv_cdf((1 + confidence) / 2)

    def estimate(value: float, error: float) -> results.Estimate:
        # A scale has the more symmetric interval in its logarithm.
        spread = math.exp(z * error / value)
        return results.Estimate(value=value, ci=(value / spread, value * spread))

    return results.ColouredNoise(
        drift=_component(found.drift, periods, confidence),
        correlation_time=estimate(*found.correlation_time),
        diffusion=estimate(*found.diffusion),
        p_value=found.p_value,
    )


def formula(terms: Mapping[str, float], periods: Mapping[str, float]) -> str:
    """Write coefficients times terms as text; the terms of angles as functions of their values."""
    return expression({in_values(term, periods): value for term, value in terms.items()})


def selection_of(answer: IdentifiedModel) -> results.Selection:
    """Write the selection path of every component."""
    return results.Selection(
        drift={key: _path(fit) for key, fit in answer.drift.items()},
        diffusion={key: _path(fit) for key, fit in answer.diffusion.items()},
    )


def diagnostics_of(answer: IdentifiedModel, validation: Validation) -> results.Diagnostics:
    """Write how far the answer can be trusted, by variable where there are several."""
    # A velocity is no variable of the record, and has neither noise of its own nor other names.
    several = answer.n_recorded > 1
    coverage = answer.coverage
    variances = answer.noise_variances
    moments = answer.residuals
    of_fit = results.Diagnostics(
        measurement_noise_variance=None
        if variances is None
        else float(np.mean(list(variances.values()))),
        measurement_noise_variances=dict(variances or {}) if several else {},
        step_error={
            f"{what} {key}" if several else what: dict(fit.step_errors)
            for what, fits in (("drift", answer.drift), ("diffusion", answer.diffusion))
            for key, fit in fits.items()
        },
        residuals=_residuals(tuple(moments.values())),
        residuals_by_variable={key: _residuals((m,)) for key, m in moments.items()}
        if several
        else {},
        coverage=None
        if coverage is None
        else results.Coverage(
            n_kernels=len(coverage.weights),
            n_sparse=int((coverage.weights < 10).sum()),
            range=coverage.range,
            bandwidth=coverage.bandwidth,
        ),
        kernel_choice=_kernel_choice(answer.kernel_choice),
        condition_number=None if answer.condition is None else number(answer.condition),
    )
    return of_fit.model_copy(update=validation_of(validation, tuple(answer.drift)))


def _kernel_choice(choice: KernelChoice | None) -> results.KernelChoice | None:
    if choice is None or choice.chosen is None:
        return None
    taken = choice.candidates[choice.chosen]
    surface = tuple(
        written(results.KernelCandidate, c, std_error=None if behind is None else behind[1])
        for c, behind in zip(choice.candidates, choice.shortfalls(), strict=True)
    )
    return written(results.KernelChoice, taken, n_folds=choice.n_folds, surface=surface)


def _component(
    fit: ComponentFit, periods: Mapping[str, float], confidence: float
) -> results.Component:
    terms = tuple(
        written(
            results.Term,
            t,
            term=t.name,
            bound=t.at_bound,
            std_error=t.std_error or None,
            ci=_interval(t, confidence),
            z=t.value / t.std_error if t.std_error else None,
        )
        for t in fit.terms
    )
    return results.Component(
        expression=formula(fit.active(), periods),
        terms=terms,
        covariance=table(np.array(fit.covariance)) if fit.covariance else None,
        constraint_test=None
        if fit.test is None
        else written(
            results.ConstraintTest,
            fit.test,
            free={
                term: results.FreeCoefficient(value=value, std_error=error)
                for term, (value, error) in fit.test.free.items()
            },
        ),
        supports=tuple(
            written(results.LikelySupport, likely, support=likely.terms) for likely in fit.supports
        ),
        joint=fit.joint,
    )


def _interval(term: TermFit, confidence: float) -> tuple[float, float] | None:
    """Return a coefficient's interval; none where there is no error, or it is zero at both ends."""
    if (term.active and not term.std_error) or not term.estimates:
        return None
    low, high = confidence_interval(term.estimates, confidence, term.value, term.bounds)
    return (low, high) if term.active or low < high else None


def _path(fit: ComponentFit) -> results.SelectionPath:
    entries = tuple(
        written(results.Support, entry, coefficients=dict(entry.coefficients)) for entry in fit.path
    )
    return results.SelectionPath(
        method=fit.method, path=entries, curve=None if fit.curve is None else _curve(fit.curve)
    )


def _curve(curve: Curve) -> results.CrossValidation:
    chosen, lowest = (float(curve.penalties[place]) for place in (curve.chosen, curve.lowest))
    return written(results.CrossValidation, curve, chosen=chosen, lowest=lowest)


def _residuals(moments: tuple[ResidualMoments, ...]) -> results.Residuals:
    """Write moments of the standardised residuals of one variable, or pooled over several."""
    powers = np.sum([m.powers for m in moments], axis=0)
    n = powers[0]
    mean, variance = (powers[1] / n, powers[2] / n) if n else (math.nan, math.nan)
    return results.Residuals(
        mean=number(mean),
        variance=number(variance),
        skewness=number(powers[3] / n / variance**1.5) if variance > 0 else None,
        kurtosis=number(powers[4] / n / variance**2) if variance > 0 else None,
        lag_one_correlation=number(float(np.mean([m.lag_one_correlation for m in moments]))),
    )


def validation_of(validation: Validation, variables: tuple[str, ...]) -> dict[str, Any]:
    """Return the fields of `results.Diagnostics` that the validation fills."""
    return {
        "density_total_variation": validation.total_variation,
        "autocorrelation": {
            name: written(results.DataAutocorrelation, found)
            for name, found in zip(variables, validation.autocorrelation, strict=False)
        },
        "chapman_kolmogorov": tuple(
            written(results.ChapmanKolmogorov, test, variable=variables[test.variable])
            for test in validation.chapman_kolmogorov
        ),
        "comparison_share": validation.share,
        "comparison_reason": validation.reason,
    }
