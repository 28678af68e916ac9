"""Identify a model from an array with the Python client (pip install ./client).

python examples/with_client.py        ITOSCOPE_URL, ITOSCOPE_API_KEY
"""

from pathlib import Path

import numpy as np

from itoscope_client import Client

record = np.loadtxt(Path(__file__).with_name("double_well.csv"), delimiter=",", skiprows=1)

with Client() as client:
    model = client.identify(record[:, 1], dt=0.05, analysis={"passages": [{"from": -1, "to": 1}]})

print(*model.equations, sep="\n")
for name, value, error in zip(model.names, model.values, model.std_errors, strict=True):
    print(f"{name:10} {value:8.4f} ± {error:.4f}")
print(f"relaxation time {model.relaxation_times[0]:.2f}")
print(f"mean time from -1 to 1: {model.passage(-1, 1).mean_time}")
print(f"drift at 0.5 is {model.drift(0.5):.4f}, diffusion {model.diffusion(0.5):.4f}")

times, states = model.simulate(duration=300, seed=1)
print(
    f"a simulated path of {len(times)} samples has variance {states.var():.2f}, "
    f"the data {record[:, 1].var():.2f}"
)
