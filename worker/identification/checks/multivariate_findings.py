"""What a careful colleague would say on seeing the fit of several variables; sentences that one variable shares are in
diagnostics.py, and here get the names of those they are about."""

from collections.abc import Iterable, Iterator

import numpy as np

from worker.identification.checks.diagnostics import (
    Finding,
    check_smoothness,
    finer_rule,
    heavy_tails,
    left_out,
    persistent,
    quantised,
    step_errors,
)
from worker.identification.checks.positivity import indefinite
from worker.identification.checks.scalar_residuals import ResidualMoments
from worker.identification.errors import SecondOrderDynamics
from worker.identification.estimation.estimator import JointFit
from worker.identification.estimation.problem import JointProblem
from worker.identification.estimation.scalar_estimator import is_noisy

MATERIAL_STEP_ERROR = 0.03


def check_paths(fit: JointFit, variables: tuple[str, ...]) -> None:
    """Raises SecondOrderDynamics for a variable whose path is smooth though its increments are noisy."""
    for p, moments in enumerate(fit.raw.moments):
        if p in fit.noise_free:
            continue
        try:
            check_smoothness(moments)
        except SecondOrderDynamics as error:
            raise SecondOrderDynamics(
                f"In variable {variables[p]}: {error.message}", hints=error.hints
            ) from error


def joint_findings(fit: JointFit, problem: JointProblem) -> Iterator[Finding]:
    """Everything worth saying about the fit itself."""
    variables = problem.library.variables
    noisy = [p for p in range(len(variables)) if p not in fit.noise_free]
    yield from _degenerate(fit, variables)
    yield from _no_drift(fit, variables)
    yield from _long_steps(fit, problem)
    yield from _thinned(fit, problem)
    yield from _coarse(fit, problem)
    yield from _doubted(fit, problem)
    yield from _measurement_noise(fit, problem)
    yield from _named(
        (variables[p], finding)
        for p in noisy
        for finding in (
            *left_out(fit.residuals.scores[p], max(c.gain for c in fit.drift[p].path)),
            *persistent(fit.raw.moments[p]),
            *_smooth(fit.raw.moments[p]),
            *heavy_tails(fit.residuals.moments[p]),
            *quantised(fit.raw.moments[p]),
        )
    )
    yield from _indefinite(fit, problem)
    yield from _coverage(fit)


def _named(found: Iterable[tuple[str, Finding]]) -> Iterator[Finding]:
    """One finding a code, with the variables it is about."""
    by_code: dict[str, list[tuple[str, Finding]]] = {}
    for variable, finding in found:
        by_code.setdefault(finding.code, []).append((variable, finding))
    for code, several in by_code.items():
        names = ", ".join(variable for variable, _ in several)
        yield Finding(
            code,
            f"In {names}: {several[0][1].message}",
            {variable: dict(f.details) for variable, f in several},
        )


def _degenerate(fit: JointFit, variables: tuple[str, ...]) -> Iterator[Finding]:
    names = [variables[p] for p in fit.noise_free]
    if len(names) == len(variables):
        yield Finding(
            "no-noise",
            "There is no noise to speak of: the drift alone explains the increments, and the record is deterministic. The "
            "diffusion is negligible; stationary law and escape times have no meaning here.",
        )
    elif names:
        yield Finding(
            "degenerate-diffusion",
            f"The increments of {', '.join(names)} hold no noise of their own: the diffusion tensor is degenerate (singular, a "
            "hypoelliptic process), as for a position whose velocity is another variable. Its components in "
            f"{', '.join(names)} are zero.",
            {"variables": names},
        )


def _no_drift(fit: JointFit, variables: tuple[str, ...]) -> Iterator[Finding]:
    empty = [variables[p] for p, selected in enumerate(fit.drift) if not selected.estimate.support]
    if empty:
        yield Finding(
            "no-significant-drift",
            f"No drift is significant in {', '.join(empty)}: there the record cannot be told from a random walk, with no mean "
            "reversion to report. Record longer if you expect one.",
            {"variables": empty},
        )


def _long_steps(fit: JointFit, problem: JointProblem) -> Iterator[Finding]:
    if np.isfinite(fit.longest_step):
        steps = problem.space.scales[0].steps
        share = 1 - np.searchsorted(steps, fit.longest_step) / len(steps)
        yield Finding(
            "long-steps-left-out",
            f"Sampling is uneven, and {100 * share:.0f} % of the steps are longer than {fit.longest_step:.3g}, half a relaxation "
            "time; they are too coarse for the sampling rule and were left out.",
            {"longest_step": fit.longest_step, "share": float(share)},
        )


def _smooth(residuals: ResidualMoments) -> Iterator[Finding]:
    """Residuals that are nearly equal; without a named sampling rule they are refused, see `check_paths`."""
    try:
        check_smoothness(residuals)
    except SecondOrderDynamics as error:
        yield Finding(
            "persistent-increments",
            f"{error.message} (velocity persistence). The coefficients below are what the named sampling rule makes of these "
            "increments, and depend on the sampling interval. Set sampling_rule to 'auto' to look for longer steps at which they "
            "are uncorrelated.",
            {"residual_correlation": residuals.lag_one_correlation},
        )


def _thinned(fit: JointFit, problem: JointProblem) -> Iterator[Finding]:
    if fit.least_step:
        rho = {
            v: m.lag_one_correlation
            for v, m in zip(problem.library.variables, fit.before_thinning, strict=True)
        }
        yield Finding(
            "persistent-increments",
            f"At the record's own sampling interval successive residuals are positively correlated ({max(rho.values()):+.2f}): "
            "the path is smoother than a diffusion, as with inertia (velocity persistence), filtering, or motion blur (every "
            "sample an average over an exposure). Samples at least "
            f"{fit.least_step:.4g} apart, where that is over, were used instead; the model describes longer times only. "
            "Set sampling_rule to 'trapezoid' for a fit to every increment as it is.",
            {"residual_correlation": rho, "least_step": fit.least_step},
        )


def _coarse(fit: JointFit, problem: JointProblem) -> Iterator[Finding]:
    library, order = problem.library, fit.rule.order
    components = [
        *(
            (f"drift of {v}", s, c)
            for v, s, c in zip(library.variables, fit.drift, fit.coarse[0], strict=True)
        ),
        *(
            (f"diffusion {name_of(pair, library.variables)}", s, fit.coarse[1].get(pair))
            for pair, s in fit.diffusion.items()
        ),
    ]
    worst: tuple[float, str, str] | None = None
    for name, selected, coarse in components:
        errors = step_errors(selected, coarse, order, library)
        estimate = selected.estimate
        for k, near, error in zip(estimate.support, estimate.raw, estimate.std_error, strict=True):
            relative = errors.get(library.names[k], 0.0)
            material = abs(relative) > MATERIAL_STEP_ERROR and abs(relative * near) > error
            if material and (worst is None or abs(relative) > abs(worst[0])):
                worst = relative, name, library.names[k]
    if worst is not None:
        relative, name, term = worst
        yield Finding(
            "coarse-sampling",
            f"The sampling interval is coarse: at half the rate the term {term} of the {name} changes by "
            f"{100 * (2**order - 1) * relative:+.0f} %, so its finite time step error is about {100 * abs(relative):.0f} %. "
            "Sample faster, or read the coefficients as effective ones.",
            {"component": name, "term": term, "relative_error": relative},
        )
    yield from finer_rule(fit.rule.name)


def _doubted(fit: JointFit, problem: JointProblem) -> Iterator[Finding]:
    library = problem.library
    components = [
        *((f"drift of {v}", s) for v, s in zip(library.variables, fit.drift, strict=True)),
        *(
            (f"diffusion {name_of(pair, library.variables)}", s)
            for pair, s in fit.diffusion.items()
        ),
    ]
    doubted = {name: [library.names[k] for k in s.doubted] for name, s in components if s.doubted}
    if doubted:
        where = "; ".join(f"{', '.join(terms)} in the {name}" for name, terms in doubted.items())
        yield Finding(
            "term-hangs-on-sampling-rule",
            f"Significant under one sampling rule only, as small as what the rules disagree about, and left out: {where}. Set "
            "sampling_rule to 'euler' if these are simulated Euler steps.",
            {"terms": doubted},
        )


def _measurement_noise(fit: JointFit, problem: JointProblem) -> Iterator[Finding]:
    variables = problem.library.variables
    noisy = [p for p, m in enumerate(fit.raw.moments) if p not in fit.noise_free and is_noisy(m)]
    names = ", ".join(variables[p] for p in noisy) or ", ".join(variables)
    rho = {variables[p]: m.lag_one_correlation for p, m in enumerate(fit.raw.moments)}
    if fit.noise is not None:
        variances = np.diag(fit.noise.covariance) * problem.space.units**2
        found = ", ".join(
            f"{v:.3g} in {name}" for v, name in zip(variances, variables, strict=True)
        )
        yield Finding(
            "measurement-noise",
            f"Measurement noise (localisation error) of variance {found} was found and corrected for. Errors are those of the "
            "blocks of the record.",
            {
                "variance": dict(zip(variables, variances.tolist(), strict=True)),
                "residual_correlation": rho,
                "corrected": True,
            },
        )
    elif noisy:
        yield Finding(
            "measurement-noise",
            f"Successive residuals of {names} are anticorrelated, as by measurement noise (localisation error), or by motion "
            "that turns back within a sampling interval (caging, librations; memory, not Markov at this lag). It is not "
            "corrected for here: the diffusion is too large and the drift too steep. Sample more slowly, or reduce the "
            "instrument's noise.",
            {"residual_correlation": rho, "corrected": False},
        )


def _indefinite(fit: JointFit, problem: JointProblem) -> Iterator[Finding]:
    where = indefinite(fit.sample.instrument, fit.sample.functions, fit.tensor)
    if where is None:
        return
    space, variables = problem.space, problem.library.variables
    worst, low, high = (
        space.origins + space.units * y for y in (where.worst, where.low, where.high)
    )
    at = ", ".join(f"{name} = {x:.4g}" for name, x in zip(variables, worst, strict=True))
    box = {name: [float(a), float(b)] for name, a, b in zip(variables, low, high, strict=True)}
    yield Finding(
        "negative-diffusion",
        f"The fitted diffusion tensor is not positive semi-definite at {100 * where.share:.2g} % of the data, worst near {at}. "
        "Lower library.polynomial_degree, choose a simpler diffusion_structure, or declare the domain.",
        {
            "share": where.share,
            "worst": dict(zip(variables, worst.tolist(), strict=True)),
            "range": box,
        },
    )


def _coverage(fit: JointFit) -> Iterator[Finding]:
    sparse = int((fit.kernel_weights < 10).sum())
    if sparse > len(fit.kernel_weights) // 2:
        yield Finding(
            "sparse-coverage",
            f"{sparse} of {len(fit.kernel_weights)} kernels saw fewer than ten increments. Use fewer kernels (kernels.count).",
            {"sparse": sparse},
        )


def name_of(pair: tuple[int, int], variables: tuple[str, ...]) -> str:
    """`x,y`: the way components of the tensor are named everywhere."""
    return f"{variables[pair[0]]},{variables[pair[1]]}"
