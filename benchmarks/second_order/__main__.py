"""Is second-order dynamics found from positions alone, and how near to the limit?

    python -m benchmarks.second_order [RECORD…] [--seeds 40] [--jobs 1] [--coverage]
    python -m benchmarks.second_order --long | --coarse | --peer PYTHON | --data FOLDER

Records of `systems.py`, positions alone, through the identification of a job with `dynamics:
second-order` and the monomials up to total degree three in positions and velocities as candidates
of F and a. A row is a true coefficient: the mean of its relative error, also in standard errors of
that mean, and its root mean square; the Cramér–Rao bound of all candidates with the velocity
observed (the limit of a fit without selection) and that of the true terms alone, with the ratios;
the root mean square of z; and the share of the 95 % intervals that hold the truth. A term that was
not found errs by 100 %.

--coverage   also requires 92 to 97.5 % of the intervals to hold, those of the period and of an
             escape time included; take --seeds 200
--long       CPU seconds for 10⁶ and 10⁷ samples, and the peak of memory
--coarse     samples further apart than the velocity remembers: mean error, rms and intervals of the
             friction, of which 92 to 97.5 % have to hold it; take --seeds 100
--peer       SFI's two estimators on the same records, in a Python that has
             StochasticForceInference installed; without selection, and its supports by PASTIS
--data       real records from this folder, beside what is known about them

Exit status 1 where a bar is missed: the rms error of a coefficient of F within 1.15 bounds of all
candidates (1.3 with noise or coarse samples), 95 % of the supports exact in all components.
"""

import argparse
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from benchmarks.measured import each
from benchmarks.second_order import coarse, long, real
from benchmarks.second_order.tables import HEAD, SETTINGS, measured, peer_rows, rows_of


def own_rows(
    names: list[str], seeds: int, jobs: int, coverage: bool, misses: list[str]
) -> Iterator[str]:
    """Yield the table, and collect the missed bars."""
    yield HEAD
    for name in names:
        found = each(partial(measured, name=name, derive=coverage), range(seeds), jobs)
        yield from rows_of(name, found, misses, coverage)


def main() -> int:
    """Print the tables; return 1 where a bar is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("records", nargs="*", metavar="RECORD", help=", ".join(SETTINGS))
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--coverage", action="store_true")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--coarse", action="store_true")
    parser.add_argument("--peer", type=Path, metavar="PYTHON")
    parser.add_argument("--data", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    if unknown := set(options.records) - SETTINGS.keys():
        parser.error(f"no record {', '.join(sorted(unknown))}; there are {', '.join(SETTINGS)}")
    misses: list[str] = []
    names = options.records or list(SETTINGS)
    if options.long:
        rows = long.rows_of(misses)
    elif options.coarse:
        rows = coarse.rows(options.seeds, options.jobs, misses)
    elif options.data:
        rows = real.rows_of(options.data)
    elif options.peer:
        rows = peer_rows(names, options.peer, options.seeds)
    else:
        rows = own_rows(names, options.seeds, options.jobs, options.coverage, misses)
    for row in rows:
        print(row, flush=True)
    if not (options.data or options.peer):
        print(*misses or ["every bar is met"], sep="\n")
    return 1 if misses else 0


if __name__ == "__main__":
    sys.exit(main())
