"""Responses: representations, stored results and waiting for jobs."""
