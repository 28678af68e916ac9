"""The kinds of job, how each is computed and described; the table is in `kinds.py`."""
