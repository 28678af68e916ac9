"""Warnings about the terms of a model: their selection, and what the library cannot describe."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from grammar.terms import variable_name
from worker.identification.data.library import Library
from worker.identification.data.preconditions import dependences
from worker.identification.estimation.fit import Fit
from worker.identification.estimation.goodness_of_fit import Misfit
from worker.identification.findings.finding import Finding
from worker.identification.selection.support_selection import Selected

Floats = NDArray[np.float64]

UNDECIDED = 0.5
"""Probability of the selected terms below which other sets of terms are named."""

MATERIAL = 0.1
"""Difference between sets of terms, over the component, from which it is worth a warning."""

EVEN = 200
"""Number of states that stand for the data where no sums over them are kept."""


def no_drift(fit: Fit, library: Library) -> Iterator[Finding]:
    """Warn of a drift without a significant term, or with a constant alone."""
    terms = [[library.names[k] for k in selected.estimate.support] for selected in fit.drift]
    empty = [variable_name(p) for p, names in enumerate(terms) if not names]
    if empty:
        where = "" if len(terms) == 1 else f" in {', '.join(empty)}"
        yield Finding(
            "no-significant-drift",
            f"No drift term is significant{where}: the time series cannot be distinguished from a "
            "random walk. Without mean reversion there is no relaxation time and, unless "
            "boundaries confine the process, no stationary distribution. If you expect one, record "
            "longer.",
            {} if len(terms) == 1 else {"variables": empty},
        )
    elif terms == [["1"]] and library.period is None:
        yield Finding(
            "no-mean-reversion",
            "The drift is constant: a random walk with a trend. There is no mean reversion and, "
            "unless boundaries confine the process, no stationary distribution.",
        )


def undecided_terms(fit: Fit, library: Library) -> Iterator[Finding]:
    """Warn of components whose terms are more likely others, if that changes the component."""
    likely: dict[str, dict[str, float]] = {}
    states = _states(fit, library)
    sizes = _sizes(fit, states)
    for (name, selected, _), size in zip(fit.components_at_double_step(), sizes, strict=True):
        chosen, *others = selected.supports
        if (
            chosen.weight < UNDECIDED
            and any(s.weight > chosen.weight / 2 for s in others)
            and _differ(selected, size, states)
        ):
            best = sorted(others, key=lambda s: -s.weight)[:2]
            likely[name] = {
                " + ".join(library.names[k] for k in s.estimate.support) or "none": s.weight
                for s in (chosen, *best)
            }
    if likely:
        sets = "; ".join(
            f"{name}: " + ", ".join(f"{terms} ({100 * p:.0f} %)" for terms, p in found.items())
            for name, found in likely.items()
        )
        yield Finding(
            "terms-undecided",
            f"The data do not decide which terms the model has. Probable sets are, first the "
            f"selected one: {sets}. Confidence intervals account for all of them. A longer time "
            "series decides, and so does a smaller library, if some terms are known to be absent.",
            {"probabilities": likely},
        )


States = tuple[Floats, Floats]
"""Internal functions (n, n_functions) at states, and the share of each (n,)."""


def _states(fit: Fit, library: Library) -> States:
    """Return where the data are."""
    if fit.statistics is not None:
        functions, time = library.internal(fit.statistics.nodes), fit.statistics.time.clip(min=0)
    elif fit.sample is not None:
        functions, time = fit.sample.functions, fit.sample.step
    else:
        states = np.linspace(-1, 1, EVEN)
        functions, time = library.internal(states), np.ones(EVEN)
    return functions, time / time.sum()


def _sizes(fit: Fit, states: States) -> Iterator[float]:
    """Yield what is large for each component: drift by drift, then the diffusion.

    It is a drift's root mean square, and that of a_pq if the noises were fully correlated.
    """
    functions, share = states
    for b in fit.coefficients:
        yield float(np.sqrt(share @ (functions @ b) ** 2))
    for p, q in fit.diffusion:
        noises = (share @ (functions @ fit.tensor[i, i]) for i in (p, q))
        yield float(np.sqrt(np.prod([max(float(noise), 0.0) for noise in noises])))


def _differ(selected: Selected, size: float, states: States) -> bool:
    """Check whether the choice of terms matters more than the estimate's own error, and at all.

    Differences are root mean squares, by the probabilities of the sets. Of 119 undecided components
    of one variable the selected set was the right one in 25, of which 4 are named now, and of the
    others 73.
    """
    functions, share = states
    chosen = selected.estimate
    within = share @ np.sum((functions @ chosen.internal_factor) ** 2, axis=1)
    total = sum(s.weight for s in selected.supports)
    between = sum(
        s.weight / total * (share @ (functions @ (s.estimate.internal - chosen.internal)) ** 2)
        for s in selected.alternatives
    )
    return bool(between > max(within, (MATERIAL * size) ** 2))


def rule_dependent(fit: Fit, library: Library) -> Iterator[Finding]:
    """Warn of terms that were left out, as one sampling rule only has them."""
    found = {
        name: [library.names[k] for k in s.rule_dependent]
        for name, s, _ in fit.components_at_double_step()
    }
    found = {name: terms for name, terms in found.items() if terms}
    if found:
        where = "; ".join(f"{', '.join(terms)} in the {name}" for name, terms in found.items())
        yield Finding(
            "term-hangs-on-sampling-rule",
            "Terms that are significant under one sampling rule only, and no larger than the "
            f"difference between the rules, were left out: {where}. Set sampling_rule to 'euler' "
            "if the data are simulated Euler steps.",
            {"terms": found},
        )


def collinear_terms(library: Library, y: Floats) -> Iterator[Finding]:
    """Warn of terms that no data of this kind can distinguish.

    y   (n, d) some of the internal states
    """
    found = list(dependences(library, y))
    if found:
        sentences = [f"{d.term} is a combination of {', '.join(d.of)}" for d in found]
        yield Finding(
            "collinear-terms",
            f"On these data {'; '.join(sentences)}. Such terms are collinear. Equivalent forms "
            "exist; the one with the fewest terms and the lowest degree is shown. Take these terms "
            "out of library.extra_terms, or lower library.polynomial_degree if you want them "
            "instead.",
            {d.term: list(d.of) for d in found},
        )


def wrong_drift(misfit: Misfit | None, variable: str) -> Iterator[Finding]:
    """Warn of a drift that the data contradict, and say where.

    variable   name of the variable
    """
    if misfit is None or not misfit.is_material:
        return
    low, high, at, difference, error = misfit.worst()
    side = "above" if difference > 0 else "below"
    yield Finding(
        "drift-misfit",
        f"The fitted drift does not describe the data (Hansen's J test, p = {misfit.p_value:.1g}). "
        f"Between {variable} = {low:.4g} and {high:.4g} the data's drift is {side} the model's, by "
        f"{abs(difference):.2g} ± {error:.1g} at {variable} = {at:.4g}, where the model's drift is "
        f"of size {misfit.size:.2g} on average. The band of the drift and the intervals of rates "
        "and times allow for what the terms leave out, those of coefficients do not. No "
        "combination of the library's terms may fit: raise library.polynomial_degree, or name a "
        "function that saturates or oscillates in library.extra_terms, such as tanh(x) or "
        "x/(1+x^2). Or the sampling interval is too coarse for the sampling rule.",
        {
            "p_value": misfit.p_value,
            "range": [low, high],
            "at": at,
            "difference": difference,
            "std_error": error,
        },
    )


def paper_preset() -> Finding:
    """Warn that the fit is by Algorithm 1."""
    return Finding(
        "paper-preset",
        "These coefficients come from the source paper's Algorithm 1. Its stacked rows leave a "
        "bias of some percent that more data do not remove, and it gives no standard errors. The "
        "default estimator is more accurate on the same data.",
    )
