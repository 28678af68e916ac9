"""Do the 95 % intervals hold on systems that nobody chose? A random survey of default jobs.

    python -m benchmarks.survey [--half open|held] [--only FAMILY|/CONDITION|FAMILY/CONDITION]
                                [--limit N] [--jobs N] [--out FILE.jsonl]
    python -m benchmarks.survey --show FILE
    python -m benchmarks.survey --compare A B

Random systems of `systems.py`, 540 in one variable and 168 in several, go through the core
as a default job does. What each gave is one JSON line of the output, from which the tables follow;
seeds that are in the file already are not run again. Work is judged by the open half (two thirds)
and is published with the held half. `--compare` sets two files beside each other, seed by seed.

Columns are per cent ± binomial standard error (count). Coverage of b(x) and a(x) is pointwise at
the 5, 25, 50, 75 and 95 % quantiles of the true law (in several variables: at five states of the
path); widths and errors are the mean over these, relative to the rms of the true b or a; of other
quantities relative to the truth, of a covariance to the standard deviations; medians over systems.
z is a term's value over its Cramér–Rao error, given the true support and the states visited.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from benchmarks.survey.answers import surveyed
from benchmarks.survey.systems import drawn, seeds_of
from benchmarks.survey.tables import Row, compared, shown


def read(file: Path) -> list[Row]:
    """Read the rows of a file, in order of their seeds."""
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    return sorted(rows, key=lambda r: int(r["seed"]))


def _wanted(seed: int, only: str | None) -> bool:
    if only is None:
        return True
    family, _, condition = only.partition("/")
    system, design = drawn(seed)
    return family in ("", system.family) and condition in ("", design.condition)


def run(seeds: Sequence[int], jobs: int, out: Path) -> None:
    """Run the jobs of the seeds that are not in the file, and append what they give."""
    known = {r["seed"] for r in read(out)} if out.exists() else set()
    todo = [s for s in seeds if s not in known]
    with ProcessPoolExecutor(jobs) as pool, out.open("a") as file:
        for row in pool.map(surveyed, todo) if jobs > 1 else map(surveyed, todo):
            file.write(json.dumps(row) + "\n")
            file.flush()


def main() -> int:
    """Run, show or compare."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--half", choices=("open", "held"), default="open")
    parser.add_argument("--only", help="FAMILY, /CONDITION or FAMILY/CONDITION")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("survey.jsonl"))
    parser.add_argument("--show", type=Path, help="tables of a file")
    parser.add_argument("--compare", type=Path, nargs=2, help="two files, before and after")
    options = parser.parse_args()
    if options.compare:
        print(compared(*map(read, options.compare)))
        return 0
    if options.show is None:
        seeds = [s for s in seeds_of(options.half) if _wanted(s, options.only)]
        run(seeds[: options.limit], options.jobs, options.out)
    print(shown(read(options.show or options.out)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
