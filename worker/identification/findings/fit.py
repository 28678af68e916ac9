"""Every warning about a fit: what was found, what it means, and what to try.

One and several variables share the sentences; with several, a warning begins with the names of its
variables.
"""

from collections.abc import Iterable, Iterator

from grammar.terms import variable_name
from worker.identification.estimation.fit import Fit
from worker.identification.estimation.noise_correction import NOISE_FOUND, NoiseHandling
from worker.identification.estimation.problem import Problem
from worker.identification.findings.domain import (
    kernels_not_chosen,
    negative_diffusion,
    sparse_coverage,
    wide_kernels,
)
from worker.identification.findings.finding import Finding
from worker.identification.findings.measurement import (
    coarse_sampling,
    long_steps,
    measurement_noise,
    motion_blur,
    no_noise,
    noise_not_excluded,
    state_dependent_steps,
    thinned,
)
from worker.identification.findings.residuals import (
    of_residuals,
    seasons,
    trajectories_differ,
    wrong_size,
)
from worker.identification.findings.terms import no_drift, rule_dependent, undecided_terms


def findings(fit: Fit, problem: Problem, noise: NoiseHandling) -> Iterator[Finding]:
    """Yield all warnings about the fit itself.

    Parameters
    ----------
    fit : fit, with its score tests
    problem : problem that it solves
    noise : treatment of measurement noise; `none` says that there is none
    """
    yield from no_noise(fit, problem)
    yield from no_drift(fit, problem.library)
    yield from undecided_terms(fit, problem.library)
    yield from state_dependent_steps(fit)
    yield from long_steps(fit, problem)
    yield from thinned(fit)
    yield from coarse_sampling(fit, problem.library)
    yield from rule_dependent(fit, problem.library)
    if noise != "none" and not (noise == "possible" and _is_insignificant(fit)):
        yield from measurement_noise(fit, problem)
    yield from noise_not_excluded(fit, problem)
    yield from motion_blur(fit)
    residuals = tuple(
        _by_variable(
            fit,
            (
                (p, finding)
                for p in range(len(fit.raw))
                for finding in of_residuals(fit, p, problem)
            ),
        )
    )
    yield from residuals
    yield from seasons(fit, problem, {finding.code for finding in residuals})
    yield from wrong_size(fit, problem)
    yield from trajectories_differ(fit, problem)
    yield from negative_diffusion(fit, problem)
    yield from sparse_coverage(fit)
    yield from kernels_not_chosen(fit.choice, len(fit.kernel_weights))
    yield from wide_kernels(fit, problem.library)


def _by_variable(fit: Fit, found: Iterable[tuple[int, Finding]]) -> Iterator[Finding]:
    """Merge the findings of several variables to one for each code, with the variables' names."""
    if len(fit.raw) == 1:
        yield from (finding for _, finding in found)
        return
    by_code: dict[str, dict[str, Finding]] = {}
    for p, finding in found:
        by_code.setdefault(finding.code, {})[variable_name(p)] = finding
    for code, several in by_code.items():
        message = next(iter(several.values())).message
        yield Finding(
            code,
            f"In {', '.join(several)}: {message}",
            {name: dict(f.details) for name, f in several.items()},
        )


def _is_insignificant(fit: Fit) -> bool:
    """Return whether the variance of one variable's noise may well be zero."""
    return len(fit.raw) == 1 and bool(
        fit.noise_variances[0] < NOISE_FOUND * fit.noise_error and not fit.raw[0].is_noisy
    )
