"""Frozen values of the analysis."""
