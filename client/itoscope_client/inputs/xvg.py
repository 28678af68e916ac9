"""Conversion of GROMACS' xvg: the legend's names become a header line, numbers stay unchanged."""

import re
from pathlib import Path

from itoscope_client.errors import InputError
from itoscope_client.inputs.options import LayoutOptions
from itoscope_client.inputs.upload import Upload

_LEGEND = re.compile(r'@\s+s(\d+)\s+legend\s+"([^"]*)"')
_AXIS = re.compile(r'@\s+(x|y)axis\s+label\s+"([^"]*)"')
_TIME = re.compile(r"time(?:\s*\(([^)]*)\))?", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d][\w.+-]*\Z")


def upload_of_xvg(path: Path, layout: LayoutOptions) -> Upload:
    """Convert a file. Raise InputError for several data sets, or with neither a time nor `dt`."""
    legends: dict[int, str] = {}
    axes: dict[str, str] = {}
    rows: list[list[str]] = []
    for line in path.read_text(errors="replace").splitlines():
        if match := _LEGEND.match(line):
            legends[int(match[1])] = match[2]
        elif match := _AXIS.match(line):
            axes[match[1]] = match[2]
        elif line.startswith("&"):
            if rows:
                raise InputError(
                    f"{path.name} holds several data sets (divided by '&'): "
                    "cut it into one file each"
                )
        elif line.strip() and not line.startswith(("#", "@")):
            rows.append(line.split())
    if not rows:
        raise InputError(f"{path.name} holds no numbers")
    is_time = _TIME.match(axes.get("x", ""))
    first = (
        f"time_{is_time[1]}"
        if is_time and is_time[1]
        else "time"
        if is_time
        else axes.get("x") or "x1"
    )
    if not is_time and layout.get("dt") is None and layout.get("time_column") is None:
        raise InputError(
            f"{path.name} has no column of times (its x axis is '{axes.get('x', '')}'): give dt=…"
        )
    width = len(rows[0])
    second = axes.get("y", "s0") if width <= 3 else "s0"
    names = [first, *(legends.get(j, second if j == 0 else f"s{j}") for j in range(width - 1))]
    # A residue's name may stand at the end of each row.
    kept = [j for j in range(width) if not _WORD.match(rows[0][j])]
    lines = [",".join(names[j].replace(",", " ") for j in kept)]
    lines += [",".join(row[j] for j in kept if j < len(row)) for row in rows]
    return Upload(
        ("\n".join(lines) + "\n").encode(), "text/csv", path.with_suffix(".csv").name, layout
    )
