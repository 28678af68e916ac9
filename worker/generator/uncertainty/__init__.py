"""Confidence intervals of derived quantities."""
