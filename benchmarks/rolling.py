"""Are the intervals of rolling windows right, and what do 200 windows over 10⁶ samples cost?

    python -m benchmarks.rolling [--records 10]
    python -m benchmarks.rolling --coloured [--records 1000]

dX = (μ X − X³) dt + ½ dW whose barrier falls linearly from 2 kT to a third of one (μ from 1 to 0.4)
over T = 10 000, dt = 0.01: 200 windows of a tenth of the record. Truth is the exact gap of the
process at the middle of each. Neighbouring windows share most of their samples, so the share of
windows that hold the truth has the scatter of ten a record. `--coloured`: see rolling_coloured.py.
"""

import argparse
import time

import numba as nb
import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmarks.rolling_coloured import measure
from contract.identification import IdentificationParameters
from contract.rolling import RollingWindows
from worker.generator.analysis import analyse
from worker.generator.process import ScalarProcess
from worker.identification.data.trajectories import from_arrays
from worker.jobs.rolling import roll_along
from worker.rolling.rolling import Rolling

Floats = NDArray[np.float64]

DT, STEPS, SUBSTEPS, NOISE = 0.01, 1_000_000, 5, 0.25
FIRST, LAST = 1.0, 0.4
WINDOWS = RollingWindows(count=200, share=0.1)
LEVEL = 1.96


@nb.njit
def record(seed: int) -> Floats:
    """Simulate (STEPS,) samples."""
    np.random.seed(seed)
    x, step, out = -1.0, DT / SUBSTEPS, np.empty(STEPS)
    root = np.sqrt(step * NOISE)
    for n in range(STEPS):
        out[n] = x
        mu = FIRST + (LAST - FIRST) * n / STEPS
        for _ in range(SUBSTEPS):
            x += (mu * x - x**3) * step + root * np.random.randn()
    return out


def exact(middles: Floats) -> Floats:
    """Return log λ₁ at these shares of the record, by a smooth fit through 13 of them."""
    mus = np.linspace(FIRST, LAST, 13)
    rates = []
    for mu in mus:
        process = ScalarProcess(
            lambda x: mu * x - x**3,  # noqa: B023
            lambda x: np.full_like(x, NOISE),
            lambda x: mu - 3 * x**2,  # noqa: B023
        )
        spectrum = analyse(process, eigenpairs=1).spectrum
        assert spectrum is not None
        rates.append(float(np.log(spectrum.eigenvalues[0].real)))
    return np.polyval(np.polyfit(mus, rates, 6), FIRST + (LAST - FIRST) * middles)


def rolled(seed: int) -> tuple[Rolling, float]:
    """Return the rolling identification, and CPU seconds."""
    data = from_arrays([record(seed)], DT)
    begun = time.process_time()
    found = roll_along(data, IdentificationParameters(), WINDOWS, lambda *_: None)
    return found, time.process_time() - begun


def main() -> None:
    """Print the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int)
    parser.add_argument("--coloured", action="store_true", help="drifting noise, false alarms")
    arguments = parser.parse_args()
    if arguments.coloured:
        measure(arguments.records or 1000)
        return
    with threadpool_limits(1):
        rolled(0)  # compiles
        held, z, took, trends = [], [], [], []
        for seed in range(1, (arguments.records or 10) + 1):
            found, seconds = rolled(seed)
            took.append(seconds)
            middles = np.array([(w.begin + w.end) / 2 for w in found.windows]) / (STEPS * DT)
            error = np.array([w.gap.log_rate for w in found.windows], float) - exact(middles)
            own = error / np.array([w.gap.std_error for w in found.windows], float)
            held.append(np.mean(np.abs(own) < LEVEL))
            z += list(own[:: len(own) // 10])
            trends.append(0.0 if found.trend is None else found.trend.z)
        print(
            f"{len(found.windows)} windows over {STEPS} samples: {np.median(took):.2f} s of CPU "
            f"(largest {max(took):.2f})"
        )
        share = f"{100 * np.mean(held):.1f} %, of one record at least {100 * min(held):.0f} %"
        print(f"windows whose 95 % interval of the gap holds the truth: {share}")
        print(
            f"errors of separate windows over their standard errors: {np.std(z):.2f} (mean "
            f"{np.mean(z):+.2f}, {len(z)} of them)"
        )
        print(f"z of the trend: {min(trends):.1f} to {max(trends):.1f}")


if __name__ == "__main__":
    main()
