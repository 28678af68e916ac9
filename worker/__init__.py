"""Runs jobs: takes an id from the queue, identifies the model, keeps the answer. Start reading at pipeline.py."""
