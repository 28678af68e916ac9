"""Warning that data contradict what was given of a component."""

from collections.abc import Iterable, Iterator

from worker.identification.checks.restriction import Restriction
from worker.identification.data.library import Library
from worker.identification.findings.finding import Finding
from worker.identification.selection.support_selection import Selected

CONTRADICTED = 0.01
"""p-value of what is known below which the data contradict it."""


def contradicted(
    components: Iterable[tuple[str, Selected, float]], library: Library
) -> Iterator[Finding]:
    """Warn where the data contradict what was given of a component.

    Parameters
    ----------
    components : name of each component, its estimate, and the factor from internal units to the
        data's
    library : library of terms
    """
    for name, selected, factor in components:
        test = selected.test
        if test is None or not test.p_value < CONTRADICTED:
            continue
        held = dict(zip(selected.estimate.support, selected.estimate.raw.tolist(), strict=True))
        apart = ", ".join(
            f"{library.names[k]} is {value * factor:.3g} ± {error * abs(factor):.2g} instead of "
            f"{held.get(k, 0.0) * factor:.3g}"
            for k, value, error in zip(test.terms, test.values, test.errors, strict=True)
        )
        yield Finding(
            "constraint-contradicted",
            f"The data contradict what is given of the {name} (p = {test.p_value:.1g}): if these "
            f"terms are free, {apart}. Check the units of the given coefficients, or leave the "
            "terms out of parameters.constraints.",
            {"component": name, "p_value": test.p_value},
        )


def restrictions_contradicted(tests: Iterable[Restriction]) -> Iterator[Finding]:
    """Warn where the data contradict what was given of several coefficients."""
    for test in tests:
        if not test.p_value < CONTRADICTED:
            continue
        yield Finding(
            "constraint-contradicted",
            f"The data contradict the {test.given} (p = {test.p_value:.1g}): without it, "
            f"{test.free}. Check it, or leave it out of parameters.constraints.",
            {
                "restriction": test.kind,
                "components": list(test.components),
                "p_value": test.p_value,
            },
        )
