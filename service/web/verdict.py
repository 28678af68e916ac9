"""The verdict on a fit: which checks the model passed, and where each is shown or explained."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from contract.results import IdentificationResult

Outcome = Literal["passed", "failed", "not made"]


@dataclass(frozen=True, slots=True)
class Check:
    """A check of the model against its data.

    name      what is checked
    outcome   outcome of the check
    place     identifier of the element of the page that shows or explains the outcome
    """

    name: str
    outcome: Outcome
    place: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """All checks of a model, and their sum in words."""

    checks: tuple[Check, ...]

    def of(self, outcome: Outcome) -> list[Check]:
        """List the checks with this outcome."""
        return [check for check in self.checks if check.outcome == outcome]

    @property
    def passed(self) -> bool:
        """True if no check failed."""
        return not self.of("failed")

    @property
    def sentence(self) -> str:
        """The number of checks that the model passes."""
        made = len(self.checks) - len(self.of("not made"))
        if not made:
            return "The model was not checked"
        return f"The model passes {len(self.of('passed'))} of {made} checks"


@dataclass(frozen=True, slots=True)
class _Rule:
    """A check, by the warnings that mean that it failed.

    codes   codes of those warnings
    made    whether the result holds the check
    plots   starts of the names of the plots that may show it, the best first
    """

    name: str
    codes: frozenset[str]
    made: Callable[[IdentificationResult], bool]
    plots: tuple[str, ...]


def _with_residuals(result: IdentificationResult) -> bool:
    return result.diagnostics.residuals.kurtosis is not None


def _with_tests(result: IdentificationResult) -> bool:
    """Return whether the estimator tests what its model leaves out.

    The paper's does not, nor does that of positions alone.
    """
    of_paper = result.provenance.parameters.get("estimator") == "paper"
    of_all = len(result.recorded) == len(result.model.drift)
    return _with_residuals(result) and of_all and not of_paper


def _with_later_times(result: IdentificationResult) -> bool:
    """Return whether the model was compared at longer times; of second order by positions alone."""
    found = result.diagnostics
    correlated = any(a.p_value is not None for a in found.autocorrelation.values())
    return bool(found.chapman_kolmogorov) or (result.model.order == 2 and correlated)


_RULES = (
    _Rule(
        "independent residuals",
        frozenset(("persistent-increments", "memory")),
        _with_residuals,
        ("residuals",),
    ),
    _Rule("Gaussian residuals", frozenset(("heavy-tails",)), _with_residuals, ("residuals",)),
    _Rule(
        "same model at all times",
        frozenset(("trend", "season", "noise-changes", "trajectories-differ")),
        _with_tests,
        ("record",),
    ),
    _Rule(
        "shape of drift and diffusion",
        frozenset(("drift-misfit", "diffusion-size", "negative-diffusion")),
        _with_tests,
        ("drift",),
    ),
    _Rule(
        "stationary density",
        frozenset(("stationary-density",)),
        lambda result: result.diagnostics.density_total_variation is not None,
        ("density",),
    ),
    _Rule(
        "prediction at longer times",
        frozenset(("chapman-kolmogorov", "autocorrelation")),
        _with_later_times,
        ("chapman-kolmogorov", "autocorrelation"),
    ),
)
"""The checks. The thresholds are those of the warnings, so verdict and warnings always agree."""


def verdict(result: IdentificationResult, plots: Sequence[str]) -> Verdict:
    """Judge a fit.

    plots   names of the plots on the page
    """
    return Verdict(tuple(_check(rule, result, plots) for rule in _RULES))


def _check(rule: _Rule, result: IdentificationResult, plots: Sequence[str]) -> Check:
    failed = next((w.code for w in result.warnings if w.code in rule.codes), None)
    if failed is not None:
        return Check(rule.name, "failed", f"warning-{failed}")
    shown = next((n for start in rule.plots for n in plots if n.startswith(start)), None)
    place = f"plot-{shown}" if shown else "table-checks"
    return Check(rule.name, "passed" if rule.made(result) else "not made", place)
