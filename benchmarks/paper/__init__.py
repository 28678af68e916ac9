"""The source paper, reproduced through this project's own core and written to docs/paper.md.

    python -m benchmarks.paper [--quick]

Each table or figure is an item with a file. `runs.py` simulates a system once for each seed; an
item measures what it needs on that run, in a process of the pool, and makes its part of the
document from the measurements of all seeds. `parts.py` is the shape they share, `document.py` joins
them.
"""
