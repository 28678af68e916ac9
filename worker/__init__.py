"""The worker: jobs from the queue, models from data, results to the store; see pipeline.py."""
