"""Identify a model from an array with the Python client, and compare its paths with the record.

python examples/with_client.py        ITOSCOPE_URL, ITOSCOPE_API_KEY
"""

import sys
from pathlib import Path

try:
    import numpy as np

    from itoscope_client import Client
except ImportError as missing:
    sys.exit(
        f"{missing}. This example needs the client, in a virtual environment:\n"
        "  python3 -m venv venv && venv/bin/pip install ./client && "
        "venv/bin/python examples/with_client.py"
    )

x = np.loadtxt(Path(__file__).with_name("double_well.csv"), delimiter=",", skiprows=1)[:, 1]

with Client() as client:
    model = client.identify(x, dt=0.05, analysis={"passages": [{"from": -1, "to": 1}]})
    one_well = client.identify(x, dt=0.05, parameters={"library": {"polynomial_degree": 2}})

print(*model.equations, sep="\n")
for name, value, error in zip(model.names, model.values, model.std_errors, strict=True):
    print(f"{name:10} {value:8.4f} ± {error:.4f}")
print(f"relaxation time {model.relaxation_times[0]:.2f}")
print(f"mean time from -1 to 1: {model.passage(-1, 1).mean_time}")
print(f"drift at 0.5 is {model.drift(0.5):.4f}, diffusion {model.diffusion(0.5):.4f}")


def transitions(path):
    """Count the passages from one well to the other, each beyond ±0.5."""
    return np.count_nonzero(np.diff(np.sign(path[np.abs(path) > 0.5])))


# Does the record look like the model's paths? Two single paths of this length differ a lot, so
# that the record is placed among 200 of them. A wrong model has to fail: it is tried, too.
for title, candidate in (("the model", model), ("degree 2 at most", one_well)):
    _, paths = candidate.simulate(duration=300, n_paths=200, seed=1)
    print(f"\n{title}: {candidate.equations[0]}")
    for name, quantity in (("variance", np.var), ("transitions between the wells", transitions)):
        low, high = np.quantile([quantity(path) for path in paths], [0.025, 0.975])
        seen = quantity(x)
        verdict = "like the record" if low <= seen <= high else "UNLIKE THE RECORD"
        print(f"{name}: record {seen:.3g}, 95 % of paths {low:.3g} to {high:.3g}: {verdict}")
