"""The stores of jobs, datasets and results; no other package knows Redis keys or file paths."""
