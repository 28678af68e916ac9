"""The source paper, reproduced: every table and figure through this project's own core, written to docs/paper.md.

    python -m benchmarks.paper [--quick]

One file an item. `runs.py` simulates a system once for each seed; an item measures what it needs on that run, in a process of the
pool, and makes its part of the document of all seeds' measurements. `parts.py` is the shape they share, `document.py` joins them.
"""
