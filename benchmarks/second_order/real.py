"""Real records, positions alone, read as an upload is, beside what is known about them."""

import csv
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.second_order.tables import parameters_of
from service.readers.options import Layout, Limits
from service.readers.reading import read
from worker import pipeline
from worker.identification.data.trajectories import Trajectories
from worker.identification.errors import IdentificationError
from worker.identification.identified_model import IdentifiedModel
from worker.jobs.parameters import settings_of

ROWS = {
    "cells hopping between sites (D02)": (
        "d02_cell_hopping.txt",
        Layout(dt=1 / 6, orientation="rows", time_unit="h"),
        "F cubic in x and v (Brückner et al. 2019); rms v 34 µm/h",
    ),
    "double well of folie (D06)": (
        "d06_folie_underdamped.trj",
        Layout(dt=0.05, single=True),
        "x 1.976 ± 0.08, x^3 −1.979 ± 0.06, v −0.105 ± 0.04, a 0.0665 ± 0.004 (with v uploaded)",
    ),
    "buffalo Cilla (D08)": (
        "d08_buffalo_gps.csv",
        Layout(time_column="t_h", single=True),
        "τ of velocity 42.1 min (39.6–44.7), τ of position 7.5 d (ctmm)",
    ),
}
"""File, layout, and what is known."""


def rows_of(folder: Path, dynamics: tuple[str, ...] = ("auto",)) -> Iterator[str]:
    """Yield what is found in each record, and what is known."""
    for name, (file, layout, known) in ROWS.items():
        if not (folder / file).exists():
            yield f"{name}: there is no {file} in the folder"
            continue
        yield f"{name}: known: {known}"
        data = _read(folder / file, layout)
        for kind in dynamics:
            try:
                model = pipeline.identify(data, settings_of(parameters_of(kind)), lambda *_: None)
            except IdentificationError as error:
                yield f"  {kind}: {error.code}: {error.message}"
                continue
            yield f"  {kind}:"
            yield from _terms(model)


def _terms(model: IdentifiedModel) -> Iterator[str]:
    for component, fit in {**model.drift, **model.diffusion}.items():
        terms = ", ".join(
            f"{t.name} {t.value:.4g} ± {t.std_error or np.nan:.2g}" for t in fit.terms if t.active
        )
        yield f"    {component}: {terms or 'none'}"
        friction = fit.active().get(component)
        stiffness = fit.active().get(component.replace("v", "") or "x")
        if friction is not None and stiffness is not None and len(fit.active()) == 2:
            rates = np.roots([1, -friction, -stiffness])
            yield f"    {component}: 1/rates {', '.join(f'{-1 / rate:.4g}' for rate in rates)}"
        elif friction is not None:
            yield f"    {component}: 1/friction {-1 / friction:.4g}"
    if model.noise_variances:
        yield f"    noise: {', '.join(f'{v:.3g}' for v in model.noise_variances.values())}"
    for finding in model.findings:
        yield f"    warning {finding.code}"


def _read(path: Path, layout: Layout) -> Trajectories:
    with tempfile.TemporaryDirectory() as folder:
        own = Path(folder) / "data.csv"
        own.write_text("\n".join(_lines(path)))
        read(own, "csv", layout, Limits(), Path(folder))
        return Trajectories(
            *(np.load(Path(folder) / f"{field}.npy") for field in ("states", "times", "segments"))
        )


def _lines(path: Path) -> list[str]:
    """Return the lines of a file: positions without velocities, one animal, and in hours."""
    lines = path.read_text().splitlines()
    if path.suffix == ".trj":
        return ["x", *(line.split("\t")[1] for line in lines)]
    if "buffalo" in path.name:
        rows = [row for row in csv.reader(lines) if row[0] in ("id", "Cilla")]
        first = float(rows[1][1])
        hours = [f"{(float(row[1]) - first) / 3600:.6f}" for row in rows[1:]]
        return [
            "t_h,x_m,y_m",
            *(",".join((h, *r[2:])) for h, r in zip(hours, rows[1:], strict=True)),
        ]
    return lines
