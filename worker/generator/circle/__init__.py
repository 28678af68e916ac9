"""The analysis on a circle."""
