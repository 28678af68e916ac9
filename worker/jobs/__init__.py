"""The kinds of job: how each is computed and described. Start at `kinds.py`."""
