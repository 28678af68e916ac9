"""Are the standard errors that a plan predicts those of the identification?

    python -m benchmarks.planning [--records 16] [--noise 0 0.1 0.3]

Records of an Ornstein-Uhlenbeck process (dX = −X dt + √2 dW), of a double well
(dX = (X − X³) dt + √½ dW) and of two processes whose diffusion depends on the state, over a grid of
durations T and sampling intervals Δt, without noise and with noise of these shares of the standard
deviation inside a well, are identified with the terms known. The root of the mean squared error of
a drift coefficient, the relaxation time and a mean first-passage time, of their logarithms (the
coefficient: over its value), is divided by the plan's prediction; its own error is 1/√(2 records).
"""

import argparse
import time

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from worker.identification.errors import IdentificationError
from worker.identification.symbolic_process import SymbolicProcess, from_terms
from worker.planning.check import estimated
from worker.planning.information import Terms, chain_of, covariance_per_time
from worker.planning.noise_cost import NoisyModel, without_noise
from worker.planning.plan import LONG, PlannedModel, changes_of, through_noise
from worker.planning.records import Recording, simulated
from worker.planning.target import Quantity, analysis_for, target_of

Floats = NDArray[np.float64]

DURATIONS = (50.0, 150.0, 500.0, 1500.0)
INTERVALS = (0.02, 0.05, 0.15, 0.4)
PATHS = 10
"""Trajectories of a record, each T/10 long and begun in the stationary distribution."""


def model_of(b: dict[str, float], a: dict[str, float]) -> PlannedModel:
    """Return a model of one variable from its terms."""
    coefficients = np.array([*b.values(), *a.values()], dtype=float)

    def at(c: Floats) -> SymbolicProcess:
        own = c.tolist()
        drift = dict(zip(b, own[: len(b)], strict=True))
        return SymbolicProcess(
            from_terms(drift), from_terms(dict(zip(a, own[len(b) :], strict=True)))
        )

    terms = Terms(
        tuple(from_terms({name: 1.0}) for name in b),
        tuple(from_terms({name: 1.0}) for name in a),
        coefficients,
    )
    return PlannedModel(at(coefficients), terms, (tuple(b), tuple(a)), at)


SYSTEMS = {
    "Ornstein-Uhlenbeck": (model_of({"x": -1.0}, {"1": 2.0}), (-4.5, 4.5), (-1.0, 1.0), 0, 1.0),
    "double well": (
        model_of({"x": 1.0, "x^3": -1.0}, {"1": 0.5}),
        (-2.2, 2.2),
        (-1.0, 1.0),
        1,
        0.4,
    ),
    "linear, a of x": (
        model_of({"x": -1.0}, {"1": 1.0, "x^2": 0.2}),
        (-6.0, 6.0),
        (-1.0, 1.0),
        0,
        0.74,
    ),
    "unequal wells, a of x": (
        model_of({"1": 0.15, "x": 1.0, "x^3": -1.0}, {"1": 0.4, "x": 0.15, "x^2": 0.1}),
        (-2.2, 2.6),
        (-0.9, 1.1),
        2,
        0.4,
    ),
}
"""Model, interval of its cells, passage, number of the coefficient, and standard deviation inside
a well."""


def main() -> None:
    """Print the ratios of realised to predicted standard errors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=16)
    parser.add_argument("--noise", type=float, nargs="+", default=[0.0, 0.1, 0.3])
    arguments = parser.parse_args()
    with threadpool_limits(1):
        for share in arguments.noise:
            for name, system in SYSTEMS.items():
                measure(name, system, share, arguments.records)


def measure(
    name: str,
    system: tuple[PlannedModel, tuple[float, float], tuple[float, float], int, float],
    share: float,
    records: int,
) -> None:
    """Print the ratios of one system at one share of noise."""
    model, interval, passage, number, width = system
    terms, noise = model.terms, share * width
    chain = chain_of(terms, interval)
    coefficient = Quantity("coefficient", number=number)
    finest = covariance_per_time(chain, len(terms.drift), INTERVALS[0], chain.density)
    changes = changes_of(finest * chain.fast_rate / LONG)
    quantities = (coefficient, Quantity("relaxation_time"), Quantity("passage", passage))
    targets = [
        target_of(q, terms.coefficients, model.process_at, analysis_for(q, model.process), changes)
        for q in quantities
    ]
    print(f"{name}, noise {100 * share:.0f} % of a well's standard deviation, {records} records")
    clean = [covariance_per_time(chain, len(terms.drift), dt, chain.density) for dt in INTERVALS]
    expected = [without_noise(each) for each in clean]
    if noise:
        of_model = NoisyModel(model.process, model.names, terms.coefficients, chain, 0)
        expected = through_noise(of_model, clean, INTERVALS, noise)
    for dt, through in zip(INTERVALS, expected, strict=True):
        for duration in DURATIONS:
            recording = Recording(dt, round(duration / dt / PATHS) + 1, PATHS, noise, None)
            errors, failed, begun = [], 0, time.process_time()
            for seed in range(records):
                random = np.random.default_rng([seed, round(1e4 * dt), round(duration)])
                record = simulated(model.process, recording, chain, random)
                try:
                    at, _ = estimated(record, dt, model.names, noise > 0)
                except IdentificationError:
                    failed += 1
                    continue
                first = at[number] / terms.coefficients[number] - 1
                others = [np.log(t.of(at) / t.value) for t in targets[1:]]
                errors.append([first, *others])
            rms = np.sqrt(np.nanmean(np.square(errors), axis=0))
            unit = through.after(duration)
            predicted = [np.sqrt(t.gradient @ unit @ t.gradient / duration) for t in targets]
            ratios = "  ".join(
                f"{r / p:5.2f} (of {p:.3f})" for r, p in zip(rms, predicted, strict=True)
            )
            seconds = (time.process_time() - begun) / records
            print(
                f"  dt {dt:5g}  T {duration:6g}  coefficient, relaxation, passage: {ratios}"
                f"  {failed} failed, {np.isnan(errors).any(axis=1).sum()} undefined, "
                f"{seconds:.2f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
