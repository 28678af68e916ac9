"""What it costs to add a derived quantity: the files that CONTRIBUTING.md names, and no others.

A copy of the source is given the entropy −∫π log π of the stationary distribution. It then has it,
with its interval, on the line, on the circle, in the plane and of a linear process of three
variables: in the result's document and on its page.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import gammaln, i0, i1

from contract.results import Stationary
from tests.source_copy import ROOT, copied_with, edited, named_in_contributing, run_in

MOST_FILES = 5

FUNCTION = """
def _entropy(report: GeneratorReport) -> float | None:
    law = report.stationary
    if law is None:
        return None
    if not law.grid:
        covariance = np.array(law.covariance, dtype=float)
        return float(np.linalg.slogdet(2 * np.pi * np.e * covariance)[1] / 2)
    inside = np.maximum(law.density, TINY)
    rows = -inside * np.log(inside)
    for grid in reversed(law.grid):
        rows = np.trapezoid(rows, grid, axis=-1)
    return float(rows)


"""
FIELDS = '''    entropy: float | None = None
    """Differential entropy −∫π log π of the stationary distribution."""
    entropy_ci: Interval | None = None
    """Confidence interval of the entropy."""
'''
ROWS = {
    "worker/generator/quantities/report.py": [
        ("    entropy: Annotated[float | None, NUMBER] = None\n", r"^    extrapolated: tuple"),
    ],
    "worker/generator/quantities/derived.py": [
        ("from worker.generator.quantities.kinds import TINY\n", r"^from .*report import"),
        ("        entropy=_entropy(report),\n", r"(?<=^        report,\n)"),
        (FUNCTION, r"^def _mean_velocity"),
    ],
    "contract/results.py": [(FIELDS, r"^    circulation: float")],
    "worker/documents/generator.py": [
        (
            '        entropy=report.entropy,\n        entropy_ci=spread.range("entropy"),\n',
            r"^        mean_velocity=",
        ),
    ],
    "service/web/model_view.py": [
        (
            "    if stationary.entropy is not None:\n"
            '        yield Figure.of("Entropy", stationary.entropy, stationary.entropy_ci, "")\n',
            r"^    yield from _irreversible",
        ),
    ],
}
"""What is put into a file, and before what."""

STRENGTHS = np.linspace(0.8, 1.25, 21)


def line(s: float) -> dict[str, Any]:
    return {"drift": {"x": {"x": -s}}, "diffusion": {"x,x": {"1": 1.0}}}


def circle(s: float) -> dict[str, Any]:
    return {
        "drift": {"x": {"sin(x)": -s}},
        "diffusion": {"x,x": {"1": 1.0}},
        "periodic": {"x": 2 * np.pi},
    }


def plane(s: float) -> dict[str, Any]:
    """Drift −∇U turned by 45°, U = s (x⁴/4 + y²/2): it has the distribution of the drift −∇U."""
    return {
        "drift": {"x": {"x^3": -s, "y": s}, "y": {"y": -s, "x^3": -s}},
        "diffusion": {"x,x": {"1": 1.0}, "y,y": {"1": 1.0}},
    }


def space(s: float) -> dict[str, Any]:
    """J + Jᵀ = −2s and a = 1, so that the covariance is 1/(2s)."""
    return {
        "drift": {
            "x": {"x": -s, "y": 1.0},
            "y": {"x": -1.0, "y": -s, "z": 0.5},
            "z": {"y": -0.5, "z": -s},
        },
        "diffusion": {f"{v},{v}": {"1": 1.0} for v in "xyz"},
    }


def gaussian(s: Any) -> Any:
    """Entropy of a coordinate with variance 1/(2s)."""
    return np.log(np.pi * np.e / s) / 2


def quartic(s: Any) -> Any:
    """Entropy of the density ~ exp(−s x⁴/2)."""
    return 1 / 4 + np.log(2 / 4) + gammaln(1 / 4) + np.log(2 / s) / 4


def von_mises(s: Any) -> Any:
    """Entropy of the density ~ exp(2 s cos x)."""
    return np.log(2 * np.pi * i0(2 * s)) - 2 * s * i1(2 * s) / i0(2 * s)


CASES = {
    # Sampled models are given on the report's grid: of the widest on the line it leaves out 2e-4 of
    # the entropy, and in the plane 8e-4 with what the cells miss.
    "line": (line, gaussian, 3e-4),
    "circle": (circle, von_mises, 1e-9),
    "plane": (plane, lambda s: quartic(s) + gaussian(s), 1e-3),
    "space": (space, lambda s: 3 * gaussian(s), 1e-9),
}
"""Terms of a model by the strength of its drift, their entropy, and its accuracy."""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copied_with(tmp_path_factory.mktemp("copy"), ROWS)


@pytest.fixture(scope="module")
def found(copy: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    given, answer = (tmp_path_factory.mktemp("data") / name for name in ("given", "found"))
    families = {name: [make(s) for s in (1.0, *STRENGTHS)] for name, (make, *_) in CASES.items()}
    given.write_text(json.dumps(families), "utf-8")
    run_in(copy, ROOT / "tests" / "dummy_quantity.py", given, answer)
    return dict(json.loads(answer.read_text("utf-8")))


def test_a_quantity_costs_the_files_that_contributing_names_and_no_others(copy: Path) -> None:
    named = named_in_contributing("How to add a derived quantity with a confidence interval")
    assert edited(copy) == set(named)
    assert len(named) <= MOST_FILES
    assert "entropy" not in Stationary.model_fields


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_quantity_that_was_added_has_its_interval(found: dict[str, Any], name: str) -> None:
    _, entropy, accuracy = CASES[name]
    stationary = found[name]["document"]["generator"]["stationary"]
    ends = np.quantile(entropy(STRENGTHS), [0.05, 0.95], method="nearest")
    assert np.ptp(ends) > 100 * accuracy
    assert stationary["entropy"] == pytest.approx(entropy(1.0), abs=accuracy)
    assert stationary["entropy_ci"] == pytest.approx(ends, abs=accuracy)
    (shown,) = (figure for figure in found[name]["figures"] if figure["label"] == "Entropy")
    assert float(shown["value"]) == pytest.approx(entropy(1.0), abs=0.01)
    assert shown["interval"]
