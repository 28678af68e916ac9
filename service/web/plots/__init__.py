"""Plots as data."""
