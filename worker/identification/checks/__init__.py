"""Checks of a fit, and what its reader is told about it."""
