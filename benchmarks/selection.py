"""How often does each method of selection find exactly the right terms?

    python -m benchmarks.selection [--seeds 20] [--trajectories 10] [--degrees 4 7] [--walks 200]

The source paper's three systems at its settings (paths of `benchmarks.recovery`) through the
default estimator, and Brownian motion, where the right drift is none. One table: right supports of
drift and diffusion out of seeds, for every method and size K of the library. `lasso_cv, lowest` is
what the smallest cross-validation error would choose, where `lasso_cv` takes the largest penalty
within one standard error of it; there, terms that depend on the sampling rule are not left out.
"""

import argparse
from collections import Counter
from collections.abc import Iterator
from unittest.mock import patch

import numpy as np

from benchmarks.recovery import DT, SYSTEMS, paths_of
from worker.identification.data.library import Library, make_library
from worker.identification.data.trajectories import Trajectories, from_arrays, measure_scales
from worker.identification.data.windows import Space
from worker.identification.equations.regression import NormalEquations
from worker.identification.estimation import cell_equations
from worker.identification.estimation.estimator import identify
from worker.identification.estimation.problem import Problem
from worker.identification.selection import diffusion_terms
from worker.identification.selection.support_selection import Criterion, Method, Selected, choose
from worker.identification.sums.kernels import make_kernels

METHODS: tuple[Method, ...] = ("bic", "pastis", "stlsq", "lasso_cv")
LOWEST = "lasso_cv, lowest"
Asked = tuple[NormalEquations, NormalEquations | None, Library, int]
"""Arguments of the last fit's call of `choose`, except the criterion."""


def asked_of(data: Trajectories, degree: int) -> tuple[Asked, Asked]:
    """Return the arguments of the last choice of terms, for the drift and for the diffusion."""
    scales = measure_scales(data, None)
    asked: list[Asked] = []

    def noting(
        equations: NormalEquations,
        other: NormalEquations | None,
        library: Library,
        n_windows: int,
        criterion: Criterion,
    ) -> Selected:
        asked.append((equations, other, library, n_windows))
        return choose(equations, other, library, n_windows, criterion)

    # The drift's choice is made in one module, the diffusion's in the other.
    with (
        patch.object(cell_equations, "choose", noting),
        patch.object(diffusion_terms, "choose", noting),
    ):
        identify(
            Problem(
                data,
                Space((scales,), (None,)),
                make_library((scales,), polynomial_degree=degree),
                make_kernels(scales),
            ),
            "auto",
            "auto",
        )
    return asked[-2], asked[-1]


def found_by(asked: Asked) -> Iterator[tuple[str, set[str]]]:
    """Yield every method and the terms it keeps."""
    library = asked[2]
    for method in METHODS:
        selected = choose(*asked, Criterion(method))
        yield method, {library.names[k] for k in selected.estimate.support}
        if selected.curve is not None:
            penalty = selected.curve.penalties[selected.curve.lowest]
            at_lowest = [
                c.support for c in selected.path if c.penalty is not None and c.penalty >= penalty
            ][-1]
            yield LOWEST, {library.names[k] for k in at_lowest}


def random_walk(n_trajectories: int, seed: int) -> Trajectories:
    """Simulate Brownian paths of variance one a unit of time, T = 10."""
    steps = np.random.default_rng([seed, 2]).standard_normal((n_trajectories, 1000)) * 0.1
    return from_arrays(list(np.cumsum(steps, axis=1)), 0.01)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--trajectories", type=int, default=10)
    parser.add_argument("--degrees", type=int, nargs="+", default=[4, 7])
    parser.add_argument("--walks", type=int, default=200)
    options = parser.parse_args()
    right: Counter[tuple[str, str, str, int]] = Counter()
    for name, system in SYSTEMS.items():
        for seed in range(options.seeds):
            data = from_arrays(list(paths_of(name, options.trajectories, seed)), DT)
            for degree in options.degrees:
                asked = asked_of(data, degree)
                for component, truth, of in zip(
                    ("drift", "diffusion"), (system.drift, system.diffusion), asked, strict=True
                ):
                    for method, terms in found_by(of):
                        right[method, name, component, degree] += terms == truth.keys()
    for seed in range(options.walks):
        data = random_walk(max(options.trajectories, 8), seed)
        for degree in options.degrees:
            for method, terms in found_by(asked_of(data, degree)[0]):
                right[method, "random walk", "drift", degree] += not terms

    methods = [*METHODS, LOWEST]
    print(f"{'system':19} {'component':10} {'K':>3}", *(f"{m:>16}" for m in methods))
    for degree in options.degrees:
        rows = [
            (name, component, options.seeds)
            for name in SYSTEMS
            for component in ("drift", "diffusion")
        ]
        for name, component, n in [*rows, ("random walk", "drift", options.walks)]:
            rates = (f"{right[m, name, component, degree]}/{n}" for m in methods)
            print(f"{name:19} {component:10} {degree + 1:>3}", *(f"{rate:>16}" for rate in rates))


if __name__ == "__main__":
    main()
