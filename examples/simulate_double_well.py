"""Write double_well.csv: dX = (X − X³) dt + 0.5 dW, every 0.05 for 300 time units, 25 steps each.

Run from the project's root: .venv/bin/python -m examples.simulate_double_well
"""

import sys
from pathlib import Path

try:
    import numpy as np

    from benchmarks.simulation import SYSTEMS, simulate
except ImportError as missing:
    sys.exit(
        f"{missing}. Run it from the project's root with the checkout's own Python:\n"
        "  sh scripts/install && .venv/bin/python -m examples.simulate_double_well"
    )

DT = 0.05


def rows() -> list[str]:
    """The file's lines."""
    drift, diffusion = SYSTEMS["double-well"]
    path = simulate(drift, diffusion, np.array([-1.0]), dt=DT, n_steps=6000, substeps=25, seed=7)[0]
    return ["t,x", *(f"{n * DT:.2f},{x:.4f}" for n, x in enumerate(path))]


if __name__ == "__main__":
    Path(__file__).with_name("double_well.csv").write_text("\n".join(rows()) + "\n")
