"""Are coupled systems in the plane found, with honest errors, and how fast?

    python -m benchmarks.plane [--seeds 20] [--lengths 1 10] [--degrees 3 4] [--only SYSTEM]
    python -m benchmarks.plane --speed

Two systems at the lengths of the public cases and at ten times these: a rotating Ornstein–Uhlenbeck
process with correlated noise (600 time units at 0.01) and a coupled double well (16 trajectories of
150 at 0.05), through the identification of a job with its defaults. One row a setting: exact
supports of all five components out of seeds; the false and the missed terms by component; the root
mean square and the largest of |z| of the active true coefficients, and the share of their 95 %
intervals that hold the truth. With --speed: CPU seconds for 10⁶ increments by degree, full tensor.
"""

import argparse
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import expm

from benchmarks.simulation import simulate_system
from contract.identification import IdentificationParameters, LibraryParameters
from worker import pipeline
from worker.identification.component_fit import ComponentFit
from worker.identification.data.trajectories import from_arrays
from worker.identification.identified_model import IdentifiedModel
from worker.jobs.parameters import settings_of

Floats = NDArray[np.float64]
Terms = Mapping[str, Mapping[str, float]]

BATCH = 10
"""Number of seeds that are simulated at once."""


@dataclass(frozen=True)
class System:
    """Process in the plane, its sampling by steps of dt/substeps, and its coefficients."""

    drift: Callable[[Floats], Floats]
    noise: Callable[[Floats], Floats]
    terms: Terms
    dt: float
    n_trajectories: int
    n_steps: int
    substeps: int


def _everywhere(root: Floats) -> Callable[[Floats], Floats]:
    return lambda x: np.broadcast_to(root, (len(x), *root.shape))


def _rotating() -> System:
    """Return the exact chain, as the Euler steps of another linear process."""
    matrix, a, dt = np.array([[-1.0, 2.0], [-2.0, -1.0]]), np.array([[1.0, 0.6], [0.6, 0.5]]), 0.01
    law = np.array([[0.52, 0.01], [0.01, 0.23]])
    step = expm(matrix * dt)
    return System(
        lambda x: x @ (step - np.eye(2)).T / dt,
        _everywhere(np.linalg.cholesky((law - step @ law @ step.T) / dt)),
        {
            "x": {"x": -1, "y": 2},
            "y": {"x": -2, "y": -1},
            "x,x": {"1": a[0, 0]},
            "x,y": {"1": a[0, 1]},
            "y,y": {"1": a[1, 1]},
        },
        dt,
        1,
        60_000,
        1,
    )


def _double_well() -> System:
    """Take steps of weak order two (Taylor): Euler's err by 0.2 % in a at a step of 0.001."""
    dt, substeps, a = 0.05, 50, 0.5
    half = dt / substeps / 2

    def jacobian(x: Floats) -> Floats:
        out = np.broadcast_to(np.array([[-1.0, 2.0], [2.0, -2.0]]), (len(x), 2, 2)).copy()
        out[:, 0, 0] -= 3 * x[:, 0] ** 2
        return out

    def drift(x: Floats) -> Floats:
        b = np.stack([-x[:, 0] - x[:, 0] ** 3 + 2 * x[:, 1], 2 * x[:, 0] - 2 * x[:, 1]], axis=1)
        along = np.einsum("nij,nj->ni", jacobian(x), b)
        along[:, 0] += a / 2 * -6 * x[:, 0]
        return np.asarray(b + half * along)

    return System(
        drift,
        lambda x: np.sqrt(a) * (np.eye(2) + half * jacobian(x)),
        {
            "x": {"x": -1, "y": 2, "x^3": -1},
            "y": {"x": 2, "y": -2},
            "x,x": {"1": a},
            "x,y": {},
            "y,y": {"1": a},
        },
        dt,
        16,
        3_000,
        substeps,
    )


SYSTEMS = {"rotating": _rotating(), "double well": _double_well()}


def records(system: System, seeds: int, length: int) -> Iterator[Floats]:
    """Yield one record a seed: (n_trajectories · length, n_steps + 1, 2)."""
    n = system.n_trajectories * length
    for batch in range(0, seeds, BATCH):
        here = min(BATCH, seeds - batch)
        start = np.random.default_rng([batch, length]).normal(0, 0.6, (n * here, 2))
        paths = simulate_system(
            system.drift,
            system.noise,
            start,
            dt=system.dt,
            n_steps=system.n_steps,
            substeps=system.substeps,
            burn_in=round(6 / system.dt),
            seed=1000 * length + batch,
        )
        yield from paths.reshape(here, n, *paths.shape[1:])


def identified(paths: Floats, dt: float, degree: int) -> IdentifiedModel:
    """Identify as a job does, with polynomials of this degree."""
    parameters = IdentificationParameters(library=LibraryParameters(polynomial_degree=degree))
    answer = pipeline.identify(
        from_arrays(list(paths), dt), settings_of(parameters), lambda *_: None
    )
    return answer


def components(answer: IdentifiedModel) -> dict[str, ComponentFit]:
    """Return the fits of drift and diffusion by component."""
    return {**answer.drift, **answer.diffusion}


class Score:
    """Counts over seeds."""

    def __init__(self) -> None:
        self.exact, self.seeds = 0, 0
        self.false, self.missed = Counter[str](), Counter[str]()
        self.z: list[float] = []
        self.notes: list[str] = []

    def add(self, answer: IdentifiedModel, true: Terms) -> None:
        """Count one identification."""
        right = True
        for name, component in components(answer).items():
            active = {t.name: t for t in component.terms if t.active}
            for term in active.keys() - true[name].keys():
                self.false[name] += 1
                fit = active[term]
                self.notes.append(f"{name}: {term} {fit.value / (fit.std_error or np.inf):+.2f}")
            self.missed[name] += len(true[name].keys() - active.keys())
            right &= active.keys() == true[name].keys()
            for term in active.keys() & true[name].keys():
                error = active[term].std_error
                assert error is not None
                self.z.append((active[term].value - true[name][term]) / error)
        self.exact += right
        self.seeds += 1

    def row(self) -> str:
        """Return the row of the table."""
        z = np.array(self.z)
        wrong = lambda c: " ".join(f"{k}:{n}" for k, n in c.items() if n) or "none"  # noqa: E731
        return (
            f"{self.exact:3d}/{self.seeds:<3d} {wrong(self.false):24s} {wrong(self.missed):16s} "
            f"{np.sqrt(np.mean(z**2)):5.2f} {np.abs(z).max():5.2f} "
            f"{100 * np.mean(np.abs(z) < 1.96):6.1f}"
        )


def compare(
    names: list[str], seeds: int, lengths: list[int], degrees: list[int], verbose: bool
) -> None:
    """Print the table."""
    print(
        f"{'system':12s} length degree  exact  {'false terms':24s} {'missed':16s} rms z max z  in "
        "95 %  CPU s"
    )
    for name in names:
        for length in lengths:
            scores, begun = {degree: Score() for degree in degrees}, dict.fromkeys(degrees, 0.0)
            for paths in records(SYSTEMS[name], seeds, length):
                for degree in degrees:
                    start = time.process_time()
                    scores[degree].add(
                        identified(paths, SYSTEMS[name].dt, degree), SYSTEMS[name].terms
                    )
                    begun[degree] += time.process_time() - start
            for degree, score in scores.items():
                print(
                    f"{name:12s} {length:5d}× {degree:6d} {score.row()} "
                    f"{begun[degree] / seeds:8.2f}",
                    flush=True,
                )
                if verbose and score.notes:
                    print("             ", "; ".join(score.notes), flush=True)


def speed() -> None:
    """Print CPU seconds by degree."""
    [paths] = records(SYSTEMS["rotating"], 1, 17)
    paths = paths[:, : 1_000_000 // len(paths) + 1]
    for degree in (2, 3, 4):
        start = time.process_time()
        identified(paths, 0.01, degree)
        print(
            f"{len(paths) * (paths.shape[1] - 1)} increments, degree {degree}: "
            f"{time.process_time() - start:.2f} s CPU"
        )


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--lengths", type=int, nargs="+", default=[1, 10])
    parser.add_argument("--degrees", type=int, nargs="+", default=[3, 4])
    parser.add_argument("--only", choices=[*SYSTEMS])
    parser.add_argument("--verbose", action="store_true", help="name each false term and its z")
    parser.add_argument("--speed", action="store_true")
    chosen = parser.parse_args()
    if chosen.speed:
        speed()
    else:
        names = [chosen.only] if chosen.only else [*SYSTEMS]
        compare(names, chosen.seeds, chosen.lengths, chosen.degrees, chosen.verbose)


if __name__ == "__main__":
    main()
