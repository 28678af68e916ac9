"""The variables of the state: their names, whether they depend on each other, whether one is an angle that nobody declared."""

import numpy as np

from worker.identification.errors import CollinearVariables
from worker.identification.trajectories import Trajectories

NAMES = ("x", "y", "z")


def variable_name(index: int) -> str:
    """x, y, z, x4, x5, …"""
    return NAMES[index] if index < len(NAMES) else f"x{index + 1}"


def check_independent(data: Trajectories) -> None:
    """Raises CollinearVariables where a column does not vary or is a linear combination of the others."""
    d = data.dimension
    if d == 1:
        return
    sample = np.asarray(data.states[:: max(1, len(data.states) // 100_000)])
    centred = sample - sample.mean(axis=0)
    spread = np.sqrt((centred**2).mean(axis=0))
    constant = [variable_name(i) for i in range(d) if not spread[i] > 1e-12 * np.abs(sample[:, i]).max()]
    moving = [i for i in range(d) if variable_name(i) not in constant]
    singular = np.linalg.svd(centred[:, moving] / spread[moving], compute_uv=False) if moving else np.ones(1)
    if constant or singular[-1] < 1e-6 * singular[0]:
        what = f"{', '.join(constant)} does not vary" if constant else "one column is a linear combination of the others"
        raise CollinearVariables(
            f"The {d} state columns are linearly dependent (collinear): {what}. The equations of such variables are singular.",
            hints=("Name the independent columns in layout.state_columns and upload again.",),
        )
