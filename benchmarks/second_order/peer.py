"""Fit records by StochasticForceInference (SFI) in the Python that runs this file, which has it.

    python peer.py RECORDS.npz

The file has `positions` (n_records, n_trajectories, n_samples, d), `dt`, `degree` and `parametric`.
A record is one line of JSON: `force`, by coordinate, the coefficients of all monomials up to the
degree in positions and velocities; `support`, by coordinate, the terms that PASTIS keeps; `seconds`
of CPU. Imports nothing of this project.
"""

import json
import sys
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray


def fitted(positions: NDArray[np.float64], dt: float, degree: int, parametric: bool) -> Any:
    """Return the answer for one record, positions (n_trajectories, n_samples, d)."""
    from SFI import TrajectoryCollection, UnderdampedLangevinInference
    from SFI.bases import monomials_up_to

    dimension = positions.shape[2]
    names = ("x", "v") if dimension == 1 else ("x", "y", "vx", "vy")
    begun = time.process_time()
    records = TrajectoryCollection.from_arrays(X=positions.transpose(1, 0, 2), dt=dt)
    inference = UnderdampedLangevinInference(records)
    basis = monomials_up_to(degree, dim=dimension, include_v=True, rank="vector")
    inference.compute_diffusion_constant()
    (inference.infer_force if parametric else inference.infer_force_linear)(basis)
    found = np.array(inference.force_coefficients_full, float)
    inference.sparsify_force(criterion="PASTIS")
    kept = np.asarray(inference.force_support)
    seconds = time.process_time() - begun
    # The basis has each monomial times each unit vector; it is read by its values at a few states.
    at = np.random.default_rng(0).uniform(0.5, 2, (400, 2 * dimension))
    values = np.array(basis(at[:, :dimension], v=at[:, dimension:]), float)
    answer: dict[str, Any] = {"force": {}, "support": {}, "seconds": seconds}
    exponents = _exponents(2 * dimension, degree)
    for i, velocity in enumerate(names[dimension:]):
        answer["force"][velocity], answer["support"][velocity] = {}, []
        for k, value in enumerate(found):
            if not np.any(values[:, i, k]):
                continue
            [name] = [
                _name(powers, names)
                for powers in exponents
                if np.allclose(np.prod(at**powers, axis=1), values[:, i, k], rtol=1e-4)
            ]
            answer["force"][velocity][name] = float(value)
            if k in kept:
                answer["support"][velocity].append(name)
    return answer


def _exponents(variables: int, degree: int) -> list[tuple[int, ...]]:
    grid = np.stack(np.meshgrid(*[range(degree + 1)] * variables), -1).reshape(-1, variables)
    return [tuple(map(int, powers)) for powers in grid if powers.sum() <= degree]


def _name(powers: tuple[int, ...], names: tuple[str, ...]) -> str:
    factors = [n if p == 1 else f"{n}^{p}" for n, p in zip(names, powers, strict=True) if p]
    return "*".join(factors) or "1"


if __name__ == "__main__":
    with np.load(sys.argv[1]) as file:
        for record in file["positions"]:
            settings = float(file["dt"]), int(file["degree"]), bool(file["parametric"])
            print(json.dumps(fitted(record, *settings)), flush=True)
